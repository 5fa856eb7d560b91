"""Sets of Jobs or StatefulSets, and Trainer's runtimes, which are JobSets to be (coscheduling 5.2, 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.kinds.builtin import job_count
from webhook.kinds.template import Body, Template, exactly, items, mapping, template_at, text, times, whole
from webhook.model import Count, Path, Stage, dig

_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
_LWS_TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_JOBS: Path = ("spec", "replicatedJobs")


def job_set(body: Body) -> tuple[Template, ...]:
    """Each replicatedJob is `replicas` Jobs (default 1) of min(parallelism, completions) Pods."""
    jobs = items(body, *_JOBS)
    in_order = text(body, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
    found = []
    for index, job in jobs:
        at = (*_JOBS, index)
        count = _copies_of_job(job, at)
        stage = _stage(body, job, at, count, later=in_order and index > jobs[0][0])
        found.append(_job_template(at, job, count._replace(stage=stage)))
    return tuple(found)


def _copies_of_job(job: Body, at: Path) -> Count:
    replicas = whole(job.get("replicas"), 1)
    one = job_count(mapping(job, "template", "spec"), (*at, "template", "spec"))
    path = one.path if replicas == 1 else (*at, "replicas")
    if replicas is None:
        return Count(0, None, path)
    return Count(one.least * replicas, times(one.most, replicas), path, copies=max(replicas, 1))


def _job_template(at: Path, job: Body, count: Count) -> Template:
    return template_at((*at, "template", "spec", "template"), count, text(job, "name"))


def _stage(body: Body, job: Body, at: Path, count: Count, *, later: bool) -> Stage | None:
    """Why the Pods of one replicatedJob come late; all three were seen to hang with JobSet 0.10.1."""
    if later:
        path: Path = ("spec", "startupPolicy", "startupPolicyOrder")
        why = "starts each replicatedJob only when the one before it is Ready (startupPolicyOrder InOrder)"
        return Stage(0, why, "set startupPolicyOrder: AnyOrder", path, seen=True)
    if job.get("dependsOn"):
        return _depends(job, (*at, "dependsOn"))
    return _exclusive(body, job, at, count)


def _depends(job: Body, path: Path) -> Stage:
    waits = ", ".join(text(other, "name") for _, other in items(job, "dependsOn")) or "another one"
    why = f"starts replicatedJob {text(job, 'name')} only after {waits} (dependsOn)"
    return Stage(0, why, "remove dependsOn, or put only one of these jobs into the gang", path, seen=True)


def _exclusive(body: Body, job: Body, at: Path, count: Count) -> Stage | None:
    """JobSet's own webhook refuses a Job's followers until its first Pod has a node (JS pod_webhook.go:59-75)."""
    for holder, path in ((body, ()), (mapping(job, "template"), (*at, "template"))):
        annotations = mapping(holder, "metadata", "annotations")
        if not annotations.get(_TOPOLOGY) or annotations.get(_NODE_SELECTOR):
            continue
        if count.most is not None and count.most <= count.copies:
            return None
        why = "makes a Job's other Pods only when its first one has a node (exclusive-topology)"
        cure = f"label the nodes and add the annotation {_NODE_SELECTOR}"
        where: Path = (*path, "metadata", "annotations", _TOPOLOGY)
        return Stage(count.copies, why, cure, where, seen=True)
    return None


def leader_worker_set(body: Body) -> tuple[Template, ...]:
    """Each of `replicas` groups is a leader and size-1 workers; both default to 1."""
    base: Path = ("spec", "leaderWorkerTemplate")
    group = mapping(body, *base)
    replicas, size = whole(dig(body, "spec", "replicas"), 1), whole(group.get("size"), 1)
    copies = max(replicas or 1, 1)
    stage = _leader_first(body)
    path: Path = (*base, "size")
    if not isinstance(group.get("leaderTemplate"), Mapping):
        stage = stage._replace(first=copies) if stage and size != 1 else None
        count = exactly(
            times(replicas, size), path if replicas == 1 else ("spec", "replicas"), stage=stage, copies=copies
        )
        return (template_at((*base, "workerTemplate"), count),)
    workers = None if size is None else max(size - 1, 0)
    return (
        template_at((*base, "leaderTemplate"), exactly(replicas, ("spec", "replicas"), copies=copies), "leader"),
        template_at(
            (*base, "workerTemplate"), exactly(times(replicas, workers), path, stage=stage, copies=copies), "worker"
        ),
    )


def _leader_first(body: Body) -> Stage | None:
    """LeaderReady was seen to hang with LWS 0.7.0; exclusive-topology is read (pod_controller.go:143,162-168)."""
    if text(body, "spec", "startupPolicy") == "LeaderReady":
        why = "makes the workers only when their leader is Ready (startupPolicy LeaderReady)"
        return Stage(0, why, "set startupPolicy: LeaderCreated", ("spec", "startupPolicy"), seen=True)
    if mapping(body, "metadata", "annotations").get(_LWS_TOPOLOGY):
        why = "makes the workers only when their leader has a node (exclusive-topology)"
        path: Path = ("metadata", "annotations", _LWS_TOPOLOGY)
        return Stage(0, why, "remove the annotation, or use no Coscheduling gang here", path)
    return None


def train_job(_: Body) -> tuple[Template, ...]:
    """Its templates stand in the runtime that it refers to."""
    return ()


def training_runtime(body: Body) -> tuple[Template, ...]:
    """A runtime makes no Pods: the TrainJobs that name it do, and set how many. So every count is unknown.

    A step that depends on another waits for it (seen: Trainer 2.1.0 with an initializer).
    """
    base: Path = ("spec", "template", *_JOBS)
    return tuple(_steps(items(body, *base), base))


def _steps(jobs: Iterable[tuple[int, Body]], base: Path) -> Iterable[Template]:
    for index, job in jobs:
        at = (*base, index)
        stage = _depends(job, (*at, "dependsOn")) if job.get("dependsOn") else None
        yield _job_template(at, job, Count(0, None, stage=stage))
