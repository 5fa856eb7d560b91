from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import OPT_OUT, opted_out
from webhook.model import DEFAULT_SCHEDULER, Pod
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="seen")
def gpu_webhook_opt_out(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod asks for a share of a GPU and carries the label that keeps HAMi's webhook away.

    HAMi's MutatingWebhookConfiguration leaves out objects with `hami.io/webhook: ignore`
    (charts/hami/templates/scheduler/webhook.yaml:52-56, all versions). The Pod then is as if that webhook were not
    installed: it stays on default-scheduler (seen), gets no device count for its memory or cores, and no check. Of
    default-scheduler no node has `nvidia.com/gpumem`, so it stays Pending. Our own mutating webhook keeps to the label
    too.

    Info where the Pod says all that HAMi's webhook would have added, with HAMi's schedulerName; and where it asks for
    whole devices only: that may be meant for a node that another device plugin serves. Pods of other schedulers are
    never changed by HAMi's webhook. The label on a namespace is not seen here.
    """
    if not opted_out(pod) or pod.live or pod.finished or not stack.wants_device(pod):
        return
    if pod.scheduler not in {"", DEFAULT_SCHEDULER, stack.hami_scheduler}:
        return
    place = pod.label(OPT_OUT)
    shares = _shares(pod, stack)
    by_name = pod.scheduler == stack.hami_scheduler
    lacking = any(_lacks_count(pod, stack)) if by_name else True
    yield Finding(
        place,
        f"{pod} asks for {shares[0] if shares else 'a GPU'} and opts out of HAMi's webhook: "
        + ("HAMi adds no device count to it" if by_name and lacking else _end(pod, stack, whole=not shares)),
        fix=f"remove the label {OPT_OUT}: ignore",
        severity=None if shares and lacking else Severity.INFO,
        edits=(Edit("remove", place),),
    )


def _shares(pod: Pod, stack: Stack) -> list[str]:
    """What only HAMi knows of: memory, percentage and cores."""
    devices = stack.device_names & stack.annotated_names
    return [name for container in pod.containers for name in container.limits if name in devices]


def _lacks_count(pod: Pod, stack: Stack) -> Iterator[bool]:
    """Per container with a device: whether HAMi's webhook would have added the count."""
    for container in pod.containers:
        for names in stack.vendors.values():
            if not container.limits.keys().isdisjoint(names.devices):
                yield container.limits.keys().isdisjoint(names.count)


def _end(pod: Pod, stack: Stack, *, whole: bool) -> str:
    if pod.scheduler == stack.hami_scheduler:
        return "HAMi checks and completes nothing in it"
    if whole:
        return "it stays on default-scheduler, and gets no card on HAMi's nodes"
    return "it stays on default-scheduler, which knows no such resource"
