from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.gangkeys import is_led_away, unread_keys, waiting
from webhook.model import GROUP_LABEL, Gang, Member, Place, Pod, Workload, dig
from webhook.roster import at_least, at_most, counted, minimum, plural, roll, set_by
from webhook.rule import Edit, Finding, Related, Severity, enumerated, labelled, rule
from webhook.stack import Stack

_PLACES_SHOWN = 8
_BOUNDS = frozenset({"minReplicas", "maxReplicas", "replicas"})
"""The fields that an autoscaler sets or is bound by. Others that are not known exactly are filled in by a template."""


@rule(Gang | Member, Severity.WARNING, evidence="seen")
def below_min_member(subject: Gang | Member, stack: Stack) -> Iterator[Finding]:
    """A gang has fewer members alive at once than its PodGroup's minMember.

    Coscheduling's PreFilter turns every member away while fewer than minMember Pods of the namespace carry the label:
    all stay Pending, with `cannot find enough sibling pods, current pods number: 2, minMember of group: 3`, and are
    bound within 0.1 s of the last one's arrival (seen). It counts Pods of any scheduler; a Succeeded or Failed Pod
    does not count. A Job has min(parallelism, completions) Pods at once, however many completions it has in all; a
    suspended one is counted as if resumed; absent replicas or parallelism mean 1.

    minMember is a lower bound: more members are no mistake. Members are added up over all objects and files of the
    input; where several folders have a PodGroup of the name (dev and prod), each counts what is nearest to it. What is
    not in the input is unknown, so this is never more than a warning. A Deployment or StatefulSet that an autoscaler
    of the input scales (HorizontalPodAutoscaler, KEDA's ScaledObject) has at most the autoscaler's maximum; one without
    replicas may have an autoscaler that is not in the input, so that is a guess. Where an autoscaler's minimum is below
    minMember, the gang starts but a member that is placed anew after scaling in waits for ever.

    Where the other templates of a member's own object carry no group, and with their Pods minMember would be reached,
    the label was left out there: a PyTorchJob's Master belongs to the gang of its Workers.

    At admission a gang arrives piece by piece, and an incomplete one is no mistake. A Pod that no controller made is
    told how many of minMember there are so far, unless the gang or its PodGroup is just being made. A workload is told
    that it falls short where no other member is there and it is meant to be the whole gang: it has the gang's name, or
    roles of its own as a PyTorchJob has, or completions that would do with a higher parallelism.
    """
    if isinstance(subject, Member):
        yield from _progress(subject, stack)
    else:
        yield from _of_gang(subject, stack)


def _progress(member: Member, stack: Stack) -> Iterator[Finding]:
    wanted, have = minimum(member.group), member.members + 1
    if wanted is None or have >= wanted or not member.quiet or member.growing:
        return
    pod = member.pod
    if pod.owner or pod.finished or stack.is_foreign(pod):
        return
    yield Finding(
        pod.label(GROUP_LABEL, "value"),
        f"gang {pod.group} has {have} of {wanted} members so far; normal while the rest are being created",
        fix=f"create {plural(wanted - have, 'more member')}",
    )


def _of_gang(gang: Gang, stack: Stack) -> Iterator[Finding]:
    wanted = minimum(gang.group)
    members = counted(gang)
    most = at_most(members)
    if gang.group is None or wanted is None or most is None or not waiting(gang, stack):
        return
    if most >= wanted:
        yield from _scaled_in(gang, gang.group.field("minMember"), members, wanted)
        return
    bare = _bare(gang, stack)
    unread = _lost(gang, bare, wanted - most, stack)
    if unread is None or (gang.partial and not _is_meant_alone(gang, wanted)):
        return
    reached = most + unread + (at_most(bare) or 0)
    if bare and reached >= wanted:
        yield _half_labelled(gang, bare, (most, wanted), unread)
        return
    yield Finding(
        _at(gang, members),
        _message(gang, members, (most, wanted), unread),
        fix=_fix(members, (most, wanted), unread),
        confidence="low" if _may_be_scaled(gang) else "high",
        related=_places(members, _misnamed(gang, bare)),
    )


def _half_labelled(gang: Gang, bare: Sequence[Pod], counts: tuple[int, int], unread: int) -> Finding:
    """The members' own objects have the missing ones, in templates without the label."""
    most, wanted = counts
    members = counted(gang)
    wrongly = f", {unread} more name{'s' if unread == 1 else ''} it wrongly" if unread else ""
    mend = f"mend the label of {unread} and " if unread else ""
    lacking = f"{roll(bare)} {'lacks' if len(bare) == 1 else 'lack'} the pod-group label"
    exact = most + unread + (at_most(bare) or 0) == wanted
    return Finding(
        _at(gang, members),
        f"gang {gang.name} has {most} of {wanted} members: {roll(members)}{wrongly}; {lacking}",
        fix=f"{mend}label {enumerated([pod.role or str(pod.ref) for pod in bare])} too: {GROUP_LABEL}: {gang.name}",
        confidence="low" if _may_be_scaled(gang) else "high",
        related=(
            *_places(members, _misnamed(gang, bare)),
            *(Related(Place(pod.ref, pod.metadata, "key"), "no pod-group label here") for pod in bare),
        ),
        edits=tuple(_edits(gang, bare)) if exact and not unread else (),
    )


def _edits(gang: Gang, bare: Sequence[Pod]) -> Iterator[Edit]:
    """The label for each template. It is certain where all of them together are just as many as are missing."""
    bodies = {workload.ref: workload.body for workload in gang.workloads}
    for pod in bare:
        metadata = dig(bodies[pod.ref], *pod.metadata)
        edits = labelled(pod, GROUP_LABEL, gang.name)
        if metadata is None and edits:
            yield Edit("add", Place(pod.ref, pod.metadata), {"labels": {GROUP_LABEL: gang.name}})
        elif isinstance(metadata, Mapping):
            yield from edits


def _bare(gang: Gang, stack: Stack) -> tuple[Pod, ...]:
    """The templates beside those of the members, in the same objects, that name no group in any way and could be of
    this one: no other system's, and none that waits for the others to run."""
    return tuple(
        pod
        for workload in gang.workloads
        for pod in workload.pods
        if pod.count.most
        and not pod.count.stage
        and not (pod.group or pod.native or any(unread_keys(pod)))
        and not (stack.is_foreign(pod) or is_led_away(pod, stack))
    )


def _misnamed(gang: Gang, bare: Sequence[Pod]) -> tuple[Pod, ...]:
    """The strays that name the group themselves; a label on their object above is no more than its members have."""
    unlabelled = {(pod.ref, pod.spec) for pod in bare}
    return tuple(pod for pod in gang.strays if (pod.ref, pod.spec) not in unlabelled)


def _at(gang: Gang, members: Sequence[Pod]) -> Place:
    """minMember, or at admission, where the PodGroup is not at hand, the number of the members."""
    return set_by(members[0]) if gang.partial or gang.group is None else gang.group.field("minMember")


def _places(members: Sequence[Pod], misnamed: Sequence[Pod]) -> tuple[Related, ...]:
    return (
        *(Related(set_by(pod), _label(pod)) for pod in members[:_PLACES_SHOWN]),
        *(Related(set_by(pod), "names it wrongly") for pod in misnamed[:_PLACES_SHOWN]),
    )


def _may_be_scaled(gang: Gang) -> bool:
    """Whether replicas are left out where a reader may leave them to an autoscaler outside the input."""
    return any(
        workload.ref.kind in {"Deployment", "StatefulSet"} and dig(workload.body, "spec", "replicas") is None
        for workload in gang.workloads
    )


def _is_meant_alone(gang: Gang, wanted: int) -> bool:
    """Whether the one object at hand is meant to be the whole gang, and no launcher or worker of a larger one."""
    if len(gang.workloads) != 1:
        return False
    workload = gang.workloads[0]
    named = workload.ref.name and f"{gang.name}-".startswith(f"{workload.ref.name}-")
    roles = any(pod.role for pod in gang.members)
    return bool(named) or roles or any(_would_do(workload, pod, wanted) for pod in gang.members)


def _would_do(workload: Workload, pod: Pod, wanted: int) -> bool:
    """Whether one of a Job's two numbers reaches minMember, and only the other holds it down."""
    job = dig(workload.body, *pod.spec[:-2])
    numbers = (dig(job, "completions"), dig(job, "parallelism"))
    return any(isinstance(number, int) and number >= wanted for number in numbers)


def _lost(gang: Gang, bare: Sequence[Pod], missing: int, stack: Stack) -> int | None:
    """How many more name the gang where Coscheduling does not look; None where they are why it is short, which
    other rules say: members in a namespace without the PodGroup, a label written wrongly, or a gang that has started
    and whose first members are done."""
    finished = len(gang.members) - len(counted(gang))
    elsewhere = at_most(waiting(gang._replace(members=gang.elsewhere), stack))
    strays = at_most(_misnamed(gang, bare))
    if elsewhere is None or strays is None or max(elsewhere, strays, finished, elsewhere + strays) >= missing:
        return None
    return strays


def _message(gang: Gang, members: Sequence[Pod], counts: tuple[int, int], unread: int) -> str:
    most, wanted = counts
    ends = "all stay Pending" if gang.whole else f"they wait for {wanted - most} more"
    alone = len(members) == 1 and members[0].is_template
    if unread:
        said = f"gang {gang.name} has {most} of {wanted} members: {roll(members)}"
        ends = f"{unread} more name{'s' if unread == 1 else ''} it wrongly"
    elif alone:
        at_once = plural(most, "Pod") if most else "no Pod"
        said = (
            f"{members[0]} can never reach minMember {wanted} of gang {gang.name} by itself: it has {at_once} at once"
        )
    elif gang.partial:
        said = f"{members[0].ref} brings {plural(most, 'member')} of gang {gang.name}, minMember is {wanted}"
    elif gang.whole:
        said = f"gang {gang.name} can never reach minMember {wanted}: it has {plural(most, 'member')}, {roll(members)}"
    else:
        said = f"gang {gang.name} has {plural(most, 'member')} in the input, minMember is {wanted}: {roll(members)}"
    return f"{said}; {ends}" if most else said


def _fix(members: Sequence[Pod], counts: tuple[int, int], unread: int) -> str:
    most, wanted = counts
    lower = f", or set minMember: {most + unread}" if most else ""
    if unread:
        return f"mend the label of {unread} and add {plural(wanted - most - unread, 'member')}{lower}"
    if len(members) == 1 and members[0].count.path:
        return f"raise {members[0].count.path[-1]} so that {wanted} Pods run at once{lower}"
    return f"add {plural(wanted - most, 'member')} with the label{lower}"


def _label(pod: Pod) -> str:
    return f"{pod.count.most} of them" if pod.is_template else "1 of them"


def _scaled_in(gang: Gang, place: Place, members: Sequence[Pod], wanted: int) -> Iterator[Finding]:
    """An autoscaler may go below minMember. Low confidence: it need never do so."""
    least = at_least(members)
    scaled = [pod for pod in members if _is_scaled(pod)]
    if least >= wanted or not scaled:
        return
    yield Finding(
        place,
        f"{scaled[0]} may be scaled in to {plural(scaled[0].count.least, 'Pod')}: gang {gang.name} then has {least} of "
        f"minMember {wanted}, and a member that is placed anew waits for ever",
        fix=f"set minMember: {max(least, 1)}, or raise the autoscaler's minimum",
        confidence="low",
        related=tuple(Related(set_by(pod), f"{pod.count.least} to {pod.count.most}") for pod in scaled),
    )


def _is_scaled(pod: Pod) -> bool:
    return pod.count.least != pod.count.most and bool(_BOUNDS.intersection(pod.count.path[-1:]))
