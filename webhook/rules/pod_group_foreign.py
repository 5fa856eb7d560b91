from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import OLD_GROUP_API, misplaced, owner_of, waiting
from webhook.model import GROUP_API, GROUP_LABEL, Gang, Place, Pod, PodGroup, dig
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang, Severity.ERROR, evidence="read")
def pod_group_foreign(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """The PodGroup that Coscheduling's Pods name is of another API group, where Coscheduling does not look.

    Six systems have a kind PodGroup: scheduling.x-k8s.io (Coscheduling), scheduling.sigs.k8s.io (scheduler-plugins
    before v0.25, Koordinator), scheduling.volcano.sh, scheduling.run.ai, scheduling.godel.kubewharf.io and
    scheduling.k8s.io (Kubernetes 1.36 and later). They share the name `podgroup`, some the short name `pg`.
    Coscheduling asks only for scheduling.x-k8s.io/v1alpha1 (pkg/coscheduling/core/core.go:392-402): Pods with its label
    stay Pending with "PodGroup not found" although `kubectl get podgroup` shows one.

    Pods of the other system's scheduler are left alone, and scheduling.sigs.k8s.io is right before v0.25. Of
    scheduling.x-k8s.io there is no version but v1alpha1 (config/crd/bases): the API server refuses all others.
    """
    if gang.group and gang.group.ref.api_version != f"{GROUP_API}/v1alpha1":
        yield _of_no_version(gang.group)
        return
    pods = waiting(gang, stack) or tuple(pod for pod in gang.strays if not stack.is_foreign(pod))
    if not pods:
        return
    for group in misplaced(gang, stack):
        yield _finding(group, gang, pods)


def _of_no_version(group: PodGroup) -> Finding:
    return Finding(
        Place(group.ref, ("apiVersion",)),
        f"{group.ref} is of {group.ref.api_version}; there is no version of {GROUP_API} but v1alpha1, so it is refused",
        fix=f"write apiVersion: {GROUP_API}/v1alpha1",
    )


def _finding(group: PodGroup, gang: Gang, pods: tuple[Pod, ...]) -> Finding:
    owner = owner_of(group.ref.group)
    what = f"belongs to {owner} ({group.ref.api_version})" if owner else f"is of {group.ref.api_version}"
    if group.ref.group == OLD_GROUP_API:
        what = f"is of {group.ref.api_version}, which scheduler-plugins v0.25 left behind"
    symptom = "its Pods stay Pending with 'PodGroup not found'" if gang.members else "it does not see this one"
    return Finding(
        Place(group.ref, ("apiVersion",)),
        f"PodGroup {gang.name} {what}; Coscheduling reads only {GROUP_API}/v1alpha1: {symptom}",
        fix=f"write apiVersion: {GROUP_API}/v1alpha1{_minimum(group)}",
        related=(_user(pods[0], gang),),
    )


def _minimum(group: PodGroup) -> str:
    """What to write in spec, where the other system spells the minimum in another way."""
    count = dig(group.fields, "schedulingPolicy", "gang", "minCount")
    return f" and spec.minMember: {count}" if isinstance(count, int) else ""


def _user(pod: Pod, gang: Gang) -> Related:
    place = pod.label(GROUP_LABEL, "value") if pod.group else Place(pod.ref, pod.metadata, "key")
    return Related(place, f"{pod} names it")
