from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.gangkeys import is_led_away, makes_groups, operator_of, unproven_scheduler, waiting
from webhook.model import Gang, Place, Pod, Stage, Workload, dig
from webhook.roster import at_most, counted, plural, quorum
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang | Workload, Severity.ERROR, evidence="seen")
def gang_starts_in_stages(subject: Gang | Workload, stack: Stack) -> Iterator[Finding]:
    """A workload makes its Pods in stages, and the gang waits for Pods that are made only after it runs.

    Coscheduling binds no member before minMember Pods exist; the controller makes the later Pods only when the earlier
    ones are Ready. Neither gives way: the first Pod stays Pending with `cannot find enough sibling pods, current pods
    number: 1, minMember of group: 3` and nothing else is ever created.

    Seen to hang: StatefulSet with OrderedReady (the default of podManagementPolicy), MPIJob with WaitForWorkersReady,
    JobSet with InOrder, dependsOn or exclusive-topology, LeaderWorkerSet with LeaderReady, TrainJob whose runtime has
    dependsOn: an error. Known from the source only, such as Spark's executors, which the running driver makes: a
    warning. It is no mistake where the first stage reaches minMember: MPIJob with minMember = workers works, JobSet
    AnyOrder, LeaderCreated and podManagementPolicy Parallel too (seen).

    Operators make such gangs of their own: Trainer puts every job of a runtime with podGroupPolicy.coscheduling into
    one (minMember is the sum of all), MPI operator with its gang flag the launcher and all workers unless
    schedulingPolicy.minAvailable says less. The latter is said only where the stack declares the operator, as a warning
    where nobody said that the scheduler of its flag runs Coscheduling.
    """
    if isinstance(subject, Workload):
        yield from _made_into_a_gang(subject, stack)
    else:
        yield from _in_one_gang(subject, stack)


def _in_one_gang(gang: Gang, stack: Stack) -> Iterator[Finding]:
    wanted = quorum(gang)
    members = counted(gang)
    first = _in_first_stage(members)
    if gang.group is None or wanted is None or first is None or first >= wanted or not waiting(gang, stack):
        return
    total = at_most(members)
    sure = total is None or total >= wanted or gang.whole
    for place, (pod, stage) in _by_field(members).items():
        yield Finding(
            place,
            f"{pod.ref} {stage.why}: {plural(first, 'Pod')} of gang {gang.name} at first, and minMember {wanted} "
            "holds these back for ever",
            fix=stage.cure,
            severity=Severity.ERROR if stage.seen and sure else Severity.WARNING,
            related=(Related(gang.group.field("minMember"), f"minMember {wanted}"),),
        )


def _in_first_stage(members: Sequence[Pod]) -> int | None:
    """How many members exist before any of them runs; None where nobody knows, or where all start together."""
    stages = [_stage(pod, members) for pod in members]
    if not any(stages):
        return None
    total = 0
    for pod, stage in zip(members, stages, strict=True):
        most = pod.count.most
        if stage is not None:
            total += stage.first if most is None else min(stage.first, most)
        elif most is None:
            return None
        else:
            total += most
    return total


def _stage(pod: Pod, members: Sequence[Pod]) -> Stage | None:
    """Why a member comes late; None where it waits only for Pods outside the gang, which start without it."""
    stage = pod.count.stage
    if stage is None or not stage.after:
        return stage
    held = any(other.ref == pod.ref and other.role in stage.after for other in members)
    return stage if held else None


def _by_field(members: Sequence[Pod]) -> Mapping[Place, tuple[Pod, Stage]]:
    """One member that comes later, and why, for each field that makes it so."""
    fields: dict[Place, tuple[Pod, Stage]] = {}
    for pod in members:
        stage = _stage(pod, members)
        if stage is not None:
            fields.setdefault(Place(pod.ref, stage.path, "key"), (pod, stage))
    return fields


def _made_into_a_gang(workload: Workload, stack: Stack) -> Iterator[Finding]:
    """The gang that an operator makes of a workload whose templates carry no label."""
    ours = [pod for pod in workload.pods if not stack.is_foreign(pod) and not is_led_away(pod, stack)]
    operator = _gang_maker(workload, stack)
    if not any(pod.count.stage for pod in ours) or not operator or any(pod.group for pod in workload.pods):
        return
    wanted = dig(workload.body, "spec", "runPolicy", "schedulingPolicy", "minAvailable")
    first = _in_first_stage(workload.pods)
    if isinstance(wanted, int) and first is not None and first >= wanted:
        return
    certain = not unproven_scheduler(workload.pods, stack)
    for place, (_, stage) in _by_field(ours).items():
        yield Finding(
            place,
            f"{workload.ref} {stage.why}, and {operator} makes all its Pods one gang: the first ones wait for the "
            "others for ever",
            fix=stage.cure,
            severity=Severity.ERROR if stage.seen and certain else Severity.WARNING,
        )


def _gang_maker(workload: Workload, stack: Stack) -> str:
    """The operator that makes one gang of all Pods of a workload; empty for none that is known to."""
    operator = operator_of(workload.ref)
    if operator == "trainer":
        coscheduled = dig(workload.body, "spec", "podGroupPolicy", "coscheduling")
        return "Trainer" if isinstance(coscheduled, Mapping) else ""
    return "MPI operator" if operator == "mpi-operator" and makes_groups(operator, stack) else ""
