from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import RAY_GANG_LABEL, RAY_SCHEDULER, makes_groups
from webhook.model import Place, Pod, Workload
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Workload, Severity.WARNING, evidence="seen")
def ray_job_gang(workload: Workload, stack: Stack) -> Iterator[Finding]:
    """KubeRay with scheduler-plugins makes no Pods for a gang RayJob, and takes RayClusters away from HAMi.

    With `--batch-scheduler=scheduler-plugins` a RayJob that has the label ray.io/gang-scheduling-enabled gets no Pod at
    all: the operator's log repeats `currently only RayCluster is supported, got *v1.RayJob` (seen on v1.5.0,
    rayjob_controller.go:192-200, the same up to v1.7). A RayCluster with the label works.

    The same flag makes KubeRay v1.5 and later write schedulerName: scheduler-plugins-scheduler on every Ray Pod, also
    without the label and over the template's own. HAMi's webhook leaves such Pods alone (webhook.go:64-68), so they
    get no vGPU, unless HAMi's own scheduler bears that name. This half is said only where the stack declares KubeRay,
    and nothing is said where the stack declares it off or with another value, such as volcano.
    """
    if workload.ref.group != "ray.io":
        return
    if workload.ref.kind == "RayJob":
        yield from _no_pods(workload, stack)
    elif makes_groups("kuberay", stack) and stack.hami_scheduler != RAY_SCHEDULER:
        yield from _taken_from_hami(workload, stack)


def _no_pods(workload: Workload, stack: Stack) -> Iterator[Finding]:
    declared = makes_groups("kuberay", stack)
    if declared is False or RAY_GANG_LABEL not in workload.labels or not (declared or _is_ours(workload, stack)):
        return
    condition = "" if declared else " if KubeRay runs with --batch-scheduler=scheduler-plugins"
    yield Finding(
        Place(workload.ref, ("metadata", "labels", RAY_GANG_LABEL), "key"),
        f"{workload.ref} gets no Pods at all{condition}: KubeRay makes gangs of RayClusters only and stops at a "
        "RayJob with this label",
        fix="remove the label, or make a RayCluster with the label and submit the job to it (clusterSelector)",
        confidence="high" if declared else "low",
    )


def _is_ours(workload: Workload, stack: Stack) -> bool:
    """Whether its Pods point to HAMi or Coscheduling, and nothing to another gang system that reads the label too."""
    keys = (*workload.labels, *workload.annotations)
    if any(stack.is_foreign(pod) for pod in workload.pods) or any("yunikorn" in key for key in keys):
        return False
    return any(pod.group or stack.is_coscheduled(pod) for pod in workload.pods)


def _taken_from_hami(workload: Workload, stack: Stack) -> Iterator[Finding]:
    asking = [pod for pod in workload.pods if stack.wants_device(pod) and not stack.is_foreign(pod)]
    if not asking:
        return
    places = [_scheduler(pod, stack) for pod in asking]
    yield Finding(
        places[0],
        f"KubeRay writes schedulerName: {RAY_SCHEDULER} on every Pod of {workload.ref}; HAMi's webhook then leaves "
        "them alone, and they get no vGPU",
        fix=f"name HAMi's scheduler {RAY_SCHEDULER}, or run KubeRay without --batch-scheduler",
        related=tuple(Related(place, "this one too") for place in places[1:]),
    )


def _scheduler(pod: Pod, stack: Stack) -> Place:
    """The template's schedulerName, or the request that needs HAMi where it has none."""
    if pod.scheduler:
        return pod.field("schedulerName")
    container = next(each for each in pod.containers if any(stack.requested(each)))
    return Place(pod.ref, (*container.path, "resources", "limits", next(stack.requested(container))), "key")
