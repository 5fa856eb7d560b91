"""What kube-scheduler says of a gang's Pods: Coscheduling's own texts and what stands around them.

Sources: scheduler-plugins v0.34.7 pkg/coscheduling (coscheduling.go, core/core.go), and what was seen on Kubernetes
1.35.4 with v0.35.4-devel, whose Coscheduling is the same.
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import EVENTS, MEMBERS, POD_LABELS, PODGROUP, SCHEDULER_LOG

_EVENT = "event FailedScheduling and condition PodScheduled of the Pod; kube-scheduler's log"

GANGS: tuple[Message, ...] = (
    Message(
        "not-enough-siblings",
        (
            (
                "pre-filter pod {pod} cannot find enough sibling pods, current pods number: {present:number}, "
                "minMember of group: {wanted:number}"
            ),
            (
                "cannot find enough sibling pods, current pods number: {present:number}, "
                "minMember of group: {wanted:number}"
            ),
            "current pods number: {present:number}, minMember of group: {wanted:number}",
            "cannot find enough sibling pods",
        ),
        f'{_EVENT} ("PreFilter failed")',
        "Coscheduling counted {present|fewer} live Pods with the group's label in the Pod's namespace, and the "
        "PodGroup's minMember is {wanted|more than that}. Every member is turned away until so many are there; the "
        "last one that comes wakes all the others. Pods that are Succeeded or Failed do not count.",
        (
            MEMBERS,
            Check(
                "members that exist but are not counted: the label missing on the Pod, another namespace, finished "
                "Pods, a workload that never has so many alive at once"
            ),
            PODGROUP,
        ),
        (
            "below-min-member",
            "gang-starts-in-stages",
            "gang-last-wave",
            "pod-group-on-workload",
            "rollout-renames-gang",
            "duplicate-object",
        ),
        "sometimes",
        "a healthy gang that is created in one go leaves one such event on each member but the last; "
        "it is a mistake when the number stays the same",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/core/core.go:264",
    ),
    Message(
        "gated-siblings",
        (
            "pre-filter pod {pod} cannot proceed due to gated pods in the same PodGroup",
            "cannot proceed due to gated pods in the same PodGroup",
        ),
        _EVENT,
        "Members with scheduling gates do not count for minMember, and without them the group is too small. When the "
        "gates go, the group is bound within a fraction of a second.",
        (
            Check(
                "which members are gated, and by whom (Kueue, a controller)",
                "kubectl get pods -n {namespace} -l scheduling.x-k8s.io/pod-group={group} -o 'custom-columns="
                "NAME:.metadata.name,GATES:.spec.schedulingGates[*].name'",
            ),
        ),
        ("gang-scheduling-gates",),
        "sometimes",
        "while gates are taken away one by one the first members may say it once",
        (
            ("scheduler-plugins 0.34 and later", "gated members are left out of the count"),
            ("earlier scheduler-plugins", "gated members counted as if they were ordinary ones"),
        ),
        source="scheduler-plugins v0.34.7 pkg/coscheduling/core/core.go:275",
    ),
    Message(
        "scheduling-gated",
        (
            "SchedulingGated: Scheduling is blocked due to non-empty scheduling gates",
            "Scheduling is blocked due to non-empty scheduling gates",
        ),
        "condition PodScheduled (reason SchedulingGated) of the Pod",
        "The Pod has scheduling gates and is not looked at until whoever set them takes them away.",
        (
            Check(
                "the gates' names tell who has to act",
                "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.schedulingGates[*].name}'",
            ),
        ),
        ("gang-scheduling-gates",),
        "sometimes",
        "that is what gates are for; in a gang they hold all members back",
        source="kube-scheduler plugin SchedulingGates",
    ),
    Message(
        "podgroup-not-found",
        ("{count:number} PodGroup not found", "PodGroup not found"),
        "event FailedScheduling and condition PodScheduled of the Pod (always as `0/1 nodes are available: 1 PodGroup "
        'not found.`); kube-scheduler\'s log ("Pod rejected by plugin", logger Permit)',
        "The Pod's label names a PodGroup that is not in the Pod's namespace. The Pod was filtered all "
        "the same, so HAMi has booked a card for it that nobody else gets until the Pod is deleted. Once the PodGroup "
        "is there the Pod is bound at once.",
        (
            POD_LABELS,
            Check(
                "the PodGroups of that namespace, and the same name in others",
                "kubectl get podgroups.scheduling.x-k8s.io -A",
            ),
            Check("PodGroups of other systems do not count: apiVersion must be scheduling.x-k8s.io/v1alpha1"),
        ),
        ("pod-group-not-found", "pod-group-unmatchable", "pod-group-foreign", "gang-in-two-namespaces"),
        "sometimes",
        "for a moment, where Pods and PodGroup are applied together",
        (
            (
                "scheduler-plugins up to 0.30.6",
                "also where the scheduler may not read PodGroups (read in the source)",
            ),
            (
                "scheduler-plugins 0.31.8 and later",
                "never because of missing rights or a missing CRD: then no Pod at all is scheduled, without an event",
            ),
        ),
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:228",
    ),
    Message(
        "no-pod-group",
        ("can not find pod group",),
        "last part of the event FailedScheduling of Pods without a group",
        "Nothing: Coscheduling adds it to the message of every Pod that belongs to no group and does not fit. What "
        "keeps the Pod waiting stands before it. Only on a Pod that has the group's label does it say that the "
        "PodGroup does not exist.",
        (EVENTS, POD_LABELS),
        ("pod-group-not-found",),
        "yes",
        "on ordinary Pods of a scheduler with Coscheduling",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:170",
    ),
    Message(
        "group-rejected",
        (
            "PodGroup {namespace}/{group} gets rejected due to Pod {pod} is unschedulable even after PostFilter",
            "gets rejected due to Pod {pod} is unschedulable even after PostFilter",
        ),
        "last part of the event FailedScheduling of the Pod",
        "A consequence, no cause: Pod {pod} does not fit, so its waiting siblings are sent back too. Why it does not "
        "fit stands at the beginning of the same message.",
        (EVENTS,),
        normal="sometimes",
        normal_when="as the tail of another message; judge by that one",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:210",
    ),
    Message(
        "permit-timeout",
        ("rejected due to timeout after waiting {wait:duration} at plugin Coscheduling",),
        "event FailedScheduling of the Pod (always as `0/1 nodes are available: 1 rejected due to timeout …`)",
        "The Pod had a node and waited {wait|its time} for its siblings, but fewer than minMember of them got that far "
        "on this scheduler. Members that another scheduler, or another profile, or a late call of HAMi's extender "
        "bound are never counted.",
        (
            MEMBERS,
            Check(
                "siblings without a node: their events tell why they do not fit",
                "kubectl events -n {namespace} --types=Warning",
            ),
            Check(
                "13 of 16 running and the rest like this for ever: late binds; lower minMember, or restart the "
                "scheduler and then change the PodGroup (an annotation will do)",
                "kubectl annotate podgroups.scheduling.x-k8s.io -n {namespace} {group} touched=$(date +%s) --overwrite",
            ),
            Check("the time itself: gangcheck explain timeouts PATH… prints the whole chain"),
        ),
        (
            "gang-split-over-schedulers",
            "gang-too-big-for-one-node",
            "schedule-timeout-unusable",
            "extender-client-limit",
            "extender-timeout",
        ),
        "sometimes",
        "once or twice while nodes are being freed or added; for ever it is a mistake",
        (
            ("scheduler-plugins 0.31.8 and later", "only Pods that this scheduler let through Permit count"),
            ("scheduler-plugins up to 0.30.12", "Pods that any scheduler bound count"),
        ),
        source="kube-scheduler framework/runtime/waiting_pods_map.go; scheduler-plugins v0.34.7 core.go:104-164",
    ),
    Message(
        "rejection-in-unreserve",
        ("{count:number} rejection in Unreserve", "rejection in Unreserve"),
        "event FailedScheduling of the Pod (always as `0/1 nodes are available: 1 rejection in Unreserve.`)",
        "A sibling timed out, was rejected or could not be bound, and Coscheduling sent this waiting Pod back with "
        "it. The cause is at the sibling.",
        (MEMBERS, Check("the siblings' events", "kubectl events -n {namespace} --types=Warning")),
        ("gang-split-over-schedulers", "gang-too-big-for-one-node", "extender-client-limit"),
        "sometimes",
        "now and then; in turn with time-outs for ever it is a split gang",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:271",
    ),
    Message(
        "optimistic-rejection",
        ("optimistic rejection in PostFilter",),
        "event FailedScheduling of a waiting Pod",
        "A sibling fits on no node, and too many members (more than podGroupRejectPercentage, 10 % by default) have "
        "no node yet, so Coscheduling sent the waiting ones back at once.",
        (Check("the sibling that does not fit", "kubectl events -n {namespace} --types=Warning"), PODGROUP),
        normal="sometimes",
        normal_when="while the cluster is full",
        versions=(("scheduler-plugins up to 0.33.5", "the share is fixed at 10 %"),),
        evidence="read",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:186-194",
    ),
    Message(
        "small-gap",
        ("A small gap of pods to reach the quorum",),
        "kube-scheduler's log, from -v=4 on",
        "A member does not fit, but only few are missing (up to podGroupRejectPercentage, 10 % by default, so with "
        "minMember of 10 or more): the waiting siblings keep their places until they time out.",
        (PODGROUP,),
        normal="yes",
        normal_when="it only tells that nobody is sent back yet",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:184",
    ),
    Message(
        "waiting-at-permit",
        ("Pod is waiting to be scheduled to node",),
        "kube-scheduler's log (logger Permit); the Pod itself has no event and no condition, from Kubernetes 1.35 on "
        "only status.nominatedNodeName",
        "The Pod has a node and waits for its siblings.",
        (MEMBERS,),
        normal="yes",
        normal_when="every member but the last one waits so",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:230",
    ),
    Message(
        "group-backed-off",
        ("podGroup {namespace}/{group} failed recently", "podGroup {group} failed recently"),
        _EVENT,
        "The plugin argument podGroupBackoffSeconds is set and the group failed within that time. Nothing wakes the "
        "group when the time is over: 20 seconds became 327 in a quiet cluster.",
        (
            Check("leave podGroupBackoffSeconds out"),
            Check(
                "to wake it now, change the PodGroup",
                "kubectl annotate podgroups.scheduling.x-k8s.io -n {namespace} {group} touched=$(date +%s) --overwrite",
            ),
        ),
        ("podgroup-backoff",),
        versions=(("scheduler-plugins 0.26 and later", "has the argument; it is off by default"),),
        source="scheduler-plugins v0.34.7 pkg/coscheduling/core/core.go:252",
    ),
    Message(
        "group-denied",
        ("pod with pgName: {namespace}/{group} last failed in {wait:duration}, deny", "last failed in 3s, deny"),
        "event FailedScheduling of the Pod",
        "An old release turns a group away for 3 seconds after one of its members failed.",
        (EVENTS,),
        normal="sometimes",
        normal_when="it goes away by itself; the member that failed has the cause",
        versions=(("scheduler-plugins 0.19 to 0.22", "says it; later ones do not"),),
        evidence="read",
        source="scheduler-plugins v0.22.6 pkg/coscheduling/core/core.go",
    ),
    Message(
        "resource-gap",
        ("resource gap: map[{resource:resource}:", "resource gap"),
        f'{_EVENT} ("PreFilter failed")',
        "The PodGroup's minResources asks for more {resource|of a resource} than all nodes together have free. Where "
        "no node advertises the resource at all (HAMi's gpumem, gpucores and percentage stand in node annotations "
        "only) that is for ever. The figure is printed raw: 6000 may show as `{6 3}`.",
        (
            PODGROUP,
            Check(
                "whether a node advertises {resource|the resource}",
                "kubectl get nodes -o 'custom-columns=NAME:.metadata.name,ALLOCATABLE:.status.allocatable'",
            ),
            Check(
                "operators fill minResources from the Pods' limits or requests and put it back: set "
                "schedulingPolicy.minResources on the job (MPI, Training Operator), or turn on HAMi's mockDevicePlugin"
            ),
        ),
        ("min-resources-unsatisfiable",),
        "sometimes",
        "for nvidia.com/gpu, cpu and memory while the cluster is full; never for gpumem or gpucores",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/core/core.go:406-467",
    ),
    Message(
        "pods-unlistable",
        ("podLister list pods failed",),
        _EVENT,
        "Coscheduling could not list the group's Pods from its own cache.",
        (SCHEDULER_LOG,),
        evidence="read",
        source="scheduler-plugins v0.34.7 pkg/coscheduling/core/core.go:259",
    ),
    Message(
        "preempted-sibling",
        ("Preempted by pod {uid} on node {node}", "nodes are available: {count:number} preempted", "Preempted by pod"),
        "event Preempted of the Pod, and FailedScheduling (`0/1 nodes are available: 1 preempted.`)",
        "A Pod of higher priority took the place. Between two gangs whose members have different priorities this goes "
        "on for ever: each preempts the other's waiting members and neither starts.",
        (
            Check(
                "the members' priorities; give a gang one priorityClassName",
                "kubectl get pods -n {namespace} -o 'custom-columns=NAME:.metadata.name,PRIORITY:.spec.priority,"
                "CLASS:.spec.priorityClassName'",
            ),
        ),
        ("gang-mixed-priorities",),
        "sometimes",
        "where more important work came; not among members of one gang",
        source="kube-scheduler plugin DefaultPreemption; scheduler-plugins v0.34.7 coscheduling.go:135-147",
    ),
    Message(
        "preemption-no-help",
        (
            (
                "no new claims to deallocate, preemption: 0/{nodes:number} nodes are available: {count:number} "
                "Preemption is not helpful for scheduling"
            ),
            "preemption: 0/{nodes:number} nodes are available: {count:number} Preemption is not helpful for scheduling",
            "Preemption is not helpful for scheduling",
        ),
        "second part of the event FailedScheduling of the Pod",
        "Nothing by itself: evicting other Pods would not help. The cause stands before it.",
        (EVENTS,),
        normal="yes",
        normal_when="it follows whatever kept the Pod from being placed",
        source="kube-scheduler plugin DefaultPreemption",
    ),
)
