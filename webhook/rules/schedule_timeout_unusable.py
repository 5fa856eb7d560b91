from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import Gang, PodGroup
from webhook.roster import quorum
from webhook.rule import Finding, Severity, rule
from webhook.stack import DEFAULT_QPS, Stack

_LONGEST = 900
"""Seconds: the scheduler's framework lets no Pod wait longer at Permit (maxTimeout, 15 minutes)."""

_FILTER_SECONDS = 0.4
"""Per member, at HAMi's extender with its default client limit of 5 requests/s (seen)."""

_FAST_FILTER_SECONDS = 0.05
"""Per member with a raised limit: the first of 16 members was bound after 0.8 s (seen)."""


@rule(PodGroup | Gang, Severity.WARNING, evidence="seen")
def schedule_timeout_unusable(subject: PodGroup | Gang, stack: Stack) -> Iterator[Finding]:
    """A PodGroup's scheduleTimeoutSeconds cannot work: negative, too short for its size, or over 900.

    It is how long a member waits at Permit for the others. A negative value lets the timer fire at once, and it is a
    race: plain gangs of 2 and 3 got through, a gang of 4 with HAMi's extender and -1 did not in 25 s (`rejected due to
    timeout after waiting -1s at plugin Coscheduling`, seen). 0 means the plugin's permitWaitingTimeSeconds (60 by
    default, 10 in the chart); where that is 0 too it is the same race. More than 900 is cut to 900 (seen with 1200).

    Members pass the extender's Filter one after the other, at about 0.4 s each with the extender's default client limit
    (5 requests/s) and well below 0.1 s with a raised one; the first must wait until the last is through. A time-out
    below that rejects them and the gang begins anew. Info while the limit is unknown.
    """
    if isinstance(subject, PodGroup):
        yield from _by_itself(subject, stack)
    else:
        yield from _for_its_size(subject, stack)


def _by_itself(group: PodGroup, stack: Stack) -> Iterator[Finding]:
    seconds = group.timeout
    if seconds is None or not group.is_coscheduling or group.made_by:
        return
    place = group.field("scheduleTimeoutSeconds")
    if seconds < 0 or (seconds == 0 and stack.permit_waiting_seconds == 0):
        why = "and the plugin's permitWaitingTimeSeconds is 0 too" if seconds == 0 else "so it is over at once"
        yield Finding(
            place,
            f"{group.ref} has scheduleTimeoutSeconds {seconds}, {why}: a race that larger or slower gangs lose",
            fix="set it to the seconds that the members may wait for each other, such as 60",
        )
    elif seconds > _LONGEST:
        yield Finding(
            place,
            f"{group.ref} has scheduleTimeoutSeconds {seconds}; the scheduler waits {_LONGEST} s at most",
            fix=f"set it to {_LONGEST} or less; a gang that is turned away is tried again",
        )


def _for_its_size(gang: Gang, stack: Stack) -> Iterator[Finding]:
    wanted = quorum(gang)
    if gang.group is None or wanted is None or not gang.group.timeout or gang.group.timeout < 0:
        return
    asking = [pod for pod in waiting(gang, stack) if stack.wants_device(pod)]
    size = min(wanted, sum(pod.count.most or pod.count.least for pod in asking))
    slow, fast = size * _FILTER_SECONDS, size * _FAST_FILTER_SECONDS
    limited = stack.kube_qps is not None and stack.kube_qps <= DEFAULT_QPS
    needed = slow if limited or (stack.kube_qps is None and gang.group.timeout >= fast) else fast
    if size <= 1 or gang.group.timeout >= needed:
        return
    sure = limited or gang.group.timeout < fast
    yield Finding(
        gang.group.field("scheduleTimeoutSeconds"),
        f"{gang.group.ref} has scheduleTimeoutSeconds {gang.group.timeout}, but {size} members take about "
        f"{needed:.0f} s to pass HAMi's extender one by one{'' if sure else ' at its default API client limit'}",
        fix=f"set it to {max(60, 2 * round(needed))}, or raise the extender's --kube-qps and --kube-burst",
        severity=Severity.WARNING if sure else Severity.INFO,
    )
