"""Admission requests made by hand, for tests that need no server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from webhook.admission import Mode, judge
from webhook.review import Answer, Enforcement, Known, LookUp, Request, nothing_known
from webhook.rules import all_rules
from webhook.stack import Stack

Object = dict[str, Any]

RULES = all_rules()
STACK = Stack(injects_scheduler=True)
LABEL = "scheduling.x-k8s.io/pod-group"
GPU = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k"}
REVIEWS = Path(__file__).parent / "reviews"


def review_of(name: str) -> Object:
    found: Object = yaml.safe_load((REVIEWS / name).read_text(encoding="utf-8"))
    return found


def body_of(name: str) -> bytes:
    return json.dumps(review_of(name)).encode()


def owned_by(kind: str = "ReplicaSet", name: str = "trainer-5d9", **fields: object) -> list[Object]:
    known = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u-1", "controller": True}
    return [{**known, **fields}]


def pod(
    name: str = "w-0",
    group: str = "",
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    image: str = "registry.example.com/ml/torch:2.4-cuda12",
    limits: Mapping[str, str] | None = None,
    **metadata: object,
) -> Object:
    """A Pod as a validating webhook sees it: defaults in, scheduler chosen, a uid given."""
    own = {LABEL: group} if group else {}
    wanted = GPU if limits is None else dict(limits)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": "p-1",
            "labels": {**own, **(labels or {})},
            "annotations": dict(annotations or {}),
            **metadata,
        },
        "spec": {
            "schedulerName": "hami-scheduler",
            "containers": [{"name": "main", "image": image, "resources": {"limits": wanted, "requests": wanted}}],
        },
        "status": {"phase": "Pending"},
    }


def template(group: str = "", **metadata: object) -> Object:
    """The Pod template of a workload."""
    made = pod("", group)
    labels = {"app": "train", **made["metadata"]["labels"]}
    return {"metadata": {"labels": labels, **metadata}, "spec": made["spec"]}


def job(name: str = "train", group: str = "", *, parallelism: int = 2, **spec: object) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team-a", "uid": "j-1"},
        "spec": {"parallelism": parallelism, "template": template(group), **spec},
    }


def deployment(group: str = "", **metadata: object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"replicas": 2, "template": template(group, **metadata)},
    }


def podgroup(name: str = "g1", **spec: object) -> Object:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": spec,
    }


def request(new: Object | None, old: Object | None = None, **fields: Any) -> Request:  # noqa: ANN401 - any of its fields
    """A CREATE, or the UPDATE of `old` to `new`."""
    shown = new or old or {}
    api, kind = str(shown.get("apiVersion", "v1")), str(shown.get("kind", "Pod"))
    group, _, version = api.rpartition("/")
    known: dict[str, Any] = {
        "uid": "r-1",
        "review": "admission.k8s.io/v1",
        "operation": "CREATE" if old is None else "UPDATE",
        "group": group,
        "version": version,
        "kind": kind,
        "resource": f"{kind.lower()}s",
        "namespace": "team-a",
        "object": new,
        "old_object": old,
    }
    return Request(**{**known, **fields})


def answer(
    asked: Request,
    *,
    stack: Stack = STACK,
    enforcement: Enforcement | None = None,
    look_up: LookUp = nothing_known,
    mode: Mode = "enforce",
    **more: Any,  # noqa: ANN401 - as above
) -> Answer:
    return judge(asked, more.pop("rules", RULES), stack, enforcement or Enforcement(), look_up, mode, **more)


def knows(known: Known | None) -> LookUp:
    def look_up(namespace: str, name: str) -> Known | None:
        return known

    return look_up
