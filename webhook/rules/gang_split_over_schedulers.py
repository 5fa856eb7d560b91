from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.gangkeys import brings_group, is_led_away, makes_groups, operator_of
from webhook.model import DEFAULT_SCHEDULER, Gang, Place, Pod, Workload
from webhook.parse.placeholders import templated
from webhook.roster import at_least
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_COUNTS_OWN_ONLY = (0, 31)
"""Before this scheduler-plugins release a Pod bound by any scheduler counted at Permit."""


@rule(Gang, Severity.ERROR, evidence="seen", over=("gpu-other-scheduler",))
def gang_split_over_schedulers(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """Members of one gang go to different schedulers, so the gang never meets.

    PreFilter counts all Pods with the label, but at Permit each scheduler counts only what it placed itself
    (scheduler-plugins from v0.31.8 on, pkg/coscheduling/core/core.go:99-164): the odd member starts alone, the others
    wait until the time-out and start again, for ever (seen). Two profiles of one scheduler process, both with
    Coscheduling, are no better (seen). Up to v0.30 the bound ones count wherever they run, and so this is a warning.

    Where a Pod goes is predicted: HAMi's webhook writes its own name on Pods that ask for a device and name no
    scheduler or the default one (pkg/scheduler/webhook.go:64-68,104-113); a launcher or parameter server without a
    device stays on default-scheduler (seen). Where those on one scheduler are enough for minMember, the gang starts
    without the others: a warning. The jobs of operators whose gang flags may be on are a guess while no PodGroup is
    there: MPI operator and KubeRay then write schedulerName themselves.
    """
    sides = _sides(gang, stack)
    if len(sides) < 2:  # noqa: PLR2004 - two is what split means
        return
    target = max(sides, key=lambda name: _claim(name, sides[name], stack))
    starts = _starts_all_the_same(gang, sides[target], stack)
    guess = gang.group is None and any(operator_of(pod.ref) for pod in gang.members)
    them = _others(sides[target])
    for name, pods in sides.items():
        for pod in pods if name != target else ():
            end = "the gang starts without it" if starts else "they never meet"
            yield Finding(
                _place(pod),
                f"{pod} goes to {name}{_reason(pod, stack)}, {them} of gang {gang.name} to {target}: {end}",
                fix=f"write schedulerName: {target} in its spec",
                severity=Severity.WARNING if starts or guess else None,
                confidence="low" if guess else "high",
                related=(Related(_place(sides[target][0]), f"{sides[target][0]} goes to {target}"),),
            )


def _sides(gang: Gang, stack: Stack) -> Mapping[str, Sequence[Pod]]:
    """The members by the scheduler they go to; one whose scheduler is yet to be filled in is left out.

    Members of foreign schedulers are on a side only if others are Coscheduling's: else the label is not meant for it.
    """
    sides: dict[str, list[Pod]] = {}
    sets = {workload.ref for workload in gang.workloads if _sets_scheduler(workload, stack)}
    for pod in gang.members:
        if not (pod.finished or templated(pod.scheduler) or pod.ref in sets or is_led_away(pod, stack)):
            sides.setdefault(stack.scheduler_of(pod), []).append(pod)
    if stack.coscheduling_schedulers.isdisjoint(sides):
        return {name: pods for name, pods in sides.items() if not stack.is_foreign(pods[0])}
    return _with_hami_by_another_name(sides, stack)


def _sets_scheduler(workload: Workload, stack: Stack) -> bool:
    """Whether an operator writes label and schedulerName over what the manifest says; Trainer leaves the latter."""
    operator = operator_of(workload.ref)
    return operator != "trainer" and (makes_groups(operator, stack) is True or brings_group(workload, stack))


def _with_hami_by_another_name(sides: dict[str, list[Pod]], stack: Stack) -> dict[str, list[Pod]]:
    """Where HAMi's name was only predicted and others name a scheduler that nobody declared, that may be HAMi's."""
    unknown = [name for name in sides if not _is_known(name, stack)]
    predicted = sides.get(stack.hami_scheduler, [])
    if len(unknown) != 1 or not predicted or any(pod.scheduler == stack.hami_scheduler for pod in predicted):
        return sides
    rest = {name: pods for name, pods in sides.items() if name != stack.hami_scheduler}
    return rest | {unknown[0]: [*rest[unknown[0]], *predicted]}


def _is_known(name: str, stack: Stack) -> bool:
    return name == DEFAULT_SCHEDULER or name in stack.coscheduling_schedulers | stack.foreign_schedulers


def _claim(name: str, pods: Sequence[Pod], stack: Stack) -> tuple[bool, bool, bool, int, str]:
    """How much speaks for a scheduler as the one for all: that it runs Coscheduling, and that HAMi serves it."""
    return (
        name in stack.coscheduling_schedulers,
        name == stack.hami_scheduler and any(stack.wants_device(pod) for pod in pods),
        name != DEFAULT_SCHEDULER and not stack.is_foreign(pods[0]),
        at_least(pods),
        name,
    )


def _starts_all_the_same(gang: Gang, together: Sequence[Pod], stack: Stack) -> bool:
    if stack.coscheduling is not None and stack.coscheduling < _COUNTS_OWN_ONLY:
        return True
    minimum = gang.group.min_member if gang.group else None
    return minimum is not None and at_least(together) >= minimum


def _reason(pod: Pod, stack: Stack) -> str:
    if pod.scheduler:
        return ""
    return " (it names no scheduler)" if stack.wants_device(pod) else " (it names no scheduler and asks for no GPU)"


def _others(pods: Sequence[Pod]) -> str:
    return str(pods[0]) if len(pods) == 1 else f"{pods[0]} and {len(pods) - 1} more"


def _place(pod: Pod) -> Place:
    return pod.field("schedulerName") if pod.scheduler else Place(pod.ref, pod.spec, "key")
