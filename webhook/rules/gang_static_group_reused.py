from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.gangkeys import waiting
from webhook.model import GROUP_LABEL, Gang, Pod, dig
from webhook.roster import at_most, counted, holders, quorum
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang, Severity.WARNING, evidence="seen")
def gang_static_group_reused(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """One group name serves several gangs, so the second rides on the quorum of the first and starts in part.

    Coscheduling counts every Pod of the namespace with the label. While one run's Pods are alive, the group has its
    minMember, and each Pod of another run is admitted alone: 1 of 3 Pods of a second run started (seen). So it goes
    with a CronJob whose runs overlap (concurrencyPolicy Allow is the default), with several replicas of a
    LeaderWorkerSet or of a JobSet's Job, since all copies carry the template's one label, and with workloads that have
    nothing to do with each other but the name. All three only where one of them alone reaches minMember: a launcher
    and its workers that reach it together are one gang, and so are copies whose sum minMember asks for.

    concurrencyPolicy Forbid starts a run when the one before is over: its Pods then no longer count.
    """
    wanted = quorum(gang)
    if gang.group is None or wanted is None or not waiting(gang, stack):
        return
    minimum = Related(gang.group.field("minMember"), f"minMember {wanted}")
    enough: list[tuple[Pod, ...]] = []
    for templates in holders(pod for pod in counted(gang) if pod.is_template):
        copy = _one_copy(templates)
        if copy is None or copy < wanted:
            continue
        enough.append(templates)
        said = _runs(gang, templates) or _copies(templates, copy, wanted)
        if said:
            message, fix = said
            yield Finding(_first(templates).label(GROUP_LABEL), message, fix, related=(minimum,))
    for templates in enough[1:]:
        yield _shared(gang, enough[0][0], templates[0], wanted)


def _one_copy(templates: Sequence[Pod]) -> int | None:
    """How many Pods of one object one copy of it has."""
    if at_most(templates) is None:
        return None
    return sum((pod.count.most or 0) // pod.count.copies for pod in templates)


def _first(templates: Sequence[Pod]) -> Pod:
    """The template to point at: one that has copies, if any."""
    return max(templates, key=lambda pod: pod.count.copies)


def _runs(gang: Gang, templates: Sequence[Pod]) -> tuple[str, str] | None:
    cron = templates[0]
    body = next((workload.body for workload in gang.workloads if workload.ref == cron.ref), None)
    if cron.ref.kind != "CronJob" or body is None or dig(body, "spec", "concurrencyPolicy") not in (None, "Allow"):
        return None
    said = f"runs of {cron} may overlap, all in gang {gang.name}: one that begins beside another starts Pod by Pod"
    return said, "set concurrencyPolicy: Forbid"


def _copies(templates: Sequence[Pod], copy: int, wanted: int) -> tuple[str, str] | None:
    pod = _first(templates)
    if pod.count.copies < 2:  # noqa: PLR2004 - one copy shares with nobody
        return None
    total = at_most(templates)
    said = (
        f"{pod.ref} puts {pod.count.copies} copies of {copy} Pods into the one gang {pod.group}: any {wanted} of them "
        "meet its minMember, so copies start in part"
    )
    return said, f"set minMember: {total} to start all copies together, or make an object and a group for each copy"


def _shared(gang: Gang, first: Pod, other: Pod, wanted: int) -> Finding:
    return Finding(
        other.label(GROUP_LABEL),
        f"{first.ref} and {other.ref} share gang {gang.name}, and either alone meets its minMember {wanted}: the "
        "second one starts its Pods one by one",
        fix="give each its own PodGroup and label, or set minMember to the number of both together",
        related=(Related(first.label(GROUP_LABEL), f"{first.ref} names the same gang"),),
    )
