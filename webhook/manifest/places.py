"""Where a document's values and keys stand in their file, and what is written there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.errors import Unreadable
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
    """Line and column in the file, and text from `#` on, of each comment. JSON has none. Comments in a scheduler's or
    HAMi's configuration that stands in a block scalar (of a ConfigMap, an Application) are comments too."""
    text = document.text
    if is_json(text):
        return
    for start, end in sorted((*_gaps(text), *_configurations(text))):
        for match in _COMMENT.finditer(text, start, end):
            place = span_at(document.line, document.column, text, match.start(), match.end())
            yield place.line, place.column, match[0].rstrip()


def _offsets(document: Document, path: Path, *, key: bool) -> tuple[int, int]:
    return _within(document.text, path, key=key)


def _within(text: str, path: Path, *, key: bool) -> tuple[int, int]:
    """Where a path leads in a text. It may go on inside a text value, which is then read as a document of its own."""
    found = tree(text)
    if found is None:
        return 0, 0
    node, at, value = found.node, None, found.data
    for count, step in enumerate(path):
        inside = node[2]
        if isinstance(inside, dict) and isinstance(step, str) and step in inside:
            at, node = inside[step]
            value = value[step] if isinstance(value, dict) else None
        elif isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
            at, node = None, inside[step]
            value = value[step] if isinstance(value, list) else None
        else:
            deeper = _inside(text, node, value, path[count:], key=key) if isinstance(value, str) else None
            return deeper or _heading(text, node, at)
    return _heading(text, node, at) if key else _bounds(text, node)


def _inside(text: str, node: Node, value: str, path: Path, *, key: bool) -> tuple[int, int] | None:
    """The place of a path inside a scalar's text; None where that cannot be read or told."""
    from webhook.manifest import cutting, inner

    start, end = _bounds(text, node)
    places = inner.offsets(text, start, node[1], value) or inner.offsets(text, start, end, value)
    value = cutting.first(value)
    try:
        found = tree(value)
    except Unreadable:
        return None
    if places is None or found is None or found.node[2] is None:
        return None  # a text that is one value holds no others
    first, last = _within(value, path, key=key)
    return places[first], places[last]


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


_CONFIGURATION = re.compile(r"KubeSchedulerConfiguration|resourceCountName|\bscheduler:|\bdevicePlugin:")


def _configurations(text: str) -> Iterator[tuple[int, int]]:
    """Block scalars that hold a configuration which is looked into, or values of HAMi's chart."""
    from webhook.manifest import exact

    for start, end, style in exact.scalar_places(text):
        if style in {"|", ">"} and _CONFIGURATION.search(text, start, end):
            header = _HEADER.match(text, start)
            yield (header.end() if header else start), end


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
