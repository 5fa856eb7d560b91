"""Bytes to text: UTF-8, and a clear word on anything else."""

from __future__ import annotations

import codecs
import re

from webhook.errors import Unreadable

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_CURE = "save the file as UTF-8"
_BREAK = rb"\r\n|\r|\n"


def decode(data: bytes) -> str:
    """The text of UTF-8 bytes. Raises Unreadable with lines counted from 1."""
    if b"\0" in data or data[:1] >= b"\xfe":
        _refuse_wide(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(data, error.start)
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} of the document; {_CURE}"
        raise Unreadable(message, line, column) from error
    return text.removeprefix("\ufeff")


def _refuse_wide(data: bytes) -> None:
    for mark, name in _WIDE:
        if data.startswith(mark):
            raise Unreadable(f"{name} text; {_CURE}", 1, 1)
    if b"\0" not in data:
        return
    # Without a mark, ASCII text in UTF-16 is NUL in every second byte.
    if len(data) <= 4 * data.count(b"\0"):
        raise Unreadable(f"UTF-16 or binary data (every other byte is NUL); {_CURE}", 1, 1)
    line, column = _place(data, data.index(b"\0"))
    raise Unreadable("a NUL byte; this is a binary file, or the byte has to be removed", line, column)


def _place(data: bytes, offset: int) -> tuple[int, int]:
    before = data[:offset]
    starts = [match.end() for match in re.finditer(_BREAK, before)]
    last = starts[-1] if starts else 0
    return len(starts) + 1, len(before[last:].decode("utf-8", "replace")) + 1
