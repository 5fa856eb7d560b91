"""What holds for every result, whatever text stands in it: each format renders, and stays what it claims to be."""

from __future__ import annotations

import json
import re
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator

from webhook.manifest import Span
from webhook.model import Place, Pod, PodGroup, Ref
from webhook.policy import Failure
from webhook.report import FORMATS, Style
from webhook.result import Located, Note, NotRead, Result, Skipped, Spot, Summary
from webhook.rule import Edit, Finding, Related, Rule, Severity

OURS = Draft202012Validator(json.loads((files("webhook.report") / "report.schema.json").read_text("utf-8")))
SARIF = Draft4Validator(json.loads(next(Path(__file__).parent.glob("schemas/sarif-*.json")).read_text("utf-8")))

RULES = (
    Rule("sample-image", (PodGroup,), Severity.WARNING, "inferred", "No libc.", lambda _subject, _stack: ()),
    Rule("sample-key", (Pod,), Severity.ERROR, "seen", "A key.\n\nWhy `so` | {0}.", lambda _subject, _stack: ()),
)

HARD = "\x00\x07\x1b\x7f\x85\x9b\n\r\t%:,;[]{}|`\\\"'\u00ad\u200d\u2028\u202e\ufeff\ud800\udcff键🚀e\u0301"
texts = st.text(st.sampled_from(HARD) | st.characters(exclude_categories=()), max_size=12)
names = st.sampled_from([rule.name for rule in RULES]) | texts
numbers = st.integers(0, 300)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    line, column = draw(st.integers(1, 300)), draw(st.integers(1, 30))
    end_line = line + draw(st.integers(0, 4))
    least = column if end_line == line else 1
    return Span(line, column, end_line, least + draw(st.integers(0, 30)))


spots = st.builds(Spot, texts, spans(), st.lists(texts, max_size=3).map(tuple))
refs = st.builds(Ref, texts, texts, texts, texts)
places = st.builds(Place, refs, st.lists(texts | numbers, max_size=4).map(tuple))
notes = st.builds(Note, spots, texts)
edits = st.builds(Edit, st.sampled_from(["add", "replace", "remove"]), places, texts | numbers | st.none())
findings = st.builds(
    Finding,
    places,
    texts,
    texts,
    st.none(),
    st.sampled_from(["high", "low"]),
    st.lists(st.builds(Related, places, texts), max_size=2).map(tuple),
    names,
    st.lists(edits, max_size=2).map(tuple),
)
entries = st.builds(Located, findings, st.sampled_from(Severity), spots, texts, st.lists(notes, max_size=2).map(tuple))
results = st.builds(
    Result,
    st.lists(entries, max_size=3).map(tuple),
    st.lists(st.builds(Skipped, texts, numbers, texts), max_size=2).map(tuple),
    st.lists(st.builds(NotRead, texts, numbers, numbers, texts), max_size=2).map(tuple),
    st.lists(st.builds(Failure, names, texts), max_size=1).map(tuple),
    st.builds(Summary, numbers, numbers, numbers, numbers, numbers, numbers),
)
styles = st.builds(Style, st.booleans(), st.booleans(), st.integers(0, 120))


@given(results, styles)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_written_and_shown(name: str, result: Result, style: Style) -> None:
    report = FORMATS[name](result, RULES, style)
    assert report.endswith("\n")
    assert report.encode()
    plain = re.sub("\x1b\\[[0-9;]+m", "", report) if name == "text" and style.color else report
    assert {c for c in plain if unicodedata.category(c) in {"Cc", "Zl", "Zp", "Cs"}} <= {"\n"}
    assert FORMATS[name](result, RULES, style) == report


@given(results)
def test_json_fits_its_schema_and_loses_nothing(result: Result) -> None:
    document = json.loads(FORMATS["json"](result, (), Style()))
    OURS.validate(document)
    for shown, entry in zip(document["findings"], result.findings, strict=True):
        assert shown["rule"] == _read_back(entry.finding.rule)
        assert shown["message"] == _read_back(entry.finding.message)
        assert shown["file"] == _read_back(entry.spot.file)
        assert [each["label"] for each in shown["related"]] == [_read_back(note.label) for note in entry.notes]
    assert len(document["unreadable"]) == len(result.unreadable)
    assert len(document["skipped"]) == len(result.skipped)


def _read_back(text: str) -> str:
    """Text as any JSON reader sees it: two halves of a surrogate pair side by side are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(results)
def test_sarif_fits_the_official_schema(result: Result) -> None:
    document = json.loads(FORMATS["sarif"](result, RULES, Style()))
    SARIF.validate(document)
    (run,) = document["runs"]
    for shown in run["results"]:
        if "ruleIndex" in shown:
            assert run["tool"]["driver"]["rules"][shown["ruleIndex"]]["id"] == shown["ruleId"]


@given(results)
def test_github_gets_one_command_a_line(result: Result) -> None:
    *commands, last = FORMATS["github"](result, (), Style()).splitlines()
    assert len(commands) == len(result.findings) + len(result.unreadable) + len(result.failures)
    assert all(re.match("::(error|warning|notice) [^:]+::", command) for command in commands)
    assert not last.startswith("::")
    order = [command.split(" ")[0] for command in commands]
    assert order == sorted(order, key=["::error", "::warning", "::notice"].index)


def test_the_schemas_are_schemas() -> None:
    Draft202012Validator.check_schema(OURS.schema)
    Draft4Validator.check_schema(SARIF.schema)
