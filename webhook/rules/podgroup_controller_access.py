from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.processes import is_kube_scheduler, reads_old_group
from webhook.model import GROUP_API, Access
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_NEEDED = (
    ("podgroups", "list"),
    ("podgroups", "watch"),
    ("podgroups/status", "patch"),
)


@rule(Access, Severity.WARNING, evidence="read", lint_only=True)
def podgroup_controller_access(access: Access, stack: Stack) -> Iterator[Finding]:
    """The PodGroup controller of scheduler-plugins may not write the status of PodGroups.

    The controller counts members and writes phase and numbers into a PodGroup's status, by a patch of
    `podgroups/status` (scheduler-plugins v0.34.7 pkg/controllers/podgroup_controller.go:141-148). A role that gives
    `podgroups` gives no subresource with it: the status then stays empty, while its log repeats `is forbidden`. Gangs
    are placed all the same, since Coscheduling never reads the status.

    Silent where a role that is bound to it is not in the input, and on releases up to 0.24, which have the kind in
    another API group.
    """
    controller = next((each for each in access.processes if not is_kube_scheduler(each)), None)
    if (
        controller is None
        or reads_old_group(controller)
        or not access.grants
        or not all(each.known for each in access.grants)
    ):
        return
    missing = [f"{verb} {resource}" for resource, verb in _NEEDED if not access.allows(GROUP_API, resource, verb)]
    if missing:
        yield Finding(
            controller.pod.field("serviceAccountName"),
            f"ServiceAccount {access.namespace}/{access.name} of the PodGroup controller may not {', '.join(missing)}: "
            "the status of PodGroups stays empty",
            fix="give it get, list, watch, patch and update on podgroups and podgroups/status of scheduling.x-k8s.io",
        )
