from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import opted_out
from webhook.isolation import meets_webhook
from webhook.model import DEFAULT_SCHEDULER, Pod
from webhook.parse.placeholders import templated
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_MIRROR = "kubernetes.io/config.mirror"


@rule(Pod, Severity.ERROR, evidence="seen")
def gpu_node_name(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod that asks for a GPU names its node, so no scheduler hands it a card.

    HAMi's webhook refuses it: `403 pod has node assigned` (pkg/scheduler/webhook.go:109-112; seen on 2.8.3, 2.9.0 and
    2.10.0). Where that webhook is not asked (it is off; 2.7.0 to 2.8.3 with HAMi's schedulerName), no extender books a
    card, and the device plugin finds no Pod to give one to: `no binding pod found on node`, UnexpectedAdmissionError
    from the kubelet (pkg/util/util.go:117, read). To keep a Pod on one node, a nodeSelector goes through the scheduler.

    Nothing is said of running Pods, whose nodeName a scheduler wrote, of mirror Pods of static ones, and of Pods that
    name another scheduler (HAMi's webhook passes them over, seen) or opt out of HAMi's webhook.
    """
    if not pod.node_name or pod.live or _MIRROR in pod.annotations or opted_out(pod):
        return
    if pod.scheduler not in {"", DEFAULT_SCHEDULER, stack.hami_scheduler}:
        return
    if not stack.wants_device(pod) or templated(pod.node_name):
        return
    refused = "HAMi's webhook refuses it, and " if meets_webhook(pod, stack) else ""
    yield Finding(
        pod.field("nodeName"),
        f"{pod} asks for a GPU and names its node, {pod.node_name}: {refused}no scheduler hands it a card",
        fix=f"remove nodeName; to stay on that node, write nodeSelector: {{kubernetes.io/hostname: {pod.node_name}}}",
    )
