from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Container, Place, Pod, Workload
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod | Workload, Severity.ERROR, evidence="read")
def gpu_request_as_annotation(subject: Pod | Workload, stack: Stack) -> Iterator[Finding]:
    """A GPU resource stands under annotations, where it asks for nothing.

    HAMi reads what a container asks for from its limits (requests as a second choice) and from nowhere else
    (pkg/device/*/device.go GenerateResourceRequests, all releases). An annotation `nvidia.com/gpumem: "8000"` is free
    text to everybody: beside `nvidia.com/gpu: 1` the container gets the whole card, without it no card at all. The
    annotations that HAMi does read have names of their own, such as `nvidia.com/use-gputype`.

    A warning where a container of the Pod does ask for that resource: then the annotation is only of no use. Silent on
    Pods that run (dumps), and about labels and node selectors.
    """
    if not subject.annotations:
        return
    if isinstance(subject, Pod):
        if not subject.live and not subject.finished:
            yield from _on_pod(subject, stack)
        return
    known = stack.meanings.keys() & subject.annotations.keys()
    for name in sorted(known):
        containers = [container for pod in subject.pods for container in pod.containers]
        yield _finding(Place(subject.ref, ("metadata", "annotations", name), "key"), str(subject.ref), name, containers)


def _on_pod(pod: Pod, stack: Stack) -> Iterator[Finding]:
    for name in sorted(stack.meanings.keys() & pod.annotations.keys()):
        yield _finding(pod.annotation(name), str(pod), name, pod.containers)


def _finding(place: Place, owner: str, name: str, containers: list[Container] | tuple[Container, ...]) -> Finding:
    asked = any(name in container.limits for container in containers)
    then = "its containers ask for it themselves" if asked else "no container asks for it"
    return Finding(
        place,
        f"{owner} has the annotation {name}, which nothing reads: {then}",
        fix=f"remove the annotation {name}" if asked else f"write {name} under resources.limits of the container",
        severity=Severity.WARNING if asked else None,
    )
