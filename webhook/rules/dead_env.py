from __future__ import annotations

from collections.abc import Iterator

from webhook.isolation import CORE_POLICY, DISABLE, limited, parse_bool, sets_gpu_env
from webhook.model import Container, Env, Place, Pod
from webhook.parse.placeholders import templated
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu.wording import excerpt

_UNREAD = {
    "ACTIVE_OOM_KILLER": "HAMi's library reads it and its killer is never called",
    "CUDA_OVERSUBSCRIBE": "nothing in HAMi's library has read it since January 2024",
}
_POLICIES = frozenset({"", "default", "force", "FORCE", "disable", "DISABLE"})


@rule(Pod, Severity.INFO, evidence="read", where=sets_gpu_env)
def dead_env(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """Environment of a container with a GPU that has no effect on HAMi.

    - `ACTIVE_OOM_KILLER`: parsed (HAMi-core src/multiprocess/multiprocess_memory_limit.c:1029-1043), and the killer is
      called from nowhere. `CUDA_OVERSUBSCRIBE`: the device plugin sets it, and no code reads it since 2024-01.
    - `CUDA_DISABLE_CONTROL`: the device plugin, not the library, reads it, from the container's literal `env` alone and
      as Go reads booleans (plugin/server.go:866-884): `valueFrom`, `yes` and `on` switch nothing off. False is what
      holds anyway.
    - `GPU_CORE_UTILIZATION_POLICY`: force, FORCE, disable, DISABLE; anything else, also `Force`, is the default
      (ibid. 1045-1055).

    The same in HAMi 2.5 to 2.10. Only containers that HAMi limits are judged.
    """
    for container in limited(pod, stack):
        for entry in container.env:
            why, cure = _why(entry)
            if why:
                yield _finding(pod, container, entry, why, cure)


def _why(entry: Env) -> tuple[str, str]:
    """Why an entry has no effect, and what was meant where that is plain; both empty where it has one."""
    value = entry.value
    if entry.name in _UNREAD:
        return _UNREAD[entry.name], ""
    if entry.name == DISABLE:
        if value is None:
            return "HAMi reads a literal value only, and this one comes from elsewhere", ""
        unread = value != "" and parse_bool(value) is None and not templated(value)
        return ("to HAMi that is neither true nor false, and its limits hold" if unread else ""), ""
    if entry.name == CORE_POLICY and value is not None and value not in _POLICIES and not templated(value):
        meant = value.strip().lower()
        return "HAMi takes that for default", meant if meant in _POLICIES else ""
    return "", ""


def _finding(pod: Pod, container: Container, entry: Env, why: str, cure: str) -> Finding:
    shown = f": {excerpt(entry.value)}" if entry.value is not None else ""
    place = Place(pod.ref, entry.path)
    edit = Edit("replace", Place(pod.ref, (*entry.path, "value")), cure) if cure else Edit("remove", place)
    return Finding(
        place,
        f"container {container.name} of {pod} sets {entry.name}{shown}: {why}",
        fix=f"write {cure}" if cure else f"remove {entry.name}",
        edits=(edit,) if cure or entry.name in _UNREAD else (),
    )
