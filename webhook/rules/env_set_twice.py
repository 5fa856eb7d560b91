from __future__ import annotations

from collections.abc import Iterator

from webhook.isolation import CORE_POLICY, TASK_PRIORITY, VISIBLE, is_injected, is_mutated, nvidia, sets_gpu_env
from webhook.model import Container, Env, Place, Pod
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack
from webhook.vgpu.wording import excerpt

_WATCHED = (TASK_PRIORITY, CORE_POLICY, VISIBLE)


@rule(Pod, Severity.WARNING, evidence="seen", over=("isolation-env", "dead-env"), where=sets_gpu_env)
def env_set_twice(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container sets environment that HAMi's webhook adds again: two entries of one name.

    HAMi's webhook appends without looking (pkg/device/nvidia/device.go:352-367): `CUDA_TASK_PRIORITY` for every
    `nvidia.com/priority` in the limits (seen on 2.8.3, 2.9.0 and 2.10.0); with `gpuCorePolicy` set in the device
    configuration, `GPU_CORE_UTILIZATION_POLICY` in every container of every Pod that it takes, with a GPU or without
    (seen on 2.10.0, read from 2.6 on); with `overwriteEnv: true`, which the chart can set from 2.9 on,
    `NVIDIA_VISIBLE_DEVICES=none` in every container without a GPU (seen on 2.10.0).

    Of two entries the last one counts, and that is HAMi's: what the manifest sets is lost. The API server takes both
    and warns `hides previous definition`; a later server-side apply of the object is refused: `duplicate entries for
    key [name="CUDA_TASK_PRIORITY"]` (seen).

    A prediction, so it is made for manifests and templates. A Pod at admission has been through HAMi's webhook: there,
    and for these three names alone, it is said only where two entries really stand. Nothing is predicted for Pods that
    HAMi's webhook passes over, for init containers where HAMi is older than 2.10, and for settings of the device
    configuration that the stack does not state.
    """
    if pod.live:
        return
    for container in pod.containers:
        for name in _WATCHED:
            entries = [entry for entry in container.env if entry.name == name]
            if len(entries) > 1:
                yield _there_twice(pod, container, entries)
            elif entries and is_mutated(pod, container, stack) and not is_injected(pod, container, name):
                why = _added(container, name, stack)
                if why:
                    yield _will_be_twice(pod, container, entries[0], why)


def _there_twice(pod: Pod, container: Container, entries: list[Env]) -> Finding:
    first, *_, kept = entries
    shown = f": {excerpt(kept.value)}" if kept.value else ""
    return Finding(
        Place(pod.ref, first.path),
        f"container {container.name} of {pod} has {len(entries)} entries {first.name}: the last one counts{shown}; "
        "server-side apply refuses them",
        fix=f"keep one entry {first.name}",
        related=tuple(Related(Place(pod.ref, entry.path), "set again here") for entry in entries[1:]),
    )


def _will_be_twice(pod: Pod, container: Container, entry: Env, why: str) -> Finding:
    place = Place(pod.ref, entry.path)
    return Finding(
        place,
        f"container {container.name} of {pod} sets {entry.name}, and HAMi adds it again {why}: HAMi's entry counts, "
        "and server-side apply refuses the object",
        fix=f"remove the env entry {entry.name}",
        edits=(Edit("remove", place),),
    )


def _added(container: Container, name: str, stack: Stack) -> str:
    """Why HAMi's webhook adds an entry of this name to the container; empty where it does not, or nobody knows."""
    names, limits = nvidia(stack), container.limits
    if name == TASK_PRIORITY:
        asked = next((each for each in names.priority if each in limits), "")
        return f"for {asked}: {limits[asked]}" if asked else ""
    if name == CORE_POLICY:
        given = stack.gpu_core_policy not in {None, "", "default"} and (stack.hami is None or stack.hami >= (2, 6))
        return f"for gpuCorePolicy: {stack.gpu_core_policy}" if given else ""
    return _hides(container, stack)


def _hides(container: Container, stack: Stack) -> str:
    """Whether overwriteEnv strikes; a count of 0 is a GPU to HAMi (device.go:380-385, seen)."""
    asks = not container.limits.keys().isdisjoint(nvidia(stack).devices)
    return "for overwriteEnv: true" if stack.overwrite_env and not asks else ""
