"""Kinds that describe Pods in a way of their own, or leave their number to a controller (coscheduling 5.2, 5.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from webhook.kinds.template import Body, Template, exactly, items, mapping, template_at, whole
from webhook.model import ONE, UNKNOWN, Count, Path, Stage, dig


def nothing(_: Body) -> tuple[Template, ...]:
    """A kind that is known and left alone: Volcano's jobs make Volcano's PodGroups and name its scheduler."""
    return ()


def spark_application(body: Body) -> tuple[Template, ...]:
    return tuple(_spark(body, ("spec",), labels=("metadata",)))


def scheduled_spark_application(body: Body) -> tuple[Template, ...]:
    """Each run is a SparkApplication with the template as its spec, and none of this object's labels."""
    return tuple(_spark(body, ("spec", "template"), labels=()))


def _spark(body: Body, at: Path, labels: Path) -> Iterator[Template]:
    """Driver and executors have a schema of their own, with `labels` beside the rest.

    SparkApplication's metadata.labels are copied to both (SPARK submission.go:393-394,761-762), the one kind where
    a label on the outer object is right. The running driver makes the executors.
    """
    spec = mapping(body, *at)
    if isinstance(spec.get("driver"), Mapping):
        yield Template((*at, "driver"), (*at, "driver"), "driver", ONE, own=True, more=labels)
    if isinstance(spec.get("executor"), Mapping):
        executor = (*at, "executor")
        yield Template(executor, executor, "executor", _executors(spec, at), own=True, more=labels)


def _executors(spec: Body, at: Path) -> Count:
    why = "makes the executors only from its running driver"
    stage = Stage(0, why, "set minMember: 1", (*at, "executor"), after=("driver",))
    if not dig(spec, "dynamicAllocation", "enabled"):
        return exactly(whole(dig(spec, "executor", "instances"), 1), (*at, "executor", "instances"), stage=stage)
    bounds = mapping(spec, "dynamicAllocation")
    least = whole(bounds.get("minExecutors"), 0) or 0
    most = None if bounds.get("maxExecutors") is None else whole(bounds.get("maxExecutors"), 0)
    return Count(least, most, (*at, "dynamicAllocation"), stage)


def workflow(body: Body) -> tuple[Template, ...]:
    return tuple(_argo(body, ("spec",)))


def cron_workflow(body: Body) -> tuple[Template, ...]:
    return tuple(_argo(body, ("spec", "workflowSpec")))


def _argo(body: Body, at: Path) -> Iterator[Template]:
    """Templates with a container, a script or a containerSet. How many run at once, nobody knows offline."""
    for index, step in items(body, *at, "templates"):
        if not any(isinstance(step.get(key), Mapping) for key in ("container", "script", "containerSet")):
            continue
        here = (*at, "templates", index)
        role = step.get("name")
        yield Template(
            (*here, "metadata"),
            here,
            role if isinstance(role, str) else "",
            UNKNOWN,
            own=True,
            more=(*at, "podMetadata"),
            defaults=at,
        )


def scaled_template(*path: str) -> Callable[[Body], tuple[Template, ...]]:
    """The finder for a kind with one template whose number a controller decides."""

    def find(body: Body) -> tuple[Template, ...]:
        return (template_at(path, UNKNOWN),) if isinstance(dig(body, *path), Mapping) else ()

    return find


def inference_service(body: Body) -> tuple[Template, ...]:
    """The predictor is a PodSpec with labels beside it; how many Pods it becomes is KServe's decision."""
    predictor: Path = ("spec", "predictor")
    if not isinstance(dig(body, *predictor), Mapping):
        return ()
    return (Template(predictor, predictor, "", UNKNOWN, own=True),)
