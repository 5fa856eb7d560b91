"""What `/mutate` answers: a patch that applies, or none. Of a Pod it gives no warnings: `/validate` sees the same Pod.
Of a PodGroup that was mended it tells what was taken away, since `/validate` sees nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable

from webhook.admission.speech import WARNING_AT_MOST, printable
from webhook.inject import checked, operations
from webhook.model import GROUP_API
from webhook.repair import repairs, unadvertised
from webhook.review import Answer, Body, Operation, Request, VgpuEnv
from webhook.stack import Stack

_BROKEN = "patch: does not apply"
_DONE = {"inject": "injected", "repair": "repaired"}
_WHY = "HAMi keeps that out of the nodes' allocatable, and the gang would wait for ever"


def mutate(request: Request, stack: Stack, env: VgpuEnv) -> Answer:
    """Complete a Pod, or mend a PodGroup where the policy wants that, on CREATE. Always allowed: a patch that fails to
    apply would be refused whatever the failurePolicy (seen), so it is left out, and an object of a shape that nobody
    thought of is left as it is."""
    body, kind = request.object, (request.group, request.kind)
    if request.operation != "CREATE" or request.subresource or body is None:
        return Answer()
    if kind == ("", "Pod"):
        return _patched(body, "inject", lambda: operations(body, stack, env))
    if kind != (GROUP_API, "PodGroup") or not env.strip_min_resources:
        return Answer()
    answer = _patched(body, "repair", lambda: repairs(body, stack))
    return answer._replace(warnings=(_told(body, stack),)) if answer.patch else answer


def _patched(body: Body, what: str, made: Callable[[], tuple[Operation, ...]]) -> Answer:
    try:
        patch = made()
    except Exception:  # noqa: BLE001 - a bug of ours must not hold up an object
        return Answer(audit={"failed": what}, failed=(what,))
    kept = checked(body, patch) if patch else ()
    if patch and not kept:
        return Answer(audit={"skipped": _BROKEN}, skipped=(_BROKEN,))
    return Answer(audit={"verdict": _DONE[what]} if kept else {}, patch=kept)


def _told(group: Body, stack: Stack) -> str:
    names = ", ".join(unadvertised(group, stack))
    return printable(f"min-resources-unsatisfiable: took {names} out of minResources; {_WHY}", WARNING_AT_MOST)
