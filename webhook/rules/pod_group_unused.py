from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import MAX_LABEL, operator_of, waiting
from webhook.model import GROUP_LABEL, Gang, Place, PodGroup
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang, Severity.WARNING, evidence="read", lint_only=True)
def pod_group_unused(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """No Pod of the input names the PodGroup.

    A PodGroup does nothing by itself: Pods join it by the label `scheduling.x-k8s.io/pod-group` with its name, in its
    namespace (scheduler-plugins pkg/util/podgroup.go:51-62). Its own labels are not read, nor has it a selector.

    Its Pods may come from elsewhere, so this is an info; a warning where the label stands on the PodGroup itself, or
    where a workload of the PodGroup's own name makes Pods without it.
    """
    group = gang.group
    if group is None or gang.members or gang.strays or group.made_by:
        return
    if waiting(gang._replace(members=gang.elsewhere), stack):  # other rules say that these miss the PodGroup
        return
    if len(group.ref.name) > MAX_LABEL:
        return
    if GROUP_LABEL in group.labels:
        yield _label_on_group(group)
        return
    bare = [
        pod
        for workload in gang.workloads
        if operator_of(workload.ref) is None
        for pod in workload.pods
        if not stack.is_foreign(pod)
    ]
    meant = f": Pods of {bare[0]} lack the label {GROUP_LABEL}" if bare else ""
    yield Finding(
        Place(group.ref, ("metadata", "name")),
        f"no Pod of the input names the PodGroup {group.ref.name} of namespace {group.ref.namespace}{meant}",
        fix=f"write {GROUP_LABEL}: {group.ref.name} in the labels of its Pods, or remove the PodGroup",
        severity=Severity.WARNING if bare else Severity.INFO,
        related=tuple(Related(Place(pod.ref, pod.metadata, "key"), "no pod-group label here") for pod in bare[:3]),
    )


def _label_on_group(group: PodGroup) -> Finding:
    return Finding(
        Place(group.ref, ("metadata", "labels", GROUP_LABEL), "key"),
        f"the label {GROUP_LABEL} is on the PodGroup {group.ref.name} itself, where nothing reads it, and on no Pod "
        "of the input",
        fix=f"write {GROUP_LABEL}: {group.ref.name} in the labels of its Pods",
        severity=Severity.WARNING,
    )
