"""The training operator's and the MPI operator's jobs (coscheduling 5.2 to 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from webhook.kinds.template import Body, Template, exactly, mapping, template_at, text, whole
from webhook.model import Count, Path, Stage, dig

_MANAGER = "kubeflow.org/training-operator"
_MPI_MANAGER = "kubeflow.org/mpi-operator"
"""Each operator leaves a job alone whose managedBy is another name than its own: Training Operator since 1.9
(pkg/controller.v1/common/job.go:459-464), MPI operator since 0.6 (v0.8.0 pkg/apis/kubeflow/v2beta1/types.go:98)."""


def replica_specs(field: str) -> Callable[[Body], tuple[Template, ...]]:
    """The finder for a kind whose roles stand under `spec.<field>`, each with replicas (default 1)."""

    def find(body: Body) -> tuple[Template, ...]:
        return tuple(_roles(body, field))

    return find


def _roles(body: Body, field: str) -> Iterator[Template]:
    elastic = dig(body, "spec", "elasticPolicy")
    foreign = text(body, "spec", "runPolicy", "managedBy") not in {"", _own_manager(body, field)}
    for role, spec in mapping(body, "spec", field).items():
        if not isinstance(spec, Mapping) or "template" not in spec:
            continue
        at: Path = ("spec", field, role)
        replicas = whole(spec.get("replicas"), 0 if _is_mpi_worker(field, role) else 1)
        count = exactly(replicas, (*at, "replicas"))
        if foreign:
            count = Count(0, None, ("spec", "runPolicy", "managedBy"))
        elif isinstance(elastic, Mapping) and role.lower() == "worker":
            count = _range(elastic, replicas) or count
        yield template_at((*at, "template"), count, role)


def _own_manager(body: Body, field: str) -> str:
    """MPIJob v2beta1 is MPI operator's, MPIJob v1 and the other kinds are Training Operator's."""
    mpi = field == "mpiReplicaSpecs" and text(body, "apiVersion").endswith("/v2beta1")
    return _MPI_MANAGER if mpi else _MANAGER


def _is_mpi_worker(field: str, role: str) -> bool:
    return field == "mpiReplicaSpecs" and role.lower() == "worker"


def _range(elastic: Body, replicas: int | None) -> Count | None:
    """An elastic job's workers: an autoscaler moves them between the two bounds. None without bounds, which then are
    both the replicas. One bound stands for the other too (training-operator release-1.9
    pkg/apis/kubeflow.org/v1/pytorch_defaults.go:38-55, paddlepaddle_defaults.go:34-51, the same since 1.5)."""
    bounds = {name: elastic[name] for name in ("minReplicas", "maxReplicas") if elastic.get(name) is not None}
    if not bounds:
        return None
    path: Path = ("spec", "elasticPolicy", next(iter(bounds)))
    numbers = [replicas, *(whole(bound, 0) for bound in bounds.values())]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return Count(0, None, path)
    return Count(min(known), max(known), path)


_MPI = replica_specs("mpiReplicaSpecs")


def mpi_job(body: Body) -> tuple[Template, ...]:
    """Launcher 1, workers 0 by default. In v2beta1 the launcher may wait for the workers (seen to hang, 0.6.0)."""
    found = _MPI(body)
    workers = tuple(template.role for template in found if template.role.lower() == "worker")
    if not workers or text(body, "spec", "launcherCreationPolicy") != "WaitForWorkersReady":
        return found
    return tuple(_waiting(template, workers) if template.role.lower() == "launcher" else template for template in found)


def _waiting(launcher: Template, workers: tuple[str, ...]) -> Template:
    return launcher._replace(count=launcher.count._replace(stage=_WAITS_FOR_WORKERS._replace(after=workers)))


_WAITS_FOR_WORKERS = Stage(
    first=0,
    why="makes the launcher only when all workers are Ready (launcherCreationPolicy WaitForWorkersReady)",
    cure="set launcherCreationPolicy: AtStartup, or minMember to the number of workers",
    path=("spec", "launcherCreationPolicy"),
    seen=True,
)
