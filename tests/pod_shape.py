"""The shape of a Pod as the API server itself publishes it, cut down to names and types: tests/schemas/pod.v1.json.

A type is a word (`string`, `integer`, `number`, `boolean`, `any`), the name of another definition, or a list or map
of a type: `["list", "Container"]`. Recorded by tests/e2e/test_admission_recorded.py from /openapi/v3/api/v1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any, TypeAlias

from webhook.model import GROUP_LABEL, Path

Type: TypeAlias = str | list[Any]
Shape: TypeAlias = dict[str, dict[str, Type]]

FILE = File(__file__).parent / "schemas" / "pod.v1.json"
ROOT = "io.k8s.api.core.v1.Pod"
WORDS = frozenset({"string", "integer", "number", "boolean", "any"})


def reduced(openapi: Mapping[str, Any]) -> Shape:
    """Pod and all that it holds, of an OpenAPI v3 document."""
    schemas = openapi["components"]["schemas"]
    shape: Shape = {}
    wanted = [ROOT]
    while wanted:
        name = wanted.pop()
        if name in shape:
            continue
        shape[name] = {key: _type(schema, schemas) for key, schema in sorted(schemas[name]["properties"].items())}
        wanted.extend(inner for each in shape[name].values() if (inner := _innermost(each)) not in WORDS)
    return dict(sorted(shape.items()))


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Type:
    reference = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf", ()) if "$ref" in each), "")
    if reference:
        name = reference.rpartition("/")[2]
        own = schemas[name]
        return name if "properties" in own else _type(own, schemas)
    if schema.get("type") == "array":
        return ["list", _type(schema["items"], schemas)]
    if isinstance(schema.get("additionalProperties"), Mapping):
        return ["map", _type(schema["additionalProperties"], schemas)]
    return str(schema.get("type", "string" if "oneOf" in schema else "any")).replace("object", "any")


def _innermost(wanted: Type) -> str:
    return _innermost(wanted[1]) if isinstance(wanted, list) else wanted


def recorded() -> Shape:
    shape: Shape = json.loads(FILE.read_text(encoding="utf-8"))
    return shape


_KNOWN: Mapping[str, Any] = {
    "labels": {GROUP_LABEL: "train"},
    "limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k"},
    "requests": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k"},
    "image": "python:3.12-alpine",
    "schedulerName": "hami-scheduler",
    "operation": "Update",
}
"""What makes the Pod one of ours; any value of the type would do elsewhere."""

_SCALARS: Mapping[str, Any] = {"string": "a", "integer": 1, "number": 1.5, "boolean": True, "any": {"a": "b"}}


def whole(shape: Shape, wanted: Type = ROOT, key: str = "") -> Any:  # noqa: ANN401 - any JSON
    """A value in which every field is there."""
    if key in _KNOWN:
        return _KNOWN[key]
    if isinstance(wanted, list):
        inner = whole(shape, wanted[1])
        return [inner] if wanted[0] == "list" else {"a": inner}
    if wanted in WORDS:
        return _SCALARS[wanted]
    return {name: whole(shape, each, name) for name, each in shape[wanted].items()}


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    """Every place of a value, its entries before theirs."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in entries:
        yield (*path, step)
        yield from paths(part, (*path, step))
