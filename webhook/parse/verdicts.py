"""What is wrong with an object's fields, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webhook.model import Malformed, Path, Place, Ref, WrongScalar
from webhook.parse.placeholders import templated
from webhook.parse.shapes import AMOUNT, COUNT, NAME, NOWHERE, STORED_AMOUNT, SWITCH, TEXT, WHOLE, Shape, faults

_SHOWN = 40


def judge(body: object, shape: Shape, ref: Ref, written: Callable[[Path], str]) -> Iterator[Malformed | WrongScalar]:
    """Whatever of an object the API server could not decode or would not take; templated text may yet be right.

    A collection's place is its key: that is the line a reader looks for.
    """
    for path, value, wanted in faults(body, shape):
        if wanted is NOWHERE:
            yield _misplaced(ref, path)
            continue
        if templated(value):
            continue
        place = Place(ref, path, "key" if isinstance(value, dict | list) and isinstance(path[-1], str) else "value")
        if wanted in {TEXT, NAME} and isinstance(value, bool | int | float):
            yield WrongScalar(place, written((*ref.prefix, *path)), value)
        else:
            yield Malformed(place, _message(ref, path, value, wanted), _fix(path, value, wanted))


def _misplaced(ref: Ref, path: Path) -> Malformed:
    holder = dotted(path[:-1])
    return Malformed(
        Place(ref, path, "key"),
        f"{ref}: {path[-1]} is no field of {holder}: Kubernetes drops it, or refuses the object",
        f"indent it under {holder}.labels, or under annotations",
    )


def _message(ref: Ref, path: Path, value: object, wanted: Shape) -> str:
    field = dotted(path)
    if value is None:
        return f"{ref} has no {field}; Kubernetes wants {wanted.wanted} there"
    return f"{ref}: {field} is {_shown(value)}; Kubernetes wants {wanted.wanted} there"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        short = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        return f"the text {short!r}" if value else "empty"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _fix(path: Path, value: object, wanted: Shape) -> str:
    name = str(path[-1])
    if value is None:
        return f"add {name}" if wanted is NAME else f"add {name}, {wanted.wanted}"
    if isinstance(value, str) and _is_plain(value, wanted):
        return f"write {name}: {value.strip().lower()} without quotes"
    if wanted is AMOUNT or wanted is STORED_AMOUNT:
        if "/" in name:  # an extended resource is counted; that HAMi's are no bytes is what gpu-memory-unit is about
            return f"write a whole number for {name}, without a unit"
        return f"write a number with a unit of Kubernetes for {name}, such as 4, 500m or 16Gi"
    if isinstance(path[-1], int):
        return f"make this item {wanted.wanted}, or remove it"
    return f"make {name} {wanted.wanted}"


def _is_plain(text: str, wanted: Shape) -> bool:
    """Whether only the quotes are wrong."""
    if wanted is SWITCH:
        return text.strip().lower() in {"true", "false"}
    return wanted in {WHOLE, COUNT} and text.strip().isdecimal()


def dotted(path: Path) -> str:
    """A path as people write it: `spec.containers[0].name`, `metadata.labels[a.b/c]`."""
    return "".join(_step(step) if _is_bracketed(step) else f".{step}" for step in path).removeprefix(".")


def _step(step: str | int) -> str:
    return f"[{step}]" if _is_bracketed(step) else str(step)


def _is_bracketed(step: str | int) -> bool:
    return isinstance(step, int) or "." in step or "/" in step
