from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.model import Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack, Version
from webhook.vgpu import Ask, Asked, served

_LOCKING: Mapping[str, Version] = {
    "nvidia": (2, 5),
    "ascend": (2, 5),
    "hygon": (2, 6),
    "iluvatar": (2, 8),
    "vastai": (2, 9),
}
"""Vendors that lock the node, and since when (nodelock.LockNode in pkg/device/* at each tag). Of MetaX and Kunlun only
some kinds of cards do."""


@rule(Pod, Severity.ERROR, evidence="read", where=served)
def gpu_two_vendors(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod asks for cards of two vendors, or of two kinds that no node has side by side.

    All containers of a Pod run on one node, so one node must have both kinds of cards. Of chips that have names of
    their own (Ascend 910B4 and 310P, Iluvatar's chips) no node is known to have two.

    Up to 2.9 it is worse between NVIDIA, Ascend, Hygon (from 2.6), Iluvatar (2.8) and VastAI (2.9) in app containers:
    HAMi locks the node once for each of them, with one and the same annotation, and the second lock finds the first one
    there. The Pod locks itself out and waits for ever, even where a node has both (HAMi v2.9.0
    pkg/scheduler/scheduler.go:691, pkg/util/nodelock/nodelock.go, LockNode in pkg/device/*). So it is an error where
    such a HAMi is known, else a warning.

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
    locks = all(_locks(each, stack) for each in (one, other))
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


def _locks(request: Asked, stack: Stack) -> bool:
    """Whether its vendor's part of HAMi locks the node for it, in some release where nobody knows which is there. Init
    containers are not looked at there (LockNode in pkg/device/*/device.go)."""
    since = _LOCKING.get(request.vendor) if request.container.role == "app" else None
    return since is not None and (stack.hami is None or stack.hami >= since)
