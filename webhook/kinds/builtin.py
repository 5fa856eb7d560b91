"""Kubernetes' own kinds (reference: coscheduling 5.1, KAPI v0.35.7 apps/v1 and batch/v1 types.go)."""

from __future__ import annotations

from webhook.kinds.template import Body, Template, exactly, mapping, template_at, text, whole
from webhook.model import ONE, UNKNOWN, Count, Path, Stage

_OWN_JOB_CONTROLLER = "kubernetes.io/job-controller"


def pod(_: Body) -> tuple[Template, ...]:
    return _POD


_POD = (Template(("metadata",), ("spec",), "", ONE),)


def pod_template(_: Body) -> tuple[Template, ...]:
    return (template_at(("template",), UNKNOWN),)


def replicated(body: Body) -> tuple[Template, ...]:
    """Deployment, ReplicaSet, ReplicationController: `replicas` Pods, 1 by default, all at once."""
    replicas = whole(mapping(body, "spec").get("replicas"), 1)
    return (template_at(("spec", "template"), exactly(replicas, ("spec", "replicas"))),)


def rollout(body: Body) -> tuple[Template, ...]:
    """Argo's Rollout is a Deployment, or refers to one and has no template."""
    return () if mapping(body, "spec").get("workloadRef") else replicated(body)


def stateful_set(body: Body) -> tuple[Template, ...]:
    """OrderedReady, the default, makes Pod k only when Pod k-1 is Ready (apps/v1/types.go:66-79; seen)."""
    spec = mapping(body, "spec")
    replicas = whole(spec.get("replicas"), 1)
    ordered = text(spec, "podManagementPolicy") in {"", "OrderedReady"} and (replicas is None or replicas > 1)
    count = exactly(replicas, ("spec", "replicas"), stage=_ORDERED if ordered else None)
    return (template_at(("spec", "template"), count),)


_ORDERED = Stage(
    first=1,
    why="makes each Pod only when the one before it is Ready (podManagementPolicy OrderedReady, the default)",
    cure="set podManagementPolicy: Parallel",
    path=("spec", "podManagementPolicy"),
    seen=True,
)


def daemon_set(_: Body) -> tuple[Template, ...]:
    """One Pod on each node that fits: unknown offline."""
    return (template_at(("spec", "template"), UNKNOWN),)


def job(body: Body) -> tuple[Template, ...]:
    return (template_at(("spec", "template"), job_count(mapping(body, "spec"), ("spec",))),)


def cron_job(body: Body) -> tuple[Template, ...]:
    """The Pods of one run."""
    at = ("spec", "jobTemplate", "spec")
    return (template_at((*at, "template"), job_count(mapping(body, *at), at)),)


def job_count(spec: Body, at: Path) -> Count:
    """The Pods of a batch/v1 JobSpec alive at once: parallelism, but never more than completions.

    Without completions it is a work queue of `parallelism` Pods (K job_controller `wantActive`). A suspended Job
    counts as if resumed. What another controller (`managedBy`) makes of it is unknown.
    """
    if text(spec, "managedBy") not in {"", _OWN_JOB_CONTROLLER}:
        return Count(0, None, (*at, "managedBy"))
    parallelism = whole(spec.get("parallelism"), 1)
    if spec.get("completions") is None or parallelism is None:
        return exactly(parallelism, (*at, "parallelism"))
    completions = whole(spec.get("completions"), parallelism)
    if completions is None:
        return Count(0, parallelism, (*at, "completions"))
    field = "completions" if completions < parallelism else "parallelism"
    return exactly(min(parallelism, completions), (*at, field))
