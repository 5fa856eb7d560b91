from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import opted_out
from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Ask, Asked, readings, served
from webhook.vgpu.wording import amount, named

_ALL = 100
_IN_PERCENT = frozenset({"nvidia", "amd", "cambricon", "enflame", "hygon", "metax"})
"""Vendors whose cores are percent of one card. Moore Threads has 16 to a card, Iluvatar 100 for each of several."""

_ADDED = frozenset({"nvidia"})
"""Vendors whose part of HAMi's webhook adds a card where none is asked for."""

_WITHOUT_COUNT = frozenset({"enflame", "awsneuron"})
"""Vendors that need no count beside memory or cores."""


@rule(Pod, Severity.WARNING, evidence="seen", where=served)
def gpu_cores_range(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container asks for more than 100 percent of a card's cores, or for memory or cores without a card.

    `nvidia.com/gpucores` is percent of the cores of each card. More than 100 is booked as 100 (HAMi
    pkg/device/nvidia/device.go:772-776, all releases, seen with 150), so the card is the container's alone, while
    quotas and scores count the number as written. AMD's part of the webhook denies the Pod instead
    (amd/device.go:78-98, 2.10), and so does Enflame's where no drs-gcu is asked for (enflame/device.go:113-177).

    Memory or cores without a count: HAMi's webhook adds one card on NVIDIA (device.go:398-414, `defaultGPUNum`, seen),
    which is worth an info. Where that webhook is off, does not look at the Pod, or defaultGPUNum is 0, nothing adds it:
    the scheduler sees no GPU request and the container starts without a card. The other vendors' parts add none, but
    for Enflame and AWS Neuron, which need no count.

    Silent about 0, which is no limit on the cores, about init containers (see gpu-init-container), Pods that opt out of
    HAMi's webhook (see gpu-webhook-opt-out), and containers without an image, which are part of a patch.
    """
    for request in served(pod, stack):
        cores = request.cores
        if cores is not None and request.vendor in _IN_PERCENT and type(cores.number) is int and cores.number > _ALL:
            yield _too_many(pod, stack, request, cores)
        if request.count is None and not request.is_part and not opted_out(pod):
            yield from _without_card(pod, stack, request)


def _too_many(pod: Pod, stack: Stack, request: Asked, cores: Ask) -> Finding:
    then = "HAMi books it as 100" if request.vendor == "nvidia" else "a card has 100"
    denied = [reading.who for reading in readings(request, pod, stack) if reading.fate == "denied"]
    if denied and request.vendor != "nvidia":
        then += f", and {denied[-1]} denies the Pod"
    return Finding(
        request.place(pod, cores),
        f"{named(request, pod)} asks for {cores.text} percent of a card's cores ({cores.name}); {then}",
        fix=f"write 1 to 100 for {cores.name}",
    )


def _without_card(pod: Pod, stack: Stack, request: Asked) -> Iterator[Finding]:
    ask, name = request.device[0], next(iter(stack.vendors[request.vendor].count), "")
    if request.vendor in _WITHOUT_COUNT or request.container.role != "app":
        return
    read = readings(request, pod, stack)
    if not read or any(reading.fate == "refused" for reading in read):
        return
    count = request.family if "/" in request.family else name
    if any(reading.fate != "ignored" for reading in read) and request.vendor in _ADDED:
        given = next((f": it gets {amount(reading)}" for reading in reversed(read) if reading.is_sound), "")
        message = f"{named(request, pod)} asks for {ask.name} and no card; HAMi's webhook adds {count}{given}"
        yield Finding(request.place(pod, ask, "key"), message, fix=f"write {count} beside it", severity=Severity.INFO)
        return
    yield Finding(
        request.place(pod, ask, "key"),
        f"{named(request, pod)} asks for {ask.name} without {count}, and nothing adds it: HAMi gives it no card",
        fix=f"write {count}: 1 beside it",
    )
