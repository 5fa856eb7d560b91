from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.gangkeys import RAY_GANG_LABEL, makes_groups, operator_of, unproven_scheduler
from webhook.model import Container, Path, Place, PodGroup, Workload, dig
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack

_BY_USER: Path = ("spec", "runPolicy", "schedulingPolicy", "minResources")
"""Where a user of MPI operator or Training Operator writes the group's minResources, which then are taken as is."""


@rule(PodGroup | Workload, Severity.ERROR, evidence="seen")
def min_resources_unsatisfiable(subject: PodGroup | Workload, stack: Stack) -> Iterator[Finding]:
    """A PodGroup's minResources ask for what no node advertises, so the gang waits for ever.

    Coscheduling compares minResources with the sum of the nodes' allocatable, and a resource that is missing there
    counts as 0. HAMi keeps GPU memory, cores and percentages in node annotations, not in allocatable, so the gang stays
    Pending with `resource gap: map[nvidia.com/gpumem:…]` though the cards are free (seen). The device count
    (`nvidia.com/gpu`), cpu and memory are fine there. Only HAMi's optional mockDevicePlugin (off by default) publishes
    these names: an error where the stack says that it is off, a warning where nobody said.

    Operators fill minResources from the containers, each in its own way, so no manifest shows it:
    MPI operator and KubeRay sum requests, and limits for what requests lack (seen: `nvidia.com/gpumem: 6k`, 0 of 3
    bound); Training Operator requests, or limits where a container has no requests at all (util.go:79-140); Trainer
    requests only (seen). Said of an operator that the stack declares, and of runtimes with podGroupPolicy.coscheduling.
    """
    if stack.mock_device_plugin:
        return
    severity = Severity.WARNING if stack.mock_device_plugin is None else Severity.ERROR
    if isinstance(subject, PodGroup):
        yield from _written(subject, stack, severity)
    else:
        yield from _computed(subject, stack, severity)


def _written(group: PodGroup, stack: Stack, severity: Severity) -> Iterator[Finding]:
    if not group.is_coscheduling:
        return
    for name, value in group.min_resources.items():
        if name not in stack.annotated_names or str(value) == "0":
            continue
        maker = f"; the {group.made_by} that owns it computed it from its containers" if group.made_by else ""
        yield Finding(
            group.field("minResources", name, at="key"),
            f"{group.ref} wants {name}: {value} in minResources, which HAMi keeps out of the nodes' allocatable: the "
            f"gang waits for ever{maker}",
            fix=f"remove {name} from minResources",
            severity=min(severity, Severity.WARNING) if group.made_by else severity,
            edits=() if group.made_by else (Edit("remove", group.field("minResources", name)),),
        )


def _computed(workload: Workload, stack: Stack, severity: Severity) -> Iterator[Finding]:
    """What an operator will write into the PodGroup that it makes for a workload."""
    summed = _summed_by(workload, stack)
    if summed is None:
        return
    operator, kinds = summed
    places = [
        Place(workload.ref, (*container.path, "resources", half, name), "key")
        for pod in workload.pods
        for container in pod.containers
        if container.role == "app"
        for half, name in _counted(container, kinds)
        if name in stack.annotated_names
    ]
    if not places:
        return
    name = places[0].path[-1]
    yield Finding(
        places[0],
        f"{operator} will sum {name} of {workload.ref} into its PodGroup's minResources; HAMi keeps it out of the "
        "nodes' allocatable, so the gang waits for ever",
        fix=_CURES[operator],
        severity=min(severity, Severity.WARNING) if unproven_scheduler(workload.pods, stack) else severity,
        related=tuple(Related(place, "summed too") for place in places[1:]),
    )


_CURES = {
    "MPI operator": "set spec.runPolicy.schedulingPolicy.minResources to what nodes advertise, such as nvidia.com/gpu",
    "Training Operator": "set spec.runPolicy.schedulingPolicy.minResources to what nodes advertise, such as "
    "nvidia.com/gpu",
    "KubeRay": "turn on HAMi's mockDevicePlugin, or make the PodGroup by hand and drop the label " + RAY_GANG_LABEL,
    "Trainer": "write it under limits only",
}


def _summed_by(workload: Workload, stack: Stack) -> tuple[str, str] | None:
    """Which operator computes minResources for this workload, and how: both, requests, or limits without requests."""
    operator, kind = operator_of(workload.ref), workload.ref.kind
    if operator == "trainer":
        coscheduled = dig(workload.body, "spec", "podGroupPolicy", "coscheduling")
        return ("Trainer", "requests") if isinstance(coscheduled, Mapping) else None
    if not makes_groups(operator, stack):
        return None
    if operator == "kuberay":
        return ("KubeRay", "both") if kind == "RayCluster" and RAY_GANG_LABEL in workload.labels else None
    if dig(workload.body, *_BY_USER) is not None:
        return None
    names = {"mpi-operator": ("MPI operator", "both"), "training-operator": ("Training Operator", "either")}
    return names.get(operator or "")


def _counted(container: Container, kinds: str) -> Iterator[tuple[str, str]]:
    """The half and the name of each resource that is summed; 0 adds nothing."""
    for half, resources in (("requests", container.requests), ("limits", container.limits)):
        if half == "limits" and (kinds == "requests" or (kinds == "either" and container.requests)):
            continue
        for name, value in resources.items():
            if str(value) != "0" and not (half == "limits" and name in container.requests):
                yield half, name
