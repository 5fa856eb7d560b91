"""One Pod or Pod template of an object to a Pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from webhook.kinds import Template
from webhook.model import Container, Count, Env, Mount, Path, Pod, Ref, Volume, dig

NONE: Mapping[str, str] = {}
_NOTHING: Mapping[str, object] = {}
_GONE = Count(0, 0)
_NO_GROUP: tuple[str, Path] = ("", ())

Texts = Mapping[Path, str]
"""What is written at places where YAML made something else of a text."""


def read_pod(body: Mapping[str, object], ref: Ref, template: Template, mended: Texts, *, sound: bool) -> Pod | None:
    """The Pod at a template's place; None where nothing stands there. `sound`: nothing in it needs mending."""
    spec, metadata = _at(body, template.spec), _at(body, template.metadata)
    if not spec and not metadata:
        return None
    labels = _texts(metadata, "labels", template.metadata, mended, sound=sound)
    annotations = _texts(metadata, "annotations", template.metadata, mended, sound=sound)
    if template.more:
        labels = {**_texts(_at(body, template.more), "labels", template.more, mended, sound=False), **labels}
    native, native_path = (
        _native(spec, template.spec) if "schedulingGroup" in spec or "workloadRef" in spec else _NO_GROUP
    )
    scheduler = _entry(spec, "schedulerName", template.spec, mended)
    if not scheduler and template.defaults:
        scheduler = _text(dig(body, *template.defaults, "schedulerName"))
    is_pod = ref.kind == "Pod" and not ref.group
    phase = _text(dig(body, "status", "phase")) if is_pod and "status" in body else ""
    live = is_pod and ("uid" in metadata or "resourceVersion" in metadata or _has_run(body, spec, phase))
    finished = phase in {"Succeeded", "Failed"}
    return Pod(
        ref,
        template.metadata,
        template.spec,
        labels,
        annotations,
        scheduler,
        _entry(spec, "priorityClassName", template.spec, mended),
        _entry(spec, "nodeName", template.spec, mended),
        _gates(spec) if "schedulingGates" in spec else (),
        native,
        native_path,
        tuple(_containers(spec, template, mended)),
        _GONE if finished else template.count,
        template.role,
        live,
        finished,
        owner_of(body.get("metadata")),
        tuple(_volumes(spec["volumes"], (*template.spec, "volumes"))) if "volumes" in spec else (),
        _entry(spec, "runtimeClassName", template.spec, mended),
        _entry(spec, "serviceAccountName", template.spec, mended) or _text(spec.get("serviceAccount")),
    )


def _has_run(body: Mapping[str, object], spec: Mapping[str, object], phase: str) -> bool:
    """Whether the status tells that a scheduler has had the Pod; a manifest made by a dry run has an empty one."""
    if not body.get("status"):
        return False
    return phase not in {"", "Pending"} or bool(spec.get("nodeName"))


def _at(body: Mapping[str, object], path: Path) -> Mapping[str, object]:
    found = body.get(path[0]) if len(path) == 1 else dig(body, *path)  # type: ignore[arg-type]
    return found if isinstance(found, dict) else _NOTHING


def _text(value: object) -> str:
    return value if type(value) is str else ""


def _entry(holder: Mapping[str, object], key: str, at: Path, mended: Texts) -> str:
    """The text under a key, or what is written there where YAML made no text of it; empty for none."""
    value = holder.get(key)
    if type(value) is str:
        return value
    return mended.get((*at, key), "") if mended else ""


def _texts(
    metadata: Mapping[str, object], half: Literal["labels", "annotations"], at: Path, mended: Texts, *, sound: bool
) -> Mapping[str, str]:
    """Labels or annotations: null is empty text (seen), and a number or boolean is what was written."""
    value = metadata.get(half)
    if type(value) is not dict or not value:
        return NONE
    if sound:
        return value
    return {key: text if type(text) is str else mended.get((*at, half, key), "") for key, text in value.items()}


def labels_of(body: Mapping[str, object], mended: Texts) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The labels and the annotations of the object itself."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return NONE, NONE
    at: Path = ("metadata",)
    labels = _texts(metadata, "labels", at, mended, sound=False)
    return labels, _texts(metadata, "annotations", at, mended, sound=False)


def owner_of(metadata: object, *, any_owner: bool = False) -> str:
    """The kind of the controller of an object, empty for none. `any_owner`: an owner that is no controller will do."""
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if not isinstance(owners, list):
        return ""
    known = [owner for owner in owners if isinstance(owner, dict)]
    controllers = [owner for owner in known if owner.get("controller") is True]
    chosen = controllers or (known if any_owner else [])
    return _text(chosen[0].get("kind")) if chosen else ""


def _gates(spec: Mapping[str, object]) -> tuple[str, ...]:
    gates = spec.get("schedulingGates")
    if not isinstance(gates, list):
        return ()
    return tuple(_text(gate.get("name")) for gate in gates if isinstance(gate, dict))


def _native(spec: Mapping[str, object], at: Path) -> tuple[str, Path]:
    """The group of Kubernetes' own gang scheduling: schedulingGroup from 1.36, workloadRef in 1.35."""
    group = spec.get("schedulingGroup")
    if isinstance(group, dict):
        return _text(group.get("podGroupName")), (*at, "schedulingGroup", "podGroupName")
    reference = spec.get("workloadRef")
    if isinstance(reference, dict):
        field = "podGroup" if reference.get("podGroup") else "name"
        return _text(reference.get(field)), (*at, "workloadRef", field)
    return _NO_GROUP


Role = Literal["app", "init", "sidecar", "ephemeral"]
_LISTS: tuple[tuple[str, Role], ...] = (
    ("initContainers", "init"),
    ("containers", "app"),
    ("ephemeralContainers", "ephemeral"),
)


def _containers(spec: Mapping[str, object], template: Template, mended: Texts) -> Iterator[Container]:
    """In the order in which they run: init containers, then the others."""
    for key, role in _LISTS:
        found = spec.get(key)
        if found and type(found) is list:
            yield from _list(found, (*template.spec, key), role, mended)
    if not template.own:
        return
    for key in ("container", "script"):
        single = spec.get(key)
        if isinstance(single, dict):
            yield _container(single, (*template.spec, key), "app", mended)
    for path, role in ((("sidecars",), "sidecar"), (("containerSet", "containers"), "app")):
        found = dig(spec, *path)
        if isinstance(found, list):
            yield from _list(found, (*template.spec, *path), role, mended)


def _list(found: list[object], at: Path, role: Role, mended: Texts) -> Iterator[Container]:
    for index, item in enumerate(found):
        if type(item) is dict:
            sidecar = role == "init" and item.get("restartPolicy") == "Always"
            yield _container(item, (*at, index), "sidecar" if sidecar else role, mended)


def _container(item: dict[str, object], path: Path, role: Role, mended: Texts) -> Container:
    resources = item.get("resources")
    limits = requests = None
    if type(resources) is dict:
        limits, requests = resources.get("limits"), resources.get("requests")
    env = item.get("env")
    return Container(
        _entry(item, "name", path, mended),
        _entry(item, "image", path, mended),
        role,
        path,
        limits if type(limits) is dict else _NOTHING,
        requests if type(requests) is dict else _NOTHING,
        tuple(_env(env, (*path, "env"), mended)) if env and type(env) is list else (),
        "securityContext" in item and dig(item, "securityContext", "privileged") is True,
        tuple(_mounts(item["volumeMounts"], (*path, "volumeMounts"))) if "volumeMounts" in item else (),
        _words(item["command"]) if "command" in item else (),
        _words(item["args"]) if "args" in item else (),
    )


def _words(items: object) -> tuple[str, ...]:
    return tuple(item if type(item) is str else "" for item in items) if type(items) is list else ()


def _mounts(entries: object, at: Path) -> Iterator[Mount]:
    for index, entry in enumerate(entries if type(entries) is list else ()):
        if type(entry) is dict:
            name, target, part = entry.get("name"), entry.get("mountPath"), entry.get("subPath")
            yield Mount(_text(name), _text(target), (*at, index), _text(part))


def _volumes(entries: object, at: Path) -> Iterator[Volume]:
    for index, entry in enumerate(entries if type(entries) is list else ()):
        if type(entry) is dict:
            sources = [_text(dig(entry, key, field)) if key in entry else "" for key, field in _SOURCES]
            yield Volume(_text(entry.get("name")), (*at, index), *sources)


_SOURCES = (("secret", "secretName"), ("hostPath", "path"), ("configMap", "name"))


def _env(entries: list[object], at: Path, mended: Texts) -> Iterator[Env]:
    for index, entry in enumerate(entries):
        if type(entry) is not dict or type(entry.get("name")) is not str:
            continue
        name, value, path = entry["name"], entry.get("value"), (*at, index)
        if type(value) is not str:
            absent = "" if value is None and "valueFrom" not in entry else None
            value = absent if value is None else mended.get((*path, "value"), "")
        yield Env(name, value, path)
