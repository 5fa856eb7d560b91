from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.isolation import TASK_PRIORITY, has_card, last, sets_gpu_env
from webhook.model import Container, Place, Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu import Asked, asking
from webhook.vgpu.wording import container_of, excerpt, named

_PRIORITIES = (0, 1)


@rule(Pod, Severity.ERROR, evidence="seen", where=asking)
def gpu_priority_invalid(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A task priority is neither 0 nor 1, is no number, or stands in a Pod that asks for no card.

    `nvidia.com/priority` is 0 (high) or 1 (low, the default). HAMi's webhook writes the limit into the environment as
    `CUDA_TASK_PRIORITY`, whatever it is: 5 becomes `5` (seen on 2.8.3, 2.9.0 and 2.10.0). Up to 2.9.0 a priority of 2
    or more is an index behind the end of a list in vGPUmonitor, which dies on that node (HAMi v2.9.0
    cmd/vGPUmonitor/feedback.go:144-147). 2.10 takes it for a priority below 1: a warning where that is known.

    A `CUDA_TASK_PRIORITY` set by hand is read with atoi: `high` is 0, the highest priority there is (HAMi-core
    src/multiprocess/multiprocess_memory_limit.c:1139-1142), and numbers do what the resource does.

    The priority alone asks for no card: HAMi's webhook sets the environment and leaves the Pod on the default scheduler
    (seen), where no node advertises `nvidia.com/priority`. That is a warning.

    Silent about the environment beside a `nvidia.com/priority`, which goes before it (see env-set-twice), and about
    values that come from elsewhere.
    """
    if pod.finished or stack.is_foreign(pod):
        return
    for request in asking(pod, stack):
        if request.priority is not None:
            yield from _resource(pod, stack, request)
        elif request.vendor == "nvidia" and sets_gpu_env(pod, stack):
            yield from _environment(pod, stack, request.container)


def _resource(pod: Pod, stack: Stack, request: Asked) -> Iterator[Finding]:
    ask = request.priority
    if ask is None:
        return
    if type(ask.number) is int and ask.number > max(_PRIORITIES):
        yield Finding(
            request.place(pod, ask),
            f"{named(request, pod)} has {ask.name}: {ask.text}; {_effect(stack)}",
            fix=f"write {ask.name}: 0 (high) or 1 (low)",
            severity=_severity(stack),
        )
    elif not stack.wants_device(pod):
        yield Finding(
            request.place(pod, ask, "key"),
            f"{named(request, pod)} has {ask.name}, and {pod} asks for no card: to HAMi it is no GPU Pod",
            fix=f"add {next(iter(stack.vendors[request.vendor].count), 'a card')}, or remove {ask.name}",
            severity=Severity.WARNING,
        )


def _effect(stack: Stack) -> str:
    dies, lower = "vGPUmonitor dies of it on the node", "takes it for a priority below 1"
    if stack.hami is None:
        return f"up to HAMi 2.9 {dies}, 2.10 {lower}"
    return f"this HAMi {lower}" if stack.hami >= (2, 10) else dies


def _severity(stack: Stack) -> Severity | None:
    return Severity.WARNING if stack.hami is not None and stack.hami >= (2, 10) else None


def _environment(pod: Pod, stack: Stack, container: Container) -> Iterator[Finding]:
    entry = last(container, TASK_PRIORITY)
    if entry is None or entry.value is None or not has_card(container, stack):
        return
    number = re.match(r"\s*[+-]?[0-9]+", entry.value)
    if number and int(number[0]) in _PRIORITIES:
        return
    effect = _effect(stack) if number else "HAMi's library reads 0, the highest priority"
    yield Finding(
        Place(pod.ref, (*entry.path, "value")),
        f"{container_of(container, pod)} has {TASK_PRIORITY}={excerpt(entry.value)}; {effect}",
        fix=f'write "0" (high) or "1" (low) for {TASK_PRIORITY}',
        severity=_severity(stack) if number else None,
    )
