"""Manifests as dicts, as short as the tests need them."""

from collections.abc import Mapping, Sequence
from typing import Any

GROUP = "scheduling.x-k8s.io/pod-group"
SCHEDULER = "hami-scheduler"
IMAGE = "registry.example.com/ml/torch:2.4"

Object = dict[str, Any]


def container(
    name: str = "main", *, limits: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
) -> Object:
    entries = [{"name": key, "value": value} for key, value in (env or {}).items()]
    # Extended resources want no requests: the API server fills them from the limits.
    return {"name": name, "image": IMAGE, "env": entries, "resources": {"limits": dict(limits or {})}}


def template(
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    scheduler: str = "",
    containers: Sequence[Object] = (),
    limits: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - any other field of a Pod's spec
) -> Object:
    """metadata and spec of a Pod, for Pods and for workloads; one container where none is given."""
    body: Object = {"containers": list(containers) or [container(limits=limits)], **spec}
    if scheduler:
        body["schedulerName"] = scheduler
    return {"metadata": {"labels": dict(labels or {}), "annotations": dict(annotations or {})}, "spec": body}


def pod(namespace: str, name: str, **parts: Any) -> Object:  # noqa: ANN401 - what template takes
    made = template(**parts)
    made["metadata"] |= {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def member(namespace: str, name: str, group: str, *, scheduler: str = SCHEDULER, **parts: Any) -> Object:  # noqa: ANN401
    """A member of the gang, placed by the gang scheduler."""
    labels = {GROUP: group} | dict(parts.pop("labels", {}))
    return pod(namespace, name, labels=labels, scheduler=scheduler, **parts)


def pod_group(namespace: str, name: str, **spec: Any) -> Object:  # noqa: ANN401 - any field of its spec
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def workload(kind: str, namespace: str, name: str, body: Object, **spec: Any) -> Object:  # noqa: ANN401
    """A Deployment, StatefulSet, ReplicaSet or Job round the template `body`."""
    made: Object = {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": body, **spec},
    }
    body["metadata"]["labels"] |= {"app": name}
    if kind == "Job":
        body["spec"].setdefault("restartPolicy", "Never")
    else:
        made["spec"]["selector"] = {"matchLabels": {"app": name}}
    if kind == "StatefulSet":
        made["spec"].setdefault("serviceName", name)
    return made
