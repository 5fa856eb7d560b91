"""Where values, keys and comments stand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from webhook.manifest import Chunk, Document, Span, comments, read, span, written
from webhook.model import Path

TEXT = """\
# gangcheck: note
kind: Pod  # here
metadata: {name: w-0, labels: {gpu: on}}
spec:
  containers:
  - name: "main"
    args:
      - -c
      - |  # header
        echo # no comment

    # between
    limits: &l
      gpu: 0x1F
  - name: 'side'
    limits: *l
    extra: !!str
      12
    empty:
    text: >-
      folded

# after
end:
- 1
"""


def only(text: str, line: int = 1) -> Document:
    (document,) = read(Chunk(text.encode(), line))
    return document


def at(document: Document, path: Path, *, key: bool = False) -> tuple[int, int, int, int]:
    found = span(document, path, key=key)
    return found.line, found.column, found.end_line, found.end_column


VALUES: dict[Path, tuple[tuple[int, int, int, int], str]] = {
    ("kind",): ((2, 7, 2, 10), "Pod"),
    ("metadata",): ((3, 11, 3, 41), "{name: w-0, labels: {gpu: on}}"),
    ("metadata", "labels", "gpu"): ((3, 37, 3, 39), "on"),
    ("spec", "containers", 0, "name"): ((6, 11, 6, 17), '"main"'),
    ("spec", "containers", 0, "args"): ((8, 7, 10, 26), "- -c\n      - |  # header\n        echo # no comment"),
    ("spec", "containers", 0, "args", 0): ((8, 9, 8, 11), "-c"),
    ("spec", "containers", 0, "args", 1): ((9, 9, 10, 26), "|  # header\n        echo # no comment"),
    ("spec", "containers", 0, "limits"): ((14, 7, 14, 16), "gpu: 0x1F"),
    ("spec", "containers", 0, "limits", "gpu"): ((14, 12, 14, 16), "0x1F"),
    ("spec", "containers", 1, "name"): ((15, 11, 15, 17), "'side'"),
    ("spec", "containers", 1, "limits", "gpu"): ((14, 12, 14, 16), "0x1F"),  # through the alias
    ("spec", "containers", 1, "extra"): ((18, 7, 18, 9), "12"),
    ("spec", "containers", 1, "empty"): ((19, 11, 19, 11), ""),
    ("spec", "containers", 1, "text"): ((20, 11, 21, 13), ">-\n      folded"),
    ("spec", "containers", 1): ((15, 5, 21, 13), TEXT[TEXT.index("name: 'side'") : TEXT.index("\n\n# after")]),
    ("end",): ((25, 1, 25, 4), "- 1"),
}

KEYS: dict[Path, tuple[int, int, int, int]] = {
    (): (2, 1, 2, 5),
    ("kind",): (2, 1, 2, 5),
    ("metadata", "labels"): (3, 23, 3, 29),
    ("spec", "containers", 0): (6, 5, 6, 9),
    ("spec", "containers", 0, "args", 0): (8, 9, 8, 11),
    ("spec", "containers", 1, "limits"): (16, 5, 16, 11),
    ("spec", "containers", 1, "limits", "gpu"): (14, 7, 14, 10),
}

MISSING: dict[Path, tuple[int, int, int, int]] = {
    ("nothing",): (2, 1, 2, 5),
    ("nothing", "below", 3): (2, 1, 2, 5),
    ("spec", "nodeName"): (4, 1, 4, 5),
    ("spec", "containers", 9): (5, 3, 5, 13),
    ("spec", "containers", 0, "image"): (6, 5, 6, 9),
    ("metadata", "labels", "other"): (3, 23, 3, 29),
    ("metadata", 0): (3, 1, 3, 9),
    ("kind", "x"): (2, 1, 2, 5),
    ("end", 0, "x"): (25, 3, 25, 4),
    ("end", "x"): (24, 1, 24, 4),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_values_keys_and_what_is_missing(newline: str) -> None:
    document = only(TEXT.replace("\n", newline), 1)
    for path, (place, text) in VALUES.items():
        assert at(document, path) == place, path
        assert written(document, path).replace(newline, "\n") == text
    for path, place in KEYS.items():
        assert at(document, path, key=True) == place, path
    for path, place in MISSING.items():
        assert at(document, path) == place, path
        assert at(document, path, key=True) == place, path


def test_lines_are_the_files() -> None:
    assert span(only("\ufeffa: 1\n", 40), ("a",)) == Span(40, 4, 40, 5)
    assert span(only("...\n---\na: 1\n", 40), ("a",)) == Span(42, 4, 42, 5)


def test_columns_are_characters() -> None:
    assert span(only("{ä: '\U0001f600', b: 1}\n"), ("b",)) == Span(1, 13, 1, 14)


def test_merged_entries_stand_where_they_are_written() -> None:
    document = only("a: &a {q: 1}\nb: {<<: *a, r: 2}\nc:\n  <<: *a\n")
    assert at(document, ("b", "q"), key=True) == (1, 8, 1, 9)
    assert at(document, ("b", "r")) == (2, 16, 2, 17)
    assert at(document, ("c", "q")) == (1, 11, 1, 12)
    assert at(document, ("c", "x")) == (3, 1, 3, 2)
    assert at(only("- &a {q: 1}\n- <<: *a\n"), (1, "z")) == (2, 3, 2, 9)


def test_the_last_of_two_keys_counts() -> None:
    document = only("b: 0\na: 1\na: 2\n")
    assert at(document, ("a",)) == (3, 4, 3, 5)
    assert at(document, ("x",)) == (1, 1, 1, 2)


def test_roots_that_are_no_mapping() -> None:
    assert at(only("- [a, b]\n- c: 1\n"), ("x",)) == (1, 4, 1, 5)
    assert at(only("[]\n"), (0,)) == (1, 1, 1, 3)
    assert at(only("--- text # c\n"), ("x",)) == (1, 5, 1, 9)
    assert at(Document("", 3, None), ("x",)) == (3, 1, 3, 1)


def test_properties_are_not_the_value() -> None:
    document = only("a: &x !!str # why\n  1\nb: !!str\nc: [!!str , &y 2]\n")
    assert written(document, ("a",)) == "1"
    assert written(document, ("b",)) == ""
    assert written(document, ("c", 0)) == ""
    assert written(document, ("c", 1)) == "2"


JSON = '[]\n{"kind": "Pod",\r\n "a\\u0062": [1, {"x": "\\ud83d\\ude00\\/"}],\n "e": {}} {"z": [true]}'


def test_json_is_placed() -> None:
    _, document, last = read(Chunk(JSON.encode(), 10))
    assert document.data == {"kind": "Pod", "ab": [1, {"x": "\U0001f600/"}], "e": {}}
    assert at(document, ("kind",)) == (11, 10, 11, 15)
    assert at(document, ("ab",), key=True) == (12, 2, 12, 11)
    assert at(document, ("ab", 1)) == (12, 17, 12, 40)
    assert written(document, ("ab", 1, "x")) == '"\\ud83d\\ude00\\/"'
    assert at(document, ("e", "none")) == (13, 2, 13, 5)
    assert at(last, ("z", 0)) == (13, 18, 13, 22)
    assert at(last, ("none",)) == (13, 12, 13, 15)
    assert list(comments(document)) == []


def test_flow_yaml_is_no_json() -> None:
    document = only("{a: on, # c\n b: [x]}\n")
    assert written(document, ("a",)) == "on"
    assert list(comments(document)) == [(1, 9, "# c")]


def found_comments(text: str) -> Iterator[tuple[int, int, str]]:
    return comments(only(text, 5))


def test_comments() -> None:
    assert list(comments(only(TEXT))) == [
        (1, 1, "# gangcheck: note"),
        (2, 12, "# here"),
        (9, 12, "# header"),
        (12, 5, "# between"),
        (23, 1, "# after"),
    ]
    assert list(found_comments("a: 'x # y'  # 'z'  \nb: x#y # z#\nc: &a |- # h\n  # t\nd: \"#\"\n#e")) == [
        (5, 13, "# 'z'"),
        (6, 8, "# z#"),
        (7, 10, "# h"),
        (10, 1, "#e"),
    ]
    assert list(found_comments("%YAML 1.1 # d\n---\na: &x [ # f\n 1]\nb: *x # a\n")) == [
        (5, 11, "# d"),
        (7, 9, "# f"),
        (9, 7, "# a"),
    ]
