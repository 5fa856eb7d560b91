from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import KAI, KUEUE, SYSTEM_NAMES, SYSTEMS, System, is_object_name, unread_keys
from webhook.model import GROUP_LABEL, Place, Pod
from webhook.rule import Confidence, Finding, Related, Severity, rule
from webhook.stack import Stack

_KAI_QUEUES = frozenset({"kai.scheduler/queue", "runai/queue"})


@rule(Pod, Severity.WARNING, evidence="read")
def foreign_gang_key(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The Pod names its gang as another system wants it, but Coscheduling schedules the Pod.

    Volcano, Koordinator, YuniKorn, KAI, Gödel and the PFN plugin read annotations, Kueue a label; each reads its own
    keys and only for Pods of its own scheduler (Volcano labels.go:30-52, Koordinator coscheduling.go:29-110, YuniKorn
    constants.go:79-85, KAI constants.go:35, Gödel podstate.go:54-55). Coscheduling reads none of them, so a Pod that
    goes to its scheduler with such a key alone is in no gang and starts by itself.

    Kueue's pod-group-name is about quota, not about scheduling: beside pod-group-total-count it may well be meant so,
    and beside Coscheduling's label it is right. Pods that go to the other system's scheduler are left alone.
    """
    if SYSTEM_NAMES.isdisjoint(pod.labels) and SYSTEM_NAMES.isdisjoint(pod.annotations):
        return
    if not stack.is_coscheduled(pod) or any(unread_keys(pod)):
        return
    for system in SYSTEMS:
        keys = [(half, key) for half, key in _entries(pod) if key in system.names]
        if keys and not (system is KUEUE and pod.group):
            yield _finding(pod, system, keys, stack.scheduler_of(pod))


def _finding(pod: Pod, system: System, keys: list[tuple[str, str]], scheduler: str) -> Finding:
    (half, key), *others = keys
    severity, confidence = _how_sure(pod, system)
    if pod.group:
        return Finding(
            _place(pod, half, key),
            f"{key} is a key of {system.name} and has no effect: {pod} goes to {scheduler}, where it is a member of "
            f"{pod.group} by its label",
            fix=f"remove {key}",
            severity=Severity.INFO,
        )
    return Finding(
        _place(pod, half, key),
        f"{pod} names its gang by {key}, which only {system.name} reads; it goes to {scheduler}, where only the label "
        f"{GROUP_LABEL} makes a gang",
        fix=_rewrite(pod, system, pod.labels.get(key) or pod.annotations.get(key, "")),
        severity=severity,
        confidence=confidence,
        related=tuple(Related(_place(pod, *other), "this one is not read either") for other in others),
    )


def _entries(pod: Pod) -> Iterator[tuple[str, str]]:
    yield from (("labels", key) for key, value in pod.labels.items() if value)
    yield from (("annotations", key) for key, value in pod.annotations.items() if value)


def _place(pod: Pod, half: str, key: str) -> Place:
    return pod.label(key) if half == "labels" else pod.annotation(key)


def _how_sure(pod: Pod, system: System) -> tuple[Severity, Confidence]:
    """A complete Kueue group is a use of its own; KAI's key is so plain that anyone may have it."""
    if system is KUEUE and any(size in pod.annotations for size in system.sizes):
        return Severity.INFO, "low"
    if system is KAI and _KAI_QUEUES.isdisjoint(pod.labels):
        return Severity.INFO, "low"
    return Severity.WARNING, "high"


def _rewrite(pod: Pod, system: System, name: str) -> str:
    """The label and the PodGroup that say the same to Coscheduling, with the minimum where the keys tell it."""
    if not is_object_name(name):
        return f"write the label {GROUP_LABEL} with the name of a PodGroup of scheduling.x-k8s.io/v1alpha1"
    found = (pod.annotations.get(size) or pod.labels.get(size) for size in system.sizes)
    size = next((size for size in found if size), "")
    return f"write the label {GROUP_LABEL}: {name}, and a PodGroup {name}" + (
        f" with minMember: {size}" if size else ""
    )
