"""What admission webhooks are called for, as far as Pods and what makes Pods are concerned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from webhook.kinds import TABLE
from webhook.model import GROUP_API, Hook, HookRule


@cache
def _ours() -> Mapping[str, frozenset[str]]:
    """By API group, the resources that are Pods, make Pods or gather them; the plural is the kind with an s."""
    made = {group: frozenset(f"{kind.lower()}s" for kind in kinds) for group, kinds in TABLE.items()}
    return {**made, GROUP_API: frozenset({"podgroups"})}


def concerns_pods(rule: HookRule) -> bool:
    """Whether a rule takes a Pod or a workload, or a subresource of one."""
    if rule.scope == "Cluster":
        return False
    ours = _ours()
    groups = ours if "*" in rule.groups else [group for group in rule.groups if group in ours]
    named = {resource.partition("/")[0] for resource in rule.resources}
    return bool(groups) and ("*" in named or any(not named.isdisjoint(ours[group]) for group in groups))


def takes(rule: HookRule, group: str, resource: str) -> bool:
    """Whether a rule takes a resource (`pods`) or a subresource (`pods/status`) of an API group.

    `*` stands for all resources without their subresources, `*/*` for both (apiserver webhook/predicates/rules).
    """
    if group not in rule.groups and "*" not in rule.groups:
        return False
    name, _, part = resource.partition("/")
    return any(_names(pattern, name, part) for pattern in rule.resources)


def _names(pattern: str, name: str, part: str) -> bool:
    wanted, slash, wanted_part = pattern.partition("/")
    if wanted not in {"*", name}:
        return False
    return wanted_part in {"*", part} if slash else not part


def pod_operations(hook: Hook) -> frozenset[str]:
    """The operations on Pods themselves, not on their subresources, that a webhook is called for."""
    found = {
        operation
        for rule in hook.rules
        if rule.scope != "Cluster" and takes(rule, "", "pods")
        for operation in rule.operations
    }
    return frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"} if "*" in found else found)
