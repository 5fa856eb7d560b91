"""Why kube-scheduler or HAMi's extender does not start, or starts and schedules nothing.

Sources: what the real binaries said (Kubernetes 1.35.4, scheduler-plugins v0.35.4-devel, HAMi 2.10.0).
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import ACCESS, CRD, EXTENDER_FLAGS, SCHEDULER_CONFIG, SCHEDULER_LOG

_START = 'kube-scheduler\'s log ("command failed"); the container ends with exit code 1 and is restarted for ever'
_EXTENDER_START = "the log of HAMi's extender; the container ends with exit code 255 and is restarted for ever"
_SECONDS = "kube-scheduler, KubeSchedulerConfiguration v1"
_IMAGE = Check(
    "the image of kube-scheduler",
    "kubectl get deploy -n {hami_namespace} hami-scheduler -o jsonpath='{.spec.template.spec.containers[*].image}'",
)

STARTING: tuple[Message, ...] = (
    Message(
        "two-queue-sorts",
        (
            'only one queue sort plugin required for profile with scheduler name "{scheduler}", but got {count:number}',
            "only one queue sort plugin required",
        ),
        _START,
        "Coscheduling sorts the queue itself, and a profile takes one such plugin: PrioritySort is still on beside it "
        "(or, with `got 0`, all are disabled and none is enabled).",
        (
            SCHEDULER_CONFIG,
            Check("under plugins: multiPoint.enabled [Coscheduling] and queueSort.disabled [PrioritySort]"),
        ),
        ("queue-sort-conflict",),
        source="kube-scheduler framework/runtime/framework.go NewFramework",
    ),
    Message(
        "different-queue-sorts",
        (
            (
                "profiles[{index:number}].plugins.queueSort: Invalid value: {value:text}: must be the same for all "
                "profiles"
            ),
            "must be the same for all profiles",
        ),
        _START,
        "All profiles of one kube-scheduler must sort their queue with the same plugin: beside a profile with "
        "Coscheduling a plain one needs Coscheduling as queueSort too.",
        (SCHEDULER_CONFIG,),
        ("queue-sort-conflict",),
        source="kube-scheduler apis/config/validation",
    ),
    Message(
        "unknown-plugin",
        ('{point}Plugin "{plugin}" does not exist',),
        _START,
        "The image of kube-scheduler has no plugin {plugin}. The stock image has no Coscheduling at all; "
        "scheduler-plugins' image has it under exactly this name.",
        (_IMAGE, SCHEDULER_CONFIG),
        ("scheduler-config-refused", "stock-scheduler-image", "coscheduling-not-enabled"),
        source="kube-scheduler framework/runtime/framework.go",
    ),
    Message(
        "scheduler-config-version",
        (
            'no kind "KubeSchedulerConfiguration" is registered for version "{version:token}"',
            'no kind "CoschedulingArgs" is registered for version "{version:token}"',
        ),
        _START,
        "This kube-scheduler does not know the version {version} of its configuration, or of Coscheduling's arguments.",
        (SCHEDULER_CONFIG, Check("write kubescheduler.config.k8s.io/v1"), _IMAGE),
        ("coscheduling-args",),
        versions=(
            ("scheduler-plugins 0.25 and later", "take v1"),
            ("scheduler-plugins 0.29 and later", "take v1 only"),
            ("scheduler-plugins 0.23 to 0.28", "take v1beta3"),
            ("scheduler-plugins up to 0.27", "take v1beta2"),
        ),
        source="scheduler-plugins apis/config/*/register.go",
    ),
    Message(
        "unknown-plugin-argument",
        (
            'decoding args for plugin {plugin}: strict decoding error: unknown field "{field:token}"',
            "decoding args for plugin {plugin}: strict decoding error",
        ),
        _START,
        "The plugin {plugin} has no argument {field|of that name}. Coscheduling takes permitWaitingTimeSeconds, "
        "podGroupBackoffSeconds and podGroupRejectPercentage.",
        (SCHEDULER_CONFIG,),
        ("coscheduling-args",),
        versions=(
            ("scheduler-plugins 0.26 and later", "take podGroupBackoffSeconds"),
            ("scheduler-plugins 0.34.7 and later", "take podGroupRejectPercentage"),
            ("v1beta1 and v1beta2 only", "take deniedPGExpirationTimeSeconds"),
        ),
        source="scheduler-plugins v0.34.7 apis/config/v1/types.go",
    ),
    Message(
        "plugin-argument-type",
        (
            "json: cannot unmarshal {given} into Go struct field CoschedulingArgs.{field} of type {type}",
            "want args to be of type CoschedulingArgs, got {type:token}",
            "want args to be of type CoschedulingArgs",
        ),
        _START,
        "An argument of Coscheduling has the wrong type: all are whole numbers of seconds (or per cent), without "
        "quotes and without a unit.",
        (SCHEDULER_CONFIG,),
        ("coscheduling-args",),
        source="scheduler-plugins v0.34.7 apis/config/v1/types.go",
    ),
    Message(
        "plugin-argument-range",
        (
            "permitWaitingTimeSeconds: Invalid value: {value:number}: must be greater than 0",
            "podGroupBackoffSeconds: Invalid value: {value:number}: must be greater than 0",
            "podGroupRejectPercentage: Invalid value: {value:number}: must be between 0 and 100",
        ),
        _START,
        "An argument of Coscheduling is out of its range: {value|the value} is refused. permitWaitingTimeSeconds 0 is "
        "accepted in spite of the text.",
        (SCHEDULER_CONFIG,),
        ("coscheduling-args",),
        source="scheduler-plugins v0.34.7 apis/config/validation/validation_pluginargs.go:97-110",
    ),
    Message(
        "scheduler-config-field",
        (
            'strict decoding error: unknown field "extender"',
            'strict decoding error: unknown field "profiles[{index:number}].{field:token}"',
            'strict decoding error: unknown field "extenders[{index:number}].{field:token}"',
            'strict decoding error: unknown field "leaderElection.{field:token}"',
        ),
        _START,
        "The configuration has a field that kube-scheduler does not know: a misspelling (`extenders`, `multiPoint`) "
        "or a wrong place.",
        (SCHEDULER_CONFIG,),
        ("scheduler-config-refused",),
        source=_SECONDS,
    ),
    Message(
        "scheduler-name-twice",
        ("profiles[{index:number}].schedulerName: Duplicate value",),
        _START,
        "Two profiles have the same schedulerName.",
        (SCHEDULER_CONFIG,),
        ("scheduler-config-refused", "profile-name-mismatch"),
        source=_SECONDS,
    ),
    Message(
        "http-timeout-unit",
        (
            "json: cannot unmarshal number into Go struct field Extender.extenders.httpTimeout of type string",
            'time: missing unit in duration "{value:token}"',
        ),
        f"{_START}; for a flag of HAMi's extender: exit code 255",
        "A duration needs a unit: `30s`, not 30{value| }.",
        (SCHEDULER_CONFIG, EXTENDER_FLAGS),
        ("scheduler-config-refused", "node-lock-flags"),
        source="Go time.ParseDuration",
    ),
    Message(
        "two-binding-extenders",
        (
            (
                'extenders: Invalid value: "found {count:number} extenders implementing bind": only one extender can '
                "implement bind"
            ),
            "only one extender can implement bind",
        ),
        _START,
        "Two extenders have a bindVerb; kube-scheduler takes one.",
        (SCHEDULER_CONFIG,),
        ("scheduler-config-refused", "extender-misconfigured"),
        source=_SECONDS,
    ),
    Message(
        "podgroups-forbidden",
        (
            (
                'podgroups.scheduling.x-k8s.io is forbidden: User "{user:token}" cannot {verb} resource "podgroups" in '
                'API group "scheduling.x-k8s.io" at the cluster scope'
            ),
            'podgroups.scheduling.x-k8s.io is forbidden: User "{user:token}" cannot {verb} resource "podgroups"',
            'podgroups.scheduling.sigs.k8s.io is forbidden: User "{user:token}" cannot {verb} resource "podgroups"',
        ),
        'kube-scheduler\'s log ("failed to list", "failed to watch"), again and again; no event, no condition',
        "The scheduler's ServiceAccount may not {verb|read} PodGroups. Without list it hangs at its start, before any "
        "Pod: /readyz stays 500 (`[-]sched-handler-sync failed`, while /healthz says ok), it takes no lease, and no "
        "Pod of this scheduler is scheduled, not even those without a group. Without watch alone it starts, but its "
        "view grows old. Once the right is given a running scheduler goes on by itself within seconds.",
        (
            ACCESS,
            Check(
                "a ClusterRole with get, list and watch on podgroups of scheduling.x-k8s.io, bound to exactly "
                "{user|this user}",
                "kubectl get clusterrolebindings -o wide",
            ),
        ),
        ("podgroup-access-missing",),
        versions=(
            (
                "scheduler-plugins up to 0.24",
                "reads the group scheduling.sigs.k8s.io: that is the group to put into the ClusterRole",
            ),
            ("scheduler-plugins up to 0.30.6", "asks without a cache: Pods say `PodGroup not found` (read)"),
            ("scheduler-plugins 0.31.8 and later", "as above"),
        ),
        source="scheduler-plugins v0.34.7 pkg/util/client_util.go; seen with v0.35.4-devel",
    ),
    Message(
        "podgroups-unlistable",
        (
            (
                "failed to list scheduling.x-k8s.io/v1alpha1, Resource=podgroups: the server could not find the "
                "requested resource"
            ),
            "scheduling.x-k8s.io/v1alpha1, Resource=podgroups: the server could not find the requested resource",
        ),
        "kube-scheduler's log, again and again; no event, no condition",
        "The CRD of PodGroups is not installed. The scheduler hangs at its start and schedules no Pod at all, not even "
        "those without a group; /readyz is 500 while /healthz says ok. It goes on by itself once the CRD is there.",
        (CRD, Check("install config/crd/bases/scheduling.x-k8s.io_podgroups.yaml of the scheduler's own release")),
        ("podgroup-crd",),
        source="seen with scheduler-plugins v0.35.4-devel",
    ),
    Message(
        "handler-sync-failed",
        ("[-]sched-handler-sync failed", "sched-handler-sync failed"),
        "answer of kube-scheduler's /readyz (500)",
        "The scheduler still waits for one of its lists. With Coscheduling that is mostly PodGroups: the CRD is not "
        "there, or the scheduler may not list them. Until then it schedules no Pod at all, without any event.",
        (CRD, ACCESS, SCHEDULER_LOG),
        ("podgroup-access-missing", "podgroup-crd"),
        "sometimes",
        "in the first second after a start",
        source="kube-scheduler cmd/kube-scheduler/app/server.go",
    ),
    Message(
        "scheduler-stopped",
        ("finished without leader elect", "leaderelection lost"),
        "kube-scheduler's log, its last line; exit code 1",
        "kube-scheduler was told to stop, or lost its lease to another replica, and did.",
        (SCHEDULER_LOG,),
        normal="yes",
        normal_when="at every restart and upgrade, in spite of the exit code",
        source="kube-scheduler cmd/kube-scheduler/app/server.go; seen on SIGTERM",
    ),
    Message(
        "podgroup-status-forbidden",
        (
            (
                'podgroups.scheduling.x-k8s.io "{group}" is forbidden: User "{user:token}" cannot {verb} resource '
                '"podgroups/status"'
            ),
            'cannot {verb} resource "podgroups/status"',
            "forbidden podgroups/status",
        ),
        "the log of the PodGroup controller",
        "The controller of scheduler-plugins may not write the status. Gangs are scheduled all the same: the scheduler "
        "never reads it; only `kubectl get podgroup` shows nothing.",
        (
            Check("the controller and its rights", "kubectl get deploy,sa -n scheduler-plugins"),
            Check(
                "apply manifests/install/all-in-one.yaml of the release again",
                "kubectl auth can-i patch podgroups.scheduling.x-k8s.io --subresource=status "
                "--as=system:serviceaccount:scheduler-plugins:scheduler-plugins-controller",
            ),
        ),
        ("podgroup-controller-access",),
        evidence="read",
        source="HAMi guide to Coscheduling, troubleshooting; scheduler-plugins v0.34.7 podgroup_controller.go:141-148",
    ),
    Message(
        "flag-value",
        (
            'invalid argument "{value:token}" for "--{flag}" flag: time: missing unit in duration "{given:token}"',
            'invalid argument "{value:token}" for "--{flag}" flag',
        ),
        _EXTENDER_START,
        "The flag --{flag} does not take {value}. Durations need a unit: 28s, not 28.",
        (EXTENDER_FLAGS,),
        ("node-lock-flags",),
        source="HAMi v2.10.0 cmd/scheduler/main.go:79-80",
    ),
    Message(
        "unknown-flag",
        ("unknown flag: --{flag}",),
        _EXTENDER_START,
        "This release of HAMi's extender has no flag --{flag}.",
        (
            Check(
                "the extender's image",
                "kubectl get deploy -n {hami_namespace} hami-scheduler "
                "-o jsonpath='{.spec.template.spec.containers[*].image}'",
            ),
            EXTENDER_FLAGS,
        ),
        ("node-lock-flags",),
        versions=(
            (
                "HAMi 2.10 and later",
                "--node-lock-retry-timeout is known; --default-mem, --default-cores and --default-gpu are gone",
            ),
            ("HAMi 2.7 and later", "--node-lock-timeout is known"),
            ("HAMi 2.6 and later", "--kube-qps and --kube-burst are known"),
        ),
        source="HAMi v2.10.0 cmd/scheduler/main.go",
    ),
)
