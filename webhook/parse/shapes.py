"""What may stand where: the types that the API server decodes, as far as we read them.

A shape answers two questions: whether a value is sound, which nearly every one is and which is fast, and, if it is
not, which of its parts are to blame. Null stands for an absent field, except where one must be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.model import Path
from webhook.quantity import is_quantity

Sound = Callable[[object], bool]


class Shape(NamedTuple):
    """`wanted` says in words what should stand there. `parts` gives a collection's entries with their shapes; None
    for what has none. `nullable`: null means absent."""

    wanted: str
    sound: Sound
    types: frozenset[type] = frozenset()
    parts: Callable[[object], Iterable[tuple[str | int, object, Shape]]] | None = None
    nullable: bool = True


_TEXTUAL = frozenset({str})
_INT32 = 2**31


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_name(value: object) -> bool:
    return type(value) is str and value != ""


def _is_whole(value: object) -> bool:
    if type(value) is int:
        return -_INT32 <= value < _INT32
    return type(value) is float and value.is_integer() and -_INT32 <= value < _INT32


def _is_count(value: object) -> bool:
    return (type(value) is int or type(value) is float) and value >= 0 and _is_whole(value)


def _are_texts(value: object) -> bool:
    return type(value) is dict and _TEXTUAL.issuperset(map(type, value.values()))


def _is_text_list(value: object) -> bool:
    return type(value) is list and _TEXTUAL.issuperset(map(type, value))


def _is_amount(value: object) -> bool:
    if type(value) is str:
        return value.isdigit() or is_quantity(value)
    return type(value) is int or (type(value) is float and value - value == 0)  # neither infinite nor NaN


def _is_stored_amount(value: object) -> bool:
    """A custom resource's int-or-string: a number with a fraction is refused (seen), and blanks are too."""
    if type(value) is str and value != value.strip(" "):
        return False
    return _is_amount(value) and (type(value) is not float or value.is_integer())


def _are_amounts(value: object) -> bool:
    if type(value) is not dict:
        return False
    for amount in value.values():  # noqa: SIM110 - a generator costs twice the call
        if type(amount) is not int and not _is_amount(amount):
            return False
    return True


def _are_stored_amounts(value: object) -> bool:
    return type(value) is dict and all(map(_is_stored_amount, value.values()))


TEXT = Shape("text", _is_text)
NAME = Shape("a name", _is_name, nullable=False)
WHOLE = Shape("a whole number", _is_whole)
COUNT = Shape("a whole number, 0 or more", _is_count)
SWITCH = Shape("true or false", lambda value: type(value) is bool)
AMOUNT = Shape("a quantity", _is_amount)
STORED_AMOUNT = Shape("a quantity, a whole number or text", _is_stored_amount)
NOWHERE = Shape("no such field", lambda _: False, nullable=False)
"""A key of the shape of a label's that stands where only fields can: it slipped out of labels or annotations."""
_MAPPING = "a mapping"
_LIST = "a list"


def _each(shape: Shape) -> Callable[[object], Iterator[tuple[str | int, object, Shape]]]:
    def parts(value: object) -> Iterator[tuple[str | int, object, Shape]]:
        if isinstance(value, dict):
            yield from ((key, part, shape) for key, part in value.items())
        elif isinstance(value, list):
            yield from ((index, part, shape) for index, part in enumerate(value))

    return parts


TEXTS = Shape(_MAPPING, _are_texts, frozenset({dict}), _each(TEXT))
TEXT_LIST = Shape(_LIST, _is_text_list, frozenset({list}), _each(TEXT))
AMOUNTS = Shape(_MAPPING, _are_amounts, frozenset({dict}), _each(AMOUNT))
STORED_AMOUNTS = Shape(_MAPPING, _are_stored_amounts, frozenset({dict}), _each(STORED_AMOUNT))


def struct(
    fields: Mapping[str, Shape], *, required: tuple[str, ...] = (), nullable: bool = True, slashes: bool = True
) -> Shape:
    """A mapping with these fields; others may be there and are not judged, but for keys with a slash in them where
    `slashes` is False: no field's name has one."""

    def parts(value: object) -> Iterator[tuple[str | int, object, Shape]]:
        if not isinstance(value, dict):
            return
        for key, part in value.items():
            if key in fields:
                yield key, part, fields[key]
            elif not slashes and "/" in key:
                yield key, part, NOWHERE
        yield from ((key, None, fields[key]) for key in required if key not in value)

    sound = _struct_check(fields, required)
    return Shape(_MAPPING, sound if slashes else _without_slashes(sound), frozenset({dict}), parts, nullable)


def _struct_check(fields: Mapping[str, Shape], required: tuple[str, ...]) -> Sound:
    checks = {key: shape.sound for key, shape in fields.items()}
    # Where null is no value, "" stands for a field that may be absent, and None for one that must be there.
    firm = {key: "" for key, shape in fields.items() if not shape.nullable}
    needed = tuple({**firm, **dict.fromkeys(required)}.items())

    def sound(value: object) -> bool:
        if type(value) is not dict:
            return False
        for key, part in value.items():
            check = checks.get(key)
            if check is None or part is None:
                continue
            if check is _is_text:  # as of most fields, so it is asked here
                if type(part) is not str:
                    return False
            elif not check(part):
                return False
        for key, absent in needed:  # noqa: SIM110 - a generator costs twice the call
            if value.get(key, absent) is None:
                return False
        return True

    return sound


def _without_slashes(sound: Sound) -> Sound:
    return lambda value: sound(value) and "/" not in "".join(value)  # type: ignore[arg-type] # it is a mapping


def list_of(shape: Shape, wanted: str = _LIST, *, filled: bool = False) -> Shape:
    """A list of structs, none of them null; `filled`: with at least one, and null is not enough."""
    check = shape.sound
    item = Shape(shape.wanted, check, shape.types, shape.parts, nullable=False)

    def sound(value: object) -> bool:
        if type(value) is not list or (filled and not value):
            return False
        for part in value:  # noqa: SIM110 - a generator costs twice the call
            if not check(part):
                return False
        return True

    def parts(value: object) -> Iterator[tuple[str | int, object, Shape]]:
        if isinstance(value, list):
            yield from ((index, part, item) for index, part in enumerate(value))

    return Shape(wanted, sound, frozenset({list}), parts, nullable=not filled)


def _are_entries(value: object) -> bool:
    if type(value) is not list:
        return False
    for part in value:
        if type(part) is not dict:
            return False
        name, text = part.get("name"), part.get("value")
        if type(name) is not str or not name or (type(text) is not str and text is not None):
            return False
    return True


_ENTRIES = list_of(struct({"name": NAME, "value": TEXT}, required=("name",)))
ENV = _ENTRIES._replace(sound=_are_entries)
"""The longest list of most Pods, so its check is written out."""


def map_of(shape: Shape) -> Shape:
    """A mapping whose values all have one shape; null ones are absent."""
    check = shape.sound

    def sound(value: object) -> bool:
        return type(value) is dict and all(part is None or check(part) for part in value.values())

    return Shape(_MAPPING, sound, frozenset({dict}), _each(shape))


def faults(value: object, shape: Shape, path: Path = ()) -> Iterator[tuple[Path, object, Shape]]:
    """The parts of a value that cannot stand where they do, each with its path and the shape wanted there."""
    if value is None and shape.nullable:
        return
    if value is not None and shape.sound(value):
        return
    if isinstance(value, dict) and "$patch" in value:
        return  # a directive of a strategic merge patch (apimachinery pkg/util/strategicpatch), not an object's part
    if shape.parts is None or type(value) not in shape.types:
        yield path, value, shape
        return
    empty = True
    for step, part, inner in shape.parts(value):
        empty = False
        yield from faults(part, inner, (*path, step))
    if empty:
        yield path, value, shape
