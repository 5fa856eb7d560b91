from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.gangkeys import brings_group, is_led_away, unread_keys
from webhook.kinds import levels
from webhook.model import GROUP_LABEL, Place, Pod, Workload, dig
from webhook.parse.verdicts import dotted
from webhook.rule import Edit, Finding, Related, Severity, labelled, rule
from webhook.stack import Stack

_CERTAIN = frozenset({"", "apps", "batch", "jobset.x-k8s.io"})
"""API groups whose controllers give Pods nothing but their template's labels."""

_LIKELY = frozenset({"kubeflow.org", "ray.io", "leaderworkerset.x-k8s.io", "argoproj.io"})
"""API groups of operators that do the same by their source; not seen. Of others nobody knows."""


@rule(Workload, Severity.ERROR, evidence="seen")
def pod_group_on_workload(workload: Workload, stack: Stack) -> Iterator[Finding]:
    """The pod-group label is on the workload, not on its Pod template: its Pods do not get it.

    Deployment, StatefulSet, Job, CronJob, JobSet and their like copy only the Pod template's metadata to Pods. A label
    on the object itself, or on the Job template of a CronJob or a JobSet (seen on JobSet 0.10), reaches no Pod: they
    are ordinary Pods, start one by one, and no event tells. For the kinds of other operators this is a warning.

    SparkApplication is the exception: the Spark operator copies metadata.labels to driver and executors
    (submission.go:393-394,761-762). Where an operator writes the label itself (MPI operator and Training Operator with
    their gang flags, KubeRay for clusters with ray.io/gang-scheduling-enabled) nothing is said.
    """
    if workload.ref.group not in _CERTAIN | _LIKELY or brings_group(workload, stack):
        return
    marks = list(_marks(workload))
    bare = [pod for pod in workload.pods if not stack.is_foreign(pod) and not is_led_away(pod, stack)]
    if not marks or not bare or any(_names_group(pod) for pod in workload.pods):
        return
    place, name = marks[0]
    template = Related(Place(workload.ref, bare[0].metadata, "key"), "its Pods get the labels that stand here")
    yield Finding(
        place,
        f"{place.path[-2]} of {workload.ref} name the gang {name!r}, but its Pods get only the labels of their "
        "template: they are in no gang",
        fix=f"write {GROUP_LABEL}: {name} under {dotted((*bare[0].metadata, 'labels'))}",
        severity=None if workload.ref.group in _CERTAIN else Severity.WARNING,
        related=(template, *(Related(other, "this one does not reach Pods either") for other, _ in marks[1:])),
        edits=tuple(_edits(workload, bare, name)),
    )


def _edits(workload: Workload, bare: list[Pod], name: str) -> Iterator[Edit]:
    """Of one template alone it is certain that its Pods are the gang."""
    if len(workload.pods) == 1 and isinstance(dig(workload.body, *bare[0].metadata), Mapping):
        yield from labelled(bare[0], GROUP_LABEL, name)


def _marks(workload: Workload) -> Iterator[tuple[Place, str]]:
    """Where the group is named above the Pod templates, with the name given there."""
    for above in levels(workload.ref.kind, workload.body):
        for half in ("labels", "annotations"):
            path = (*above, "metadata", half, GROUP_LABEL)
            name = dig(workload.body, *path)
            if name and isinstance(name, str):
                yield Place(workload.ref, path, "key"), name


def _names_group(pod: Pod) -> bool:
    """Whether the template names a group in some way: then its author knew where, and other rules judge how."""
    return GROUP_LABEL in pod.labels or any(unread_keys(pod))
