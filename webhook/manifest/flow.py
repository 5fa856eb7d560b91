"""One-line flow collections of simple scalars (`[a, "b"]`, `{cpu: 1}`), for the quick reader."""

from __future__ import annotations

import re
from typing import Any

from webhook.manifest.scalars import plain

_DEPTH = 20
_SAFE = r"A-Za-z0-9_./+=@%$()*<>~^;&|!-"
_SCALAR = re.compile(
    rf"""
    "([^"\\]*+)" | '([^']*+)'(?!')
    | ( (?: [A-Za-z0-9_./$] | -(?=[A-Za-z0-9_./]) )
        (?: [{_SAFE}]++ | :(?=[A-Za-z0-9_/.-]) | [ ]++(?=[{_SAFE}]) )*+ )
    """,
    re.VERBOSE,
)
_KEY = re.compile(
    r"""(?: "([^"\\]{0,400}+)" | '([^']{0,400}+)'(?!') | ([A-Za-z_][A-Za-z0-9_./-]{0,400}+) ) :[ ]++""", re.VERBOSE
)
_GAP = re.compile(r"[ ]*+")
_NEXT = re.compile(r"[ ]*+(?:,[ ]++|(?=[\]}]))")


class Unknown(ValueError):  # noqa: N818 - what the text is to this reader
    """Not simple enough; another reader has to look."""


def load(text: str) -> Any:  # noqa: ANN401 - a list or a mapping
    """The collection that is all of `text`. Raises Unknown."""
    value, end = _value(text, 0, 0)
    if end != len(text):
        raise Unknown
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEPTH:
        raise Unknown
    opening = text[at : at + 1]
    if opening == "[":
        return _list(text, at + 1, depth + 1)
    if opening == "{":
        return _mapping(text, at + 1, depth + 1)
    match = _SCALAR.match(text, at)
    if match is None:
        raise Unknown
    return (plain(match[3]) if match[3] else match[match.lastindex or 1]), match.end()


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _skip(text, at)
    while text[at : at + 1] != "]":
        value, at = _value(text, at, depth)
        items.append(value)
        at = _after(text, at, "]")
    return items, at + 1


def _mapping(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    at = _skip(text, at)
    while text[at : at + 1] != "}":
        match = _KEY.match(text, at)
        if match is None:
            raise Unknown
        key = match[match.lastindex or 1]
        if key in entries or (match[3] and plain(key) is not key):
            raise Unknown
        entries[key], at = _value(text, match.end(), depth)
        at = _after(text, at, "}")
    return entries, at + 1


def _skip(text: str, at: int) -> int:
    return _GAP.match(text, at).end()  # type: ignore[union-attr] # it matches always


def _after(text: str, at: int, closing: str) -> int:
    """Where the next item begins, or the closing bracket stands."""
    match = _NEXT.match(text, at)
    if match is None or (match[0].lstrip(" ") and text[match.end() : match.end() + 1] == closing):
        raise Unknown  # no comma, or one too many
    return match.end()
