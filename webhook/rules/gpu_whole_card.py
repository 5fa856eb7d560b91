from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import MODE
from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import readings, served
from webhook.vgpu.wording import amount, named


@rule(Pod, Severity.INFO, evidence="seen", where=served)
def gpu_whole_card(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container asks for a GPU and says neither how much memory nor how many cores: it gets the card alone.

    From 2.7.0 on HAMi's webhook adds `nvidia.com/gpucores: 100` where a count stands without cores and without memory,
    or with a percentage of 100 (HAMi pkg/device/nvidia/device.go:417-449, seen): the card is nobody else's, and only a
    card that nobody uses will do. Up to 2.6 the container has all of the memory and shares the cores, so nobody who
    asks for memory fits beside it. Either way a Deployment of 60 replicas wants 60 cards.

    An info, since a whole card is what many want. Silent about MIG, where the profile decides, about a count of 0, and
    where nothing adds the cores (HAMi's webhook is off, or 2.7.0 to 2.8.3 with a schedulerName).
    """
    if pod.annotations.get(MODE) == "mig":
        return
    for request in served(pod, stack):
        if request.vendor != "nvidia" or request.count is None or len(request.device) > 1 or request.is_part:
            continue
        last = next(iter(readings(request, pod, stack)[-1:]), None)
        if last is None or last.fate != "exclusive":
            continue
        names = stack.vendors[request.vendor]
        memory, cores = (next(iter(each), "") for each in (names.memory, names.cores))
        since = " from HAMi 2.7 on" if stack.hami is None else ""
        yield Finding(
            request.place(pod, request.count),
            f"{named(request, pod)} asks for {request.count.name} alone: it gets {amount(last)}{since}",
            fix=f"add {memory} (MiB of each card) to share it, or {cores}: 100 to say that it is meant",
        )
