"""What HAMi's extender says while it binds, and what kube-scheduler says when the extender does not answer.

Sources: HAMi v2.10.0 pkg/scheduler (scheduler.go, score.go, event.go) and pkg/util/nodelock; its tags
for earlier texts.
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import (
    DEVICE_PLUGIN,
    EVENTS,
    EXTENDER_FLAGS,
    EXTENDER_LOG,
    LOCK,
    MEMBERS,
    POD_LABELS,
    SCHEDULER_CONFIG,
)

_BINDING = "event BindingFailed of the Pod (HAMi's extender); kube-scheduler repeats it as FailedScheduling"
_CALL = "event FailedScheduling of the Pod (reason SchedulerError in its condition); kube-scheduler's log"
_QPS = Check(
    "raise the extender's own client limit, --kube-qps=100 --kube-burst=200 in scheduler.extender.extraArgs (keep the "
    "old entries): with the default of 5 requests/s each member costs 1.8 s"
)

EXTENDER: tuple[Message, ...] = (
    Message(
        "node-locked",
        (
            "node {node} has been locked within {age:duration}: node lock contention",
            "node {node} has been locked within {age:duration}",
            "node {node} has been locked within {age:number} minutes",
            "failed to set node lock (node {node} is locked: node lock contention)",
            "failed to set node lock (node {node} is locked)",
            "node {node} is locked: node lock contention",
            "node {node} is locked",
            "has been locked within",
            "node lock contention",
        ),
        _BINDING,
        "HAMi binds one GPU Pod at a time on a node: another Pod holds the annotation hami.io/mutex.lock of {node} "
        "until the device plugin has handed its cards out, mostly some milliseconds. This Pod was not retried there: "
        "it carries no group label that HAMi reads, or the retry is off, and comes back after kube-scheduler's "
        "back-off.",
        (
            POD_LABELS,
            EXTENDER_FLAGS,
            LOCK,
            Check("a lock that stays: the device plugin on the node does not finish"),
            DEVICE_PLUGIN,
        ),
        ("pod-group-annotation", "pod-group-on-workload", "node-lock-flags"),
        "sometimes",
        "for Pods without a group, now and then; a gang should not see it on HAMi 2.10",
        (
            ("HAMi up to 2.6.1", "says `within 5 minutes` (cambricon: `within 2 minutes`), the time is fixed"),
            ("HAMi 2.7 to 2.9", "says `within 5m0s`, the time is --node-lock-timeout; nothing retries"),
            (
                "HAMi 2.10 and later",
                (
                    "adds `: node lock contention`; Pods with the label scheduling.x-k8s.io/pod-group are retried for "
                    "--node-lock-retry-timeout (28s) and only see this with a retry of 0"
                ),
            ),
        ),
        source="HAMi v2.10.0 pkg/util/nodelock/nodelock.go:141,157,290; pkg/scheduler/scheduler.go:972-996",
    ),
    Message(
        "node-lock-timeout",
        (
            "timed out after {wait:duration} waiting for node {node} to be unlocked: node lock contention",
            "timed out after {wait:duration} waiting for node {node} to be unlocked",
        ),
        _BINDING,
        "A gang's member polled the lock of {node} for {wait} and did not get it. Either too many members are bound on "
        "this one node (1.8 s each with the extender's default client limit, 0.1 s with a raised one), or the lock is "
        "never freed.",
        (LOCK, DEVICE_PLUGIN, EXTENDER_FLAGS, _QPS, Check("spread the members over more nodes")),
        ("gang-too-big-for-one-node", "extender-client-limit", "node-lock-flags"),
        versions=(("HAMi 2.10 and later", "only there is a retry"),),
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:987",
    ),
    Message(
        "bind-timeout",
        (
            'Post "{url:token}/bind": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
            'Post "{url:token}/bind": context deadline exceeded',
            'Post "{url:token}/bind": net/http: request canceled (Client.Timeout exceeded while awaiting headers)',
            'Post "{url:token}/bind": net/http: request canceled',
        ),
        _CALL,
        "kube-scheduler gave the extender httpTimeout to bind and gave up. The extender goes on and may bind the Pod "
        "later; Coscheduling has taken the Pod out of its count by then and never counts it again, so the rest of the "
        "gang may wait for ever although its siblings run.",
        (
            Check(
                "httpTimeout, absent means 5 s; it should be 10 s above --node-lock-retry-timeout: gangcheck explain "
                "timeouts PATH… prints the chain"
            ),
            SCHEDULER_CONFIG,
            EXTENDER_FLAGS,
            _QPS,
            MEMBERS,
            Check(
                "a gang that is stuck by it: lower minMember; or restart the scheduler and then change the PodGroup",
                "kubectl rollout restart -n {hami_namespace} deploy/hami-scheduler",
            ),
        ),
        ("extender-timeout", "extender-client-limit", "gang-too-big-for-one-node"),
        source="kube-scheduler extender.go; seen with HAMi 2.10.0",
    ),
    Message(
        "filter-timeout",
        (
            'Post "{url:token}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
            'Post "{url:token}/filter": context deadline exceeded',
            'Post "{url:token}/filter": net/http: request canceled (Client.Timeout exceeded while awaiting headers)',
            'Post "{url:token}/filter": net/http: request canceled',
        ),
        _CALL,
        "The extender did not answer /filter within httpTimeout. After its own (re)start it answers first at its 15 s "
        "tick; if it goes on, the extender thinks that it is not the leader and blocks every call, though its /readyz "
        "and /healthz say 200. Pods without a GPU wait behind these calls too.",
        (
            Check(
                "the lease: its name must be the scheduler's name, in HAMi's namespace, held by the running Pod",
                "kubectl get lease -n {hami_namespace}",
            ),
            SCHEDULER_CONFIG,
            Check("leaderElection in it: leaderElect true, resourceName and resourceNamespace as the chart sets them"),
            EXTENDER_LOG,
        ),
        ("leader-election-changed", "extender-timeout", "podgroup-access-missing"),
        "sometimes",
        "within 15 s after a start of the extender",
        (("HAMi 2.9 and later", "the extender waits for the lease that kube-scheduler takes"),),
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:443-457,615-627; routes/route.go:79-86",
    ),
    Message(
        "http-call-timeout",
        (
            "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            "Client.Timeout exceeded while awaiting headers",
        ),
        f"{_CALL}; any program's log",
        "Somebody called another program over HTTP and did not wait for its answer. On a GPU Pod that is "
        "kube-scheduler calling HAMi's extender: whether it was `/filter` or `/bind` stands before it, and asked with "
        "that line gangcheck says more.",
        (EVENTS, SCHEDULER_CONFIG),
        ("extender-timeout",),
        source="seen with HAMi 2.10.0",
        unless=("bind-timeout", "filter-timeout", "webhook-unreachable"),
    ),
    Message(
        "extender-down",
        (
            'Post "{url:token}": dial tcp {address:token}: connect: connection refused',
            'Post "{url:token}": dial tcp',
        ),
        _CALL,
        "Nobody listens where kube-scheduler calls HAMi's extender. GPU Pods wait, others are scheduled.",
        (
            Check("both containers of the Pod", "kubectl get pods -n {hami_namespace} -o wide"),
            EXTENDER_LOG,
            SCHEDULER_CONFIG,
            Check("urlPrefix against the extender's --http_bind"),
        ),
        ("extender-misconfigured",),
        "sometimes",
        "for some seconds while the scheduler's Pod starts",
        source="kube-scheduler extender.go; seen with HAMi 2.10.0",
    ),
    Message(
        "late-bind",
        (
            (
                'Operation cannot be fulfilled on pods/binding "{pod}": pod {pod_again} is already assigned to node '
                '"{node}"'
            ),
            "is already assigned to node",
        ),
        _BINDING,
        "The Pod was bound already: by an earlier call of the extender that kube-scheduler had given up, or by a "
        "second scheduler of the same name. The Pod runs on {node|its node}, but Coscheduling does not count it, so "
        "its siblings may wait for ever.",
        (
            MEMBERS,
            Check("httpTimeout and retry: gangcheck explain timeouts PATH…"),
            Check(
                "siblings that stay: lower minMember; or restart the scheduler and then change the PodGroup",
                "kubectl annotate podgroups.scheduling.x-k8s.io -n {namespace} {group} touched=$(date +%s) --overwrite",
            ),
            Check("two schedulers with this name", "kubectl get pods -A -o wide | grep -i scheduler"),
        ),
        ("extender-timeout", "extender-client-limit", "gang-too-big-for-one-node"),
        source="seen with HAMi 2.10.0 and httpTimeout 5 s",
    ),
    Message(
        "lock-shutdown",
        (
            "scheduler shutting down while waiting for node lock: node lock contention",
            "scheduler shutting down while waiting for node lock",
        ),
        _BINDING,
        "The extender was stopped while the Pod waited for a node's lock; it is tried again.",
        (EVENTS,),
        normal="yes",
        normal_when="while HAMi's scheduler is restarted or upgraded",
        versions=(("HAMi 2.10 and later", "only there is a retry"),),
        evidence="read",
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:992",
    ),
    Message(
        "lock-malformed",
        (
            "malformed lock annotation: expected 3 parts, got {got:number} from {value:token}",
            "malformed lock annotation: expected 3 parts, got {got:number}",
            "malformed lock annotation",
        ),
        _BINDING,
        "The node's annotation hami.io/mutex.lock holds a comma but not three parts, and HAMi can neither read nor "
        "free it: every GPU Pod fails on that node for ever.",
        (
            LOCK,
            Check("remove it by hand", "kubectl annotate node {node} hami.io/mutex.lock-"),
        ),
        source="HAMi v2.10.0 pkg/util/nodelock/nodelock.go:293-304",
    ),
    Message(
        "lock-unreadable",
        (
            'parsing time "{value:token}" as "2006-01-02T15:04:05Z07:00": cannot parse "{part:token}" as "2006"',
            'as "2006-01-02T15:04:05Z07:00": cannot parse',
        ),
        _BINDING,
        "The node's annotation hami.io/mutex.lock is no time. The Bind that fails so deletes it, and the next works.",
        (LOCK,),
        normal="sometimes",
        normal_when="once; again and again, somebody else writes the annotation",
        source="HAMi v2.10.0 pkg/util/nodelock/nodelock.go:250-253",
    ),
    Message(
        "node-unknown-to-bind",
        ("failed to get node {node}",),
        _BINDING,
        "The extender does not know the node that was chosen: it was removed a moment ago, or its cache is behind.",
        (Check("the node", "kubectl get node {node}"), EXTENDER_LOG),
        normal="sometimes",
        normal_when="while nodes are removed",
        evidence="read",
        source="HAMi v2.10.0 pkg/scheduler/scheduler.go:1025",
    ),
)
