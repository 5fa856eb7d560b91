from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import SELECTION
from webhook.kinds import levels
from webhook.model import Place, Pod, Workload, dig
from webhook.parse.verdicts import dotted
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack

_COPY_TEMPLATES_ONLY = frozenset(
    {"", "apps", "batch", "jobset.x-k8s.io", "kubeflow.org", "ray.io", "leaderworkerset.x-k8s.io", "argoproj.io"}
)
"""API groups whose controllers give Pods no annotations but their template's; of others nobody knows."""


@rule(Workload, Severity.WARNING, evidence="read")
def device_annotation_on_workload(workload: Workload, stack: Stack) -> Iterator[Finding]:
    """An annotation that chooses cards stands on the workload, not on its Pod template: no Pod gets it.

    HAMi reads `nvidia.com/use-gputype`, `nvidia.com/use-gpuuuid`, `nvidia.com/vgpu-mode`,
    `hami.io/gpu-scheduler-policy` and their kin from the Pod (pkg/device/devices.go:693-738, pkg/util/types.go:68-83),
    and controllers copy only the template's metadata to their Pods. The Pods land on any card, and no event says so.

    Nothing is said where every template that asks for a device has the key too, where no template asks for one, and of
    kinds whose operator may copy annotations itself (SparkApplication, TrainJob).
    """
    nested = workload.ref.kind in {"CronJob", "JobSet"}
    if workload.ref.group not in _COPY_TEMPLATES_ONLY or (not nested and SELECTION.isdisjoint(workload.annotations)):
        return
    marks = list(_marks(workload))
    asking = [pod for pod in workload.pods if not stack.is_foreign(pod) and stack.wants_device(pod)] if marks else []
    for place, value in marks:
        key = str(place.path[-1])
        lacking = [pod for pod in asking if key not in pod.annotations]
        if lacking:
            yield _finding(place, value, lacking, workload)


def _finding(place: Place, value: str, lacking: list[Pod], workload: Workload) -> Finding:
    key, target = str(place.path[-1]), dotted((*lacking[0].metadata, "annotations"))
    return Finding(
        place,
        f"{key} stands on {workload.ref} itself, where HAMi never looks: its Pods get only the annotations of their "
        "template",
        fix=f"move it to {target}",
        related=tuple(
            Related(Place(pod.ref, pod.metadata, "key"), f"{pod} gets the annotations that stand here")
            for pod in lacking[:1]
        ),
        edits=(Edit("remove", place), *(edit for pod in lacking for edit in _added(pod, key, value, workload))),
    )


def _added(pod: Pod, key: str, value: str, workload: Workload) -> Iterator[Edit]:
    path = pod.metadata
    for holder in (path, (*path, "annotations")):
        if not isinstance(dig(workload.body, *holder), dict):
            yield Edit("add", Place(pod.ref, holder), {})
    yield Edit("add", pod.annotation(key, at="value"), value)


def _marks(workload: Workload) -> Iterator[tuple[Place, str]]:
    """The annotations above the Pod templates that only a Pod can have, with their values."""
    for above in levels(workload.ref.kind, workload.body):
        path = (*above, "metadata", "annotations")
        found = dig(workload.body, *path)
        for key, value in found.items() if isinstance(found, dict) else ():
            if key in SELECTION and isinstance(value, str):
                yield Place(workload.ref, (*path, key), "key"), value
