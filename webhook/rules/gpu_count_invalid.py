from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Path, Place, Pod
from webhook.quantity import canonical, quantity
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Ask, Asked, asking, is_refused, shown
from webhook.vgpu.wording import excerpt, named

_MOST = 32
"""Cards of the largest nodes; none is known with more."""


@rule(Pod, Severity.ERROR, evidence="seen", where=asking)
def gpu_count_invalid(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A GPU resource is a fraction, negative, not the same in requests and limits, or more cards than a node has.

    To Kubernetes all of HAMi's names are extended resources, and the API server refuses a Pod, and a Deployment's or a
    Job's template, that breaks their rules (seen on 1.35):

    - whole numbers only: `Invalid value: "1500m": must be an integer`; 1.0 and 1000m are 1;
    - none below 0: `must be greater than or equal to 0`;
    - a limit must be there: `Limit must be set for non overcommitable resources`; a request alone will not do, and
      HAMi's webhook reads limits only;
    - request and limit must be equal: `must be equal to nvidia.com/gpu limit of 2`.

    Templates of operators' kinds are taken as they are, and their Pods refused later.

    The count is that of physical cards on one node, each of which HAMi shares: more than the node has is
    `NodeInsufficientDevice` for ever, whatever deviceSplitCount says (HAMi pkg/scheduler/score.go:98-103, seen). How
    many a node has no manifest tells; more than 32 is a warning.

    0 asks for no card and is an info: HAMi takes it for a GPU Pod all the same (seen), and does not hide the cards from
    the container, whose image may say `NVIDIA_VISIBLE_DEVICES=all`. Moore Threads' and Enflame's parts of the webhook
    deny 0.

    Silent about a missing limit in a container without an image: it is part of a patch.
    """
    if pod.finished:
        return
    for request in asking(pod, stack):
        for ask in request.asks:
            if is_refused(ask) and not (ask.half == "requests" and request.is_part):
                yield _refused(pod, stack, request, ask)
        if request.count is not None:
            yield from _count(pod, stack, request, request.count)


def _refused(pod: Pod, stack: Stack, request: Asked, ask: Ask) -> Finding:
    name, number = ask.name, ask.number or 0
    if number < 0 or number % 1:
        being = "negative" if number < 0 else "no whole number"
        return Finding(
            request.place(pod, ask),
            f"{named(request, pod)}: {name} is {ask.text}, {being}; Kubernetes refuses it",
            fix=f"write a whole number for {name}{', 0 or more' if number < 0 else ''}",
        )
    if ask.half == "requests":
        return Finding(
            request.place(pod, ask, "key"),
            f"{named(request, pod)} requests {name}: {ask.text} without a limit; Kubernetes refuses it, and HAMi reads "
            "limits",
            fix=f"write {name} under limits",
            edits=(_limit(pod, stack, request, ask),),
        )
    other = request.container.requests[name]
    return Finding(
        request.place(pod, ask),
        f"{named(request, pod)}: the limit of {name} is {ask.text} and its request {shown(other)}; Kubernetes wants "
        "them equal",
        fix=f"remove the request of {name}; the limit is the request",
        related=(Related(Place(pod.ref, (*_resources(request), "requests", name)), "the request is here"),),
    )


def _resources(request: Asked) -> Path:
    return (*request.container.path, "resources")


def _limit(pod: Pod, stack: Stack, request: Asked, ask: Ask) -> Edit:
    """The limit that is missing; where there are no limits, the mapping with all that the container lacks, so that the
    edits of two findings come to one."""
    path, container = (*_resources(request), "limits"), request.container
    if container.limits:
        return Edit("add", Place(pod.ref, (*path, ask.name)), ask.value)
    lacking = {name: value for name, value in container.requests.items() if name in stack.meanings}
    return Edit("add", Place(pod.ref, path), lacking)


def _count(pod: Pod, stack: Stack, request: Asked, ask: Ask) -> Iterator[Finding]:
    if ask.number is None or 0 < ask.number <= _MOST or is_refused(ask):
        return
    if ask.number > _MOST and not stack.is_foreign(pod):
        number = excerpt(str(quantity(ask.value)))
        yield Finding(
            request.place(pod, ask),
            f"{named(request, pod)} asks for {number} cards ({ask.name}: {canonical(ask.value)}), "
            "and one node must have them all: the Pod waits for ever",
            fix=f"write for {ask.name} how many physical cards of a node the container needs",
            severity=Severity.WARNING,
        )
    elif ask.number == 0 and not stack.is_foreign(pod):
        yield Finding(
            request.place(pod, ask),
            f"{named(request, pod)} asks for 0 cards; HAMi takes it for a GPU Pod all the same, and hides no card from "
            "it",
            fix=f"remove {ask.name}, or write 1 or more",
            severity=Severity.INFO,
        )
