from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import opted_out
from webhook.isolation import INJECTED, TASK_PRIORITY, has_card, last, nvidia, switches_webhook_off
from webhook.model import DEFAULT_SCHEDULER, Container, Pod
from webhook.parse.placeholders import templated
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_OWN = ("nvidia", "hygon", "amd")
"""Vendors whose names for memory and cores are HAMi's own. The others' stand in their makers' device plugins too, which
other schedulers serve (volcano places huawei.com/Ascend310P-memory)."""


@rule(Pod, Severity.WARNING, evidence="seen")
def gpu_other_scheduler(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod asks for memory or cores of a GPU, and its scheduler is none that HAMi serves.

    Only HAMi's own scheduler asks HAMi's extender, and only that knows `nvidia.com/gpumem`, `nvidia.com/gpucores` and
    `nvidia.com/gpumem-percentage`. From 2.7 on HAMi's webhook leaves a Pod that names another scheduler as it is
    (pkg/scheduler/webhook.go:64-69; seen on 2.8.3, 2.9.0 and 2.10.0): it is Pending with `Insufficient nvidia.com/
    gpumem`, or, where a scheduler ignores that name, fails with UnexpectedAdmissionError on the node. Up to 2.6 the
    webhook wrote its own name over any other (read). The device count alone says nothing: other plugins serve it.

    HAMi 2.7.0 to 2.8.3 has a slip in the same condition: HAMi's own name, written by hand, switches the webhook off
    too (seen on 2.8.3). The Pod goes to the right scheduler, and what the webhook would have added is missing: a
    device count for memory or cores alone, `gpucores: 100` for a count alone, CUDA_TASK_PRIORITY for
    `nvidia.com/priority`. Said only where one of these is missing and the stack says which HAMi there is.

    A name that nobody declared may be that of another installation of HAMi: low confidence, unless it is a slip of the
    pen. Nothing is said of running Pods, of names that are still to be filled in, and of vendors whose names other
    schedulers serve as well; of default-scheduler only where the stack says that HAMi's webhook leaves it.
    """
    if not pod.scheduler or pod.live or pod.finished:
        return
    if pod.scheduler == stack.hami_scheduler:
        if switches_webhook_off(stack):
            yield from _switched_off(pod, stack)
        return
    if pod.scheduler == DEFAULT_SCHEDULER and (stack.force_overwrite_default_scheduler or opted_out(pod)):
        return
    if stack.hami is not None and stack.hami < (2, 7) and stack.hami_webhook:
        return
    asked = _asked(pod, stack)
    if asked and not templated(pod.scheduler) and stack.scheduler_of(pod) == pod.scheduler:
        yield _unserved(pod, pod.scheduler, asked, stack)


def _asked(pod: Pod, stack: Stack) -> str:
    """The first resource of the Pod that only HAMi serves; empty for none."""
    own = {name for vendor in _OWN if vendor in stack.vendors for name in stack.vendors[vendor].annotated}
    names = own & stack.device_names
    return next((name for container in pod.containers for name in container.limits if name in names), "")


def _unserved(pod: Pod, scheduler: str, asked: str, stack: Stack) -> Finding:
    slip = _is_slip(scheduler, stack.hami_scheduler)
    known = scheduler == DEFAULT_SCHEDULER or scheduler in stack.coscheduling_schedulers | stack.foreign_schedulers
    place = pod.field("schedulerName")
    moved = stack.hami is None and stack.hami_webhook and scheduler != DEFAULT_SCHEDULER and not slip
    since, before = (" from 2.7 on", "; up to 2.6 its webhook moves the Pod") if moved else ("", "")
    return Finding(
        place,
        f"{pod} asks for {asked}, and its scheduler {scheduler} is none that HAMi serves{since}{before}",
        fix=f"write schedulerName: {stack.hami_scheduler}"
        + ("" if slip or known else f", or declare {scheduler} as hamiScheduler in the configuration"),
        confidence="high" if slip or known else "low",
        edits=(Edit("replace", place, stack.hami_scheduler),) if slip else (),
    )


def _is_slip(written: str, meant: str) -> bool:
    """Whether a name differs by a letter or two. One with a digit more is another installation's."""
    import difflib

    name = written.lower().replace("_", "-")
    if any(letter.isdigit() for letter in name) != any(letter.isdigit() for letter in meant):
        return False
    return difflib.SequenceMatcher(None, name, meant).ratio() > _NEAR


_NEAR = 0.9
"""team-scheduler and hami-scheduler come to 0.86."""


def _switched_off(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """What HAMi's webhook would have added to a Pod that names HAMi's scheduler by hand."""
    if "schedulerName" in pod.annotations.get(INJECTED, "") or opted_out(pod):
        return
    lacking = [(each, missing) for each in pod.containers if (missing := _missing(each, stack))]
    if not lacking:
        return
    (container, missing), place = lacking[0], pod.field("schedulerName")
    yield Finding(
        place,
        f"{pod} names {pod.scheduler} itself, and HAMi 2.7 and 2.8 then skip it in their webhook: container "
        f"{container.name} gets no {missing}",
        fix="remove schedulerName; HAMi's webhook writes it",
        edits=(Edit("remove", place),),
    )


def _missing(container: Container, stack: Stack) -> str:
    names, limits = nvidia(stack), container.limits
    if container.role != "app" or container.privileged or not has_card(container, stack):
        return ""
    counted = not limits.keys().isdisjoint(names.count)
    shared = not limits.keys().isdisjoint((*names.memory, *names.percentage))
    cored = not limits.keys().isdisjoint(names.cores)
    if not counted and (shared or cored) and names.count:
        return f"{names.count[0]}: 1"
    if counted and not shared and not cored and names.cores:
        return f"{names.cores[0]}: 100"
    if not limits.keys().isdisjoint(names.priority) and last(container, TASK_PRIORITY) is None:
        return f"{TASK_PRIORITY} for its {names.priority[0]}"
    return ""
