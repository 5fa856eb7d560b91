"""The quick reader gives what the exact one gives, or gives up."""

from __future__ import annotations

import importlib.util
from pathlib import Path as File

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from webhook.errors import Unreadable
from webhook.manifest import Chunk, Document, Templated, cut, exact, flow, quick, read, span, written
from webhook.model import Path


def generated(count: int) -> str:
    where = File(__file__).parent / "bench" / "reading.py"
    spec = importlib.util.spec_from_file_location("reading", where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.pods(count)
    assert isinstance(text, str)
    return text


PODS = [chunk.data.decode() for chunk in cut([generated(120).encode()])]

KNOWN = [
    "a: 1",
    "a: b\n",
    "# c\n\n---\na: b # c\n",
    "--- # c\na:\n  b: c\n  d:\n  - e\n  - f: g\n    h: i\n  -   j: k\n      l: m\np: o\n",
    "a:\n- b\n- c: d\n  e:\n  - f\ng: h\n",
    "- a: b\n  c: d\n- e\n- 'f'\n",
    "a: yes\nb: ~\nc: 0x1F\nd: 1.5\ne: -1\nf: .5\ng: 2Gi\nh: '1'\ni: \"no\"\nj: +x\n",
    "a: x:y\nb: http://x/y#z\nc: a  b   \nd: a #b\ne: 'x' # c\nf: a#b\n",
    '"a b": 1\n\'c\': x # y\n"d": \'z\'\n"e":\n  f: g\n- h\n'.replace("- h\n", ""),
    "- \"a\": 1\n  'b': x\n",
    "a: []\nb: {}\nc: [x, \"y\", 'z z', 1, on, a:b, -c]\nd: {e: f, \"g\": 1, 'h': [i, {j: k}]}\n",
    "a: [ x , y ]  # c\nb: { c: [ ] }\n",
    "a: |\n  x\n   y\n\n  z\n\n\nb: |-\n    q # r\n# s\nc: d\n",
    "a:\n- |\n  x\n- |-   \n\n  y\n  z\n- b: |\n    c\n  d: e\n",
    "a: |\n  x\n     \n  y\n    \n",
    "a: | # c\n  x\n",
    "a: |\n  x",
    "a: |\n\n  x\n  y",
    "a: |-\n  x",
    "a: >\n  x\n  y",
    "a: >-\n  x",
    "a: >\n  b c\n  d \n\nb: >-\n  e\n  f\n",
    "a:\n  []\nb:\n  c:  # d\n    'e'\n",
    "a:\n  b c # d\ne: 1\n",
    'a: ["b","c", -d, --e=f,1]\nb: {c: d,e: f}\n',
    "a: 1\r\nb: |\r\n  x\r\n",
    "a:\nb:   \nc: # d\n",
    "a:\n# x\n  # y\n  b: c\n",
    "a: значение \xa0 x\n",
]

UNKNOWN = [
    "",
    "# c\n",
    "a",
    "a b\n",
    "a: b\n  c\n",
    "a: 'b\n  c'\n",
    "a: &x b\n",
    "a: *x\n",
    "a: !!str b\n",
    "<<: {a: b}\n",
    "a:\tb\n",
    'a: "\\n"\n',
    "a: 'it''s'\n",
    "? a\n",
    "a: 1\na: 2\n",
    "a:\na:\n",
    "on: 1\n",
    "a: {b: 1, b: 2}\n",
    "a: {on: 1}\n",
    "a: {b: }\n",
    "a: {b}\n",
    "a: [b, ]\n",
    "a: [b c: d]\n",
    "a: [b] c\n",
    "a: [b\n",
    "a: [b}\n",
    "a: [b: c]\n",
    "a: {b: c: d}\n",
    "a: {[b]: c}\n",
    "a: [a]]\n",
    "a: [[a], b]]\n",
    "a: [[a][b]]\n",
    "a: " + "[" * 30 + "]" * 30 + "\n",
    "a: |+\n  b\n",
    "a: |2\n  b\n",
    "a: }x\n",
    "a: [b],\n",
    "a: [b], \n",
    "a: >\n  b\n\n  c\n",
    "a: >\n  b\n   c\n",
    "a: >-\n  b\n  ",
    "a: >+\n  b\n",
    "a:\n  b\n  c\n",
    "a:\n  b\n  c: d\n",
    "a:\nb\n",
    "a:\n  |\n  b\n",
    "[a]\n",
    "ключ: 1\n",
    "a: |\nb: c\n",
    "a: |\n   \n  b\n",
    "a: |\n",
    "a: |\n  b\n ",
    "a: |\n    b\n  c: d\n",
    "a: b: c\n",
    "a: b:\n",
    "a: - b\n",
    "- - a\n",
    "-\n  a: b\n",
    "-   \n",
    "-a\n",
    "- a\nb: c\n",
    "a: 1\n- b\n",
    "a: 1\n  b: 2\n",
    "a: 1\n  - b\n",
    "a:\n    b: 1\n  c: 2\n",
    "a:\n    - b\n  - c\n",
    "  a: 1\nb: 2\n",
    "- a: 1\n   b: 2\n",
    "a: {{ x }}\n",
    "a: 1\r",
    "a: \x85\n",
    "a: \u2028\n",
    "a: \ufeffb\n",
    "%YAML 1.1\n---\na: b\n",
    "a: b\n---\nc: d\n",
    "1: 2\n",
    '"": 1\n',
    "k" * 600 + ": 1\n",
    '"' + "k" * 600 + '": 1\n',
    "a: @b\n",
    "".join(" " * level + "a:\n" for level in range(160)) + " " * 160 + "- x\n",
    "".join(" " * level + "a:\n" for level in range(151)) + " " * 150 + "- x\n",
]


def exactly(text: str) -> object:
    tree = exact.build(text)
    return None if tree is None else tree.data


@pytest.mark.parametrize("text", KNOWN)
def test_what_it_knows(text: str) -> None:
    value = quick.load(text)
    assert value is not quick.GIVE_UP
    assert repr(value) == repr(exactly(text))


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_it_leaves_alone(text: str) -> None:
    assert quick.load(text) is quick.GIVE_UP


def test_flow_collections_only() -> None:
    with pytest.raises(flow.Unknown):
        flow.load("")
    with pytest.raises(flow.Unknown):
        flow.load("a")


@pytest.mark.parametrize("text", PODS)
def test_generated_pods(text: str) -> None:
    assert repr(quick.load(text)) == repr(exactly(text))


BITS = [
    *(
        "a: b",
        "- a",
        "  ",
        "\n",
        "\n\n",
        ": ",
        " #",
        "#",
        "'",
        '"',
        "|",
        "|-",
        ">",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "- ",
        "-",
    ),
    *("&a ", "*a", "!!str ", "<<: ", "\t", "\\", "y", "on", "08", "0x1F", "1e3", "1_0", ".5", "~", "? ", "---", "..."),
    *("%", "@", "`", ":", ",", "é", "\u2028", "\x85", "\r\n", "\r", "\ufeff", "''", '""', "a:", "- - b", "<<", "\xa0"),
    *("key: |\n    text\n", "  - x: y", "\n  ", "\n- ", "\nb: ", "\n  c: ", "{{", "\x00"),
]
SNIPPETS = st.lists(st.sampled_from(BITS), max_size=14).map("".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A manifest with a few slips in it."""
    text = draw(st.sampled_from(PODS[:40] + KNOWN))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        drop = draw(st.integers(0, 3))
        text = text[:at] + draw(st.sampled_from(BITS)) + text[at + drop :]
    if draw(st.booleans()):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = " " * draw(st.integers(0, 7)) + lines[at].lstrip()
        text = "\n".join(lines)
    return text


TEXTS = SNIPPETS | mutated()


def agrees(text: str) -> None:
    value = quick.load(text)
    if value is quick.GIVE_UP:
        return
    tree = exact.build(text)
    assert tree is not None
    assert repr(tree.data) == repr(value)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
@example("a: |\n    b\n   c: d\n")
@example("a:\n- |\n b\n")
@example("a: x\n#\n  b")
def test_the_law(text: str) -> None:
    agrees(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.sampled_from([None, False, True]))
def test_the_law_on_what_others_write(value: object, style: bool | None) -> None:  # noqa: FBT001
    text = yaml.safe_dump(value, default_flow_style=style, allow_unicode=True)
    agrees(text)


def scalar_paths(value: object, path: Path = ()) -> list[Path]:
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in scalar_paths(inner, (*path, key))]
    if isinstance(value, list):
        return [found for at, inner in enumerate(value) for found in scalar_paths(inner, (*path, at))]
    return [path]


def at_path(value: object, path: Path) -> object:
    for step in path:
        assert isinstance(value, dict | list)
        value = value[step]  # type: ignore[index]
    return value


def holds(document: Document, path: Path) -> None:
    """What is written at a place reads as the value that is said to stand there."""
    text = written(document, path)
    value = at_path(document.data, path)
    lines = document.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    place = span(document, path)
    first, last = place.line - document.line, place.end_line - document.line
    seen = "\n".join(lines[first : last + 1])[place.column - 1 :]
    assert seen.startswith(text.replace("\r\n", "\n").replace("\r", "\n"))
    if text[:1] in {"|", ">"} or "\n" in text or "\r" in text or text != text.strip():
        return  # its meaning hangs on its indentation
    if text and not set(document.text) & set("!\x85\u2028"):
        assert repr(value) in {read_again(f"- {text}\n"), read_again(f"[{text}]\n")}


def read_again(text: str) -> str:
    try:
        tree = exact.build(text)
    except Unreadable:
        return ""
    return repr(tree.data[0]) if tree and isinstance(tree.data, list) else ""


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_places_hold_what_they_say(text: str) -> None:
    for chunk in cut([text.encode()]):
        try:
            found = read(chunk)
        except (Unreadable, Templated):
            continue
        for document in found:
            for path in scalar_paths(document.data):
                holds(document, path)


@pytest.mark.parametrize("text", PODS[:40])
def test_places_in_pods(text: str) -> None:
    (document,) = read(Chunk(text.encode(), 3))
    for path in scalar_paths(document.data):
        holds(document, path)


def test_a_hostile_line_is_left_to_the_exact_reader() -> None:
    """All its tokens would be in memory at once: 2 GB for a line of 50 MB."""
    with pytest.raises(flow.Unknown):
        flow.load("[" + "a, " * 30_000 + "a]")
