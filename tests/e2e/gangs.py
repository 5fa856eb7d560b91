"""Waiting for the scheduler, with the one thing beside it that moves a gang in a real cluster.

kube-scheduler hears of PodGroups by one watch and Coscheduling looks them up in the cache of another
(scheduler-plugins pkg/coscheduling/coscheduling.go, New and EventsToRegister). Where the event comes before the cache
knows, the Pod is tried in vain ("PodGroup not found") and not again until something else happens or five minutes have
gone: seen with 21 of 60 Pods whose PodGroup came after them. In a cluster the PodGroup controller writes the group's
status as its Pods come, and that wakes them (seen: bound within 30 ms). Here nobody does, so the wait does.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import cycle

from apiserver import ControlPlane, Object, T, node_of, patch, wait_for, why_pending
from objects import GROUP, pod_group

PHASES = ("Pending", "PreScheduling", "Scheduling")


def bound(control: ControlPlane, *pods: Object, timeout: float = 30.0) -> None:
    """Wait until each of the Pods has a Node."""
    for pod in pods:
        metadata = pod["metadata"]
        name = metadata.get("labels", {}).get(GROUP, "")
        woken(control, metadata["namespace"], name, partial(node_of, control, pod), timeout)


def told(control: ControlPlane, pod: Object, text: str, timeout: float = 30.0) -> None:
    """Wait until the scheduler says this of the Pod."""
    metadata = pod["metadata"]
    name = metadata.get("labels", {}).get(GROUP, "")
    said = partial(why_pending, control, pod)
    woken(control, metadata["namespace"], name, lambda: text in said(), timeout, f"{text!r} of {metadata['name']}")


def woken(  # noqa: PLR0917 - as wait_for
    control: ControlPlane, namespace: str, group: str, condition: Callable[[], T], timeout: float = 30.0, what: str = ""
) -> T:
    """The first true answer of `condition`; meanwhile the group's status is written once a second, if it is there."""
    phases, again = cycle(PHASES), time.monotonic() + 1

    def asked() -> T:
        nonlocal again
        if group and time.monotonic() > again:
            again = time.monotonic() + 1
            status = {"status": {"phase": next(phases)}}
            patch(control, pod_group(namespace, group), status, subresource="status")
        return condition()

    return wait_for(asked, timeout, what or f"{condition}")
