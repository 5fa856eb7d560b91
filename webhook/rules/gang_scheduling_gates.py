from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import Gang, Pod
from webhook.roster import at_least, quorum
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_GATES_COUNT_SINCE = (0, 34)
_KUEUE = "kueue.x-k8s.io/"
_PLACES_SHOWN = 8


@rule(Gang, Severity.WARNING, evidence="seen")
def gang_scheduling_gates(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """Members of a gang are held by scheduling gates, and hold back the others.

    A Pod with schedulingGates is not placed until something removes them all. Coscheduling v0.34 turns its siblings
    away meanwhile, where without the gated ones fewer than minMember are left: `cannot proceed due to gated pods in the
    same PodGroup` (seen). Older releases count a gated Pod as any other (core.go:268-277 is new in v0.34), so its
    siblings pass, then wait at Permit with their GPUs booked until the time-out. In both cases the gang starts once
    the gates are removed (0.1 s, seen): a controller must do that, and in a manifest it is easily left over.

    Silent where enough members without a gate are there, and on running objects that Kueue holds: it put the gate there
    and lifts it from all of them together.
    """
    members = waiting(gang, stack)
    gated = [pod for pod in members if pod.gates and not _will_be_lifted(pod)]
    if not gated:
        return
    wanted = quorum(gang)
    free = [pod for pod in members if not pod.gates]
    if (gang.group is not None and wanted is None) or (wanted is not None and at_least(free) >= wanted):
        return
    first, others = gated[0], gated[1:]
    held = "its siblings" if not others else f"{len(others)} more and all siblings"
    known = stack.coscheduling is not None and stack.coscheduling < _GATES_COUNT_SINCE
    how = "they wait for it with their GPUs booked" if known else "Coscheduling turns them away until it is lifted"
    yield Finding(
        first.field("schedulingGates", at="key"),
        f"{first} waits behind the scheduling gate {first.gates[0]}, and with it {held} in gang {gang.name}: {how}",
        fix="remove schedulingGates, or make sure that their controller removes them from all members together",
        related=tuple(
            Related(pod.field("schedulingGates", at="key"), f"{pod} is gated too") for pod in others[:_PLACES_SHOWN]
        ),
    )


def _will_be_lifted(pod: Pod) -> bool:
    return pod.live and all(gate.startswith(_KUEUE) for gate in pod.gates)
