"""Pod templates in objects whose kind nobody told us of."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.kinds.template import Template
from webhook.model import UNKNOWN, Path

_DEPTH = 12
_AT_MOST = 64
"""Templates taken from one object; a real one has a handful."""


def shaped_like_templates(body: Mapping[str, object]) -> tuple[Template, ...]:
    """What has the shape of a PodTemplateSpec, in document order: a `spec` with a list of named containers.

    The object's own spec is none: it would be an unknown kind of Pod, whose Pods have names we do not know.
    """
    found: list[Template] = []
    waiting: list[tuple[Path, object]] = [(("spec",), body.get("spec"))]
    while waiting and len(found) < _AT_MOST:
        path, value = waiting.pop()
        if isinstance(value, Mapping) and _has_containers(value.get("spec")):
            found.append(Template((*path, "metadata"), (*path, "spec"), "", UNKNOWN))
            continue
        if len(path) < _DEPTH:
            waiting.extend(_inside(path, value))
    return tuple(found)


def _inside(path: Path, value: object) -> list[tuple[Path, object]]:
    """The collections inside a value, the first one last: they are taken from the end."""
    parts: list[tuple[Path, object]] = []
    if isinstance(value, Mapping):
        parts = [((*path, key), part) for key, part in value.items() if isinstance(part, Mapping | list)]
    elif isinstance(value, list):
        parts = [((*path, index), part) for index, part in enumerate(value) if isinstance(part, Mapping | list)]
    parts.reverse()
    return parts


def _has_containers(spec: object) -> bool:
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(containers, list) or not containers:
        return False
    return all(isinstance(item, Mapping) and "name" in item for item in containers) and any(
        "image" in item for item in containers
    )
