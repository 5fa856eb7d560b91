from __future__ import annotations

from collections.abc import Iterator

from webhook.model import GROUP_LABEL, Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import OLD_GROUP_LABEL, Stack


@rule(Pod, Severity.ERROR, evidence="seen", over=("foreign-gang-key",))
def pod_group_annotation(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The gang's name is written as an annotation, where Coscheduling never looks.

    Coscheduling reads only the label `scheduling.x-k8s.io/pod-group` (scheduler-plugins pkg/util/podgroup.go:51-62);
    with the name in an annotation and no such label the Pod is an ordinary Pod. It starts at once and alone, with no
    event that says so: one Pod of a group with minMember 3 was bound after 0.03 s. HAMi 2.10 retries its node lock
    only for Pods with the label (pkg/util/util.go:392-403), so gangs on one node also lose that.

    With the label there and another name in the annotation, the label wins. With the same name in both, the gang works
    and the annotation has no effect: a warning, never a refusal.
    """
    for key in (GROUP_LABEL, OLD_GROUP_LABEL):
        if key not in pod.annotations:
            continue
        written = pod.annotations[key]
        place = pod.annotation(key)
        if not pod.group:
            yield Finding(
                place,
                f"{pod} names its gang {written!r} in an annotation; Coscheduling reads only the label "
                f"{GROUP_LABEL}, so its Pods start one by one",
                fix=f"move it to labels: {GROUP_LABEL}: {written}",
            )
        elif pod.group != written:
            yield Finding(
                place,
                f"{pod} has the annotation {key}: {written} and the label {GROUP_LABEL}: {pod.group}; "
                f"the label counts, it is a member of {pod.group}",
                fix="remove the annotation, or write the right name in the label",
            )
        else:
            yield Finding(
                place,
                f"the annotation {key} has no effect: {pod} is a member of {pod.group} by its label",
                fix="remove the annotation",
                severity=Severity.WARNING,
            )
