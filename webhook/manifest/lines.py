"""Character offsets to lines and columns, by the line breaks that editors count: LF, CRLF and lone CR."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_BREAK = re.compile(r"\r\n|\r|\n")


@lru_cache(maxsize=8)
def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _BREAK.finditer(text))]


def split(text: str) -> list[str]:
    """The lines of a text, by the line breaks that places count (str.splitlines knows more of them)."""
    return _BREAK.split(text)


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of a character in `text`."""
    starts = _starts(text)
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1
