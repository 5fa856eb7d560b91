from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import RAY_GANG_LABEL, RAY_SCHEDULER, makes_groups, operator_of
from webhook.model import GROUP_LABEL, Gang, Place, Pod, Workload
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Operator, Stack

_NAMES: dict[Operator, str] = {
    "mpi-operator": "MPI operator",
    "training-operator": "Training Operator",
    "kuberay": "KubeRay",
}


@rule(Workload | Gang, Severity.WARNING, evidence="seen")
def operator_overrides_label(subject: Workload | Gang, stack: Stack) -> Iterator[Finding]:
    """An operator overwrites the gang's label or the schedulerName that the manifest gives.

    With its gang flag on, an operator makes the PodGroup itself, named as the job, and writes that name into the label
    of every Pod: MPI operator (podgroup.go:294-303, seen on 0.6.0), Training Operator (podgroup_control.go:131-140,
    read), KubeRay for RayClusters with the label ray.io/gang-scheduling-enabled (seen on 1.5.0). A PodGroup of another
    name, made by hand, then has no members. MPI operator and KubeRay overwrite schedulerName as well; Training Operator
    keeps one that is set.

    MPI operator stops with `Resource "e" of Kind "PodGroup" already exists and is not managed by MPIJob`, and makes no
    Pods, where somebody else made a PodGroup of the job's name (seen). Said only of operators that the stack declares;
    of one whose flag names Volcano only that MPI operator overwrites schedulerName then too (podgroup.go:159-163).
    """
    if isinstance(subject, Gang):
        yield from _taken_name(subject, stack)
        return
    operator = operator_of(subject.ref)
    if operator is None or operator not in _NAMES or operator not in stack.operators or not subject.ref.name:
        return
    if operator == "kuberay" and subject.ref.kind != "RayCluster":
        return
    if makes_groups(operator, stack) and (operator != "kuberay" or RAY_GANG_LABEL in subject.labels):
        yield from _labels(subject, _NAMES[operator])
    scheduler = _written_scheduler(subject, operator, stack)
    if scheduler:
        yield from _schedulers(subject, _NAMES[operator], scheduler)


def _written_scheduler(workload: Workload, operator: Operator, stack: Stack) -> str:
    """The schedulerName that an operator writes over the template's; empty where `ray-job-gang` says it, or none."""
    if operator == "mpi-operator":
        return stack.operators[operator]
    if operator == "training-operator" or not makes_groups(operator, stack):
        return ""
    bypasses = stack.hami_scheduler != RAY_SCHEDULER and any(stack.wants_device(pod) for pod in workload.pods)
    return "" if bypasses else RAY_SCHEDULER


def _labels(workload: Workload, operator: str) -> Iterator[Finding]:
    wrong = [pod for pod in workload.pods if pod.group and pod.group != workload.ref.name]
    if not wrong:
        return
    yield Finding(
        wrong[0].label(GROUP_LABEL),
        f"{operator} makes a PodGroup {workload.ref.name} and overwrites the label of {wrong[0]} with that name: its "
        f"Pods are no members of {wrong[0].group}",
        fix=f"remove the label, or write {workload.ref.name}",
        related=_too(wrong, GROUP_LABEL),
    )


def _too(pods: list[Pod], key: str) -> tuple[Related, ...]:
    return tuple(Related(pod.label(key), f"{pod} too") for pod in pods[1:])


def _schedulers(workload: Workload, operator: str, scheduler: str) -> Iterator[Finding]:
    wrong = [pod for pod in workload.pods if pod.scheduler and pod.scheduler != scheduler]
    if not wrong:
        return
    yield Finding(
        wrong[0].field("schedulerName"),
        f"{operator} overwrites schedulerName: {wrong[0].scheduler} of {wrong[0]} with {scheduler}",
        fix="remove schedulerName, or change the operator's gang flag",
        related=tuple(Related(pod.field("schedulerName"), f"{pod} too") for pod in wrong[1:]),
    )


def _taken_name(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """A PodGroup made by hand that MPI operator will find in its way."""
    if gang.group is None or gang.group.made_by or not makes_groups("mpi-operator", stack):
        return
    for workload in gang.workloads:
        if operator_of(workload.ref) != "mpi-operator" or workload.ref.name != gang.name:
            continue
        yield Finding(
            Place(gang.group.ref, ("metadata", "name")),
            f"MPI operator stops at {gang.group.ref}, which it did not make: {workload.ref} then gets no Pods",
            fix="remove the PodGroup, the operator makes it; set minAvailable in spec.runPolicy.schedulingPolicy",
            related=(Related(Place(workload.ref, ("metadata", "name")), "the job of the same name"),),
        )
