from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import can_match, home, misplaced, waiting
from webhook.model import GROUP_LABEL, Gang, Place
from webhook.roster import roll
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Gang, Severity.WARNING, evidence="seen")
def gang_in_two_namespaces(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """Members of one gang are spread over namespaces, and only one of these has the PodGroup.

    A gang is a name in a namespace: the PodGroup is looked up, and siblings are counted, in the Pod's own namespace
    (pkg/coscheduling/core/core.go:255-257,392-402). Members in a namespace without the PodGroup stay Pending with
    "PodGroup not found", and those beside it miss them (both seen). Two PodGroups of one name in two namespaces are two
    gangs, which is fine.
    """
    members, there = waiting(gang, stack), home(gang)
    if not members or there is None or not can_match(gang.name) or misplaced(gang, stack):
        return
    first, *rest = members
    beside = roll([pod for pod in gang.elsewhere if pod.ref.namespace == there.ref.namespace])
    who = f"{first} and {len(rest)} more are" if rest else f"{first} is"
    yield Finding(
        first.label(GROUP_LABEL, "value"),
        f"{who} in namespace {gang.namespace}, the PodGroup {gang.name} in {there.ref.namespace}, with {beside}: "
        "a gang does not reach over namespaces",
        fix=f"put all members into {there.ref.namespace}, or give {gang.namespace} a PodGroup of its own",
        confidence="low" if stack.default_namespace in {gang.namespace, there.ref.namespace} else "high",
        related=(Related(Place(there.ref, ("metadata", "name")), "the PodGroup is here"),),
    )
