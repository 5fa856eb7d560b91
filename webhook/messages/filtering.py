"""What HAMi's extender says while it looks for nodes and cards, and kube-scheduler's own count of resources.

Sources: HAMi v2.10.0 pkg/scheduler (scheduler.go, score.go, event.go); its tags for earlier texts.
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import (
    DEVICE_PLUGIN,
    EVENTS,
    EXTENDER_LOG,
    MEMBERS,
    SCHEDULER_CONFIG,
)

_FILTERING = "event FilteringFailed of the Pod (HAMi's extender)"
_CALL = "event FailedScheduling of the Pod (reason SchedulerError in its condition); kube-scheduler's log"

FILTERING: tuple[Message, ...] = (
    Message(
        "no-available-node",
        (
            "no available node, {count:number} nodes do not meet",
            "no available node, all node scores do not meet",
            "no available node",
        ),
        _FILTERING,
        "No node has cards for the Pod. The events beside it say for each reason which nodes have it.",
        (EVENTS, Check("what a reason means: gangcheck why '1 nodes CardInsufficientMemory(n1)'")),
        normal="sometimes",
        normal_when="while the cluster is full",
        versions=(
            ("HAMi 2.5", "says `all node scores do not meet`"),
            ("HAMi 2.6 and later", "says how many nodes"),
            ("HAMi 2.7 and later", "has an event for each reason beside it"),
        ),
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:1111",
    ),
    Message(
        "found-node",
        (
            "find fit node({node}), {unfit:number} nodes not fit, {fit:number} nodes fit",
            "find fit node({node})",
        ),
        "event FilteringSucceed of the Pod (HAMi's extender)",
        "HAMi chose {node} and booked the cards there. If the Pod stays Pending now, the gang is what it waits for, "
        "and it keeps the booking meanwhile.",
        (EVENTS, MEMBERS),
        normal="yes",
        normal_when="that is how it looks when filtering works",
        evidence="read",
        versions=(("HAMi 2.6 and later", "says it"),),
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:1202",
    ),
    Message(
        "requests-nothing",
        ("does not request any resource",),
        f"{_FILTERING}; the log",
        "The Pod asks for no HAMi resource, so the extender lets all nodes pass. The reason FilteringFailed is "
        "misleading.",
        (Check("whether the Pod should ask for a GPU: limits in its containers"),),
        ("gpu-unknown-resource", "gpu-request-as-annotation"),
        "yes",
        "for Pods without a GPU, such as a launcher",
        (("HAMi up to 2.9", "as an event"), ("HAMi 2.10", "in the log only")),
        evidence="read",
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:1081",
    ),
    Message(
        "node-unregistered",
        ("node unregistered",),
        "FailedNodes of the extender, so a part of the event FailedScheduling; the extender's log",
        "No device plugin of HAMi has registered cards on that node (annotation hami.io/node-nvidia-register), or the "
        "extender has not read it yet.",
        (
            Check(
                "nodes with their registration",
                "kubectl get nodes -o 'custom-columns=NAME:.metadata.name,"
                "CARDS:.metadata.annotations.hami\\.io/node-nvidia-register'",
            ),
            DEVICE_PLUGIN,
        ),
        normal="sometimes",
        normal_when="for nodes without GPUs",
        evidence="read",
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:708,851",
    ),
    Message(
        "scoring-failed",
        (
            (
                'calcScore failed invalid hami.io/device-scoring-weights annotation "{value:token}": expected slot, '
                "core, and memory weights for pod {pod}"
            ),
            "calcScore failed",
        ),
        _FILTERING,
        "The extender could not weigh the nodes for the Pod. With hami.io/device-scoring-weights the annotation needs "
        "weights for slot, core and memory.",
        (
            Check(
                "the Pod's annotations", "kubectl get pod -n {namespace} {pod} -o jsonpath='{.metadata.annotations}'"
            ),
            EXTENDER_LOG,
        ),
        ("gpu-selection-annotation",),
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:1105",
    ),
    Message(
        "insufficient-extended-resource",
        ("{count:number} Insufficient {resource:resource}", "Insufficient {resource:resource}"),
        _CALL.replace(" (reason SchedulerError in its condition)", ""),
        "kube-scheduler itself counts {resource} and finds too little on {count|some} nodes. HAMi's memory, cores and "
        "percentage are on no node's allocatable list: they must stand in the extender's managedResources with "
        "ignoredByScheduler, under the name in use. For nvidia.com/gpu, cpu and memory it means what it says. Where "
        "default-scheduler says it (the event's column From), HAMi's webhook did not take the Pod over.",
        (
            Check(
                "which scheduler says it, and which one the Pod names",
                "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.schedulerName}'",
            ),
            Check("whether the API server reaches HAMi's webhook: its log has `failed calling webhook`"),
            SCHEDULER_CONFIG,
            Check(
                "what nodes have",
                "kubectl get nodes -o 'custom-columns=NAME:.metadata.name,ALLOCATABLE:.status.allocatable'",
            ),
        ),
        ("managed-resources", "gpu-unknown-resource", "gpu-other-scheduler", "gpu-webhook-opt-out"),
        "sometimes",
        "for nvidia.com/gpu, cpu and memory while the cluster is full",
        source="kube-scheduler plugin NodeResourcesFit; seen with gpumem left out of managedResources",
    ),
)
