from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import is_led_away, makes_groups, operator_of, unread_keys
from webhook.model import GROUP_LABEL, Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.ERROR, evidence="seen")
def pod_group_empty(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The pod-group label has no value: no gang, and nothing says so.

    Coscheduling takes an empty label for "no group" (pkg/coscheduling/core/core.go:309-312): the Pod is an ordinary
    Pod and starts at once and alone (seen). An empty or null value in YAML is stored as the empty text (seen). It is
    what a template leaves behind when the variable for the group's name is not set. HAMi's lock retry, too, wants a
    value (pkg/util/util.go:392-403).
    """
    if pod.labels.get(GROUP_LABEL) != "" or stack.is_foreign(pod):
        return
    if any(unread_keys(pod)) or makes_groups(operator_of(pod.ref), stack) or is_led_away(pod, stack):
        return
    yield Finding(
        pod.label(GROUP_LABEL, "value"),
        f"the label {GROUP_LABEL} of {pod} is empty, which is no gang: its members start one by one",
        fix="write the name of the PodGroup there, or remove the label",
    )
