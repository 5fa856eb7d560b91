from collections.abc import Iterator
from typing import NamedTuple

from webhook.hookrules import takes
from webhook.model import HookConfiguration, HookRule
from webhook.rule import Finding, Severity, enumerated, rule
from webhook.selectors import opts_in
from webhook.stack import Stack


class _Busy(NamedTuple):
    """What is written all the time, in words, and by which operations."""

    words: str
    group: str
    resource: str
    scope: str
    operations: frozenset[str]


_ANY = frozenset({"CREATE", "UPDATE"})
_UPDATE = frozenset({"UPDATE"})
_BUSY = (
    _Busy("leases", "coordination.k8s.io", "leases", "Namespaced", _ANY),
    _Busy("bindings", "", "pods/binding", "Namespaced", frozenset({"CREATE"})),
    _Busy("Pods' status", "", "pods/status", "Namespaced", _UPDATE),
    _Busy("workloads' status", "apps", "deployments/status", "Namespaced", _UPDATE),
    _Busy("nodes' status", "", "nodes/status", "Cluster", _UPDATE),
)


@rule(HookConfiguration, Severity.WARNING, evidence="read", lint_only=True)
def webhook_too_wide(configuration: HookConfiguration, stack: Stack) -> Iterator[Finding]:
    """A webhook for Pods is called for leases, bindings or status too: it stands in the way of the cluster's pulse.

    Nodes renew a lease every 10 seconds and write their status, kubelets write the status of each Pod, schedulers and
    controllers hold their leadership by a lease, and kube-scheduler binds by a subresource. `*/*` takes in all of
    that, `*` with all API groups the leases (apiserver pkg/admission/plugin/webhook/predicates/rules). A webhook there
    costs every one of these writes a round trip, and a slow or failing one makes nodes unready and leaders step down,
    whatever it was meant to look at. A rule for `pods` does not match `pods/status`: subresources come only when they
    are named.

    Silent where an objectSelector asks for a label, which leases and bindings do not carry, and where matchConditions
    narrow it down. Info where a namespaceSelector picks single namespaces. A rule that names pods/binding itself means
    it.
    """
    for hook in configuration.hooks:
        if hook.has_conditions or opts_in(hook.objects):
            continue
        for each in hook.rules:
            busy = [what.words for what in _BUSY if _meets(each, what)]
            if not busy:
                continue
            index, pattern = _widest(each)
            yield Finding(
                configuration.field(hook, *each.path[len(hook.path) :], "resources", index),
                f"{hook} is called for {pattern} of {_groups(each)}, so for {enumerated(busy)} too, which are written "
                "all the time",
                fix="name the resources that it judges (pods, deployments, jobs …), without subresources",
                severity=Severity.INFO if opts_in(hook.namespaces) else None,
            )


def _meets(each: HookRule, what: _Busy) -> bool:
    if each.scope not in {"*", what.scope} or (what.resource == "pods/binding" and what.resource in each.resources):
        return False
    asked = _ANY if "*" in each.operations else frozenset(each.operations)
    return takes(each, what.group, what.resource) and not what.operations.isdisjoint(asked)


def _widest(each: HookRule) -> tuple[int, str]:
    """The resource to blame: the first with a wildcard, else the first subresource or lease."""
    named = list(enumerate(each.resources))
    wild = [item for item in named if "*" in item[1]]
    parts = [item for item in named if "/status" in item[1] or item[1] == "leases"]
    return (wild or parts or named)[0]


def _groups(each: HookRule) -> str:
    if "*" in each.groups:
        return "all API groups"
    return " and ".join(group or "the core group" for group in each.groups)
