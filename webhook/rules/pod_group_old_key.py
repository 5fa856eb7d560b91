from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import FIRST_MIN_LABEL, FIRST_NAME_LABEL, X_K8S_SINCE, names_group
from webhook.model import DEFAULT_SCHEDULER, GROUP_LABEL, Pod
from webhook.rule import Confidence, Edit, Finding, Related, Severity, labelled, rule
from webhook.stack import OLD_GROUP_LABEL, Stack

_SINCE = {OLD_GROUP_LABEL: "0.25", FIRST_NAME_LABEL: "0.19"}


@rule(Pod, Severity.ERROR, evidence="read")
def pod_group_old_key(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The pod-group label has an old or a misspelt key that Coscheduling does not read.

    scheduler-plugins v0.25 renamed `pod-group.scheduling.sigs.k8s.io` to `scheduling.x-k8s.io/pod-group` and converts
    nothing (apis/scheduling/v1alpha1/types.go:115 of v0.25.12). The pair `…/name` and `…/min-available` is that of
    v0.18, before PodGroup objects existed. `scheduling.sigs.k8s.io/pod-group` and other near misses were never read.
    Such Pods are ordinary Pods: they start one by one, the minimum is ignored, and HAMi's lock retry is off.

    The old keys are right for Koordinator's scheduler (apis/extension/coscheduling.go:29-110) and for Coscheduling
    before v0.25, where the stack declares that. Under a scheduler that gangcheck does not know, an old key is a
    warning; with the right label beside it, it has no effect and is a warning too.
    """
    unread = (key for key, value in pod.labels.items() if value and key != GROUP_LABEL and names_group(key))
    keys = [key for key in unread if not _is_read(key, pod, stack)]
    if not keys or stack.is_foreign(pod):
        return
    key, *others = keys
    severity, confidence = _how_sure(key, pod, stack)
    yield Finding(
        pod.label(key),
        _message(key, pod),
        fix=_fix(key, pod, stack),
        severity=severity,
        confidence=confidence,
        related=tuple(Related(pod.label(other), "this one is not read either") for other in others),
        edits=_edits(key, pod, stack) if confidence == "high" else (),
    )


def _edits(key: str, pod: Pod, stack: Stack) -> tuple[Edit, ...]:
    """The label renamed; v0.18's pair wants a PodGroup too, which no edit of the Pod makes."""
    removed = Edit("remove", pod.label(key))
    if pod.group:
        return (removed,)
    label = labelled(pod, OLD_GROUP_LABEL if _is_old(stack) else GROUP_LABEL, pod.labels[key])
    return (removed, *label) if label and FIRST_MIN_LABEL not in pod.labels else ()


def _message(key: str, pod: Pod) -> str:
    if pod.group:
        return f"the label {key} has no effect: {pod} is a member of {pod.group} by {GROUP_LABEL}"
    unread = f"Coscheduling has not read since v{_SINCE[key]}" if key in _SINCE else "nothing reads"
    return f"{pod} names its gang {pod.labels[key]!r} by the label {key}, which {unread}: its members start one by one"


def _fix(key: str, pod: Pod, stack: Stack) -> str:
    if pod.group:
        return f"remove the label {key}"
    right = OLD_GROUP_LABEL if _is_old(stack) else GROUP_LABEL
    name, minimum = pod.labels[key], pod.labels.get(FIRST_MIN_LABEL, "")
    fix = f"write the label {right}: {name}"
    return f"{fix}, and a PodGroup {name} with minMember: {minimum}" if minimum else fix


def _is_old(stack: Stack) -> bool:
    return stack.coscheduling is not None and stack.coscheduling < X_K8S_SINCE


def _is_read(key: str, pod: Pod, stack: Stack) -> bool:
    """Whether this installation reads the key: an old Coscheduling, or Koordinator by what else the Pod carries."""
    if key not in _SINCE:
        return False
    if stack.coscheduling is not None and _is_old(stack):
        return (key == FIRST_NAME_LABEL) == (stack.coscheduling < (0, 19))
    koordinator = any("koordinator.sh/" in entry for entry in (*pod.labels, *pod.annotations))
    return koordinator and pod.scheduler not in stack.coscheduling_schedulers


def _how_sure(key: str, pod: Pod, stack: Stack) -> tuple[Severity, Confidence]:
    known = stack.is_coscheduled(pod) or pod.scheduler in {"", DEFAULT_SCHEDULER}
    if pod.group:
        return Severity.WARNING, "high"
    return (Severity.ERROR, "high") if known or key not in _SINCE else (Severity.WARNING, "low")
