"""Where a document's values and keys stand in their file, and what is written there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.manifest.reading import is_json, span_at, tree
from webhook.manifest.values import Document, Node, Span
from webhook.model import Path

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+(?:\s++(?:#[^\r\n]*+\s*+)*+|(?=[,\]}])|\Z))++")
_HEADER = re.compile(r"(?:[&!][^\s]*+\s++)*+[|>][-+0-9]*+([^\r\n]*+)")
_COMMENT = re.compile(r"#[^\r\n]*")


def span(document: Document, path: Path, *, key: bool = False) -> Span:
    """The place of the value at `path`, or of its key. What is not written out stands at its nearest
    written ancestor: at that one's key, or at its first key where it has none (the root, a list's item).
    """
    return span_at(document.line, document.column, document.text, *_offsets(document, path, key=key))


def written(document: Document, path: Path) -> str:
    """The value at `path` as its author wrote it, quotes and all; of a missing value, the key it hangs on."""
    start, end = _offsets(document, path, key=False)
    return document.text[start:end]


def comments(document: Document) -> Iterator[tuple[int, int, str]]:
    """Line and column in the file, and text from `#` on, of each comment. JSON has none."""
    text = document.text
    if is_json(text):
        return
    for start, end in _gaps(text):
        for match in _COMMENT.finditer(text, start, end):
            place = span_at(document.line, document.column, text, match.start(), match.end())
            yield place.line, place.column, match[0].rstrip()


def _offsets(document: Document, path: Path, *, key: bool) -> tuple[int, int]:
    found = tree(document.text)
    if found is None:
        return 0, 0
    node, at = found.node, None
    for step in path:
        inside = node[2]
        if isinstance(inside, dict) and isinstance(step, str) and step in inside:
            at, node = inside[step]
        elif isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
            at, node = None, inside[step]
        else:
            return _heading(document.text, node, at)
    return _heading(document.text, node, at) if key else _bounds(document.text, node)


def _heading(text: str, node: Node, at: tuple[int, int] | None) -> tuple[int, int]:
    """A value's key; where it has none, the first key written inside it, or else the value itself."""
    while at is None:
        start, end, inside = node
        if not inside:
            break
        if isinstance(inside, list):
            node = inside[0]
            continue
        own = [where for where, _value in inside.values() if start <= where[0] < end]  # merged ones stand elsewhere
        if not own:
            break
        at = min(own)
    return _bounds(text, (*at, None) if at else node)


def _bounds(text: str, node: Node) -> tuple[int, int]:
    """Without the anchor and the tag before a value, and without the blank lines after a block scalar."""
    start, end, _inside = node
    if text[start : start + 1] in {"&", "!"}:
        properties = _PROPERTIES.match(text, start, end)
        start = properties.end() if properties else start
    return start, start + len(text[start:end].rstrip(" \t\r\n"))


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """What stands between the scalars of a YAML text: there, every `#` begins a comment."""
    from webhook.manifest import exact

    last = 0
    for start, end, style in exact.scalar_places(text):
        yield last, start
        last = end
        header = _HEADER.match(text, start) if style in {"|", ">"} else None
        if header:  # a comment may follow the indicator
            yield header.span(1)
    yield last, len(text)
