"""A text as it was pasted or piped, made plain: no colours, no escapes, lines stripped, spaces single."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from webhook.manifest.lines import split

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_QUOTED = re.compile(r'\\{1,15}"')  # bounded: a text of backslashes must not cost its square
_ENDS = re.compile(r"\\{1,15}n")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")
_CURLY = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")


class Text(NamedTuple):
    """`flat` is the text, its lines parted by line ends; `spaced` the same with spaces for these.

    `numbers` has each line's number in what was given, `starts` where it begins in `flat`.
    """

    flat: str
    spaced: str
    numbers: tuple[int, ...]
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The index of the line that holds a place of `flat`."""
        return bisect_right(self.starts, offset) - 1


def decoded(data: bytes) -> str:
    """Bytes as text, whatever they are: UTF-8, or UTF-16 with its mark as PowerShell's `>` writes it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def plain(text: str) -> Text:
    """The text as messages are looked for in it."""
    text = _CONTROLS.sub("", _ESCAPES.sub("", text)).translate(_CURLY)
    numbers, starts, lines = [], [], []
    offset = 0
    for number, line in _lines(_QUOTED.sub('"', text)):
        words = " ".join(line.split())
        if words:
            numbers.append(number)
            starts.append(offset)
            lines.append(words)
            offset += len(words) + 1
    flat = "\n".join(lines)
    return Text(flat, flat.replace("\n", " "), tuple(numbers), tuple(starts))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; line ends that are escaped in a line (JSON, logs) part it and are not counted."""
    for number, line in enumerate(split(text), 1):
        for part in _ENDS.split(line) if "\\n" in line else (line,):
            yield number, part
