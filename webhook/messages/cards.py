"""Why HAMi finds no card for a Pod: the reasons of its filter, and what kubelet says when a card is handed out.

Sources: HAMi v2.10.0 pkg/device/common/common.go:25-44, pkg/device/nvidia/device.go:715-876 (Fit),
pkg/scheduler/score.go:348-354, pkg/device-plugin/nvidiadevice/nvinternal/plugin.
"""

from __future__ import annotations

from webhook.messages import Check, Message, Normal
from webhook.messages.checks import BOOKED, DEVICE_PLUGIN, EXTENDER_LOG
from webhook.rule import Evidence

_WHERE = (
    "event FilteringFailed of the Pod (`2 nodes REASON(n1,n2)`, HAMi 2.7 and later); event FailedScheduling "
    "(`1/4 REASON`: on 1 of the node's 4 cards)"
)
_ANNOTATIONS = Check(
    "the Pod's annotations", "kubectl get pod -n {namespace} {pod} -o jsonpath='{.metadata.annotations}'"
)
_REGISTERED = Check(
    "the cards that the node has registered",
    "kubectl get node {node} -o jsonpath='{.metadata.annotations.hami\\.io/node-nvidia-register}'",
)
_WHILE_FULL = "while the cards are in use"


def _reason(  # noqa: PLR0917 - the columns of a table
    reason: str,
    meaning: str,
    checks: tuple[Check, ...],
    rules: tuple[str, ...] = (),
    when: str = "",
    evidence: Evidence = "read",
) -> Message:
    """The row of a reason of HAMi's filter, in the three ways in which it is said."""
    normal: Normal = "sometimes" if when else "no"
    patterns = (
        f"{{nodes:number}} nodes {reason}({{node}}",
        f"{{cards:number}}/{{all:number}} {reason}",
        reason,
    )
    source = "HAMi v2.10.0 pkg/device/nvidia/device.go:715-876, pkg/device/common/common.go:25-44"
    name = "".join(f"-{c.lower()}" if c.isupper() else c for c in reason).removeprefix("-")
    return Message(name, patterns, _WHERE, meaning, checks, rules, normal, when, evidence=evidence, source=source)


CARDS: tuple[Message, ...] = (
    _reason(
        "CardTypeMismatch",
        "The card's model is not among those that hami.io/nvidia.com/use-gputype asks for (or nouse-gputype excludes), "
        "or its mode is not the Pod's vgpu-mode. A misspelt model or mode matches no card at all.",
        (_ANNOTATIONS, _REGISTERED),
        ("gpu-selection-annotation", "device-annotation-on-workload"),
        evidence="seen",
    ),
    _reason(
        "CardUuidMismatch",
        "The card is not among those that the Pod's use-gpuuuid asks for, or nouse-gpuuuid excludes it.",
        (_ANNOTATIONS, _REGISTERED),
        ("gpu-selection-annotation",),
    ),
    _reason(
        "CardTimeSlicingExhausted",
        "The card is shared by as many Pods as deviceSplitCount allows (10 by default).",
        (BOOKED, Check("deviceSplitCount in the device configuration")),
        when=_WHILE_FULL,
    ),
    _reason(
        "CardComputeUnitsExhausted",
        "The card's cores are all given away, and a Pod that asks for no cores does not go on a card without any left.",
        (BOOKED,),
        when=_WHILE_FULL,
    ),
    _reason(
        "CardInsufficientMemory",
        "The card has less free memory than the Pod asks for. On a card that looks empty a Pod that does not run may "
        "hold it: HAMi books when it filters, and a gang that is turned away later keeps its booking until the Pod is "
        "filtered again or deleted.",
        (
            BOOKED,
            Check("delete the stuck Pods of gangs that cannot start"),
            Check("gpumem counts MiB: 16Gi asks for far more than any card has"),
            _REGISTERED,
        ),
        ("gpu-memory-unit", "pod-group-not-found", "below-min-member", "scheduler-owned-annotation"),
        _WHILE_FULL,
        "seen",
    ),
    _reason(
        "CardInsufficientCore",
        "The card has fewer free cores (per cent of its computing power) than the Pod asks for.",
        (BOOKED,),
        ("gpu-cores-range", "gpu-whole-card"),
        _WHILE_FULL,
    ),
    _reason(
        "CardNotHealth",
        "The device plugin reports the card as unhealthy.",
        (DEVICE_PLUGIN, _REGISTERED, Check("dmesg and nvidia-smi on the node (XID errors)")),
    ),
    _reason(
        "CardCordoned",
        "The card was taken out of service on purpose, by the annotation hami.io/device-cordon of its node (HAMi 2.10 "
        "and later).",
        (
            Check(
                "the cards that are named there",
                "kubectl get node {node} -o jsonpath='{.metadata.annotations.hami\\.io/device-cordon}'",
            ),
        ),
        when="while somebody works on the card",
    ),
    _reason(
        "NumaNotFit",
        "The Pod wants its cards on one NUMA node (nvidia.com/numa-bind), and no NUMA node has so many free.",
        (_ANNOTATIONS, BOOKED),
        ("gpu-selection-annotation",),
        _WHILE_FULL,
    ),
    _reason(
        "ExclusiveDeviceAllocateConflict",
        "The Pod wants a card for itself (100 cores, as HAMi adds for a bare `nvidia.com/gpu: 1` from 2.7 on, or the "
        "mutex policy), and somebody is on this one.",
        (BOOKED, Check("ask for gpumem or fewer gpucores to share a card")),
        ("gpu-whole-card",),
        _WHILE_FULL,
    ),
    _reason(
        "CardNotFoundCustomFilterRule",
        "The vendor's own rule turned the card down, for NVIDIA one of MIG.",
        (EXTENDER_LOG,),
    ),
    _reason(
        "CardMigTopologyInfeasible",
        "The card is in MIG mode, and no allowed profile of the memory asked for has a free place on it.",
        (EXTENDER_LOG, BOOKED),
        when=_WHILE_FULL,
    ),
    _reason(
        "NodeInsufficientDevice",
        "The node has fewer cards than one container asks for; virtual shares of one card do not add up.",
        (
            Check(
                "cards of each node; nvidia.com/gpu counts them tenfold",
                "kubectl get nodes -o 'custom-columns=NAME:.metadata.name,"
                "CARDS:.metadata.annotations.hami\\.io/node-nvidia-register'",
            ),
        ),
        ("gpu-count-invalid",),
        evidence="seen",
    ),
    _reason(
        "AllocatedCardsInsufficientRequest",
        "Some cards of the node fit, but fewer than the container asks for; the other reasons tell why the rest do "
        "not.",
        (BOOKED,),
        when=_WHILE_FULL,
    ),
    _reason("NodeUnfitPod", "The node does not fit; the reason stands beside it.", (EXTENDER_LOG,), when=_WHILE_FULL),
    _reason("NodeFitPod", "The node fits.", (EXTENDER_LOG,), when="always"),
    _reason(
        "ResourceQuotaNotFit",
        "The namespace's ResourceQuota has too little left for the memory or cores. Bookings of Pods that do not run "
        "count too.",
        (Check("the quota", "kubectl describe resourcequota -n {namespace}"), BOOKED),
        ("quota-prefix",),
        "while others of the namespace use it",
    ),
    _reason(
        "ModeNotFit",
        "The node's cards are in a mode that does not serve this request (Ascend templates, Enflame sharing).",
        (EXTENDER_LOG,),
    ),
    Message(
        "kubelet-no-pending-pod",
        (
            (
                "UnexpectedAdmissionError Allocate failed due to rpc error: code = Unknown desc = no binding pod found "
                "on node {node}, which is unexpected"
            ),
            "no binding pod found on node {node}",
        ),
        "event and reason UnexpectedAdmissionError of the Pod (kubelet, from HAMi's device plugin)",
        "kubelet wants a card for the Pod, but no Pod on {node} is in HAMi's state `allocating`: HAMi's extender did "
        "not bind it. Another scheduler placed it, nodeName was set by hand, or the extender's entry has no bindVerb.",
        (
            Check(
                "the Pod's scheduler and its HAMi annotations",
                "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.schedulerName} {.metadata.annotations}'",
            ),
            Check("bindVerb, filterVerb and nodeCacheCapable in the scheduler's configuration"),
        ),
        ("gpu-other-scheduler", "gpu-node-name", "extender-misconfigured"),
        evidence="read",
        source="HAMi v2.10.0 pkg/util/util.go:117",
    ),
    Message(
        "kubelet-no-device-request",
        ("device request not found",),
        "event and reason UnexpectedAdmissionError of the Pod (kubelet, from HAMi's device plugin)",
        "The Pod has no cards booked in hami.io/vgpu-devices-to-allocate: HAMi's filter never chose any, "
        "because kube-scheduler did not call it as it should or because somebody else wrote the annotation.",
        (
            _ANNOTATIONS,
            Check("filterVerb and nodeCacheCapable in the scheduler's configuration"),
            Check("annotations hami.io/* in the manifest: only the scheduler may write them"),
        ),
        ("extender-misconfigured", "scheduler-owned-annotation"),
        evidence="read",
        source="HAMi v2.10.0 pkg/device-plugin/nvidiadevice/nvinternal/plugin/util.go:63,88,101",
    ),
    Message(
        "kubelet-device-number",
        ("device number not matched",),
        "event and reason UnexpectedAdmissionError of the Pod (kubelet, from HAMi's device plugin)",
        "kubelet asks for another number of cards than HAMi booked for the container. Most likely two Pods were mixed "
        "up on the node, whose lock was off or taken over, or somebody else wrote the annotations.",
        (_ANNOTATIONS, Check("--node-lock-timeout of the extender: 0 or a tiny time turns the lock off")),
        ("node-lock-flags", "scheduler-owned-annotation"),
        evidence="inferred",
        source="HAMi v2.10.0 pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go:735,804",
    ),
    Message(
        "kubelet-nothing-pending",
        ("no pending device allocation found",),
        "event and reason UnexpectedAdmissionError of the Pod (kubelet, from HAMi's device plugin)",
        "All cards booked for the Pod were handed out already, and kubelet asks for more, most likely for a container "
        "that HAMi did not count.",
        (_ANNOTATIONS, DEVICE_PLUGIN),
        ("gpu-init-container",),
        evidence="inferred",
        source="HAMi v2.10.0 pkg/device-plugin/nvidiadevice/nvinternal/plugin/util.go:127",
    ),
    Message(
        "kubelet-devices-unavailable",
        (
            (
                "requested number of devices unavailable for {resource:resource}. Requested: {count:number}, "
                "Available: {free:number}"
            ),
            "requested number of devices unavailable for {resource:resource}",
        ),
        "event and reason UnexpectedAdmissionError of the Pod (kubelet itself, before it asks a device plugin)",
        "kubelet knows of {free|too few} free {resource} on the node, and the Pod needs {count|more}: a device plugin "
        "that restarted or is away, a second one for the same resource (NVIDIA's own beside HAMi's), or Pods that were "
        "placed by another scheduler.",
        (
            DEVICE_PLUGIN,
            Check("other device plugins of the same resource", "kubectl get daemonsets -A | grep -i device-plugin"),
        ),
        ("gpu-other-scheduler", "gpu-node-name"),
        evidence="read",
        source="kubernetes v1.35.4 pkg/kubelet/cm/devicemanager/manager.go:682",
    ),
    Message(
        "kubelet-unexpected-admission",
        ("UnexpectedAdmissionError", "Allocate failed due to rpc error"),
        "reason of the Pod (kubelet)",
        "kubelet refused the Pod on its node; the text behind it is of the device plugin or the kubelet's own.",
        (
            Check("the whole text", "kubectl get pod -n {namespace} {pod} -o jsonpath='{.status.message}'"),
            DEVICE_PLUGIN,
        ),
        ("gpu-other-scheduler", "gpu-node-name"),
        evidence="read",
        source="kubernetes pkg/kubelet/lifecycle/predicate.go",
        unless=(
            "kubelet-no-pending-pod",
            "kubelet-no-device-request",
            "kubelet-device-number",
            "kubelet-nothing-pending",
            "kubelet-devices-unavailable",
        ),
    ),
)
