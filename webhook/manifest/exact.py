"""YAML to data and places, over libyaml's events; PyYAML's own parser where libyaml is missing.

Events carry the offsets of every scalar and bracket, and nothing of PyYAML's own composer, resolver and
constructor is used: they resolve otherwise than Kubernetes does, and cost twice the parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from webhook.errors import Unreadable
from webhook.manifest import scalars
from webhook.manifest.faults import explain, fault
from webhook.manifest.values import Tree
from webhook.model import Path

DEPTH = 200
"""Collections inside each other. Real manifests have less than 60; everything that walks stays shallow."""
EXPANDED = 1_000_000
"""How many values aliases may add, in the spirit of go-yaml's check for excessive aliasing."""

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CONTROL = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # YAML 1.1, c-printable
_MERGE_TAG = "tag:yaml.org,2002:merge"
_OPEN: Any = object()
_NO_KEY: Any = object()
_MERGE: Any = object()
_NOTHING: Any = object()


class NonScalarKey(Unreadable):
    """A mapping or a list as a key: legal in YAML, never in Kubernetes, usual in a template."""


def build(text: str) -> Tree | None:
    """The value of the one document in `text` and where each part stands; None where there is none.

    Raises Unreadable with lines counted from 1.
    """
    bad = _CONTROL.search(text)
    if bad:
        message = f"a control character (U+{ord(bad[0]):04X}); remove it, or write it as an escape in double quotes"
        raise fault(text, message, bad.start())
    try:
        return _build(text, _events(text))
    except yaml.YAMLError as error:
        raise explain(text, error) from error


def scalar_places(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Start, end and style of each scalar, in the order of the text, which `build` has read before."""
    for event in _events(text):
        if type(event).__name__ == "ScalarEvent":
            yield event.start_mark.index, event.end_mark.index, event.style


def _events(text: str) -> Any:  # noqa: ANN401 - an iterator of events, whose marks the stubs take for optional
    return iter(LOADER(text).get_event, None)


def _build(text: str, events: Iterator[Any]) -> Tree | None:  # noqa: C901, PLR0912, PLR0915
    """One loop with its state in locals: it runs for every value of every document, calls would double it."""
    numeric, words = scalars.NUMERIC, scalars.WORDS
    anchors: dict[str, Any] = {}
    twice: list[tuple[Path, tuple[int, int], tuple[int, int]]] = []
    stack: list[Any] = []
    root: Any = _NOTHING
    # The open collection: its value, its places, the key that waits for a value and where it stands, what
    # merging brought in, how high it is, where it starts, its anchor, and the counter when it began.
    held: Any = None
    places: Any = None
    is_map = False
    key = _NO_KEY
    key_at: Any = None
    merged: Any = None
    high = begin = before = 0
    anchor: Any = None
    count = extra = end = 0
    for event in events:
        kind = type(event)
        if kind is ScalarEvent:
            count += 1
            start = event.start_mark.index
            end = event.end_mark.index
            value = event.value
            if event.tag is not None:
                asks = is_map and key is _NO_KEY and event.tag == _MERGE_TAG and value == "<<"
                value = _MERGE if asks else _tagged(text, event)
            elif event.implicit[0]:
                if is_map and key is _NO_KEY and value == "<<":
                    value = _MERGE
                elif value[:1] in numeric:
                    value = scalars.number(value)
                else:
                    value = words.get(value, value)
            node: Any = (start, end, None)
            if event.anchor is not None:
                anchors[event.anchor] = ("<<" if value is _MERGE else value, node, 1, 0)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(stack) >= DEPTH:
                raise fault(text, f"more than {DEPTH} collections inside each other", event.start_mark.index)
            count += 1
            stack.append((held, places, is_map, key, key_at, merged, high, begin, before, anchor))
            is_map = kind is MappingStartEvent
            held, places = ({}, {}) if is_map else ([], [])
            key, merged, high, begin, before, anchor = (
                _NO_KEY,
                None,
                1,
                event.start_mark.index,
                count,
                event.anchor,
            )
            if anchor is not None:
                anchors[anchor] = _OPEN
            end = event.end_mark.index
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            # A block collection's end event stands at the next token, after blank lines and comments.
            if event.end_mark.index != event.start_mark.index:
                end = event.end_mark.index
            value, node, tall, start = held, (begin, end, places), high, begin
            if anchor is not None:
                anchors[anchor] = (value, node, count - before + 1, tall)
            held, places, is_map, key, key_at, merged, high, begin, before, anchor = stack.pop()
            high = max(high, tall + 1)
        elif kind is AliasEvent:
            start, end = event.start_mark.index, event.end_mark.index
            value, node, size, tall = _anchored(text, anchors, event)
            count += size
            extra += size
            if extra > EXPANDED or len(stack) + tall > DEPTH:
                raise fault(text, "aliases that unfold into too many values; write the values out", start)
            high = max(high, tall + 1)
        elif kind is DocumentStartEvent and root is not _NOTHING:
            message = "a second document begins inside this one; begin its '---' on a line of its own"
            raise fault(text, message, event.start_mark.index)
        else:
            continue

        if not stack:
            root = (value, node)
        elif not is_map:
            held.append(value)
            places.append(node)
        elif key is _NO_KEY:
            key = value if type(value) is str or value is _MERGE else _key(text, value, start)
            key_at = (start, end)
        elif key is _MERGE:
            merged = _merge(text, held, places, (value, node, start), merged)
            key = _NO_KEY
        else:
            if key in held and not (merged and key in merged):
                twice.append((_path(stack, key), places[key][0], key_at))
            held[key] = value
            places[key] = (key_at, node)
            key = _NO_KEY
    if root is _NOTHING or (root[0] is None and root[1][0] == root[1][1]):
        return None
    return Tree(root[0], root[1], tuple(twice))


def _tagged(text: str, event: Any) -> object:  # noqa: ANN401 - marks are never missing here
    try:
        return scalars.tagged(event.tag, event.value)
    except scalars.Misfit as error:
        raise fault(text, str(error), event.start_mark.index) from error


def _key(text: str, value: object, start: int) -> str:
    if isinstance(value, dict | list):
        line_column = fault(text, "", start)
        message = "a mapping or a list as a key; Kubernetes needs text there: quote it, or it is an unrendered template"
        raise NonScalarKey(message, line_column.line, line_column.column)
    try:
        return scalars.key(value)
    except scalars.Misfit as error:
        raise fault(text, str(error), start) from error


def _anchored(text: str, anchors: dict[str, Any], event: Any) -> Any:  # noqa: ANN401 - an entry of `anchors`
    found = anchors.get(event.anchor)
    if found is None:
        message = f"*{event.anchor} names no anchor above it; define &{event.anchor} first, or quote the value"
        raise fault(text, message, event.start_mark.index)
    if found is _OPEN:
        message = f"&{event.anchor} contains itself; an alias cannot stand inside its own anchor"
        raise fault(text, message, event.start_mark.index)
    return found


def _merge(
    text: str,
    held: dict[str, object],
    places: dict[str, Any],
    source: tuple[Any, Any, int],
    merged: set[str] | None,
) -> set[str]:
    """Go-yaml v2 merges where `<<` stands: what is written later wins, in either direction (decode.go `merge`)."""
    value, node, start = source
    sources = list(zip(value, node[2], strict=True)) if isinstance(value, list) else [(value, node)]
    if not all(isinstance(item, dict) for item, _node in sources):
        raise fault(text, "'<<' merges a mapping or a list of mappings, and this is neither", start)
    names = merged or set()
    for item, at in reversed(sources):
        held.update(item)
        places.update(at[2])
        names.update(item)
    return names


def _path(stack: list[Any], key: str) -> Path:
    """Where the open collection's entry `key` stands, from the keys that wait on the stack."""
    steps: list[str | int] = []
    for parent, _places, is_map, waiting, *_rest in stack[1:]:
        if is_map:
            steps.append(waiting if isinstance(waiting, str) else "<<")
        else:
            steps.append(len(parent))
    return (*steps, key)
