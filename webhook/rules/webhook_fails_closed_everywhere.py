from __future__ import annotations

from collections.abc import Iterator

from webhook.hookrules import pod_operations
from webhook.model import HookSetting
from webhook.rule import Finding, Severity, rule
from webhook.selectors import NAMESPACE_NAME, opts_in, selects_namespace
from webhook.stack import Stack

_SYSTEM = "kube-system"
_DONE = {"CREATE": "created", "UPDATE": "changed", "DELETE": "deleted"}


@rule(HookSetting, Severity.ERROR, evidence="seen", over=("webhook-guards-itself",), lint_only=True)
def webhook_fails_closed_everywhere(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A webhook that fails closed is called for the Pods of kube-system: when it is down, so is the cluster.

    With failurePolicy Fail, which is also what `admissionregistration.k8s.io/v1` takes where none is written, a
    request is refused when the webhook gives no answer (seen; apiserver
    pkg/admission/plugin/webhook/mutating/dispatcher.go). DNS, the network, the node's own agents and the controllers
    stand in kube-system; a webhook that needs them to come up and is needed to make them leaves a cluster that cannot
    mend itself: every Pod that is lost stays lost. Providers call this unsafe, and outages of whole clusters are on
    record.

    An error where the API server's own labels prove that kube-system is taken: no namespaceSelector at all, or one
    whose lines all fit it. Silent where a label decides that kube-system may or may not carry (`NotIn` on a key of
    one's own; give its Namespace to have it judged), where objectSelector asks for a label on the Pod, and where
    matchConditions narrow the Pods down: those are CEL, which the linter does not evaluate. With an objectSelector
    that leaves some Pods out it is a warning.
    """
    for hook in setting.configuration.hooks:
        done = [word for operation, word in _DONE.items() if operation in pod_operations(hook)]
        if not done or not hook.fails_closed or hook.has_conditions or opts_in(hook.objects):
            continue
        if not selects_namespace(hook.namespaces, _SYSTEM, setting.namespaces):
            continue
        default = "" if hook.failure_policy else " (the default)"
        own = hook.endpoint.namespace if hook.endpoint else _SYSTEM
        spared = _SYSTEM if own == _SYSTEM else f"{_SYSTEM} and {own}"
        yield Finding(
            setting.configuration.field(hook, "failurePolicy"),
            f"{hook} has failurePolicy Fail{default} and is called for Pods in {_SYSTEM}: while it does not answer, "
            f"none can be {' or '.join(done)} there",
            fix=f"exclude {spared} by {NAMESPACE_NAME} NotIn in namespaceSelector, or write failurePolicy: Ignore",
            severity=Severity.WARNING if hook.objects else None,
        )
