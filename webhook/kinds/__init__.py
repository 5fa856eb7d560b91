"""One table: for each kind, where its Pod templates stand and how many Pods are alive at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from webhook.kinds import builtin, kubeflow, others, ray, sets
from webhook.kinds.groups import HOMES, known_kinds
from webhook.kinds.parts import is_part, looks_like_values
from webhook.kinds.shapes import shaped_like_templates
from webhook.kinds.template import Template, items, levels
from webhook.model import Path

__all__ = [
    "GROUPS",
    "HOMES",
    "STEMS",
    "TABLE",
    "Template",
    "embedded",
    "is_left_alone",
    "is_part",
    "known_kinds",
    "levels",
    "looks_like_values",
    "shaped_like_templates",
    "templates",
]

STEMS = ("Pod", "Deployment", "Set", "ReplicationController", "Job", "Ray", "Spark", "Runtime", "Workflow", "Rollout")
"""The kind or the API group of every object that is our business holds one of these, or of GROUPS."""

GROUPS = ("serving.k", "codeflare.dev")

Finder = Callable[[Mapping[str, object]], tuple[Template, ...]]

_APPS: Mapping[str, Finder] = {
    "DaemonSet": builtin.daemon_set,
    "Deployment": builtin.replicated,
    "ReplicaSet": builtin.replicated,
}

TABLE: Mapping[str, Mapping[str, Finder]] = {
    "": {
        "Pod": builtin.pod,
        "PodTemplate": builtin.pod_template,
        "ReplicationController": builtin.replicated,
    },
    "apps": {**_APPS, "StatefulSet": builtin.stateful_set},
    "extensions": _APPS,
    "batch": {"CronJob": builtin.cron_job, "Job": builtin.job},
    "jobset.x-k8s.io": {"JobSet": sets.job_set},
    "leaderworkerset.x-k8s.io": {"LeaderWorkerSet": sets.leader_worker_set},
    "kubeflow.org": {
        "JAXJob": kubeflow.replica_specs("jaxReplicaSpecs"),
        "MPIJob": kubeflow.mpi_job,
        "PaddleJob": kubeflow.replica_specs("paddleReplicaSpecs"),
        "PyTorchJob": kubeflow.replica_specs("pytorchReplicaSpecs"),
        "TFJob": kubeflow.replica_specs("tfReplicaSpecs"),
        "XGBoostJob": kubeflow.replica_specs("xgbReplicaSpecs"),
    },
    "trainer.kubeflow.org": {
        "ClusterTrainingRuntime": sets.training_runtime,
        "TrainJob": sets.train_job,
        "TrainingRuntime": sets.training_runtime,
    },
    "ray.io": {
        "RayCluster": ray.ray_cluster,
        "RayCronJob": ray.ray_cron_job,
        "RayJob": ray.ray_job,
        "RayService": ray.ray_service,
    },
    "sparkoperator.k8s.io": {
        "ScheduledSparkApplication": others.scheduled_spark_application,
        "SparkApplication": others.spark_application,
    },
    "argoproj.io": {
        "ClusterWorkflowTemplate": others.workflow,
        "CronWorkflow": others.cron_workflow,
        "Rollout": builtin.rollout,
        "Workflow": others.workflow,
        "WorkflowTemplate": others.workflow,
    },
    "batch.volcano.sh": {"CronJob": others.nothing, "Job": others.nothing},
    "flow.volcano.sh": {"HyperJob": others.nothing, "JobFlow": others.nothing, "JobTemplate": others.nothing},
    "serving.knative.dev": {
        "Configuration": others.scaled_template("spec", "template"),
        "Revision": others.nothing,
        "Service": others.scaled_template("spec", "template"),
    },
    "serving.kserve.io": {"InferenceService": others.inference_service},
    "workload.codeflare.dev": {"AppWrapper": others.nothing},
}
"""By API group, whatever the version: a template never moved between versions of a kind."""


def templates(body: Mapping[str, object]) -> tuple[Template, ...] | None:
    """The Pod templates of an object in the order of its kind; None where the kind is not in the table."""
    finder = _finder(body.get("apiVersion"), body.get("kind"))
    return finder(body) if finder else None


def is_left_alone(group: str) -> bool:
    """Whether an API group is another gang system's: its jobs bring PodGroups and a scheduler of their own."""
    return group.endswith(".volcano.sh")


def _finder(api_version: object, kind: object) -> Finder | None:
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return TABLE.get(api_version.rpartition("/")[0], {}).get(kind)


def embedded(body: Mapping[str, object]) -> Iterator[Path]:
    """Where whole objects stand inside an object: an AppWrapper's components."""
    if body.get("kind") != "AppWrapper":
        return
    for index, component in items(body, "spec", "components"):
        if isinstance(component.get("template"), Mapping):
            yield ("spec", "components", index, "template")
