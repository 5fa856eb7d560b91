"""What a Pod lacks on its way to the scheduler, as JSON Patch operations: schedulerName and the environment of vGPUs.

Runs after HAMi's own webhook and completes what is missing there, on CREATE. Nothing that a user set is changed; the
one value that is written over is `default-scheduler`, which the API server fills in where nobody named a scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

import jsonpatch

from webhook.hamikeys import OPT_OUT
from webhook.isolation import CORE_POLICY, INJECTED, TASK_PRIORITY, VISIBLE
from webhook.model import DEFAULT_SCHEDULER, GROUP_LABEL, Path, dig, pointer
from webhook.parse.schema import shape_of
from webhook.review import Body, Operation, VgpuEnv
from webhook.stack import Names, Stack

MIRROR = "kubernetes.io/config.mirror"
"""On a Pod that stands for a static one: the kubelet's file is what runs, so a patch would only make the two differ."""

_POD = shape_of("", "Pod")
_NO_NAMES = Names(())
_PRIORITIES = frozenset({"0", "1"})
"""What libvgpu knows: 0 is high, 1 is low. HAMi's monitor up to 2.9 crashes on others (feedback.go:144-147)."""


@dataclass(frozen=True, slots=True)
class _Container:
    """One app or init container, with its place in the Pod."""

    path: Path
    body: Body
    limits: Body
    env: frozenset[str]

    @property
    def name(self) -> str:
        return str(self.body["name"])


def operations(pod: Body, stack: Stack, env: VgpuEnv) -> tuple[Operation, ...]:
    """The operations that complete a Pod; none where it is none of our business, set already, or no sound Pod.

    `pod` is the object of a CREATE as the API server sent it. Applied to their own result they come to nothing.
    """
    if not _POD.sound(pod) or not _is_ours(pod):
        return ()
    containers = tuple(_containers(pod))
    current = _text(dig(pod, "spec", "schedulerName"))
    chosen = _scheduler(pod, containers, stack) or current or DEFAULT_SCHEDULER
    entries = tuple(_entries(pod, containers, stack, env)) if _honours_vgpu(chosen, stack) else ()
    found: list[Operation] = []
    names: list[str] = []
    if chosen != (current or DEFAULT_SCHEDULER):
        found.append(Operation("add", "/spec/schedulerName", chosen))
        names.append("schedulerName")
    for container, wanted in entries:
        found.extend(_append(container, wanted))
        names.extend(f"{container.name}/{name}" for name in wanted)
    return (*found, note(pod, names)) if found else ()


def checked(pod: Body, patch: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The patch, if it applies to a copy of the Pod; else none at all.

    The API server refuses the whole request for a patch that does not apply, whatever the failurePolicy (seen).
    """
    try:
        scratch = _scratch(pod, patch)
        for each in patch:
            step = {"op": each.op, "path": each.path, "value": copy(each.value)}  # a later step may write into it
            jsonpatch.AddOperation(step).apply(scratch)
    except Exception:  # noqa: BLE001 - whatever a strange Pod makes it raise, the answer is the same
        return ()
    return patch


def _scratch(pod: Body, patch: tuple[Operation, ...]) -> Body:
    """The Pod with copies of whatever the operations write into; the rest, which is most of it, is the Pod's own."""
    made = dict(pod)
    fresh = {id(made)}
    for each in patch:
        holder: Any = made
        for step in _steps(each.path)[:-1]:
            key = int(step) if type(holder) is list else step
            inner = holder.get(key) if type(holder) is dict else holder[key]
            if type(inner) is not dict and type(inner) is not list:
                break  # an operation before makes what is not there yet; else this one does not apply
            if id(inner) not in fresh:
                inner = holder[key] = inner.copy()
                fresh.add(id(inner))
            holder = inner
    return made


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _is_ours(pod: Body) -> bool:
    """Whether the Pod may be completed at all: new, not bound, no mirror Pod, and its owner did not opt out."""
    metadata = pod.get("metadata") or {}
    if dig(metadata, "uid") or dig(metadata, "resourceVersion"):  # wiped on CREATE: this is an object that exists
        return False
    if dig(pod, "spec", "nodeName") or dig(metadata, "annotations", MIRROR) is not None:
        return False
    return dig(metadata, "labels", OPT_OUT) != "ignore"


def _containers(pod: Body) -> Iterator[_Container]:
    """In the order in which they run. Ephemeral ones take no resources and come later."""
    for key in ("initContainers", "containers"):
        found = dig(pod, "spec", key)
        for index, body in enumerate(found if isinstance(found, list) else ()):
            limits = dig(body, "resources", "limits")
            entries = body.get("env") or ()
            yield _Container(
                ("spec", key, index),
                body,
                limits if isinstance(limits, dict) else {},
                frozenset(entry["name"] for entry in entries),
            )


def _scheduler(pod: Body, containers: tuple[_Container, ...], stack: Stack) -> str:
    """The scheduler to write into the Pod; empty where the Pod's own choice stands.

    A Pod with a device goes where HAMi's webhook would send it, which may be down. HAMi leaves a gang's member without
    a device on the default scheduler, and the gang never reaches its quorum (seen); where the default scheduler runs
    Coscheduling itself there is nothing to mend.
    """
    current = _text(dig(pod, "spec", "schedulerName"))
    if current not in {"", DEFAULT_SCHEDULER}:
        return ""
    wants = any(_wants(container, stack) for container in containers)
    if wants and (stack.force_overwrite_default_scheduler or not current):
        return stack.hami_scheduler
    if dig(pod, "metadata", "labels", GROUP_LABEL) and DEFAULT_SCHEDULER not in stack.coscheduling_schedulers:
        return stack.hami_scheduler
    return ""


def _wants(container: _Container, stack: Stack) -> bool:
    """Whether the container has a device in its limits, where HAMi's webhook looks; the priority alone is none."""
    return not stack.device_names.isdisjoint(container.limits)


def _honours_vgpu(scheduler: str, stack: Stack) -> bool:
    """Whether HAMi may have a hand in Pods of this scheduler; those of others are left alone."""
    return scheduler == stack.hami_scheduler or scheduler in stack.coscheduling_schedulers


def _entries(
    pod: Body, containers: tuple[_Container, ...], stack: Stack, env: VgpuEnv
) -> Iterator[tuple[_Container, dict[str, str]]]:
    """The environment to add, by container. All three variables are read by NVIDIA's side alone: libvgpu and the
    NVIDIA runtime (hami.md 3.1), so containers with another vendor's device get none."""
    nvidia = stack.vendors.get("nvidia", _NO_NAMES)
    on_cards = [not container.limits.keys().isdisjoint(nvidia.devices) for container in containers]
    if not any(on_cards):
        return
    host = _device_volumes(pod) if env.hide_gpus else frozenset()
    for container, on_card in zip(containers, on_cards, strict=True):
        if on_card:
            wanted = {TASK_PRIORITY: _priority(container, nvidia, env), CORE_POLICY: env.core_policy}
        elif env.hide_gpus and not _wants(container, stack) and _may_be_blinded(container, host):
            wanted = {VISIBLE: "none"}
        else:
            continue
        lacking = {name: value for name, value in wanted.items() if value and name not in container.env}
        if lacking:
            yield container, lacking


def _priority(container: _Container, nvidia: Names, env: VgpuEnv) -> str:
    """The container's own priority limit, as HAMi's webhook would write it, or else the policy's."""
    for name in nvidia.priority:
        amount = container.limits.get(name)
        if type(amount) in {str, int} and str(amount) in _PRIORITIES:
            return str(amount)
    return str(env.priority)


def _may_be_blinded(container: _Container, host: frozenset[str]) -> bool:
    """Whether a container without a device may lose its sight of the cards: not one that was given the host's devices
    on purpose, or that says itself what it sees."""
    if dig(container.body, "securityContext", "privileged") is True:
        return False
    if any(name.startswith("NVIDIA_") for name in container.env):
        return False
    mounts = container.body.get("volumeMounts")
    return not any(dig(mount, "name") in host for mount in (mounts if isinstance(mounts, list) else ()))


def _device_volumes(pod: Body) -> frozenset[str]:
    """The names of the volumes that show the host's /dev, or a part of it."""
    volumes = dig(pod, "spec", "volumes")
    return frozenset(
        _text(dig(volume, "name"))
        for volume in (volumes if isinstance(volumes, list) else ())
        if _shows_devices(dig(volume, "hostPath", "path"))
    )


def _shows_devices(path: object) -> bool:
    if not isinstance(path, str):
        return False
    real = normpath(f"/{path.lstrip('/')}")
    return real in {"/", "/dev"} or real.startswith("/dev/")


def _append(container: _Container, wanted: Mapping[str, str]) -> Iterator[Operation]:
    """Entries at the end of the container's list, or as its list where there is none."""
    at = pointer((*container.path, "env"))
    entries = [{"name": name, "value": value} for name, value in wanted.items()]
    if not isinstance(container.body.get("env"), list):
        yield Operation("add", at, entries)
        return
    for entry in entries:
        yield Operation("add", f"{at}/-", entry)


def note(pod: Body, names: list[str]) -> Operation:
    """The annotation that names what was set, after what it names already."""
    metadata = pod.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    before = _text(dig(annotations, INJECTED))
    known = {name.strip() for name in before.split(",")}
    fresh = [name for name in dict.fromkeys(names) if name not in known]
    text = ",".join([before, *fresh] if before else fresh)
    if isinstance(annotations, dict):
        return Operation("add", pointer(("metadata", "annotations", INJECTED)), text)
    if isinstance(metadata, dict):
        return Operation("add", "/metadata/annotations", {INJECTED: text})
    return Operation("add", "/metadata", {"annotations": {INJECTED: text}})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
