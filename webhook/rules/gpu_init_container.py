from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Asked, served
from webhook.vgpu.wording import named

_ALL = 100
_EARLY = frozenset({"init", "sidecar"})


@rule(Pod, Severity.WARNING, evidence="seen", where=served)
def gpu_init_container(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """An init container or a native sidecar asks for a GPU, which HAMi's releases count each in their own way.

    Init containers:

    - Up to 2.8.3 the scheduler does not look at them (HAMi pkg/device/devices.go Resourcereqs). The kubelet allocates
      for them all the same, and the device plugin hands the first one the devices of the first app container, which
      then fails with `device request not found`: UnexpectedAdmissionError. A Pod with a GPU in an init container only
      stays on the default scheduler.
    - 2.9 adds them to the app containers though they never run together: a Pod that needs 10000 MiB at a time books
      20000. Its webhook leaves init containers alone (seen).
    - From 2.10 on it is the sum of the app containers or the largest init container, whichever is more
      (pkg/device/initContainer.go:36-114). A Pod whose only GPU is in an init container takes no node lock (seen).

    Native sidecars (restartPolicy Always) run beside the app containers and are counted as init containers. So on 2.10
    their share comes on top of what is booked, and the card is overbooked (seen: 50000 and 50000 MiB on a card of
    81920, and a third Pod beside them). A warning there, unless the sidecar has its card alone.

    A warning up to 2.9 where that is known, an info where nobody said which HAMi there is, and for init containers on
    2.10. Silent about a count of 0.
    """
    early = [request for request in served(pod, stack) if request.container.role in _EARLY]
    if not early:
        return
    apps = [request for request in served(pod, stack) if request.container.role == "app"]
    for request in early:
        if _is_zero(request):
            continue
        beside = next((app for app in apps if app.family == request.family and not _is_zero(app)), None)
        if request.container.role == "sidecar":
            yield _sidecar(pod, stack, request, beside)
        else:
            yield _init(pod, stack, request, beside)


def _is_zero(request: Asked) -> bool:
    return request.count is not None and request.count.number == 0


_UNSEEN = "this HAMi does not see it, and the app container then finds no device"
_ALONE = "this HAMi does not see it, and books no card for it"


def _init(pod: Pod, stack: Stack, request: Asked, beside: Asked | None) -> Finding:
    severity = Severity.WARNING
    if beside is None:
        then, severity = _alone(pod, stack)
    elif stack.hami is None:
        then, severity = "HAMi up to 2.8 does not see it, 2.9 books it on top of the app containers", Severity.INFO
    elif stack.hami < (2, 9):
        then = _UNSEEN
    elif stack.hami < (2, 10):
        then = "HAMi books it on top of the app containers, though it ends before they start"
    else:
        then, severity = "HAMi books the larger of it and the app containers together", Severity.INFO
    return Finding(
        request.place(pod, request.device[0], "key"),
        f"init {named(request, pod)} asks for {request.device[0].name}: {then}",
        fix="ask for the GPU in app containers only, or run HAMi 2.10 or later",
        severity=severity,
    )


def _alone(pod: Pod, stack: Stack) -> tuple[str, Severity]:
    """Where no app container asks for such a card. HAMi's webhook looks at init containers from 2.10 on (seen)."""
    if stack.hami is None:
        passed = "" if pod.scheduler == stack.hami_scheduler else ", and up to 2.9 its webhook passes the Pod over"
        return f"HAMi up to 2.8 does not see it{passed}", Severity.INFO
    if stack.hami < (2, 9):
        return _ALONE, Severity.WARNING
    if stack.hami < (2, 10) and stack.scheduler_of(pod) != stack.hami_scheduler:
        return "HAMi's webhook passes the Pod over, and its scheduler does not get it", Severity.WARNING
    return "HAMi books it, as no app container asks for more", Severity.INFO


def _sidecar(pod: Pod, stack: Stack, request: Asked, beside: Asked | None) -> Finding:
    has_card_alone = beside is None or (request.cores is not None and request.cores.number == _ALL)
    severity = Severity.INFO
    if stack.hami is None:
        then = "HAMi up to 2.8 does not see it, and from 2.10 on it comes on top of what is booked"
    elif stack.hami < (2, 9):
        then, severity = _UNSEEN if beside else _ALONE, Severity.WARNING
    elif stack.hami < (2, 10) and beside is None and stack.scheduler_of(pod) != stack.hami_scheduler:
        then, severity = _alone(pod, stack)
    elif beside is None:
        then = "HAMi books it as an init container"
    elif stack.hami < (2, 10):
        then = "HAMi 2.9 books it beside the app containers, as it should"
    else:
        then = "HAMi does not book it beside the app containers that it runs with: the card is overbooked"
        severity = Severity.INFO if has_card_alone else Severity.WARNING
    return Finding(
        request.place(pod, request.device[0], "key"),
        f"sidecar {named(request, pod)} asks for {request.device[0].name}: {then}",
        fix="make it an app container",
        severity=severity,
        related=(Related(beside.place(pod, beside.device[0], "key"), "it runs beside this one"),) if beside else (),
    )
