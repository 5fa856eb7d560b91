from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.gangkeys import waiting
from webhook.model import Gang, Place, Pod
from webhook.roster import at_least, at_most, counted, plural, quorum, roll, set_by
from webhook.rule import Confidence, Finding, Related, Severity, rule
from webhook.stack import Stack

_PLACES_SHOWN = 8


@rule(Gang, Severity.WARNING, evidence="seen")
def below_min_member(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """A gang has fewer members alive at once than its PodGroup's minMember.

    Coscheduling's PreFilter turns every member away while fewer than minMember Pods of the namespace carry the label:
    all stay Pending, with `cannot find enough sibling pods, current pods number: 2, minMember of group: 3`, and are
    bound within 0.1 s of the last one's arrival (seen). It counts Pods of any scheduler; a Succeeded or Failed Pod
    does not count. A Job has min(parallelism, completions) Pods at once, however many completions it has in all; a
    suspended one is counted as if resumed; absent replicas or parallelism mean 1.

    minMember is a lower bound: more members are no mistake. Members are added up over all objects and files of the
    input. What is not in the input is unknown, so this is never more than a warning. Where an autoscaler's minimum is
    below minMember, the gang starts but a member that is placed anew after scaling in waits for ever.
    """
    wanted = quorum(gang)
    members = counted(gang)
    most = at_most(members)
    if gang.group is None or wanted is None or most is None or not waiting(gang, stack):
        return
    if most >= wanted:
        yield from _scaled_in(gang, gang.group.field("minMember"), members, wanted)
        return
    unread = _lost(gang, wanted - most)
    if unread is None:
        return
    yield Finding(
        gang.group.field("minMember"),
        _message(gang, members, most, unread),
        fix=_fix(members, most, wanted),
        related=tuple(Related(set_by(pod), _label(pod)) for pod in members[:_PLACES_SHOWN]),
    )


def _lost(gang: Gang, missing: int) -> int | None:
    """How many more name the gang where Coscheduling does not look; None where they are why it is short, which
    other rules say: members over several namespaces, a label written wrongly, or a gang that has started and whose
    first members are done."""
    finished = len(gang.members) - len(counted(gang))
    elsewhere, strays = at_most(gang.elsewhere), at_most(gang.strays)
    if elsewhere is None or strays is None or max(elsewhere, strays, finished, elsewhere + strays) >= missing:
        return None
    return strays


def _message(gang: Gang, members: Sequence[Pod], most: int, unread: int) -> str:
    wanted = quorum(gang)
    alone = len(members) == 1 and members[0].is_template
    if unread or not (alone or gang.whole):
        said = f"gang {gang.name} has {plural(most, 'member')} in the input, minMember is {wanted}: {roll(members)}"
    elif alone:
        at_once = plural(most, "Pod") if most else "no Pod"
        said = f"{members[0]} can never reach minMember {wanted} of {gang.name}: it has {at_once} at once"
    else:
        said = f"gang {gang.name} can never reach minMember {wanted}: it has {plural(most, 'member')}, {roll(members)}"
    if unread:
        said += f"; {unread} more name{'s' if unread == 1 else ''} it where Coscheduling does not look"
    return f"{said}; all stay Pending" if most else said


def _fix(members: Sequence[Pod], most: int, wanted: int) -> str:
    lower = f", or set minMember: {most}" if most else ""
    if len(members) == 1 and members[0].count.path:
        return f"raise {members[0].count.path[-1]} so that {wanted} Pods run at once{lower}"
    return f"add {plural(wanted - most, 'member')} with the label{lower}"


def _label(pod: Pod) -> str:
    return f"{pod.count.most} of them" if pod.is_template else "1 of them"


def _scaled_in(gang: Gang, place: Place, members: Sequence[Pod], wanted: int) -> Iterator[Finding]:
    """An autoscaler may go below minMember. Low confidence: it need never do so."""
    least = at_least(members)
    scaled = [pod for pod in members if pod.count.least < (pod.count.most or 0)]
    if least >= wanted or not scaled:
        return
    low: Confidence = "low"
    yield Finding(
        place,
        f"{scaled[0]} may be scaled in to {plural(scaled[0].count.least, 'Pod')}: gang {gang.name} then has {least} of "
        f"minMember {wanted}, and a member that is placed anew waits for ever",
        fix=f"set minMember: {max(least, 1)}, or raise the autoscaler's minimum",
        confidence=low,
        related=tuple(Related(set_by(pod), f"{pod.count.least} to {pod.count.most}") for pod in scaled),
    )
