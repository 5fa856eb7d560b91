from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import Gang, Place, Pod, dig
from webhook.roster import at_most, counted, quorum
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_JOBS = frozenset({"Job", "CronJob", "JobSet"})
"""Kinds whose Pods come from a batch/v1 Job; the Job's spec is two steps above the Pod's."""


@rule(Gang, Severity.WARNING, evidence="inferred")
def gang_last_wave(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """A Job's last wave of Pods is smaller than minMember, so its last Pods may wait for ever.

    A Job replaces each Pod that succeeds until all completions have been started; Succeeded Pods leave the count of
    Coscheduling's PreFilter at once (seen: one index Succeeded, another replaced: `current pods number: 3, minMember of
    group: 4`, for ever). With completions no multiple of parallelism fewer Pods than parallelism are left in the end.
    When the Pods before them finish together, or several finish before the next is placed, the last ones find fewer
    siblings than minMember and stay Pending. When they finish one by one, the Job comes through: hence a warning.

    completions below parallelism means that never more than completions Pods are alive, which `below-min-member` tells.
    """
    wanted = quorum(gang)
    members = counted(gang)
    most = at_most(members)
    if gang.group is None or wanted is None or most is None or most < wanted or not waiting(gang, stack):
        return
    for pod in members:
        numbers = _numbers(gang, pod)
        if numbers is None:
            continue
        completions, parallelism = numbers
        rest = completions % parallelism
        left = most - parallelism + rest
        if completions <= parallelism or not rest or left >= wanted:
            continue
        place = Place(pod.ref, (*pod.spec[:-2], "completions"))
        yield Finding(
            place,
            f"{pod} has {completions} completions with parallelism {parallelism}: if Pods finish together, "
            f"{_last(rest)} only {left} of minMember {wanted} alive and may wait for ever",
            fix=f"make completions a multiple of parallelism, such as {completions - rest + parallelism}",
            related=(Related(gang.group.field("minMember"), f"minMember {wanted}"),),
        )


def _last(number: int) -> str:
    return "the last one finds" if number == 1 else f"the last {number} find"


def _numbers(gang: Gang, pod: Pod) -> tuple[int, int] | None:
    """The completions and the parallelism of the one Job that a template stands in."""
    if pod.ref.kind not in _JOBS or not pod.is_template or pod.count.copies > 1:
        return None
    body = next((workload.body for workload in gang.workloads if workload.ref == pod.ref), None)
    job = dig(body, *pod.spec[:-2])
    completions, parallelism = dig(job, "completions"), dig(job, "parallelism")
    parallelism = 1 if parallelism is None else parallelism
    if not isinstance(completions, int) or not isinstance(parallelism, int) or parallelism < 1:
        return None
    return completions, parallelism
