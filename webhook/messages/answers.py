"""Answers of webhooks: HAMi's, other ones, and the API server's where it does not reach one.

Sources: what a real API server 1.35.4 and HAMi's webhook 2.10.0 (2.8.3, 2.9.0 where a version is named) answered.
"""

from __future__ import annotations

from webhook.messages import Check, Message

_HAMI = "answer to creating the Pod (HAMi's webhook vgpu.hami.io); for a controller's Pod event FailedCreate on it"
_API = "answer of the API server"
_HAMI_DENIES = 'admission webhook "{webhook}" denied the request: '
_HAMI_SOURCE = "HAMi v2.10.0 pkg/scheduler/webhook.go:53-123; seen with 2.8.3, 2.9.0 and 2.10.0"
_WEBHOOK_PODS = Check(
    "whether the webhook's Service has an endpoint", "kubectl get endpointslices -A | grep -i -e hami -e {webhook}"
)

ANSWERS: tuple[Message, ...] = (
    Message(
        "hami-denies-privileged",
        (f"{_HAMI_DENIES}container {{container}} is privileged", "container {container} is privileged"),
        _HAMI,
        "A Pod with a HAMi resource has the privileged container {container}, this or another one of it.",
        (Check("take `privileged: true` away, or move that container to a Pod without GPU"),),
        ("gpu-privileged",),
        versions=(
            ("HAMi 2.10 and later", "refuses such a Pod (403)"),
            ("HAMi up to 2.9", "lets it in; a privileged GPU container stays on default-scheduler, without a limit"),
        ),
        source=_HAMI_SOURCE,
    ),
    Message(
        "hami-denies-node-name",
        (f"{_HAMI_DENIES}pod has node assigned", "pod has node assigned"),
        _HAMI,
        "A GPU Pod names its node in spec.nodeName, so no scheduler would choose its card.",
        (Check("write a nodeSelector on kubernetes.io/hostname instead of nodeName"),),
        ("gpu-node-name",),
        source=_HAMI_SOURCE,
    ),
    Message(
        "hami-denies-percentage",
        (
            (
                f"{_HAMI_DENIES}invalid {{resource:resource}} value {{value:number}} in container {{container}}: must "
                "be an integer between 0 and 100"
            ),
            (
                "invalid {resource:resource} value {value:number} in container {container}: must be an integer between "
                "0 and 100"
            ),
        ),
        f"{_HAMI}; with HTTP status 500, so clients may take it for a fault of the server",
        "{resource} is a percentage of the card's memory, and {value} is none.",
        (Check("write 1 to 100"),),
        ("gpu-memory-percentage",),
        versions=(
            ("HAMi 2.10 and later", "refuses it"),
            ("HAMi up to 2.9", "accepts it and the Pod stays Pending for ever"),
        ),
        source=_HAMI_SOURCE,
    ),
    Message(
        "hami-denies-quota",
        (f"{_HAMI_DENIES}exceeding resource quota", "exceeding resource quota"),
        _HAMI,
        "The namespace's ResourceQuota has too little left of a HAMi resource. Pods of a gang that cannot start keep "
        "what they have booked.",
        (Check("the quota", "kubectl describe resourcequota -n {namespace}"),),
        ("quota-prefix",),
        "sometimes",
        "while others of the namespace use it",
        (
            ("HAMi 2.10 and later", "every vendor, init containers too"),
            ("HAMi 2.9", "NVIDIA only, containers with one card"),
            ("HAMi up to 2.8", "never"),
        ),
        source=_HAMI_SOURCE,
    ),
    Message(
        "hami-denies-empty-pod",
        (f"{_HAMI_DENIES}pod has no containers", "pod has no containers"),
        _HAMI,
        "The Pod has no containers.",
        evidence="read",
        source="HAMi v2.10.0 pkg/scheduler/webhook.go:62",
    ),
    Message(
        "jobset-follower-refused",
        (
            f"{_HAMI_DENIES}follower pod node selector not set",
            "follower pod node selector not set",
        ),
        "event FailedCreate of the Job (JobSet's webhook vpod.kb.io)",
        "JobSet's exclusive topology creates followers only once the leader has a node, and a gang whose minMember "
        "counts the followers gives the leader none.",
        (Check("use minMember 1 for it, or leave exclusive-topology out"),),
        ("gang-starts-in-stages",),
        "sometimes",
        "until the leader has its node, where there is no gang",
        source="seen with JobSet 0.10.1",
    ),
    Message(
        "runtime-class-unknown",
        ('pod rejected: RuntimeClass "{runtime_class}" not found', 'RuntimeClass "{runtime_class}" not found'),
        _API,
        "HAMi's webhook wrote runtimeClassName {runtime_class} into the Pod (devicePlugin.runtimeClassName), and there "
        "is no such RuntimeClass: every GPU Pod is refused.",
        (Check("the RuntimeClasses", "kubectl get runtimeclass"),),
        ("runtime-class-missing",),
        source="seen with HAMi 2.10.0",
    ),
    Message(
        "webhook-denied",
        (
            'admission webhook "{webhook}" denied the request without explanation',
            'admission webhook "{webhook}" denied the request',
        ),
        "answer of the API server; for a controller's Pods event FailedCreate on ReplicaSet or Job, and condition "
        "ReplicaFailure of the Deployment",
        "The webhook {webhook} refuses the object; its own text, if it gave one, stands behind.",
        (
            Check(
                "whose webhook it is",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations "
                "-o 'custom-columns=NAME:.metadata.name,WEBHOOKS:.webhooks[*].name'",
            ),
        ),
        source="kubernetes apiserver pkg/admission/plugin/webhook",
    ),
    Message(
        "webhook-failing-open",
        ("Failed calling webhook, failing open {webhook}:", "failing open {webhook}:"),
        "the API server's log, where the webhook's failurePolicy is Ignore",
        "The API server could not call the webhook {webhook} and let the object in as it was written. Without HAMi's "
        "webhook a GPU Pod stays on default-scheduler, which says `Insufficient nvidia.com/gpumem`, or gets a card "
        "without HAMi's books.",
        (
            _WEBHOOK_PODS,
            Check("Pods that were let in so do not change: make them again once the webhook answers"),
        ),
        ("webhook-ca-missing", "webhook-service-mismatch", "certificate-names"),
        evidence="read",
        source="kubernetes apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go",
    ),
    Message(
        "webhook-unreachable",
        (
            'failed calling webhook "{webhook}": failed to call webhook: Post "{url:token}": context deadline exceeded',
            (
                'failed calling webhook "{webhook}": failed to call webhook: Post "{url:token}": dial tcp '
                "{address:token}: connect: connection refused"
            ),
            (
                'failed calling webhook "{webhook}": failed to call webhook: Post "{url:token}": x509: certificate '
                "signed by unknown authority"
            ),
            'failed calling webhook "{webhook}": failed to call webhook: Post "{url:token}": http2: frame too large',
            (
                'failed calling webhook "{webhook}": failed to call webhook: an error on the server ("unknown") has '
                "prevented the request from succeeding"
            ),
            'failed calling webhook "{webhook}": failed to call webhook: Post "{url:token}": {error:text}',
            'failed calling webhook "{webhook}": Post "{url:token}": {error:text}',
            'failed calling webhook "{webhook}": Post {url:token}: {error:text}',
            'failed calling webhook "{webhook}"',
            "x509: certificate signed by unknown authority",
            "http2: frame too large",
            'an error on the server ("unknown") has prevented the request from succeeding',
        ),
        "answer of the API server (500) where the webhook's failurePolicy is Fail; with Ignore the object passes, and "
        "only the API server's log says it",
        "The API server could not reach the webhook {webhook} or did not trust it. `x509` means that caBundle does not "
        "fit the serving certificate, `deadline exceeded` that it answers too slowly or that the control "
        "plane does not reach the network of Pods, as `no route to host`, `refused` that nobody listens, `frame too "
        "large` that the server offers HTTP/2 and does not speak it.",
        (
            _WEBHOOK_PODS,
            Check(
                "to let objects in meanwhile, set failurePolicy to Ignore or remove the configuration",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            ),
        ),
        (
            "webhook-ca-missing",
            "webhook-service-mismatch",
            "certificate-names",
            "tls-secret-subpath",
            "webhook-fails-closed-everywhere",
            "webhook-guards-itself",
        ),
        source="kubernetes apiserver pkg/admission/plugin/webhook",
    ),
)
