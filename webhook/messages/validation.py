"""Answers of the API server itself to gang and GPU objects.

Source: what a real API server 1.35.4 answered.
"""

from __future__ import annotations

from webhook.messages import Check, Message

_API = "answer of the API server"

VALIDATION: tuple[Message, ...] = (
    Message(
        "patch-does-not-apply",
        (
            'add operation does not apply: doc is missing path: "{path:token}": missing value',
            "error in remove for path: '{path:token}': Unable to remove nonexistent key: {key:token}: missing value",
            "testing value {path:token} failed: test failed",
            "json: cannot unmarshal {given} into Go struct field PodSpec.{field:token} of type {type:token}",
        ),
        f"{_API} (500), also where the webhook's failurePolicy is Ignore",
        "A mutating webhook answered with a patch that does not fit the object. That is a bug of the webhook.",
        (
            Check(
                "the mutating webhooks, called in the order of their configurations' names",
                "kubectl get mutatingwebhookconfigurations",
            ),
        ),
        source="kubernetes apiserver pkg/admission/plugin/webhook/mutating; seen on 1.35.4",
    ),
    Message(
        "limit-missing",
        ("Limit must be set for non overcommitable resources",),
        f"{_API} (422), for workloads too",
        "A GPU resource stands under requests alone. Extended resources need a limit; the request follows it.",
        (Check("move the resource to resources.limits"),),
        ("gpu-count-invalid",),
        source="kubernetes pkg/apis/core/validation",
    ),
    Message(
        "request-unequal-limit",
        ("must be equal to {resource:resource} limit of {limit:token}", "must be equal to {resource:resource} limit"),
        f"{_API} (422)",
        "Request and limit of {resource} differ; for extended resources they must be the same.",
        (Check("leave the request out"),),
        ("gpu-count-invalid",),
        source="kubernetes pkg/apis/core/validation",
    ),
    Message(
        "quantity-no-integer",
        ('Invalid value: "{value:token}": must be an integer', "must be an integer"),
        f"{_API} (422), for workloads too",
        "Extended resources such as nvidia.com/gpu come in whole numbers; the API server shows 1.5 as 1500m.",
        (Check("half a card is gpumem or gpucores, not a fraction of nvidia.com/gpu"),),
        ("gpu-count-invalid",),
        source="kubernetes pkg/apis/core/validation",
    ),
    Message(
        "quantity-negative",
        ("must be greater than or equal to 0",),
        f"{_API} (422)",
        "A quantity is negative.",
        rules=("gpu-count-invalid",),
        source="kubernetes pkg/apis/core/validation",
    ),
    Message(
        "quantity-unreadable",
        ("quantities must match the regular expression",),
        f"{_API} (400)",
        "The value is no quantity: digits with at most one of the suffixes m, k, M, G, T, Ki, Mi, Gi, Ti. gpumem takes "
        "a plain number of MiB.",
        rules=("malformed", "gpu-memory-unit"),
        source="kubernetes apimachinery pkg/api/resource/quantity.go",
    ),
    Message(
        "label-no-string",
        (
            "json: cannot unmarshal {given} into Go struct field ObjectMeta.metadata.{field} of type string",
            "json: cannot unmarshal {given} into Go struct field ObjectMeta.{field} of type string",
        ),
        f'{_API} (400), or of kubectl itself (`unable to decode "STDIN"`)',
        "A label or annotation is a {given} in the YAML; it must be text, so a group named 2024 or true needs quotes.",
        (Check('write scheduling.x-k8s.io/pod-group: "2024"'),),
        ("boolean-where-string",),
        source="kubernetes apimachinery; seen on 1.35.4",
    ),
    Message(
        "env-twice-applied",
        (
            '.spec.containers[name="{container}"].env: duplicate entries for key [name="{env}"]',
            '.env: duplicate entries for key [name="{env}"]',
        ),
        f"{_API} to server-side apply",
        "The object holds the env {env} twice. HAMi's webhook appends its own entry to one that is there, and "
        "server-side apply then refuses the object.",
        (Check("leave {env} out where HAMi sets it (CUDA_TASK_PRIORITY with nvidia.com/priority)"),),
        ("env-set-twice",),
        source="kubernetes structured-merge-diff; seen on 1.35.4",
    ),
    Message(
        "env-hidden",
        (
            (
                'spec.containers[{index:number}].env[{entry:number}]: hides previous definition of "{env}", which may '
                "be dropped when using apply"
            ),
            'hides previous definition of "{env}"',
        ),
        "warning of the API server",
        "The env {env} stands twice in one container; the last one wins.",
        rules=("env-set-twice",),
        source="kubernetes pkg/api/pod/warnings.go",
    ),
    Message(
        "pod-fields-fixed",
        ("pod updates may not change fields other than",),
        f"{_API} (422)",
        "A Pod's schedulerName and most of its spec cannot be changed once it exists.",
        (Check("change the workload's template, or create the Pod anew"),),
        normal="no",
        source="kubernetes pkg/apis/core/validation",
    ),
    Message(
        "service-account-missing",
        (
            ('error looking up service account {namespace}/{account}: serviceaccount "{account_again}" not found'),
            "error looking up service account",
        ),
        f"{_API} (403)",
        "The Pod's ServiceAccount does not exist. A new namespace gets its `default` one a moment after it was made.",
        (Check("the ServiceAccounts there", "kubectl get serviceaccounts -n {namespace}"),),
        normal="sometimes",
        normal_when="in the first moment of a namespace",
        source="kubernetes plugin/pkg/admission/serviceaccount; seen on 1.35.4",
    ),
    Message(
        "label-too-long",
        ("must be no more than 63 bytes", "must be no more than 63 characters"),
        f"{_API} (422)",
        "A label's value is longer than 63 bytes: a PodGroup with a longer name can have no members. On a GPU Pod that "
        "is being scheduled it is the node's name, which HAMi writes into a label.",
        (Check("shorten the PodGroup's name and the label"),),
        ("pod-group-unmatchable",),
        source="kubernetes apimachinery pkg/util/validation; seen with HAMi 2.10.0 and a node name of 70 characters",
    ),
    Message(
        "podgroup-name-invalid",
        ("a lowercase RFC 1123 subdomain must consist of", "a lower case RFC 1123 subdomain must consist of"),
        f"{_API} (422)",
        "The object's name has upper case letters, an underscore or the like. A Pod's label may have them, so such a "
        "Pod is accepted and its group can never exist.",
        (Check("use lower-case letters, digits, `-` and `.` for the PodGroup and the label"),),
        ("pod-group-unmatchable",),
        source="kubernetes apimachinery pkg/util/validation",
    ),
    Message(
        "min-member-too-small",
        ("spec.minMember in body should be greater than or equal to 1",),
        f"{_API} (422)",
        "minMember must be 1 or more.",
        rules=("min-member-missing",),
        versions=(("PodGroup CRD up to scheduler-plugins 0.28", "accepts 0 and less: then there is no gang"),),
        source="scheduler-plugins v0.34.7 config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",
    ),
    Message(
        "min-member-type",
        (
            'spec.minMember in body must be of type integer: "{given}"',
            "spec.minMember in body must be of type integer",
        ),
        f"{_API} (422)",
        "minMember must be a whole number without quotes.",
        rules=("min-member-missing", "malformed"),
        source="scheduler-plugins v0.34.7 config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",
    ),
    Message(
        "podgroup-field-unknown",
        (
            'strict decoding error: unknown field "spec.min{field}"',
            'unknown field "spec.min{field}"',
        ),
        "answer of the API server to kubectl (strict by default); a warning that other clients do not show",
        "The PodGroup of scheduler-plugins has no spec.min{field}: that is another system's field. Stored without "
        "strictness the object has no minMember, and there is silently no gang.",
        (Check("write spec.minMember"),),
        ("min-member-missing",),
        source="seen on 1.35.4",
    ),
    Message(
        "scheduling-group-unknown",
        (
            'strict decoding error: unknown field "spec.schedulingGroup"',
            'unknown field "spec.schedulingGroup"',
        ),
        "answer of the API server to kubectl (strict by default); a warning that other clients do not show",
        "This API server has no native gang scheduling (Kubernetes 1.36 and its feature gate), and Coscheduling does "
        "not read the field anyway.",
        (Check("use the label scheduling.x-k8s.io/pod-group"),),
        ("native-gang-ignored",),
        versions=(("Kubernetes 1.35", "spec.workloadRef is dropped without any warning where its gate is off"),),
        source="seen on 1.35.4",
    ),
    Message(
        "podgroup-kind-unknown",
        ('no matches for kind "PodGroup" in version "{version:token}"',),
        "answer of kubectl",
        "The cluster has no PodGroup of {version}. Coscheduling's is scheduling.x-k8s.io/v1alpha1.",
        (Check("the PodGroups that there are", "kubectl api-resources | grep -i podgroup"),),
        ("pod-group-foreign", "podgroup-crd"),
        evidence="read",
        versions=(("scheduler-plugins up to 0.24", "scheduling.sigs.k8s.io/v1alpha1"),),
        source="scheduler-plugins v0.25 manifests/coscheduling/crd.yaml",
    ),
)
