from __future__ import annotations

from collections.abc import Iterator

from webhook.model import GROUP_LABEL, Place, Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="seen")
def native_gang_ignored(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The Pod names its gang by Kubernetes' own field, which Coscheduling does not read.

    `spec.workloadRef` (Kubernetes 1.35) and `spec.schedulingGroup` (1.36 and later) belong to the scheduler's own gang
    plugin, which is off by default in 1.35 to 1.37. scheduler-plugins v0.34.7 is built on 1.34 and cannot even decode
    the fields. Without that plugin the Pod is an ordinary Pod: a scheduler of 1.35 without the feature gate started one
    Pod of a workloadRef gang of two alone (seen). An API server of 1.35 drops workloadRef without a warning while the
    gate is off, and kubectl refuses schedulingGroup there (seen). HAMi 2.10 retries its node lock for schedulingGroup
    as for the label (pkg/util/util.go:392-403).

    So this is an info while nobody said what the scheduler has (`native_gang` of the stack), and a warning where it is
    declared to lack the plugin. A Pod with both, the field and Coscheduling's label, gets a warning: neither system
    sees the other, and where both run the Pod waits for both.
    """
    if not pod.native or stack.is_foreign(pod):
        return
    place = Place(pod.ref, pod.native_path)
    field = "workloadRef" if "workloadRef" in pod.native_path else "schedulingGroup"
    if pod.group:
        yield Finding(
            place,
            f"{pod} is in two gangs: {pod.native} by spec.{field}, {pod.group} by the label {GROUP_LABEL}; "
            "neither system counts for the other",
            fix="keep the one that your scheduler reads",
            related=(Related(pod.label(GROUP_LABEL), "Coscheduling reads this"),),
        )
    elif stack.native_gang is False:
        yield Finding(
            place,
            f"spec.{field} of {pod} names the gang {pod.native}, but the scheduler has no gang plugin that reads it: "
            "its Pods start one by one",
            fix=_rewrite(pod),
        )
    elif stack.native_gang is None and stack.is_coscheduled(pod):
        yield Finding(
            place,
            f"spec.{field} of {pod} names the gang {pod.native}; Coscheduling does not read it, only a scheduler with "
            "Kubernetes' own gang scheduling switched on does",
            fix=_rewrite(pod),
            severity=Severity.INFO,
        )


def _rewrite(pod: Pod) -> str:
    return (
        f"for Coscheduling write the label {GROUP_LABEL}: {pod.native}, and a PodGroup of scheduling.x-k8s.io/v1alpha1"
    )
