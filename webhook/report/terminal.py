"""Text for a terminal: what a manifest holds is shown, never obeyed, and marks stand under the right cell."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

TAB = 4
"""Tab stops. YAML has no tabs in its indentation, so this is only seen inside values and in JSON."""

_JOINERS = "\u200c\u200d"
"""The two invisible characters that ordinary text and emoji need; all others are shown escaped."""

_NARROWEST = 24
"""Cells that an excerpt gets even on a tiny screen: the widest escape is 10, a third of the room is context."""


def paint(text: str, code: str, *, on: bool) -> str:
    """Text in a colour (the numbers of an SGR sequence), or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if on else text


def visible(text: str) -> str:
    r"""Text without anything that moves a cursor or reorders a line: ESC is shown as `\x1b`, a line end as `\n`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def excerpt(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """What is shown of a source line, and the cells in it where the characters `start` to `end` (from 0) stand.

    Longer than `room` cells, it is cut around the span, with an ellipsis at each cut; a line of 50 MB costs no more
    than a short one.
    """
    room = max(room, _NARROWEST)
    start = min(start, len(line))
    begin = max(0, start - room)
    window = line[begin : start + room]
    shown, at = _cells(window)
    first = start - begin
    last = min(max(end - begin, first), len(window))
    low, high = 0, len(window)
    if len(window) < len(line) or at[-1] > room:
        spare = room - 2 - (at[-1] - at[first])
        low = bisect_left(at, at[first] - max(room // 3, spare))
        high = bisect_right(at, at[low] + room - 2) - 1
    before = "…" if begin + low else ""
    after = "…" if begin + high < len(line) else ""
    margin = len(before) - at[low]
    return before + "".join(shown[low:high]) + after, at[first] + margin, at[min(last, high)] + margin


def _cells(text: str) -> tuple[list[str], list[int]]:
    """Each character as shown, and the cell where each begins (one more: where the text ends)."""
    shown: list[str] = []
    at = [0]
    for character in text:
        seen, width = _cell(character, at[-1])
        shown.append(seen)
        at.append(at[-1] + width)
    return shown, at


def _cell(character: str, cell: int) -> tuple[str, int]:
    if character == "\t":
        width = TAB - cell % TAB
        return " " * width, width
    if character in _JOINERS:
        return character, 0
    if not character.isprintable():
        escaped = _escape(character)
        return escaped, len(escaped)
    return character, _width(character)


def _width(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
