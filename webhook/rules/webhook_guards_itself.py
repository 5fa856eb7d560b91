from __future__ import annotations

from collections.abc import Iterator

from webhook.hookrules import pod_operations
from webhook.model import Hook, HookSetting
from webhook.rule import Finding, Severity, rule
from webhook.selectors import NAMESPACE_NAME, selects, selects_namespace
from webhook.stack import Stack


@rule(HookSetting, Severity.WARNING, evidence="read", lint_only=True)
def webhook_guards_itself(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A webhook that fails closed is called for its own Pods: once all of them are gone, none comes back.

    The Pods behind a Service stand in the Service's namespace. Where the webhook fails closed (failurePolicy Fail, the
    default of v1) and takes that namespace too, creating its first Pod asks a webhook that has no Pod yet, and is
    refused. A rollout hides it as long as one replica lives; a drain of two nodes, an eviction or a restart of the
    cluster shows it, and only deleting the configuration helps (webhook-practice: "An admission webhook that crashed my
    cluster").

    Silent where a label decides that the namespace may carry (give its Namespace to have it judged), where an
    objectSelector leaves the webhook's own Pods out (judged where the Service and its Pods are in the input, else
    unknown), where matchConditions narrow the Pods down, and on webhooks called at a URL.
    """
    for hook in setting.configuration.hooks:
        if not hook.fails_closed or hook.endpoint is None or hook.has_conditions:
            continue
        home = hook.endpoint.namespace
        if "CREATE" not in pod_operations(hook) or not selects_namespace(hook.namespaces, home, setting.namespaces):
            continue
        if _runs_elsewhere(hook, setting) or not _takes_its_pods(hook, setting):
            continue
        yield Finding(
            setting.configuration.field(hook, "failurePolicy"),
            f"{hook} has failurePolicy Fail and is called for Pods in {home}, where its own run: once they are all "
            "gone, none can be created again",
            fix=f"exclude {home} by {NAMESPACE_NAME} NotIn in namespaceSelector, or write failurePolicy: Ignore",
        )


def _runs_elsewhere(hook: Hook, setting: HookSetting) -> bool:
    """Whether the Service has no Pods of its own: it is another host's name, or its endpoints are made by hand."""
    endpoint = hook.endpoint
    found = [each for each in setting.services if endpoint and each.ref.name == endpoint.name]
    return any(each.ref.namespace == endpoint.namespace and not each.selector for each in found if endpoint)


def _takes_its_pods(hook: Hook, setting: HookSetting) -> bool:
    if not hook.objects:
        return True
    own = [pod for pod in setting.servers if hook.endpoint and pod.ref.namespace == hook.endpoint.namespace]
    return any(selects(hook.objects, pod.labels, sealed=True) for pod in own)
