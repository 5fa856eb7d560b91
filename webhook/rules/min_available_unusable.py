from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.gangkeys import (
    SYSTEM_NAMES,
    makes_groups,
    names_other_system,
    operator_of,
    scheduler_given,
    unproven_scheduler,
)
from webhook.model import Path, Place, Workload, dig
from webhook.roster import at_least, at_most, plural, set_by
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Operator, Stack

_POLICY: Path = ("spec", "runPolicy", "schedulingPolicy")
_FIELD: Path = (*_POLICY, "minAvailable")
_APIS = frozenset({"kubeflow.org/v1", "kubeflow.org/v2beta1"})
"""Where the operators that know scheduler-plugins read it."""

_NAMES: Mapping[Operator, str] = {"training-operator": "Training Operator", "mpi-operator": "MPI operator"}
_KUEUE = "kueue.x-k8s.io/queue-name"


@rule(Workload, Severity.ERROR, evidence="read")
def min_available_unusable(workload: Workload, stack: Stack) -> Iterator[Finding]:
    """A training job's minAvailable is more than its replicas, or no number from 1 on: its gang cannot work.

    With its gang flag on, an operator makes a PodGroup for each job and takes minAvailable, in the job's
    spec.runPolicy.schedulingPolicy, as its minMember, unchecked: Training Operator for PyTorchJob, TFJob, MPIJob v1,
    XGBoostJob, PaddleJob and JAXJob (v1.9.4 pkg/controller.v1/common/job.go:250-310, the same in 1.7 and 1.8), MPI
    operator for MPIJob v2beta1 (v0.8.0 pkg/controller/podgroup.go:240-271,392-397, the same in 0.6; validation.go
    looks at other fields). The jobs' CRDs give it no minimum and no maximum. Left out, it is the sum of all replicas,
    and for MPIJob v2beta1 one more than the workers, with runLauncherAsWorker too.

    Above the number of Pods: Coscheduling turns them all away, `cannot find enough sibling pods, current pods number:
    4, minMember of group: 8`, for ever, since no more are made. Less than all is right where a job can run with fewer.
    An elastic PyTorchJob has as many workers as elasticPolicy.maxReplicas allows, or minReplicas where only that is
    given (pytorch_defaults.go:38-55); its HorizontalPodAutoscaler is made only where elasticPolicy.metrics are given
    (pytorch/hpa.go:36). PyTorchJob, PaddleJob and JAXJob can be scaled by another autoscaler too, so one whose workers
    have no replicas gets a warning.

    Negative: the PodGroup is refused by the CRD of scheduler-plugins v0.29 and later, and the operator makes no Pods
    before it has one (job.go:316-334, logged as `Sync PodGroup`; mpi_job_controller.go:668-672). 0: minMember is left
    out of what is sent (`json:"minMember,omitempty"`), so the PodGroup holds nothing back: a warning, it may be meant.

    An error where the stack declares the operator with a scheduler that runs Coscheduling (`stack: {operators:
    {training-operator: hami-scheduler}}`), a warning where nobody said: with the flag off nobody reads the field.
    Nothing is said where the flag is declared off, where it or a Pod names another system's scheduler, of jobs
    that another controller runs (managedBy), or, while nobody said, of jobs with a queue of Volcano's or Kueue's or
    with a pod-group label or another system's key in a template: their gang may be made by hand, or elsewhere.
    """
    wanted = dig(workload.body, *_FIELD)
    maker = _maker(workload, stack) if type(wanted) is int else None
    most = _most(workload)
    if type(wanted) is not int or maker is None or most is None or 0 < wanted <= most:
        return
    if wanted == 0:
        yield from _no_gang(workload, maker)
    elif wanted < 0:
        yield _refused(workload, maker, wanted)
    else:
        yield _out_of_reach(workload, maker, (most, wanted))


class _Maker(NamedTuple):
    """The operator that makes the PodGroup. `declared`: its gang flag is known to be on; `doubtful` is a scheduler of
    the Pods that nobody said to run Coscheduling, else empty."""

    name: str
    declared: bool
    doubtful: str = ""


def _maker(workload: Workload, stack: Stack) -> _Maker | None:
    """None where it makes none, or makes it for another system."""
    operator = operator_of(workload.ref)
    if operator is None or operator not in _NAMES or workload.ref.api_version not in _APIS:
        return None
    made = makes_groups(operator, stack)
    if made is False or any(names_other_system(scheduler_given(pod, stack), stack) for pod in workload.pods):
        return None
    if made:
        return _Maker(_NAMES[operator], declared=True, doubtful=unproven_scheduler(workload.pods, stack))
    return None if _names_another_system(workload) else _Maker(_NAMES[operator], declared=False)


def _names_another_system(workload: Workload) -> bool:
    """Whether its gang may be made otherwise: by Volcano, the only one to read `queue`, by Kueue, or by hand."""
    if _KUEUE in workload.labels or dig(workload.body, *_POLICY, "queue"):
        return True
    return any(pod.group or not SYSTEM_NAMES.isdisjoint([*pod.labels, *pod.annotations]) for pod in workload.pods)


def _most(workload: Workload) -> int | None:
    """How many Pods the job can have at once; None where nobody knows, or where it is but a patch of a job."""
    roles = [len(field) for name, field in _fields(workload) if name.endswith("ReplicaSpecs")]
    whole = all(any(container.image for container in pod.containers) for pod in workload.pods)
    if not workload.pods or not whole or sum(roles) != len(workload.pods):
        return None
    return at_most(workload.pods)


def _fields(workload: Workload) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The fields of its spec that are mappings."""
    spec = dig(workload.body, "spec")
    for name, field in spec.items() if isinstance(spec, Mapping) else ():
        if isinstance(field, Mapping):
            yield name, field


def _out_of_reach(workload: Workload, maker: _Maker, counts: tuple[int, int]) -> Finding:
    most, wanted = counts
    scaled = any(pod.role.lower() == "worker" and _is_left_out(workload, pod.count.path) for pod in workload.pods)
    certain = maker.declared and not maker.doubtful and not scaled
    condition = f" if {maker.doubtful} runs Coscheduling" if maker.doubtful else ""
    return Finding(
        Place(workload.ref, _FIELD),
        f"{workload.ref} can never reach minAvailable {wanted}, it has {plural(most, 'Pod')} at most: {maker.name} "
        f"makes it minMember, and all stay Pending{condition or _flag(maker)}",
        fix=f"set minAvailable: {_reach(workload)}, or raise replicas",
        severity=Severity.ERROR if certain else Severity.WARNING,
        confidence="high" if maker.declared and not scaled else "low",
        related=tuple(Related(set_by(pod), f"{pod.count.most} of them") for pod in workload.pods),
    )


def _is_left_out(workload: Workload, path: Path) -> bool:
    return dig(workload.body, *path) is None


def _reach(workload: Workload) -> int:
    """The most that the Pods of its first stage reach in any case. An elastic job then goes on when scaled in."""
    return max(at_least(pod for pod in workload.pods if pod.count.stage is None), 1)


def _refused(workload: Workload, maker: _Maker, wanted: int) -> Finding:
    return Finding(
        Place(workload.ref, _FIELD),
        f"{workload.ref} has minAvailable {wanted}: current CRDs refuse that as minMember of its PodGroup, and "
        f"{maker.name} makes no Pods{_flag(maker)}; CRDs before v0.29 take it as no gang",
        fix=_from_one_on(workload),
        severity=Severity.ERROR if maker.declared else Severity.WARNING,
        confidence="high" if maker.declared else "low",
    )


def _no_gang(workload: Workload, maker: _Maker) -> Iterator[Finding]:
    if maker.declared:
        yield Finding(
            Place(workload.ref, _FIELD),
            f"{workload.ref} has minAvailable 0: {maker.name} makes a PodGroup without minMember, which holds nothing "
            "back, and its Pods start one by one",
            fix=_from_one_on(workload),
            severity=Severity.WARNING,
        )


def _from_one_on(workload: Workload) -> str:
    return f"set minAvailable: {_reach(workload)}, or 1 to say that no gang is meant"


def _flag(maker: _Maker) -> str:
    """What must hold where nobody has declared the operator."""
    return "" if maker.declared else ", if its gang flag is on"
