"""What `/mutate` answers: a patch that applies, or none. It gives no warnings; `/validate` sees the same Pod."""

from __future__ import annotations

from webhook.inject import checked, operations
from webhook.review import Answer, Request, VgpuEnv
from webhook.stack import Stack

_BROKEN = "patch: does not apply"


def mutate(request: Request, stack: Stack, env: VgpuEnv) -> Answer:
    """Complete a Pod on CREATE. Always allowed: a patch that fails to apply would be refused whatever the
    failurePolicy (seen), so it is left out, and a Pod of a shape that nobody thought of is left as it is."""
    pod = request.object
    is_pod = (request.group, request.kind) == ("", "Pod") and not request.subresource
    if request.operation != "CREATE" or not is_pod or pod is None:
        return Answer()
    try:
        patch = operations(pod, stack, env)
    except Exception:  # noqa: BLE001 - a bug of ours must not hold up a Pod
        return Answer(audit={"failed": "inject"}, failed=("inject",))
    kept = checked(pod, patch) if patch else ()
    if patch and not kept:
        return Answer(audit={"skipped": _BROKEN}, skipped=(_BROKEN,))
    return Answer(audit={"verdict": "injected"} if kept else {}, patch=kept)
