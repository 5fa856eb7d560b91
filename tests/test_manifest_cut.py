"""Cutting a stream into documents, and asking whether one concerns us."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.errors import Unreadable
from webhook.manifest import LIMIT, Chunk, concerns, cut, read

MARKS = [
    b"---",
    b"...",
    b"\n",
    b"\r\n",
    b"\r",
    b"a: 1",
    b" ",
    b"#c",
    b"%YAML 1.1",
    b"%TAG ! !x",
    b"-",
    b".",
    b"\xef\xbb\xbf",
]
STREAM = st.lists(st.sampled_from(MARKS) | st.binary(max_size=3), max_size=30).map(b"".join)


def pieces(data: bytes) -> list[tuple[int, bytes]]:
    return [(chunk.line, chunk.data) for chunk in cut([data])]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a: 1\n", [(1, b"a: 1\n")]),
        (b"a: 1\n---\nb: 2\n", [(1, b"a: 1\n"), (2, b"---\nb: 2\n")]),
        (b"---\na: 1\n---\n", [(1, b"---\na: 1\n"), (3, b"---\n")]),
        (b"a\r\n---\r\nb\r\n--- c", [(1, b"a\r\n"), (2, b"---\r\nb\r\n"), (4, b"--- c")]),
        (b"a\r---\rb\r---", [(1, b"a\r"), (2, b"---\rb\r"), (4, b"---")]),
        (b"a\n---x\n --- y\n", [(1, b"a\n---x\n --- y\n")]),
        (b"a: 1\n...\nb: 2\n", [(1, b"a: 1\n"), (2, b"...\nb: 2\n")]),
        (b"\xef\xbb\xbfa: 1\n\xef\xbb\xbf---\nb: 2\n", [(1, b"a: 1\n"), (2, b"---\nb: 2\n")]),
        (b"# note\n\n---\na: 1\n", [(1, b"# note\n\n---\na: 1\n")]),
        (b"%YAML 1.1\n---\na: 1\n", [(1, b"%YAML 1.1\n---\na: 1\n")]),
        (b"a: 1\n%YAML 1.1\n# x\n---\nb: 2\n", [(1, b"a: 1\n"), (2, b"%YAML 1.1\n# x\n---\nb: 2\n")]),
        (b"a: 1\n...\n%YAML 1.1\n---\nb: 2\n", [(1, b"a: 1\n"), (2, b"...\n%YAML 1.1\n---\nb: 2\n")]),
        (b"a: 100%\n---\nb\n", [(1, b"a: 100%\n"), (2, b"---\nb\n")]),
        (b"%TAG ! x\n---\na\n%TAG ! y\n---\nb", [(1, b"%TAG ! x\n---\na\n"), (4, b"%TAG ! y\n---\nb")]),
    ],
)
def test_cuts_at_markers(data: bytes, expected: list[tuple[int, bytes]]) -> None:
    assert pieces(data) == expected


@settings(deadline=None)
@given(STREAM, st.lists(st.integers(0, 9), max_size=20))
def test_blocks_do_not_matter(data: bytes, sizes: list[int]) -> None:
    blocks, at = [], 0
    for size in sizes:
        blocks.append(data[at : at + size])
        at += size
    blocks.append(data[at:])
    assert list(cut(blocks)) == list(cut([data]))
    assert list(cut([bytes([byte]) for byte in data])) == list(cut([data]))


@settings(deadline=None)
@given(STREAM)
def test_chunks_cover_the_stream_and_count_its_lines(data: bytes) -> None:
    mark = b"\xef\xbb\xbf"
    data = data.replace(mark, b"")
    chunks = list(cut([data]))
    assert b"".join(chunk.data for chunk in chunks) == data
    before = b""
    for chunk in chunks:
        assert chunk.line == len(_lines(before))
        before += chunk.data


def _lines(data: bytes) -> list[bytes]:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def test_a_document_over_the_limit_is_cut_short_and_refused() -> None:
    block = b"x: " + b"a" * (1 << 20) + b"\r"

    def stream() -> Iterator[bytes]:
        yield b"a: 1\n---\n"
        for _ in range(70):
            yield block
            yield b"\n"
        yield b"---\nb: 2\n"

    first, large, last = cut(stream())
    assert first.data == b"a: 1\n"
    assert (large.line, len(large.data)) == (2, LIMIT + 1)
    assert (last.line, last.data) == (73, b"---\nb: 2\n")
    assert concerns(large, [b"no such word"])
    with pytest.raises(Unreadable, match="more than 64 MiB"):
        read(large)


def test_one_long_line_is_searched_once() -> None:
    blocks = [b"a" * 65536] * 800  # 50 MB: a search that starts over for each block would take minutes
    assert [len(chunk.data) for chunk in cut(blocks)] == [65536 * 800]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"kind: Service\n", False),
        (b"spec: {schedulerName: x}\n", True),
        (b'"scheduler\\u004eame": x\n', True),
        (b'"scheduler\\x4eame": x\n', True),
        (b'"scheduler\\U0000004eame": x\n', True),
        (b'"scheduler\\\nName": x\n', True),
        (b'"scheduler\\\r\nName": x\n', True),
        (b'"a\\/b": x\n', True),
        (b"!!binary c2NoZWR1bGVyTmFtZQ==: x\n", True),
        (b"!<tag:yaml.org,2002:binary> eA==: x\n", True),
        (b"%TAG ! tag:yaml.org,2002:\n---\n!binary eA==: x\n", True),
        (b"name: {{ x }}\n", True),
        (b"{% if x %}\n", True),
        (b"{# x #}\n", True),
        (b"a\0b", True),
        (b"\xff\xfea", True),
        (b"run: |\n  #!/bin/sh\n  echo -e 'a\\tb' != 100%\n", False),
    ],
)
def test_concerns(data: bytes, expected: bool) -> None:  # noqa: FBT001
    assert concerns(Chunk(data, 1), [b"schedulerName", b"pod-group"]) is expected
