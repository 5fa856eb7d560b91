from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import names_group
from webhook.model import GROUP_LABEL, Place, Pod
from webhook.parse.verdicts import dotted
from webhook.rule import Edit, Finding, Related, Severity, labelled, rule
from webhook.stack import OLD_GROUP_LABEL, Stack


@rule(Pod, Severity.ERROR, evidence="seen")
def pod_group_annotation(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """The gang's name is written as an annotation, where Coscheduling never looks.

    Coscheduling reads only the label `scheduling.x-k8s.io/pod-group` (scheduler-plugins pkg/util/podgroup.go:51-62);
    with the name in an annotation and no such label the Pod is an ordinary Pod. It starts at once and alone, with no
    event that says so: one Pod of a group with minMember 3 was bound after 0.03 s. HAMi 2.10 retries its node lock
    only for Pods with the label (pkg/util/util.go:392-403), so gangs on one node also lose that: four members took
    9.5 s instead of 0.5 s. No other gang system reads the annotation either; a misspelt one is a warning.

    With the label there and another name in the annotation, the label wins. With the same name in both, the gang works
    and the annotation has no effect: a warning, never a refusal. Pods that go to the scheduler of another gang system
    are left alone.
    """
    if not pod.annotations or stack.is_foreign(pod):
        return
    keys = [key for key in pod.annotations if names_group(key)]
    if not keys:
        return
    first = min(keys, key=lambda key: (key != GROUP_LABEL, key != OLD_GROUP_LABEL))
    others = tuple(Related(pod.annotation(key), "this annotation is not read either") for key in keys if key != first)
    yield _finding(pod, first, others)


def _moved(pod: Pod, place: Place, written: str) -> Iterator[Edit]:
    label = labelled(pod, GROUP_LABEL, written)
    yield from (Edit("remove", place), *label) if label else ()


def _finding(pod: Pod, key: str, others: tuple[Related, ...]) -> Finding:
    place, written = pod.annotation(key), pod.annotations[key]
    if pod.group == written or not written:
        why = f"{pod} is a member of {pod.group} by its label" if pod.group else "it is empty, and nothing reads it"
        return Finding(
            place,
            f"the annotation {key} has no effect: {why}",
            fix="remove the annotation",
            severity=Severity.WARNING,
            related=others,
            edits=(Edit("remove", place),),
        )
    if pod.group:
        return Finding(
            place,
            f"{pod} has the annotation {key}: {written} and the label {GROUP_LABEL}: {pod.group}; "
            f"the label counts, it is a member of {pod.group}",
            fix="remove the annotation, or write the right name in the label",
            related=(Related(pod.label(GROUP_LABEL), "the label that counts"), *others),
        )
    exact = key in (GROUP_LABEL, OLD_GROUP_LABEL)
    return Finding(
        place,
        f"{pod} names its gang {written!r} in an annotation; Coscheduling reads only the label {GROUP_LABEL}, "
        "so its members start one by one",
        fix=f"move it to {dotted((*pod.metadata, 'labels'))}: {GROUP_LABEL}: {written}",
        severity=None if exact else Severity.WARNING,
        confidence="high" if exact else "low",
        related=others,
        edits=tuple(_moved(pod, place, written)) if exact else (),
    )
