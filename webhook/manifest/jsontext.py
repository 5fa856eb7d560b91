r"""JSON text to data and places. Python's own `json` reads; the scanner here tells where things stand.

JSON is read by JSON's rules and not as YAML: libyaml refuses surrogate pairs (`\ud83d\ude00`) and keys
over 1,024 characters, which kubectl and the API server take.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from webhook.errors import Unreadable
from webhook.manifest.exact import DEPTH
from webhook.manifest.faults import fault
from webhook.manifest.values import Node, Tree
from webhook.model import Path

_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(
    r"[ \t\r\n]*+(?:"
    r'(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*+")'
    r"|(?P<atom>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null)"
    r"|(?P<mark>[\[\]{}:,]))"
)


class NotJson(ValueError):  # noqa: N818 - says what the text is
    """The text does not follow JSON's rules; it may still be a YAML flow collection."""


def values(text: str) -> list[tuple[int, int, object, bool]]:
    """All values of a text that holds nothing but JSON: start, end, value, and whether a key is written twice."""
    found: list[tuple[int, int, object, bool]] = []
    position = _SPACE.match(text).end()  # type: ignore[union-attr] # it matches always
    while position < len(text):
        value, end, twice = _decode(text, position)
        found.append((position, end, value, twice))
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]
    return found


def _decode(text: str, position: int) -> tuple[object, int, bool]:
    twice: list[bool] = []

    def mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            twice.append(True)
        return entries

    decoder = json.JSONDecoder(object_pairs_hook=mapping, parse_constant=_constant)
    try:
        value, end = decoder.raw_decode(text, position)
    except RecursionError as error:
        raise _too_deep(text, position) from error
    except ValueError as error:
        raise NotJson(str(error)) from error
    if _deep(value):
        raise _too_deep(text, position)
    if _SURROGATE.search(text, position, end):
        value = scan(text[position:end]).data
    return value, end, bool(twice)


def scan(text: str) -> Tree:
    """The first JSON value of `text`, which `values` has read, with the place of every key and value."""
    twice: list[tuple[Path, tuple[int, int], tuple[int, int]]] = []
    stack: list[Any] = []
    held: Any = None
    places: Any = None
    key: Any = None
    begin = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        piece = match[kind]
        start, end = match.span(kind)
        node: Node = (start, end, None)
        if kind != "mark":
            value = _string(piece) if kind == "string" else json.loads(piece)
        elif piece in "{[":
            stack.append((held, places, key, begin))
            held, places = ({}, {}) if piece == "{" else ([], [])
            key, begin = None, start
            continue
        elif piece in "}]":
            value, node = held, (begin, end, places)
            held, places, key, begin = stack.pop()
        else:
            continue
        if not stack:
            return Tree(value, node, tuple(twice))
        if isinstance(held, list):
            held.append(value)
            places.append(node)
        elif key is None:
            key = (value, (start, end))
        else:
            name, at = key
            if name in held:
                twice.append((_path(stack, name), places[name][0], at))
            held[name], places[name], key = value, (at, node), None
    raise NotJson(text[:40])


def _path(stack: list[Any], name: str) -> Path:
    steps = tuple(len(held) if isinstance(held, list) else key[0] for held, _places, key, _begin in stack[1:])
    return (*steps, name)


def _string(piece: str) -> str:
    text: str = json.loads(piece)
    if text.isascii() or not _SURROGATE.search(piece):
        return text
    # Go puts U+FFFD for half a surrogate pair (encoding/json `unquote`); Python keeps what no file can hold.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON")


def _too_deep(text: str, position: int) -> Unreadable:
    return fault(text, f"more than {DEPTH} collections inside each other", position)


def _deep(value: object) -> bool:
    """Whether collections stand deeper than DEPTH inside each other; walks level by level, not by recursion."""
    level: list[Any] = [value]
    for _ in range(DEPTH + 1):
        level = [item for held in level if isinstance(held, dict | list) for item in _items(held)]
        if not level:
            return False
    return True


def _items(held: dict[str, Any] | list[Any]) -> list[Any]:
    return list(held.values()) if isinstance(held, dict) else held
