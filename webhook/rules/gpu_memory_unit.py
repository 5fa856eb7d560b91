from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Pod
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import LARGEST, Ask, Asked, has_binary_suffix, has_suffix, is_illegal, readings, served, traits
from webhook.vgpu.wording import consequence, excerpt, named

_MIB = 2**20
_GIB = 2**10  # in MiB
_LEAST_MEANT = 64
"""MiB: a number of bytes that comes to less was hardly meant as bytes."""


@rule(Pod, Severity.ERROR, evidence="seen", where=served)
def gpu_memory_unit(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container's GPU memory is written with a unit, or is more than any card has.

    `nvidia.com/gpumem` counts MiB of each card, as a plain number: 16384 is 16 GiB. With a unit Kubernetes takes it for
    bytes, so `16Gi` is 17179869184 MiB. The API server accepts that, and nothing fails loudly (HAMi
    pkg/device/nvidia/device.go:520-600):

    - Up to 2.9 the number is cut to 32 bits. `16Gi` and every multiple of 4Gi become 0, and 2Gi, 3Gi, 6Gi negative: the
      scheduler books 0 MiB, the container gets `CUDA_DEVICE_MEMORY_LIMIT=0m`, which is *no limit*, and takes memory
      from its neighbours. Others (1Gi, 5Gi, 1000Mi) stay far above any card, and the Pod waits for ever with
      `CardInsufficientMemory`.
    - 2.10 ignores the request of the whole container when the number does not fit into 31 bits: the Pod may go to any
      node and the kubelet fails it there (the scheduler's part was seen: no allocation, no lock). What fits, such as
      1Gi, waits for ever (seen).

    A plain number of 1 TiB or more is the same mistake, in bytes or KiB. At admission the API server has rewritten the
    number (2048Mi comes as 2Gi), so only the number is judged there.

    Other vendors count MiB too, or units of 256 MiB (Cambricon, Iluvatar) or 512 MiB (Moore Threads, in sizes of 2, 4,
    8, 16, 32, 64, 96 only: its webhook denies any other). MetaX takes a unit: `2048Mi` is right there, and a plain
    number is GiB.

    Silent: `3k`, `2e4` and `16Ki`, which are plain numbers for Kubernetes (3000, 20000, 16384); 0, which is the whole
    card; how much memory a card really has, which no manifest says.
    """
    for request in served(pod, stack):
        ask = request.memory
        if ask is None or type(ask.number) is not int:
            continue
        if _is_too_much(request, ask, stack):
            yield _too_much(pod, request, ask, stack)
        elif is_illegal(request):
            yield _no_slice(pod, request, ask)


def _is_too_much(request: Asked, ask: Ask, stack: Stack) -> bool:
    number = ask.number or 0
    if traits(request.vendor).suffix and has_suffix(ask):
        return number >= LARGEST * _MIB
    return number * _unit(request, stack) >= LARGEST


def _unit(request: Asked, stack: Stack) -> int:
    """MiB in one unit of the resource."""
    if request.vendor == "nvidia":
        return max(stack.memory_factor, 1)
    return traits(request.vendor).unit


def _too_much(pod: Pod, request: Asked, ask: Ask, stack: Stack) -> Finding:
    unit, number = _unit(request, stack), int(ask.number or 0)
    counted = "MiB" if unit == 1 else "GiB" if unit == _GIB else f"units of {unit} MiB"
    read = readings(request, pod, stack)
    then = f"; {consequence(read)}" if request.vendor == "nvidia" and read else ", more than any card has"
    written = "" if ask.text == str(number) else f"{ask.text} of "
    right = _right(number, unit)
    # Kunlun rounds whatever is asked down to a whole card, so the container gets one.
    harmless = request.vendor != "nvidia" and bool(read) and all(reading.is_sound for reading in read)
    return Finding(
        request.place(pod, ask),
        f"{named(request, pod)}: {written}{ask.name} is {excerpt(str(number))} {counted}{then}",
        fix=_fix(ask, right, unit, counted),
        severity=Severity.WARNING if harmless else None,
        edits=tuple(_edits(pod, request, ask, right)) if right and _is_exact(ask, number, unit) else (),
    )


def _right(number: int, unit: int) -> int | None:
    """The number that was meant: bytes mostly, MiB where larger units count and no card has as many bytes."""
    if unit > 1 and number < LARGEST:
        return -(-number // unit)
    meant = -(-number // (_MIB * unit))
    return meant if number >= _LEAST_MEANT * _MIB and meant * unit < LARGEST else None


def _fix(ask: Ask, right: int | None, unit: int, counted: str) -> str:
    if right is None:
        return f"write {ask.name} in {counted} of each card, without a unit"
    text = str(ask.value).strip()
    if text.endswith("G") and text[:-1].isdecimal():  # whoever writes 16G may well mean 16 GiB
        return f"write {ask.name}: {int(text[:-1]) * _GIB // unit} for {text[:-1]} GiB, or {right} for {text[:-1]} GB"
    return f"write {ask.name}: {right}"


def _is_exact(ask: Ask, number: int, unit: int) -> bool:
    """Whether the cure is certain: binary units say bytes, and nothing is rounded."""
    return has_binary_suffix(ask) and number % (_MIB * unit) == 0


def _edits(pod: Pod, request: Asked, ask: Ask, right: int) -> Iterator[Edit]:
    """In limits, and in requests where they are written too: both must be equal."""
    for half, resources in (("limits", request.container.limits), ("requests", request.container.requests)):
        if ask.name in resources:
            place = request.place(pod, ask)._replace(path=(*request.container.path, "resources", half, ask.name))
            yield Edit("replace", place, right)


def _no_slice(pod: Pod, request: Asked, ask: Ask) -> Finding:
    own = traits(request.vendor)
    larger = next((size for size in own.legal if size >= (ask.number or 0)), own.legal[-1])
    return Finding(
        request.place(pod, ask),
        f"{named(request, pod)}: {ask.name} is {ask.text}, and HAMi's webhook takes "
        f"{', '.join(map(str, own.legal[:-1]))} or {own.legal[-1]} (units of {own.unit} MiB) only: it denies the Pod",
        fix=f"write {ask.name}: {larger}",
    )
