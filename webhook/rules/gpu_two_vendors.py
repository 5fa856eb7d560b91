from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Ask, Asked, served

_LOCKING = frozenset({"nvidia", "ascend", "hygon"})


@rule(Pod, Severity.ERROR, evidence="read")
def gpu_two_vendors(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod asks for cards of two vendors, or of two kinds that no node has side by side.

    All containers of a Pod run on one node, so one node must have both kinds of cards. Of chips that have names of
    their own (Ascend 910B4 and 310P, Iluvatar's chips) no node is known to have two.

    Up to 2.9 it is worse between NVIDIA, Ascend and Hygon (and some others): HAMi locks the node once for each of them,
    with one and the same annotation, and the second lock finds the first one there. The Pod locks itself out and waits
    for ever, even where a node has both (HAMi v2.9.0 pkg/scheduler/scheduler.go:691, pkg/util/nodelock/nodelock.go,
    LockNode in pkg/device/nvidia, ascend and hygon). So it is an error where HAMi up to 2.9 is known, else a warning.

    Silent about a count of 0, and about two resources of one vendor that are not told apart by chip.
    """
    first: tuple[Asked, Ask] | None = None
    for request in served(pod, stack):
        ask = request.count or request.device[0]
        if request.count is not None and request.count.number == 0:
            continue
        if first is None:
            first = request, ask
        elif request.family != first[0].family:
            yield _finding(pod, stack, first, (request, ask))
            return


def _finding(pod: Pod, stack: Stack, first: tuple[Asked, Ask], second: tuple[Asked, Ask]) -> Finding:
    (one, ask), (other, asked) = first, second
    locks = one.vendor in _LOCKING and other.vendor in _LOCKING
    is_old = stack.hami is not None and stack.hami < (2, 10) and locks
    then = "HAMi locks the node twice, and the Pod waits for ever" if is_old else "one node must have both"
    if stack.hami is None and locks:
        then += ", and HAMi up to 2.9 locks the Pod out for ever"
    return Finding(
        other.place(pod, asked, "key"),
        f"{pod} asks for {ask.name} and for {asked.name}: {then}",
        fix="ask for cards of one kind in a Pod, and run the others in a Pod of their own",
        severity=None if is_old else Severity.WARNING,
        related=(Related(one.place(pod, ask, "key"), "the other kind is asked for here"),),
    )
