"""KubeRay's kinds (coscheduling 5.2 and 5.6; RAY utils/util.go:389-417)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.kinds.template import Body, Template, items, mapping, template_at, text, times, whole
from webhook.model import ONE, Count, Path, dig

_NO_BOUND = 2**31 - 1


def ray_cluster(body: Body) -> tuple[Template, ...]:
    return tuple(_cluster(body, ("spec",)))


def ray_service(body: Body) -> tuple[Template, ...]:
    """One cluster; two while it is upgraded."""
    return tuple(_cluster(body, ("spec", "rayClusterConfig")))


def ray_job(body: Body) -> tuple[Template, ...]:
    return tuple(_job(body, ("spec",)))


def ray_cron_job(body: Body) -> tuple[Template, ...]:
    return tuple(_job(body, ("spec", "jobTemplate")))


def _job(body: Body, at: Path) -> Iterator[Template]:
    """A cluster of its own, unless it selects one, and in K8sJobMode (the default) a submitter."""
    spec = mapping(body, *at)
    if isinstance(spec.get("rayClusterSpec"), Mapping):
        yield from _cluster(body, (*at, "rayClusterSpec"))
    by_job = text(spec, "submissionMode") in {"", "K8sJobMode"}
    if by_job and isinstance(spec.get("submitterPodTemplate"), Mapping):
        yield template_at((*at, "submitterPodTemplate"), ONE, "submitter")


def _cluster(body: Body, at: Path) -> Iterator[Template]:
    spec = mapping(body, *at)
    if isinstance(spec.get("headGroupSpec"), Mapping):
        yield template_at((*at, "headGroupSpec", "template"), Count(1, 1, (*at, "headGroupSpec")), "head")
    scaled = dig(spec, "enableInTreeAutoscaling") is True
    for index, group in items(spec, "workerGroupSpecs"):
        group_at = (*at, "workerGroupSpecs", index)
        count = _workers(group, group_at, scaled=scaled)
        yield template_at((*group_at, "template"), count, text(group, "groupName") or "worker")


def _workers(group: Body, at: Path, *, scaled: bool) -> Count:
    """Replicas between their bounds, times numOfHosts; with the autoscaler anything between the bounds."""
    least, most = whole(group.get("minReplicas"), 0), whole(group.get("maxReplicas"), _NO_BOUND)
    hosts = whole(group.get("numOfHosts"), 1)
    if least is None or most is None or hosts is None:
        return Count(0, None, (*at, "replicas"))
    if scaled:
        return Count(least * hosts, None if most == _NO_BOUND else most * hosts, (*at, "minReplicas"))
    replicas = whole(group.get("replicas"), least)
    wanted = times(None if replicas is None else max(least, min(replicas, most)), hosts)
    return Count(wanted or 0, wanted, (*at, "replicas"))
