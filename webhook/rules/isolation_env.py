from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.images import libc
from webhook.isolation import (
    CORE_POLICY,
    DISABLE,
    TASK_PRIORITY,
    VISIBLE,
    gpu_env,
    has_card,
    is_injected,
    is_mutated,
    last,
    limited,
    nvidia,
    parse_bool,
    sets_gpu_env,
)
from webhook.model import Container, Env, Place, Pod
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu.wording import excerpt

_OWNED = re.compile(
    r"CUDA_DEVICE_MEMORY_LIMIT_[0-9]+|CUDA_DEVICE_SM_LIMIT(_[0-9]+)?|CUDA_DEVICE_MEMORY_SHARED_CACHE|CUDA_REDIRECT"
)
_BLIND = frozenset({"", "none", "void"})


@rule(Pod, Severity.ERROR, evidence="read", where=sets_gpu_env)
def isolation_env(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """Environment set by hand breaks or bypasses the limits that HAMi sets for a container.

    HAMi hands its limits over as environment, and an entry of the container goes before the device plugin's (kubelet
    appends the container's own, the last one wins). All of this is so from HAMi 2.5 to 2.10. Errors, since the
    neighbours on the card pay for it:

    - `CUDA_DEVICE_MEMORY_LIMIT_<i>`, `CUDA_DEVICE_SM_LIMIT`, `CUDA_DEVICE_SM_LIMIT_<i>` take the place of what was
      asked for and booked (HAMi-core src/multiprocess/multiprocess_memory_limit.c:178-211).
    - `CUDA_DEVICE_MEMORY_SHARED_CACHE`: usage is counted in another file, where vGPUmonitor does not see it; a path
      that cannot be opened ends every CUDA process with exit code 1 (ibid. 1077-1102).
    - `CUDA_REDIRECT`: CUDA calls go to that library (src/libvgpu.c:95-100).

    These are warnings:

    - `CUDA_DISABLE_CONTROL` true, as Go reads it (1, t, true …): the device plugin leaves the preload file out, and no
      limit holds (plugin/server.go:866-884). `yes` and `on` are no booleans: `dead-env`.
    - `NVIDIA_VISIBLE_DEVICES` in a container with a GPU takes the place of the cards that HAMi chose: others are
      visible, without a limit, and `none` hides all. In a container without a GPU of a GPU Pod, any value but none and
      void shows it cards; with HAMi's overwriteEnv it is overwritten, and nothing is said. In a Pod without any GPU
      it is info, and silent for DaemonSets and privileged containers, which watch over cards, and for containers that
      ask another device plugin for a GPU.
    - `CUDA_TASK_PRIORITY` 0 without `nvidia.com/priority`: containers of a lower priority on the card stop whenever
      this one computes (cmd/vGPUmonitor/feedback.go:74-134).
    - `GPU_CORE_UTILIZATION_POLICY` disable beside `nvidia.com/gpucores` below 100: the cores are booked and not held.
    - `LD_PRELOAD` that names libvgpu: HAMi loads it by /etc/ld.so.preload. On musl it ends every process: `musl-image`.

    Nothing is said of what gangcheck's own webhook injected or HAMi's adds, of MIG, of other vendors' cards, and of
    Pods that go to another system's scheduler.
    """
    if pod.finished or stack.is_foreign(pod):
        return
    held = {container.path for container in limited(pod, stack)}
    for container in pod.containers:
        for entry in gpu_env(container):
            if last(container, entry.name) is not entry:
                continue
            found = None
            if container.path in held:
                found = _owned(pod, container, entry, stack) or _switch(pod, container, entry, stack)
            elif entry.name == VISIBLE and not has_card(container, stack):
                found = _peeks(pod, container, entry, stack)
            if found:
                yield found


def _finding(pod: Pod, container: Container, entry: Env, end: str, fix: str) -> Finding:
    shown = f": {excerpt(entry.value)}" if entry.value is not None else " from elsewhere"
    place = Place(pod.ref, entry.path)
    return Finding(
        place,
        f"container {container.name} of {pod} sets {entry.name}{shown}: {end}",
        fix=fix,
        severity=Severity.WARNING,
        edits=(Edit("remove", place),),
    )


def _owned(pod: Pod, container: Container, entry: Env, stack: Stack) -> Finding | None:
    if not _OWNED.fullmatch(entry.name):
        return None
    names, fix = nvidia(stack), f"remove {entry.name}"
    if entry.name == "CUDA_REDIRECT":
        end = "its CUDA calls go past HAMi's library"
    elif entry.name.endswith("_CACHE"):
        end = "HAMi does not see what it uses, and a path that cannot be opened ends every CUDA process"
    else:
        asked = names.memory if "MEMORY" in entry.name else names.cores
        end = f"it takes the place of the limit that HAMi sets for {asked[0] if asked else 'it'}"
        fix = f"{fix}, and write what it may use under limits" + (f" as {asked[0]}" if asked else "")
    return _finding(pod, container, entry, end, fix)._replace(severity=None)


def _switch(pod: Pod, container: Container, entry: Env, stack: Stack) -> Finding | None:
    name, value = entry.name, entry.value
    if name == DISABLE and parse_bool(value or ""):
        return _finding(pod, container, entry, "no memory or core limit holds", f"remove {DISABLE}")
    if name == VISIBLE:
        hidden = value is not None and value in _BLIND
        end = "it does not see the card that it asks for" if hidden else "it sees cards beside its own, without a limit"
        return _finding(pod, container, entry, end, f"remove {VISIBLE}; HAMi sets it")
    if name == TASK_PRIORITY and re.fullmatch(r"\s*[-+]?0+\s*", value or ""):
        return _first(pod, container, entry, stack)
    if name == CORE_POLICY and value in {"disable", "DISABLE"}:
        return _uncored(pod, container, entry, stack)
    if name == "LD_PRELOAD" and "libvgpu" in (value or ""):
        if libc(container.image, stack.images, stack.image_mirrors).libc == "musl":
            return None
        return _finding(pod, container, entry, "HAMi loads its library without it", "remove LD_PRELOAD")
    return None


def _first(pod: Pod, container: Container, entry: Env, stack: Stack) -> Finding | None:
    names = nvidia(stack)
    if not container.limits.keys().isdisjoint(names.priority) or is_injected(pod, container, entry.name):
        return None
    asked = names.priority[0] if names.priority else "priority"
    end = f"its neighbours on the card stop whenever it computes, and no {asked} asks for that"
    return _finding(pod, container, entry, end, f"remove {TASK_PRIORITY}, or write {asked}: 0 under limits")


def _uncored(pod: Pod, container: Container, entry: Env, stack: Stack) -> Finding | None:
    """HAMi's webhook writes the same entry for its own gpuCorePolicy, so only what it has not seen yet is judged."""
    asked = [name for name in nvidia(stack).cores if str(container.limits.get(name, 0)) not in {"0", "100"}]
    if not asked or is_injected(pod, container, entry.name) or not is_mutated(pod, container, stack):
        return None
    end = f"{asked[0]}: {container.limits[asked[0]]} is booked, and nothing holds it to that"
    return _finding(pod, container, entry, end, f"remove {CORE_POLICY}, or write force")


def _peeks(pod: Pod, container: Container, entry: Env, stack: Stack) -> Finding | None:
    """A container that asks for no GPU and sees some."""
    if entry.value is None or entry.value in _BLIND or container.privileged or _asks_elsewhere(container):
        return None
    if stack.overwrite_env and is_mutated(pod, container, stack):
        return None
    beside = any(has_card(each, stack) for each in pod.containers)
    if not beside and pod.ref.kind in {"DaemonSet", "Node"}:
        return None
    cards = "all cards of its node" if entry.value == "all" else "cards of its node"
    fix = f"remove {VISIBLE}, or ask for {(*nvidia(stack).count, 'a GPU')[0]} under limits"
    found = _finding(pod, container, entry, f"it asks for no GPU and sees {cards}, without a limit", fix)
    return found if beside else found._replace(severity=Severity.INFO)


def _asks_elsewhere(container: Container) -> bool:
    """Whether it asks for a GPU under a name of another device plugin: nvidia.com/mig-1g.5gb, aliyun.com/gpu-mem."""
    return any(name.startswith("nvidia.com/") or "gpu" in name for name in container.limits)
