"""What keeps a container to its share of an NVIDIA card, and who writes the environment that it rests on.

HAMi's device plugin mounts its library and /etc/ld.so.preload into every container that gets a card, and tells it the
limits by environment (HAMi v2.10.0 pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go:832-884). The container's
own `env` comes after the device plugin's and the last entry of a name wins, so a name that a manifest sets takes the
place of HAMi's value (kubelet GenerateRunContainerOptions).
"""

from __future__ import annotations

from webhook.hamikeys import MODE, opted_out
from webhook.model import DEFAULT_SCHEDULER, Container, Env, Pod
from webhook.recall import recalled
from webhook.stack import Names, Stack

INJECTED = "gangcheck.io/injected"
"""The annotation that names what gangcheck's own mutating webhook set: `schedulerName,main/CUDA_TASK_PRIORITY`."""

TASK_PRIORITY = "CUDA_TASK_PRIORITY"
CORE_POLICY = "GPU_CORE_UTILIZATION_POLICY"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
DISABLE = "CUDA_DISABLE_CONTROL"

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_NO_NAMES = Names(())


def nvidia(stack: Stack) -> Names:
    return stack.vendors.get("nvidia", _NO_NAMES)


def has_card(container: Container, stack: Stack) -> bool:
    """Whether a container gets an NVIDIA card: a count above 0, or memory or cores, for which HAMi's webhook adds one
    (pkg/device/nvidia/device.go:398-414)."""
    names, limits = nvidia(stack), container.limits
    if not limits or container.role == "ephemeral" or limits.keys().isdisjoint(names.devices):
        return False
    counts = [str(limits[name]) for name in names.count if name in limits]
    return any(count != "0" for count in counts) if counts else True


@recalled
def limited(pod: Pod, stack: Stack) -> tuple[Container, ...]:
    """The containers that HAMi's library is to hold to a share of a card. MIG limits in hardware, without the library;
    Pods of other systems' schedulers get cards from those."""
    if pod.finished or stack.is_foreign(pod) or pod.annotations.get(MODE) == "mig":
        return ()
    return tuple(each for each in pod.containers if each.limits and has_card(each, stack))


_ABOUT_GPUS = ("CUDA_", "NVIDIA_", "GPU_CORE_", "LD_PRELOAD", "ACTIVE_OOM_KILLER")


def gpu_env(container: Container) -> tuple[Env, ...]:
    """The entries that could concern a GPU, in their order: of most containers none."""
    return tuple(entry for entry in container.env if entry.name.startswith(_ABOUT_GPUS))


@recalled
def sets_gpu_env(pod: Pod, _stack: Stack) -> bool:
    """Whether any container has an entry that could concern a GPU."""
    for container in pod.containers:
        for entry in container.env:
            if entry.name.startswith(_ABOUT_GPUS):
                return True
    return False


def parse_bool(text: str) -> bool | None:
    """Text as Go's strconv.ParseBool reads it; None where it is no boolean."""
    return True if text in _TRUE else False if text in _FALSE else None


def last(container: Container, name: str) -> Env | None:
    """The entry of a name that counts: of several the last one wins."""
    return next((env for env in reversed(container.env) if env.name == name), None)


def is_injected(pod: Pod, container: Container, name: str) -> bool:
    """Whether gangcheck's own mutating webhook set an entry."""
    note = pod.annotations.get(INJECTED, "")
    return f"{container.name}/{name}" in (part.strip() for part in note.split(",")) if note else False


def meets_webhook(pod: Pod, stack: Stack) -> bool:
    """Whether HAMi's webhook is yet to change the Pod, or the Pods of the template.

    Its gate by version (pkg/scheduler/webhook.go:63-69; seen on 2.8.3, 2.9.0, 2.10.0): up to 2.6 it takes Pods of any
    scheduler, from 2.7 those of the default one, from 2.9 those of its own name too.
    """
    if not stack.hami_webhook or pod.live or opted_out(pod):
        return False
    if pod.scheduler in {"", DEFAULT_SCHEDULER}:
        return stack.force_overwrite_default_scheduler
    if stack.hami is not None and stack.hami < (2, 7):
        return True
    own = pod.scheduler == stack.hami_scheduler
    return own and not switches_webhook_off(stack)


def switches_webhook_off(stack: Stack) -> bool:
    """Whether HAMi's own name on a Pod makes its webhook skip it: 2.7.0 to 2.8.3, by a slip in its condition (seen)."""
    return stack.hami is not None and (2, 7) <= stack.hami < (2, 9)


def is_mutated(pod: Pod, container: Container, stack: Stack) -> bool:
    """Whether HAMi's webhook will look into this container: init containers from 2.10 on, privileged ones never."""
    if container.role == "ephemeral" or container.privileged or not meets_webhook(pod, stack):
        return False
    return container.role == "app" or stack.hami is None or stack.hami >= (2, 10)
