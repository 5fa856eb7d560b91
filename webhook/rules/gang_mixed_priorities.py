from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import Gang, Place, Pod
from webhook.parse.placeholders import templated
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang, Severity.WARNING, evidence="seen")
def gang_mixed_priorities(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """Members of one gang have different priority classes.

    Coscheduling sorts by priority before it looks at the gang (pkg/coscheduling/coscheduling.go:135-147), so the
    members do not stay together in the queue. Two gangs of two, each with one high and one low member, and two free
    slots: the high ones preempt the low ones that wait at Permit, for ever; nothing was bound in 45 s. With equal
    priorities one gang was bound at once (seen). A single such gang with enough room is bound.

    A member without a class gets the cluster's default one, which may be the same: then the finding is a guess.
    """
    pods = [pod for pod in waiting(gang, stack) if not templated(pod.priority_class)]
    counts: Counter[str] = Counter()
    for pod in pods:
        counts[pod.priority_class] += max(pod.count.least, 1)
    if len(counts) < 2:  # noqa: PLR2004 - two is what mixed means
        return
    usual = max(counts, key=lambda name: (counts[name], name))
    odd = next(pod for pod in pods if pod.priority_class != usual)
    other = next(pod for pod in pods if pod.priority_class == usual)
    named = sorted(name for name in counts if name)
    yield Finding(
        _place(odd),
        f"{odd} has {_words(odd)}, {other} of gang {gang.name} {_words(other)}: two such gangs preempt each other's "
        "waiting members, and neither starts",
        fix=f"give all members the priorityClassName {usual or named[0]}",
        confidence="low" if "" in counts else "high",
        related=(Related(_place(other), f"{other} has {_words(other)}"),),
    )


def _words(pod: Pod) -> str:
    return f"priorityClassName {pod.priority_class}" if pod.priority_class else "no priorityClassName"


def _place(pod: Pod) -> Place:
    return pod.field("priorityClassName") if pod.priority_class else Place(pod.ref, pod.spec, "key")
