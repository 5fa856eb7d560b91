"""A gang's roster: who counts for its quorum, how many are alive at once, and how a message says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webhook.model import Gang, Place, Pod, PodGroup

NAMED_AT_MOST = 4
"""So many members a message names; the rest it counts."""


def counted(gang: Gang) -> tuple[Pod, ...]:
    """The members that Coscheduling's PreFilter counts: whatever their scheduler, but none that is over (seen)."""
    return tuple(pod for pod in gang.members if not pod.finished)


def quorum(gang: Gang) -> int | None:
    """The minMember that somebody wrote and that holds a Pod back; None where there is none to judge by.

    A partial roster that falls short of it is no roster to judge by: more members may come in other objects.
    """
    wanted = minimum(gang.group)
    if wanted is None or not gang.partial:
        return wanted
    most = at_most(counted(gang))
    return wanted if most is not None and most >= wanted else None


def minimum(group: PodGroup | None) -> int | None:
    """A PodGroup's minMember, where it holds a Pod back and can be edited.

    One of 1 or less holds nobody back. What an operator wrote into its own PodGroup nobody can edit there.
    """
    if group is None or group.made_by or group.min_member is None or group.min_member <= 1:
        return None
    return group.min_member


def at_most(pods: Iterable[Pod]) -> int | None:
    """How many of these Pods can be alive at once; None where that is unknown of any."""
    total = 0
    for pod in pods:
        if pod.count.most is None:
            return None
        total += pod.count.most
    return total


def at_least(pods: Iterable[Pod]) -> int:
    """How many of these Pods are alive at once in any case."""
    return sum(pod.count.least for pod in pods)


def set_by(pod: Pod) -> Place:
    """The field that says how many there are of a template, or the Pod itself."""
    if pod.count.path:
        return Place(pod.ref, pod.count.path, "key")
    return Place(pod.ref, pod.metadata, "key")


def roll(pods: Sequence[Pod]) -> str:
    """The members by name and number: `Job/a 2, Pod/w-0, Pod/w-1 and 3 more`."""
    named = [f"{pod} {pod.count.most}" if pod.is_template else str(pod) for pod in pods[:NAMED_AT_MOST]]
    rest = len(pods) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")


def holders(pods: Iterable[Pod]) -> Iterator[tuple[Pod, ...]]:
    """The members by the object they stand in, in order."""
    by_object: dict[object, list[Pod]] = {}
    for pod in pods:
        by_object.setdefault(pod.ref, []).append(pod)
    return (tuple(same) for same in by_object.values())


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
