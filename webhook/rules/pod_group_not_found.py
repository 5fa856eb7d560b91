from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import brings_group, can_match, home, makes_groups, misplaced, operator_of, waiting
from webhook.model import GROUP_LABEL, Gang, Member, Place, Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang | Member, Severity.WARNING, evidence="seen")
def pod_group_not_found(subject: Gang | Member, stack: Stack) -> Iterator[Finding]:
    """Pods name a PodGroup that is not there: misspelt, in another namespace, or nowhere in the input.

    Coscheduling looks the PodGroup up by the label's value in the Pod's own namespace
    (pkg/coscheduling/core/core.go:392-402). Without one the Pod passes PreFilter and Filter, HAMi books devices for it,
    and Permit turns it away: `0/1 nodes are available: 1 PodGroup not found.` (seen). It heals by itself 0.01 s after
    the PodGroup is created, so the order of applying does not matter.

    A warning where the input holds a PodGroup of that name in another namespace or of nearly that name in this one, or
    where it is declared to be the whole system; else the PodGroup may well be in the cluster, and this is an info.
    Nothing is said where an operator makes the PodGroup. At admission a missing PodGroup is mentioned only after 5
    seconds in which none of the namespace changed: one `kubectl apply` of PodGroup and Pods is faster than any watch.
    """
    if isinstance(subject, Member):
        yield from _in_cluster(subject, stack)
    else:
        yield from _in_input(subject, stack)


def _in_cluster(member: Member, stack: Stack) -> Iterator[Finding]:
    pod = member.pod
    if member.group or not member.quiet or pod.finished or stack.is_foreign(pod) or not can_match(pod.group):
        return
    if pod.owner and any(
        makes_groups(operator, stack) for operator in stack.operators
    ):  # the operator that made the Pod may be about to make the PodGroup
        return
    yield Finding(
        pod.label(GROUP_LABEL, "value"),
        f"there is no PodGroup {pod.group} in namespace {pod.ref.namespace}; until there is one, its Pods stay Pending "
        "with 'PodGroup not found'",
        fix=f"create the PodGroup {pod.group}, or name the right one",
    )


def _in_input(gang: Gang, stack: Stack) -> Iterator[Finding]:
    members = waiting(gang, stack)
    if gang.group or not members or not can_match(gang.name):
        return
    if misplaced(gang, stack) or home(gang) or _comes_from_operator(gang, members, stack):
        return
    first, *rest = members
    who = f"{first} and {len(rest)} more" if rest else str(first)
    name = "name" if rest else "names"
    message, fix = _why(gang)
    yield Finding(
        first.label(GROUP_LABEL, "value"),
        f"{who} {name} the PodGroup {gang.name}, {message}",
        fix=fix,
        severity=Severity.WARNING if gang.namesakes or gang.near or gang.whole else Severity.INFO,
        confidence="low" if _namespace_may_be_unwritten(gang, stack) else "high",
        related=tuple(
            Related(Place(group.ref, ("metadata",), "key"), f"a PodGroup of this name is in {group.ref.namespace}")
            for group in gang.namesakes[:3]
        ),
    )


def _why(gang: Gang) -> tuple[str, str]:
    here = f"namespace {gang.namespace}"
    if gang.namesakes:
        there = ", ".join(group.ref.namespace for group in gang.namesakes[:3])
        return (
            f"which is in namespace {there}, not in {gang.namespace}: members stay Pending with 'PodGroup not found'",
            f"put the PodGroup and its Pods into one namespace, here {gang.namespace}",
        )
    if gang.near:
        there = " or ".join(gang.near[:3])
        return (
            f"which is not in the input, but {there} is: members stay Pending",
            f"write {gang.near[0]} if that is meant",
        )
    if gang.whole:
        return (
            f"which is not in {here}: members stay Pending with 'PodGroup not found'",
            f"add the PodGroup {gang.name}",
        )
    return (
        f"which is not in the input: if it is not in {here} of the cluster either, members stay Pending",
        f"add the PodGroup {gang.name} to the input, or see that it exists",
    )


def _namespace_may_be_unwritten(gang: Gang, stack: Stack) -> bool:
    """Whether one of two namespaces is that of manifests that write none: then the one in `kubectl -n` decides."""
    return stack.default_namespace in {gang.namespace, *(group.ref.namespace for group in gang.namesakes)} and bool(
        gang.namesakes
    )


def _comes_from_operator(gang: Gang, members: tuple[Pod, ...], stack: Stack) -> bool:
    return any(brings_group(workload, stack) for workload in gang.workloads) or any(
        makes_groups(operator_of(pod.ref), stack) for pod in members
    )
