from collections.abc import Iterator
from typing import NamedTuple

from webhook.installation.accesses import is_built_in
from webhook.installation.processes import is_kube_scheduler, reads_old_group
from webhook.installation.profiles import is_enabled
from webhook.model import GROUP_API, Access, Grant, Permission, Place, Process, dig
from webhook.rule import Finding, Severity, enumerated, rule
from webhook.stack import Stack

RESOURCE = "podgroups"
VERBS = ("get", "list", "watch")


class _Attempt(NamedTuple):
    """A role or binding that was meant to give the right, and why it does not."""

    place: Place
    why: str


@rule(Access, Severity.ERROR, evidence="seen", lint_only=True)
def podgroup_access_missing(access: Access, stack: Stack) -> Iterator[Finding]:
    """The scheduler's ServiceAccount may not list and watch PodGroups: it then places no Pod at all.

    Coscheduling waits at its start for the list of podgroups.scheduling.x-k8s.io. Without the right to list them the
    scheduler never becomes ready (`/readyz` 500, `/healthz` stays 200) and places no Pod, also none without a group;
    there is neither an event nor a condition, and with leader election it does not even take its lease. Only its log
    repeats `podgroups.scheduling.x-k8s.io is forbidden: User "system:serviceaccount:…" cannot list resource
    "podgroups"` (seen on 1.35; `PodGroup not found`, as HAMi's guide has it, is what scheduler-plugins up to 0.30.6
    said). Without `watch` it starts, and its log repeats `cannot watch`. Granting the right heals a running scheduler
    within seconds.

    HAMi's chart binds its scheduler to cluster-admin up to 2.6.1; from 2.7 on it has a role of its own, without
    podgroups. What goes wrong beside a missing role: it is bound to a ServiceAccount of another name or namespace
    (the account is called after the Helm release), to the user system:kube-scheduler (scheduler-plugins'
    all-in-one.yaml), by a RoleBinding, which holds in one namespace alone, or it names another API group.

    Silent where a role that is bound to the account is not in the input (in a whole installation it does not exist),
    where the input holds nothing about its rights, and on scheduler-plugins up to 0.24, which reads another API group.
    What has no right among those that are shown, in an input that is no whole installation, is a warning.
    """
    scheduler = next((each for each in access.processes if is_kube_scheduler(each)), None)
    if scheduler is None or reads_old_group(scheduler) or not any(is_enabled(each) for each in access.configs):
        return
    missing = [verb for verb in VERBS if not access.allows(GROUP_API, RESOURCE, verb)]
    if not missing or not all(each.known for each in access.grants):
        return
    attempt = next(_attempts(access), None)
    if attempt is None and not access.grants and not access.whole:
        return
    yield _finding(access, scheduler, missing, attempt)


def _finding(access: Access, scheduler: Process, missing: list[str], attempt: _Attempt | None) -> Finding:
    sure = "list" in missing and (attempt is not None or access.whole)
    outcome = (
        "the scheduler never becomes ready and places no Pod at all, without an event"
        if "list" in missing
        else "changes of PodGroups reach the scheduler late or never"
    )
    why = f"; {attempt.why}" if attempt else ""
    account = f"{access.namespace}/{access.name}"
    return Finding(
        attempt.place if attempt else scheduler.pod.field("serviceAccountName"),
        f"ServiceAccount {account} may not {enumerated(missing)} {RESOURCE} of {GROUP_API}{why}: {outcome}",
        fix=f"bind a ClusterRole with get, list and watch on {RESOURCE} of {GROUP_API} to {account} by a "
        "ClusterRoleBinding",
        severity=None if sure else Severity.WARNING,
        confidence="high" if sure or "list" not in missing else "low",
    )


def _attempts(access: Access) -> Iterator[_Attempt]:
    """Of the account's own grants first, then of those that go to an account that looks like it."""
    for grant in access.grants:
        for permission in _about(grant):
            yield _own(grant, permission)
    for grant in access.grants:
        if access.whole and grant.role is None and not is_built_in(grant.role_kind, grant.role_name):
            why = f"{grant.binding} names {grant.role_kind} {grant.role_name}, which is not there"
            yield _Attempt(Place(grant.binding, ("roleRef", "name")), why)
    for grant in access.others:
        for index, subject in enumerate(grant.subjects):
            kind, name = str(dig(subject, "kind")), str(dig(subject, "name"))
            namespace = str(dig(subject, "namespace") or grant.namespace or "(no namespace)")
            if _about(grant) and (name == access.name or "scheduler" in name):
                who = f"{namespace}/{name}" if kind == "ServiceAccount" else f"the {kind.lower()} {name}"
                why = f"{grant.binding} gives it to {who}, and the scheduler runs as {access.namespace}/{access.name}"
                yield _Attempt(Place(grant.binding, ("subjects", index)), why)


def _about(grant: Grant) -> list[Permission]:
    """The rules of a role that are about a kind PodGroup, whatever its group."""
    return [each for each in grant.permissions if RESOURCE in each.resources]


def _own(grant: Grant, permission: Permission) -> _Attempt:
    if grant.namespace:
        why = f"{grant.binding} holds in namespace {grant.namespace} alone"
        return _Attempt(Place(grant.binding, ("kind",)), why)
    place = Place(grant.role or grant.binding, permission.path)
    if GROUP_API not in permission.groups and "*" not in permission.groups:
        return _Attempt(place, f"{grant.role_kind} {grant.role_name} names the group {', '.join(permission.groups)}")
    if permission.names:
        return _Attempt(place, f"{grant.role_kind} {grant.role_name} gives it for single names, which no list is")
    return _Attempt(place, f"{grant.role_kind} {grant.role_name} gives {', '.join(permission.verbs)} alone")
