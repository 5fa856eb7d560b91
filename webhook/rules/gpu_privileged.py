from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import opted_out
from webhook.isolation import meets_webhook
from webhook.model import DEFAULT_SCHEDULER, Container, Place, Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_REFUSES = (2, 10)
_UNLIMITED = "it sees every card of the node, without a limit"


@rule(Pod, Severity.ERROR, evidence="seen")
def gpu_privileged(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A privileged container stands in a Pod that asks for a GPU.

    HAMi 2.10.0 refuses the whole Pod, init containers counted, whichever of its containers is the privileged one: `403
    container agent is privileged` (pkg/scheduler/webhook.go:99-102, seen). An error where the stack says 2.10 or later.

    Up to 2.9 the Pod is let in. A privileged container that asks for the GPU itself is left out of HAMi's webhook: no
    schedulerName, no defaults (seen on 2.8.3 and 2.9.0: it stays on default-scheduler); one beside it changes nothing
    there. Either way it sees all devices of the node, and of the cards that it was not given no limit holds it back
    (HAMi's own SECURITY.md calls the sharing cooperative). So it is a warning.

    Nothing is said of Pods that HAMi's webhook passes over: those of other schedulers (seen) and those with the label
    hami.io/webhook: ignore. A running Pod is there already: a warning.
    """
    if not any(container.privileged for container in pod.containers):
        return
    if pod.finished or opted_out(pod) or not stack.wants_device(pod):
        return
    if stack.scheduler_of(pod) != stack.hami_scheduler and not _skipped(pod, stack):
        return
    refused = stack.hami is not None and stack.hami >= _REFUSES
    for container in pod.containers:
        if container.privileged and container.role != "ephemeral":
            yield Finding(
                Place(pod.ref, (*container.path, "securityContext", "privileged")),
                _message(pod, container, stack),
                fix=_fix(container, stack),
                severity=None if refused and not pod.live else Severity.WARNING,
            )


def _skipped(pod: Pod, stack: Stack) -> bool:
    """Whether HAMi's webhook would have written its scheduler's name, were the container not privileged."""
    return pod.scheduler in {"", DEFAULT_SCHEDULER} and meets_webhook(pod, stack)


def _message(pod: Pod, container: Container, stack: Stack) -> str:
    who = f"container {container.name} of {pod} is privileged"
    if pod.live:
        return f"{who} in a Pod that asks for a GPU: {_UNLIMITED}"
    if stack.hami is not None and stack.hami >= _REFUSES:
        return f"{who}, and the Pod asks for a GPU: HAMi's webhook refuses it whole"
    if stack.hami is None:
        return f"{who} in a Pod that asks for a GPU: HAMi 2.10 refuses the Pod; up to 2.9 {_UNLIMITED}"
    skipped = "HAMi's webhook skips it, and " if _asks(container, stack) else ""
    return f"{who} in a Pod that asks for a GPU: {skipped}{_UNLIMITED}"


def _asks(container: Container, stack: Stack) -> bool:
    return any(stack.requested(container))


def _fix(container: Container, stack: Stack) -> str:
    if _asks(container, stack):
        return "remove privileged: true and add the single capability that it needs"
    return f"remove privileged: true, or run {container.name} in a Pod that asks for no GPU"
