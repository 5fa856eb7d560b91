"""Sets of Jobs or StatefulSets, and Trainer's runtimes, which are JobSets to be (coscheduling 5.2, 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.kinds.builtin import job_count
from webhook.kinds.template import Body, Template, exactly, items, mapping, template_at, text, times, whole
from webhook.model import Count, Path, Stage, dig

_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
_LWS_TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_LEADER = ("leader",)
_JOBS: Path = ("spec", "replicatedJobs")


def job_set(body: Body) -> tuple[Template, ...]:
    """Each replicatedJob is `replicas` Jobs (default 1) of min(parallelism, completions) Pods."""
    jobs = items(body, *_JOBS)
    in_order = text(body, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
    waits = _waits(jobs)
    found: list[Template] = []
    for index, job in jobs:
        at = (*_JOBS, index)
        count = _copies_of_job(job, at)
        if in_order and found:
            stage: Stage | None = _IN_ORDER._replace(after=tuple(template.role for template in found))
        elif waits[text(job, "name")]:
            stage = _depends(job, (*at, "dependsOn"), waits)
        else:
            stage = _exclusive(body, job, at, count)
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


_IN_ORDER = Stage(
    first=0,
    why="starts each replicatedJob only when the one before it is Ready (startupPolicyOrder InOrder)",
    cure="set startupPolicyOrder: AnyOrder",
    path=("spec", "startupPolicy", "startupPolicyOrder"),
    seen=True,
)


def _depends(job: Body, path: Path, waits: Mapping[str, tuple[str, ...]]) -> Stage:
    """Seen to hang with JobSet 0.10.1, for Ready and Complete alike, and with Trainer 2.1.0."""
    name = text(job, "name")
    why = f"starts replicatedJob {name} only after {', '.join(waits[name])} (dependsOn)"
    cure = "remove dependsOn, or put only one of these jobs into the gang"
    return Stage(0, why, cure, path, seen=True, after=_all_before(name, waits))


def _waits(jobs: Iterable[tuple[int, Body]]) -> dict[str, tuple[str, ...]]:
    """For each replicatedJob the names of those it depends on."""
    return {text(job, "name"): tuple(text(on, "name") for _, on in items(job, "dependsOn")) for _, job in jobs}


def _all_before(name: str, waits: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Those that a job depends on, and those that they depend on."""
    before: dict[str, None] = {}
    left = list(waits.get(name, ()))
    while left:
        other = left.pop()
        if other not in before:
            before[other] = None
            left.extend(waits.get(other, ()))
    return tuple(before)


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
        stage = stage._replace(first=copies, after=()) if stage and size != 1 else None
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
        path: Path = ("spec", "startupPolicy")
        return Stage(0, why, "set startupPolicy: LeaderCreated", path, seen=True, after=_LEADER)
    if mapping(body, "metadata", "annotations").get(_LWS_TOPOLOGY):
        why = "makes the workers only when their leader has a node (exclusive-topology)"
        path = ("metadata", "annotations", _LWS_TOPOLOGY)
        return Stage(0, why, "remove the annotation, or use no Coscheduling gang here", path, after=_LEADER)
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


def _steps(jobs: list[tuple[int, Body]], base: Path) -> Iterable[Template]:
    waits = _waits(jobs)
    for index, job in jobs:
        at = (*base, index)
        stage = _depends(job, (*at, "dependsOn"), waits) if waits[text(job, "name")] else None
        yield _job_template(at, job, Count(0, None, stage=stage))
