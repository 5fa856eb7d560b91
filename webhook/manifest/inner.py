"""Where a text that stands inside a scalar has its characters in the text around it.

A ConfigMap holds whole configurations as text. Their values are found in the inner text; here its characters are
taken to those of the outer one: through the indentation of block scalars, the folds of folded ones, and escapes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_HEADER = re.compile(r"(?:[&!][^\s]*+\s++)*+([|>])([-+0-9]*+)[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_DIGITS = re.compile(r"[1-9]")
_BREAK = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|\r\n|.)", re.DOTALL)
_PAIR = re.compile(r"\\u[dD][89a-bA-B][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")

Offsets = Sequence[int]
"""For each character of the inner text its offset in the outer one, and one more for its end."""


@lru_cache(maxsize=4)
def offsets(text: str, start: int, end: int, value: str) -> Offsets | None:
    """Where the characters of `value` stand, which is the scalar at `start` to `end` of `text`; None where they cannot
    be told."""
    header = _HEADER.match(text, start, end)
    if header and header[1] == "|":
        found = _literal(text, header.end(), end, value, indicated=_DIGITS.search(header[2]) is not None)
    elif header:
        found = _aligned(text, header.end(), end, value)
    elif text[start : start + 1] == '"':
        found = _escaped(text, start + 1, end - 1, value)
    elif text[start : start + 1] == "'":
        found = _aligned(text, start + 1, end - 1, value, quote=True)
    else:
        found = _aligned(text, start, end, value)
    return found


def _literal(text: str, start: int, end: int, value: str, *, indicated: bool) -> Offsets | None:
    """A `|` text: each of its lines without the indentation, which its first line sets."""
    rows = value.split("\n")
    starts = [start, *(match.end() for match in _BREAK.finditer(text, start, end))]
    first = next((index for index, row in enumerate(rows) if row.strip(" ")), None)
    if first is None or first >= len(starts):
        return None
    line = _line(text, starts[first], end)
    depth = len(line) - len(rows[first]) if indicated else len(line) - len(line.lstrip(" "))
    found: list[int] = []
    for index, row in enumerate(rows):
        if index >= len(starts):
            found.extend([end] * (len(row) + 1))
            continue
        begin = min(starts[index] + depth, end)
        if row and text[begin : begin + len(row)] != row:
            return None
        found.extend(range(begin, begin + len(row) + 1))
    return found


def _line(text: str, start: int, end: int) -> str:
    found = _BREAK.search(text, start, end)
    return text[start : found.start() if found else end]


def _aligned(text: str, start: int, end: int, value: str, *, quote: bool = False) -> Offsets | None:
    """A text whose line breaks are folded: both are walked through, blanks of any number stand for one another."""
    found: list[int] = []
    at = start
    for letter in value:
        if letter in " \n":
            found.append(min(at, end))
            at = _over(text, at, end, letter)
            continue
        while at < end and text[at] in " \t\r\n":
            at += 1
        if at >= end or text[at] != letter:
            return None
        found.append(at)
        at += 2 if quote and letter == "'" else 1
    found.append(min(at, end))
    return found


def _over(text: str, at: int, end: int, letter: str) -> int:
    """Past one blank of the value: a blank, or a line break with the indentation behind it."""
    if at < end and text[at] == " " and letter == " ":
        return at + 1
    if at < end and text[at] in "\r\n":
        at += 2 if text[at : at + 2] == "\r\n" else 1
    return at


def _escaped(text: str, start: int, end: int, value: str) -> Offsets | None:
    """A double-quoted text, of YAML or JSON: an escape is one character, an escaped line break none."""
    found: list[int] = []
    at = start
    while at < end and len(found) < len(value):
        if text[at] == "\\":
            pair = _PAIR.match(text, at, end)
            match = pair or _ESCAPE.match(text, at, end)
            if match is None:
                return None
            if match[0][1] in "\r\n":
                at = match.end()
                while at < end and text[at] in " \t":
                    at += 1
                continue
            found.append(at)
            at = match.end()
        elif text[at] in "\r\n":
            return None  # folded as well: not told
        elif text[at] != value[len(found)]:
            return None
        else:
            found.append(at)
            at += 1
    if len(found) != len(value):
        return None
    found.append(at)
    return found
