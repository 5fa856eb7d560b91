"""What a document says, as Kubernetes reads it. Expected values were seen from sigs.k8s.io/yaml v1.4.0."""

from __future__ import annotations

import json
import math

import pytest
import yaml

from webhook.errors import Unreadable
from webhook.manifest import Chunk, Document, Span, Templated, faults, read, scalars


def load(text: str | bytes) -> object:
    (document,) = documents(text)
    return document.data


def documents(text: str | bytes, line: int = 1) -> tuple[Document, ...]:
    return read(Chunk(text.encode() if isinstance(text, str) else text, line))


def error(text: str | bytes, line: int = 1) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        documents(text, line)
    return caught.value


SCALARS = {
    "y": True, "Yes": True, "ON": True, "true": True, "n": False, "No": False, "off": False, "FALSE": False,
    "~": None, "null": None, "NULL": None, "": None, "nuLL": "nuLL", "yEs": "yEs",
    "0": 0, "12": 12, "-12": -12, "+12": 12, "0644": 420, "0o17": 15, "0O17": 15, "-012": -10, "0x1F": 31,
    "-0x1F": -31, "0b11": 3, "0b-1": -1, "0b+1": 1, "1_000": 1000, "1__0": 10, "0_8": 8.0, "08": 8.0, "0b2": "0b2",
    "0o8": "0o8", "0x": "0x", "+": "+", "-": "-", "1e": "1e",
    "18446744073709551615": 2**64 - 1, "18446744073709551616": 2.0**64, "9223372036854775808": 2**63,
    "-9223372036854775808": -(2**63), "-9223372036854775809": -(2.0**63), "+9223372036854775808": 2.0**63,
    "0xFFFFFFFFFFFFFFFFFF": "0xFFFFFFFFFFFFFFFFFF", "1.5": 1.5, "5.": 5.0, ".5": 0.5, "+.5": 0.5, ".1_0": 0.1,
    "._5": "._5", ".": ".", ".5x": ".5x", "1e3": 1000.0, "1E-2": 0.01, "1e999": "1e999", ".5e999": ".5e999",
    ".inf": math.inf, "-.INF": -math.inf, "0x1p-2": "0x1p-2", "1:30": "1:30", "2001-01-01": "2001-01-01",
    "16Gi": "16Gi", "500m": "500m", "1.2.3": "1.2.3", "<<": "<<", "=": "=",
    "'on'": "on", '"1"': "1", "!!str 1": "1", "! 1": "1", "! '1'": "1", "!foo 1": "1", "!foo": "",
    "!!str": "", "!!int '3'": 3, "!!float 3": 3.0, "!!float 1.5": 1.5, "!!bool yes": True, "!!null ''": None,
    "!!timestamp 2001-01-01": "2001-01-01", "!!timestamp 2001-01-01T10:00:00Z": "2001-01-01T10:00:00Z",
    "!!binary aGk=": "hi", "!!binary /w==": "\ufffd", "!!foo 1": "1", "!!merge <<": "<<",
    "9" * 5000: "9" * 5000, "1" * 90: float("1" * 90),
}  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_scalars(text: str) -> None:
    if text == "-":
        text, expected = "'-'", "-"
    else:
        expected = SCALARS[text]  # type: ignore[assignment]
    data = load(f"a: {text}\n")
    assert isinstance(data, dict)
    assert data["a"] == expected
    assert type(data["a"]) is type(expected)


def test_not_a_number_stays_a_float() -> None:
    data = load("[.nan]")
    assert isinstance(data, list)
    assert math.isnan(data[0])


KEYS = {
    "true": "true", "off": "false", "1": "1", "0x10": "16", "1.5": "1.5", "1e3": "1000", "1e6": "1e+06",
    "100000.0": "100000",
    "1234567.5": "1.2345675e+06", "0.00001": "1e-05", "0.0001": "0.0001", ".1": "0.1", "16777217.0": "1.6777216e+07",
    "1e300": ".inf", "-1e300": "-.inf", ".nan": ".nan", "-2.50": "-2.5", "0.0": "0", "'y'": "y", "!!str 1": "1",
    "a b": "a b",
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_keys_become_text(key: str) -> None:
    assert load(f"{key}: x\n") == {KEYS[key]: "x"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n<<: {a: 2, b: 3}\nb: 4\n", {"a": 2, "b": 4}),
        ("<<: {a: 2}\na: 1\n", {"a": 1}),
        ("<<: [{a: 1, b: 1}, {b: 2, c: 2}]\n", {"a": 1, "b": 1, "c": 2}),
        ("x: &x {q: 1}\nz: {<<: *x, r: 2}\n", {"x": {"q": 1}, "z": {"q": 1, "r": 2}}),
        ("x: &x {q: 1}\n<<: *x\n<<: {s: 2}\n", {"x": {"q": 1}, "q": 1, "s": 2}),
        ("x: &x {q: 1}\n'<<': *x\n", {"x": {"q": 1}, "<<": {"q": 1}}),
        ("!!merge <<: {a: 1}\n", {"a": 1}),
        ("<<: {}\n", {}),
        ("&k <<: {a: 1}\nb: *k\n", {"a": 1, "b": "<<"}),
        ("&a a: &b b\nc: *a\n*b : d\n", {"a": "b", "c": "a", "b": "d"}),
        ("a: &x\nb: *x\n", {"a": None, "b": None}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: [x, y: 1, {z}]\n", {"a": ["x", {"true": 1}, {"z": None}]}),
        ("? x\n? y: 1\n", None),
        ("a:\n- b\n-\n  c: 1\n", {"a": ["b", {"c": 1}]}),
        ("a: b\n  c\n", {"a": "b c"}),
        ("a: |+\n  x\n\nb: >\n  y\n  z\n", {"a": "x\n\n", "b": "y z\n"}),
        ("a: !!map {}\nb: !x [1]\n", {"a": {}, "b": [1]}),
        ("--- text\n", "text"),
        ("--- ~\n", None),
        ("%YAML 1.1\n---\na: 1\n", {"a": 1}),
        ("...\n# c\na: 1\n", {"a": 1}),
        ("a: 1\r\nb:\r\n- c\r\n", {"a": 1, "b": ["c"]}),
        ("a: 1\rb: 2\r", {"a": 1, "b": 2}),
        ("\ufeffa: 1\n", {"a": 1}),
        ("---\n\ufeffa: 1\nb: 2\n", {"a": 1, "b": 2}),
        ('{"a": "\\/ \\u0041 \\ud83d\\ude00 \\ud83d"}', {"a": "/ A \U0001f600 \ufffd"}),
        ('{"' + "k" * 2000 + '": [1, -2.5e1, true, null]}', {"k" * 2000: [1, -25.0, True, None]}),
        ("[]", []),
        ("{a: 1, b: [x]}\n", {"a": 1, "b": ["x"]}),
        ('{"a": NaN, "b": on}', {"a": "NaN", "b": True}),
        ('# note\n{"a": 1}\n', {"a": 1}),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
    ],
)
def test_documents(text: str, expected: object) -> None:
    if expected is None and text.startswith("?"):
        assert "key" in str(error(text))
        return
    assert load(text) == expected


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only\n", "---\n", "---\n# c\n", "...\n", "  \t\n", "\ufeff", "--- # c\n"]
)
def test_empty_documents(text: str) -> None:
    assert documents(text) == ()


def test_json_values_one_after_the_other() -> None:
    first, second, third = documents('{"a": 1}\n{"b": 2} {"c":\n3}\n', 5)
    assert (first.line, first.column, first.data) == (5, 1, {"a": 1})
    assert (second.line, second.column, second.data) == (6, 1, {"b": 2})
    assert (third.line, third.column, third.text) == (6, 10, '{"c":\n3}')


def test_duplicates_are_kept_with_both_places() -> None:
    (document,) = documents("a: 1\nb:\n- c: 1\n  d: {x: 1, 'x': 2}\na: 2\n<<: {a: 3}\n", 10)
    assert document.data == {"a": 3, "b": [{"c": 1, "d": {"x": 2}}]}
    found = {duplicate.path: (duplicate.first, duplicate.second) for duplicate in document.duplicates}
    assert found == {
        ("b", 0, "d", "x"): (Span(13, 7, 13, 8), Span(13, 13, 13, 16)),
        ("a",): (Span(10, 1, 10, 2), Span(14, 1, 14, 2)),
    }


def test_what_a_merge_brought_in_may_be_written_again() -> None:
    (document,) = documents("<<: {a: 1}\na: 2\n? <<\n: {b: {c: 1, c: 2}}\n")
    assert document.data == {"a": 2, "b": {"c": 2}}
    assert [duplicate.path for duplicate in document.duplicates] == [("<<", "b", "c")]


def test_duplicates_in_json() -> None:
    _, document = documents('[] {"a": [{"b": 1, "b": 2}], "c": 1}')
    assert document.data == {"a": [{"b": 2}], "c": 1}
    (duplicate,) = document.duplicates
    assert duplicate.path == ("a", 0, "b")
    assert (duplicate.first, duplicate.second) == (Span(1, 12, 1, 15), Span(1, 20, 1, 23))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\n\tb: 2\n", (2, 1), "a tab; YAML indents with spaces"),
        ("a:\n\tb: 2\n", (2, 1), "a tab; YAML indents with spaces"),
        ("a: b: c\n", (1, 5), "':' where no key can stand"),
        ("a: - b\n", (1, 4), "'- ' where no list item"),
        ("a: 'b\n", (1, 4), "never closed"),
        ("# {{ x }}\na: 1\nb: 'x\n", (3, 4), "never closed"),
        ("a: [b\nc: d\n", (2, 2), "not closed"),
        ("a: @b\n", (1, 4), "cannot begin with '@'; put it in quotes"),
        ('a: "\\q"\n', (1, 5), "escape"),
        ("a:\n  b: 1\n c: 2\n", (3, 2), "mend the indentation"),
        ("  a: 1\nb: 2\n", (2, 1), "does not belong to the document above"),
        ("a: *x\n", (1, 4), "names no anchor above it"),
        ("a: &a [*a]\n", (1, 8), "contains itself"),
        ("x: &a 1\ny: &a {b: *a}\n", (2, 11), "contains itself"),
        ("a: 1\n~: 1\n", (2, 1), "a key is empty or null"),
        ("18446744073709551615: 1\n", (1, 1), "a key is no text"),
        ("? [a]\n: 1\n", (1, 3), "a mapping or a list as a key"),
        ("<<: 1\n", (1, 5), "neither"),
        ("<<: [1]\n", (1, 5), "neither"),
        ("a: !!int 3.5\n", (1, 4), "'3.5' is no int"),
        ("a: !!null x\n", (1, 4), "is no null"),
        ("a: !!timestamp x\n", (1, 4), "is no timestamp"),
        ("a: !!binary x\n", (1, 4), "base64"),
        ("a: \x07\n", (1, 4), "a control character (U+0007)"),
        ("a: 1\r\nb: \x7f\r\n", (2, 4), "a control character (U+007F)"),
        ('{"a": "\x01"}', (1, 8), "a control character"),
        ("a: b\n\0", (2, 1), "a NUL byte"),
        ("---\na: 1\x85---\nb: 1\n", (2, 6), "a second document"),
        ("a: !q!x 1\n", (1, 4), "handle is not defined"),
        ("a: |x\n", (1, 5), "take only an indentation digit"),
        ("a: &\n", (1, 5), "without a name"),
    ],
)
def test_what_cannot_be_read(text: str, place: tuple[int, int], message: str) -> None:
    for line in (1, 7):
        found = error(text, line)
        assert message in str(found)
        assert (found.line, found.column) == (place[0] + line - 1, place[1])


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_text_is_named(name: str) -> None:
    text = "kind: Pod\n".encode(name)
    assert "save the file as UTF-8" in str(error(text))
    assert "UTF-" in str(error(text))


def test_latin_1_is_placed() -> None:
    found = error("a: 1\r\nb: ä\xfc".encode("latin-1").replace(b"\xe4", "ä".encode()), 3)
    assert "byte 0xfc at offset 11" in str(found)
    assert (found.line, found.column) == (4, 5)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_depth_bombs(text: str) -> None:
    assert "inside each other" in str(error(text))


def test_depth_is_bounded_in_block_style_and_in_json() -> None:
    deep = "".join(f"{' ' * level}a:\n" for level in range(250))
    assert "inside each other" in str(error(deep))
    assert "inside each other" in str(error("[" * 250 + "]" * 250))
    assert load("[" * 200 + "]" * 200)
    chain = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300))
    assert "unfold" in str(error(chain))


def test_alias_bomb() -> None:
    rows = "a0: &a0 [1,1,1,1,1,1,1,1,1]\n"
    rows += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
    assert "aliases that unfold into too many values" in str(error(rows))


@pytest.mark.parametrize(
    ("text", "engine", "place"),
    [
        ("a: 1\nb: {{ .Values.x }}\n", "Helm", (2, 4)),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n", "Helm", (1, 1)),
        ("a: {{ x }}\n", "Jinja", (1, 4)),
        ("a: {{ .x }}\n", "Go template", (1, 4)),
        ("{% if x %}\na: 1\n{% endif %}\n", "Jinja", (1, 1)),
        ("{# note #}\na: 1\n", "Jinja", (1, 1)),
        ('{{- define "x" -}}\nfoo\n{{- end }}\n', "Go template", (1, 1)),
        ("a:\n{{ toYaml .x | nindent 2 }}\n", "Helm", (2, 1)),
    ],
)
def test_templates(text: str, engine: str, place: tuple[int, int]) -> None:
    with pytest.raises(Templated) as caught:
        documents(text, 4)
    assert (caught.value.engine, caught.value.line, caught.value.column) == (engine, place[0] + 3, place[1])
    assert engine in str(caught.value)


def test_braces_inside_text_are_no_template() -> None:
    text = 'a: "{{ x }}"\nb: |\n  {{ with secret "x" }}{{ .Data }}{{ end }}\n  ${#x}\n'
    assert load(text) == {"a": "{{ x }}", "b": '{{ with secret "x" }}{{ .Data }}{{ end }}\n${#x}\n'}
    assert "never closed" in str(error('a: "${#x}\n'))


def test_json_says_the_same_as_yaml() -> None:
    value = {"a": [1, 2.5, None, True, {"b": "x\ny"}], "c": {}, "d": []}
    assert load(json.dumps(value)) == value
    assert load("---\n" + json.dumps(value, indent=1)) == value


def test_what_a_parser_says_without_a_place() -> None:
    found = faults.explain("a", yaml.YAMLError("odd"))
    assert (str(found), found.line, found.column) == ("no YAML: odd", 1, 1)


def test_text_is_its_own_key() -> None:
    assert scalars.key("on") == "on"


def test_a_byte_that_begins_like_a_mark() -> None:
    assert "byte 0xff at offset 0" in str(error(b"\xff\x41: 1\n"))
