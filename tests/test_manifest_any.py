"""Any bytes: an answer or a named failure, with libyaml and without it."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from test_manifest_quick import KNOWN, PODS, TEXTS, UNKNOWN

from webhook.errors import Unreadable
from webhook.manifest import (
    Chunk,
    Document,
    Templated,
    comments,
    cut,
    exact,
    jsontext,
    read,
    reading,
    scalars,
    span,
    written,
)

BYTES = st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))


def outcome(chunk: Chunk) -> tuple[Document, ...] | Unreadable | Templated:
    try:
        return read(chunk)
    except (Unreadable, Templated) as error:
        return error


def everything(data: bytes) -> None:
    for chunk in cut([data]):
        found = outcome(chunk)
        if isinstance(found, Unreadable | Templated):
            assert found.line is not None
            assert found.line >= chunk.line
            assert str(found)
            continue
        for document in found:
            span(document, ("kind",))
            written(document, ("metadata", 0))
            assert all(text.startswith("#") for _line, _column, text in comments(document))
            json.dumps(document.data).encode()


@settings(max_examples=500, deadline=None)
@given(BYTES)
def test_any_bytes(data: bytes) -> None:
    everything(data)


@settings(max_examples=100, deadline=None)
@given(BYTES)
def test_any_bytes_without_libyaml(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "LOADER", yaml.SafeLoader)
        reading.tree.cache_clear()
        everything(data)
    reading.tree.cache_clear()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(JSON.filter(lambda value: isinstance(value, dict | list)), st.booleans())
def test_any_json(value: object, ascii_only: bool) -> None:  # noqa: FBT001
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    (document,) = read(Chunk(data, 1))
    assert json.dumps(document.data, sort_keys=True) == json.dumps(
        json.loads(json.dumps(value).encode("utf-8").decode()), sort_keys=True
    ) or "\\ud" in json.dumps(value)
    assert jsontext.scan(text).data == document.data


def test_a_scan_of_no_json() -> None:
    with pytest.raises(jsontext.NotJson):
        jsontext.scan("[1,")


@pytest.mark.parametrize("text", [*KNOWN, *UNKNOWN, *PODS[:20]])
def test_both_parsers_say_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def built() -> tuple[object, object] | None:
        try:
            tree = exact.build(text)
        except Unreadable:
            return None  # they find the same fault, now and then at its other end
        return (tree.data, None if text in UNKNOWN else tree.node) if tree else ("empty", None)

    first = built()
    monkeypatch.setattr(exact, "LOADER", yaml.SafeLoader)
    if "\t" not in text:  # PyYAML's own parser takes no tab before a value
        assert repr(built()) == repr(first)


@settings(deadline=None)
@given(st.text(alphabet="0123456789+-._eExXoObBaf~nyNY", max_size=8))
def test_every_plain_scalar_has_a_value(text: str) -> None:
    value = scalars.plain(text)
    assert value is None or isinstance(value, str | int | float)
    if isinstance(value, str):
        assert value == text
