"""A stream of bytes to documents, without parsing: a `---` at column 0 always ends a YAML document.

YAML 1.2.2, 9.1.2 and 9.1.3: document markers are recognised in every context, quoted text and block
scalars included. JSON cannot hold one at the start of a line, since its strings hold no line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from webhook.manifest.values import Chunk

LIMIT = 64 * 1024 * 1024
"""A larger document is refused: the API server takes 3 MiB, and nothing that large is written by hand."""

_BOM = b"\xef\xbb\xbf"
_REACH = 8
"""A marker with what tells it: line break, BOM, three characters, and the byte that follows."""
_WINDOW = 4096
"""How far before a marker its directives are looked for; keeps the search linear on hostile text."""

_MARKER = rb"[\r\n](?:\xef\xbb\xbf)?(---|\.\.\.)(?=[ \t\r\n]|\Z)"
_LF_MARKER = rb"\n(?:\xef\xbb\xbf)?(---|\.\.\.)(?=[ \t\r\n]|\Z)"
_PROLOGUE = rb"(?:\.\.\.[^\r\n]*+[\r\n]++)?+(?:\xef\xbb\xbf)?(?:[ \t]*+(?:[#%][^\r\n]*+)?+[\r\n]++)*+\Z"
_DIRECTIVES = rb"[\r\n](%(?:YAML|TAG)[ \t][^\r\n]*+[\r\n]++(?:[ \t]*+(?:[#%][^\r\n]*+)?+[\r\n]++)*+)\Z"

_HIDING = rb"\\[xuU/\r\n]|![A-Za-z0-9-]*!|!<|%TAG"
_MARKS = (b"{{", b"{%", b"{#", b"\0")


def cut(blocks: Iterable[bytes]) -> Iterator[Chunk]:
    """Documents of a stream that comes in blocks of any size; only the largest document is held."""
    line, moved, before = 1, 0, b""
    for piece, breaks, marker in _pieces(blocks):
        text = before + piece if before else piece
        own = len(text) if marker != b"---" else _own(text)
        before = text[own:]
        if own:
            yield Chunk((text[:own] if before else text).removeprefix(_BOM), line)
        line += moved + breaks
        moved = _breaks(before) if before else 0
        line -= moved


def first(text: str) -> str:
    """A text up to the end of its first document: a reader of one document looks no further (go.yaml.in/yaml/v2
    Unmarshal, by which kube-scheduler reads its configuration)."""
    if "\n---" not in text and "\n..." not in text:
        return text
    chunk = next(cut([text.encode("utf-8", "replace")]), None)
    return text[: len(chunk.data.decode())] if chunk and text[0] != "\ufeff" else text


def concerns(chunk: Chunk, words: Sequence[bytes]) -> bool:
    """Whether one of `words` may occur in what the document says, also if an escape or a tag hides it."""
    data = chunk.data
    if any(word in data for word in words) or len(data) > LIMIT:
        return True
    if any(mark in data for mark in _MARKS) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return (b"\\" in data or b"!" in data or b"%" in data) and re.search(_HIDING, data) is not None


def _own(text: bytes) -> int:
    """How much of `text` is no prologue (comments, directives) of the document whose `---` follows it."""
    if text[:3] != b"---" and re.match(_PROLOGUE, text):
        return 0
    if b"%" not in text:
        return len(text)
    end = text[-_WINDOW:]
    found = re.search(_DIRECTIVES, end)
    return len(text) - len(end) + found.start(1) if found else len(text)


def _pieces(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int, bytes]]:
    """Text up to each marker, its line breaks, and the marker that ends it (empty at the end)."""
    parts: list[bytes] = []
    size = breaks = 0
    last = b""
    for data, start, end, marker in _slices(blocks):
        part = data[start:end]
        breaks += _breaks(part) - (last == b"\r" and part[:1] == b"\n")
        last = part[-1:] or last
        if size <= LIMIT:
            parts.append(part[: LIMIT + 1 - size])  # one byte over tells `read` that it was too much
            size += len(parts[-1])
        if marker is None:
            continue
        yield parts[0] if len(parts) == 1 else b"".join(parts), breaks, marker
        parts, size, breaks, last = [], 0, 0, b""


def _slices(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, bytes | None]]:
    """Each block's slices (block, start, end), cut at markers; a slice that no marker ends has None.

    What could be the beginning of a marker waits for the next block, so nothing is searched twice.
    """
    data = b""
    for block in blocks:
        data = data + block if data else block
        last = len(data) - _REACH  # a line break beyond it may begin a marker that is not told yet
        start = 0
        for match in _markers(data):
            if match.start() > last:
                break
            yield data, start, match.start() + 1, match[1]
            start = match.start() + 1
        if last >= start:
            yield data, start, last + 1, None
            start = last + 1
        data = data[start:]
    start = 0
    for match in _markers(data):
        yield data, start, match.start() + 1, match[1]
        start = match.start() + 1
    yield data, start, len(data), b""


def _markers(data: bytes) -> Iterator[re.Match[bytes]]:
    return re.finditer(_MARKER if b"\r" in data else _LF_MARKER, data)


def _breaks(data: bytes) -> int:
    count = data.count(b"\n")
    return count + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else count
