"""The fields that we hold against the API server's types, kind by kind (KAPI v0.35.7, and the operators' CRDs)."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.parse.shapes import (
    AMOUNTS,
    COUNT,
    ENV,
    NAME,
    STORED_AMOUNTS,
    SWITCH,
    TEXT,
    TEXT_LIST,
    TEXTS,
    WHOLE,
    Shape,
    list_of,
    map_of,
    struct,
)

METADATA = struct(
    {"name": TEXT, "generateName": TEXT, "namespace": TEXT, "labels": TEXTS, "annotations": TEXTS},
    slashes=False,
)
_CONTAINER = struct(
    {
        "name": NAME,
        "image": TEXT,
        "command": TEXT_LIST,
        "args": TEXT_LIST,
        "workingDir": TEXT,
        "env": ENV,
        "resources": struct({"limits": AMOUNTS, "requests": AMOUNTS}),
        "restartPolicy": TEXT,
        "securityContext": struct({"privileged": SWITCH}),
        "volumeMounts": list_of(struct({"name": NAME, "mountPath": TEXT, "subPath": TEXT}, required=("name",))),
    },
    required=("name",),
)
_POD_FIELDS: Mapping[str, Shape] = {
    "containers": list_of(_CONTAINER, "a list with at least one container", filled=True),
    "initContainers": list_of(_CONTAINER),
    "ephemeralContainers": list_of(_CONTAINER),
    "schedulerName": TEXT,
    "priorityClassName": TEXT,
    "nodeName": TEXT,
    "runtimeClassName": TEXT,
    "serviceAccountName": TEXT,
    "restartPolicy": TEXT,
    "nodeSelector": TEXTS,
    "hostNetwork": SWITCH,
    "volumes": list_of(
        struct(
            {"name": NAME, "secret": struct({"secretName": TEXT}), "hostPath": struct({"path": TEXT})},
            required=("name",),
        )
    ),
    "schedulingGates": list_of(struct({"name": NAME}, required=("name",))),
    "tolerations": list_of(struct({"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT})),
}
POD_SPEC = struct(_POD_FIELDS, nullable=False)
TEMPLATE = struct({"metadata": METADATA, "spec": POD_SPEC})
_SELECTOR = struct({"matchLabels": TEXTS})
_POD_OBJECT = struct(
    {"metadata": METADATA, "spec": struct(_POD_FIELDS, required=("containers",), nullable=False)}, required=("spec",)
)


def _object(spec: Mapping[str, Shape]) -> Shape:
    return struct({"metadata": METADATA, "spec": struct(spec)})


_REPLICATED = _object({"replicas": COUNT, "selector": _SELECTOR, "template": TEMPLATE})
_JOB_SPEC = struct(
    {
        "parallelism": COUNT,
        "completions": COUNT,
        "suspend": SWITCH,
        "completionMode": TEXT,
        "managedBy": TEXT,
        "template": TEMPLATE,
    }
)
_REPLICATED_JOB = struct(
    {"name": TEXT, "replicas": WHOLE, "template": struct({"metadata": METADATA, "spec": _JOB_SPEC})}
)
_JOB_SET_SPEC = struct({"replicatedJobs": list_of(_REPLICATED_JOB), "suspend": SWITCH})
_RAY_GROUP = {"template": TEMPLATE}
_RAY_CLUSTER = struct(
    {
        "headGroupSpec": struct(_RAY_GROUP),
        "workerGroupSpecs": list_of(
            struct(
                {
                    **_RAY_GROUP,
                    "groupName": TEXT,
                    "replicas": WHOLE,
                    "minReplicas": WHOLE,
                    "maxReplicas": WHOLE,
                    "numOfHosts": WHOLE,
                }
            )
        ),
        "enableInTreeAutoscaling": SWITCH,
        "suspend": SWITCH,
    }
)
_RAY_JOB = {"rayClusterSpec": _RAY_CLUSTER, "submitterPodTemplate": TEMPLATE, "suspend": SWITCH}
_RUNTIME = _object({"template": struct({"spec": _JOB_SET_SPEC})})


# The same in the CRDs of Training Operator 1.9 (kubeflow.org_pytorchjobs.yaml and the five others) and of MPI operator
# 0.8 (kubeflow.org_mpijobs.yaml); older ones lack fields, but give none of these another type.
_RUN_POLICY = struct(
    {
        "suspend": SWITCH,
        "managedBy": TEXT,
        "schedulingPolicy": struct(
            {
                "minAvailable": WHOLE,
                "minResources": STORED_AMOUNTS,
                "scheduleTimeoutSeconds": WHOLE,
                "queue": TEXT,
                "priorityClass": TEXT,
            }
        ),
    }
)


def _kubeflow(field: str) -> Shape:
    return _object({"runPolicy": _RUN_POLICY, field: map_of(struct({"replicas": WHOLE, "template": TEMPLATE}))})


_SPARK_POD = {"labels": TEXTS, "annotations": TEXTS, "nodeSelector": TEXTS, "schedulerName": TEXT, "instances": WHOLE}
_SPARK = {"driver": struct(_SPARK_POD), "executor": struct(_SPARK_POD)}

_FULL_SELECTOR = struct(
    {
        "matchLabels": TEXTS,
        "matchExpressions": list_of(struct({"key": TEXT, "operator": TEXT, "values": TEXT_LIST})),
    }
)
_CLIENT = struct(
    {
        "url": TEXT,
        "caBundle": TEXT,
        "service": struct({"namespace": TEXT, "name": TEXT, "path": TEXT, "port": WHOLE}),
    }
)
_HOOK_RULE = {
    "apiGroups": TEXT_LIST,
    "apiVersions": TEXT_LIST,
    "operations": TEXT_LIST,
    "resources": TEXT_LIST,
    "scope": TEXT,
}
_HOOK = {
    "name": TEXT,
    "admissionReviewVersions": TEXT_LIST,
    "sideEffects": TEXT,
    "failurePolicy": TEXT,
    "matchPolicy": TEXT,
    "reinvocationPolicy": TEXT,
    "timeoutSeconds": WHOLE,
    "clientConfig": _CLIENT,
    "namespaceSelector": _FULL_SELECTOR,
    "objectSelector": _FULL_SELECTOR,
    "rules": list_of(struct(_HOOK_RULE)),
}
_HOOKS = struct({"metadata": METADATA, "webhooks": list_of(struct(_HOOK))})

BARE = struct({"metadata": METADATA})
"""Kinds whose templates we read but do not judge: their schema is their own, or takes what a PodSpec does not."""

OBJECTS: Mapping[tuple[str, str], Shape] = {
    ("", "Pod"): _POD_OBJECT,
    ("", "PodTemplate"): struct({"metadata": METADATA, "template": TEMPLATE}),
    ("", "ReplicationController"): _object({"replicas": COUNT, "selector": TEXTS, "template": TEMPLATE}),
    ("batch", "Job"): struct({"metadata": METADATA, "spec": _JOB_SPEC}),
    ("batch", "CronJob"): _object(
        {"schedule": TEXT, "suspend": SWITCH, "jobTemplate": struct({"metadata": METADATA, "spec": _JOB_SPEC})}
    ),
    ("jobset.x-k8s.io", "JobSet"): struct({"metadata": METADATA, "spec": _JOB_SET_SPEC}),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _object(
        {
            "replicas": WHOLE,
            "leaderWorkerTemplate": struct({"size": WHOLE, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}),
        }
    ),
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs"),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _RUNTIME,
    ("trainer.kubeflow.org", "TrainingRuntime"): _RUNTIME,
    ("trainer.kubeflow.org", "TrainJob"): _object({"trainer": struct({"numNodes": WHOLE}), "suspend": SWITCH}),
    ("ray.io", "RayCluster"): struct({"metadata": METADATA, "spec": _RAY_CLUSTER}),
    ("ray.io", "RayJob"): _object(_RAY_JOB),
    ("ray.io", "RayCronJob"): _object({"jobTemplate": struct(_RAY_JOB)}),
    ("ray.io", "RayService"): _object({"rayClusterConfig": _RAY_CLUSTER}),
    ("sparkoperator.k8s.io", "SparkApplication"): _object(_SPARK),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): _object({"template": struct(_SPARK)}),
    ("scheduling.x-k8s.io", "PodGroup"): _object(
        {"minMember": WHOLE, "scheduleTimeoutSeconds": WHOLE, "minResources": STORED_AMOUNTS}
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _HOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _HOOKS,
    **dict.fromkeys(
        (
            ("apps", "DaemonSet"),
            ("apps", "Deployment"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("extensions", "DaemonSet"),
            ("extensions", "Deployment"),
            ("extensions", "ReplicaSet"),
            ("argoproj.io", "Rollout"),
        ),
        _REPLICATED,
    ),
}


def shape_of(group: str, kind: str) -> Shape:
    """What an object's fields must be; of a kind without an entry only the metadata is held against its type."""
    return OBJECTS.get((group, kind), BARE)
