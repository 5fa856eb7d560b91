from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Ask, Asked, readings, served
from webhook.vgpu.wording import consequence, named

_ALL = 100


@rule(Pod, Severity.ERROR, evidence="seen", where=served)
def gpu_memory_percentage(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container asks for 0 or more than 100 percent of a card's memory, or for a percentage beside a number.

    `nvidia.com/gpumem-percentage` is 1 to 100 percent of the memory of each card, as HAMi has registered it (HAMi
    pkg/device/nvidia/device.go:389-396,560-580):

    - Above 100, HAMi 2.10 denies the Pod: `must be an integer between 0 and 100`, as HTTP 500 (seen). Up to 2.9 no card
      is ever large enough and the Pod waits for ever, but for 101, which is HAMi's own mark for "not given": the
      container gets all of the memory.
    - 0 is 0 MiB up to 2.9: the container gets `CUDA_DEVICE_MEMORY_LIMIT=0m`, which is *no limit*. 2.10 takes it for not
      given, so it is the whole card. An error where HAMi up to 2.9 is known, else a warning.
    - Beside `nvidia.com/gpumem` it is ignored, though 100 without `nvidia.com/gpucores` still takes all of the cores
      from 2.7 on.

    Silent about fractions, which Kubernetes refuses (see gpu-count-invalid).
    """
    for request in served(pod, stack):
        ask = request.percentage
        if ask is None or type(ask.number) is not int:
            continue
        if ask.number > _ALL:
            yield _finding(pod, stack, request, ask, None)
        elif request.memory is not None and request.memory.number:
            yield _beside(pod, request, ask, request.memory)
        elif ask.number == 0 and request.vendor == "nvidia":
            is_old = stack.hami is not None and stack.hami < (2, 10)
            yield _finding(pod, stack, request, ask, None if is_old else Severity.WARNING)


def _finding(pod: Pod, stack: Stack, request: Asked, ask: Ask, severity: Severity | None) -> Finding:
    then = f": {consequence(readings(request, pod, stack))}" if request.vendor == "nvidia" else ", which is none"
    return Finding(
        request.place(pod, ask),
        f"{named(request, pod)} asks for {ask.text} percent of a card's memory ({ask.name}){then}",
        fix=f"write 1 to 100 for {ask.name}, or remove it",
        severity=severity if request.vendor == "nvidia" else Severity.WARNING,
    )


def _beside(pod: Pod, request: Asked, ask: Ask, memory: Ask) -> Finding:
    cores = "; 100 still takes all of the cores from HAMi 2.7 on" if ask.number == _ALL and not request.cores else ""
    return Finding(
        request.place(pod, ask),
        f"{named(request, pod)}: {ask.name} is ignored beside {memory.name}: {memory.text}{cores}",
        fix=f"remove {ask.name}, or {memory.name}",
        severity=Severity.INFO,
    )
