"""Every format against its golden file, and what each format must do with hard cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from made import replace

from webhook.manifest import Span
from webhook.model import GROUP_LABEL, Place, Pod, PodGroup, Ref
from webhook.policy import Failure
from webhook.report import FORMATS, Style, sarif
from webhook.report.phrases import closing, dotted
from webhook.report.terminal import excerpt, visible
from webhook.result import Located, Note, NotRead, Result, Skipped, Spot, Summary
from webhook.rule import Confidence, Finding, Related, Rule, Severity, rule
from webhook.stack import Stack

GOLDEN = Path(__file__).parent / "golden"

POD = Ref("v1", "Pod", "ml", "w-0", 1)
GROUP = Ref("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ml", "train", 0)


@rule(Pod, Severity.ERROR, evidence="seen")
def sample_key(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A key stands where nobody reads it.

    Only `labels` are read | and this is why.
    """
    return iter(())


@rule(PodGroup, Severity.WARNING, evidence="inferred", over=("sample-key",), lint_only=True)
def sample_image(group: PodGroup, stack: Stack) -> Iterator[Finding]:
    """An image holds no libc that HAMi's library can be loaded into."""
    return iter(())


RULES: tuple[Rule, ...] = (sample_image, sample_key)


def located(
    spot: Spot,
    *,
    severity: Severity = Severity.ERROR,
    message: str = "a thing is wrong",
    fix: str = "mend it",
    confidence: Confidence = "high",
    notes: tuple[Note, ...] = (),
) -> Located:
    related = tuple(Related(Place(GROUP, ("metadata", "name")), note.label) for note in notes)
    place = Place(POD, ("metadata", "annotations", GROUP_LABEL), "key")
    finding = Finding(place, message, fix, severity, confidence, related, "sample-key")
    return Located(finding, severity, spot, "0f1e2d3c", notes)


def one_line(text: str, column: int = 1, end: int = 2, *, file: str = "a.yaml", line: int = 3) -> Spot:
    return Spot(file, Span(line, column, line, end), (text,))


def text_of(*findings: Located, style: Style | None = None) -> str:
    return FORMATS["text"](Result(findings), RULES, style or Style())


ANNOTATION = one_line("    scheduling.x-k8s.io/pod-group: train", 5, 34, file="gangs/my gang.yaml", line=12)
RESULT = Result(
    findings=(
        located(
            ANNOTATION,
            message="Pod/w-0 names its gang 'train' in an annotation; Coscheduling reads only the label",
            fix=f"move it to labels: {GROUP_LABEL}: train",
            notes=(Note(one_line("  name: train", 9, 14, file="gangs/group.yaml", line=4), "the PodGroup is here"),),
        ),
        located(
            one_line("      image: 蟒蛇/alpine:3 # 100%", 14, 25, file="gangs/my gang.yaml", line=104),
            severity=Severity.WARNING,
            message="alpine:3 is built on musl: 100% of its processes run without a limit",
            fix="take an image with glibc",
            confidence="low",
        ),
        located(
            Spot("gangs/my gang.yaml", Span(200, 3, 207, 1), ("  args:", "    - a", "    - b")),
            severity=Severity.INFO,
            message="a hint",
            fix="",
        ),
    ),
    skipped=(Skipped("charts/x.yaml", 0, "Helm template"), Skipped("gangs/k.yaml", 8, "Helm template")),
    unreadable=(
        NotRead("b,in.yaml", 0, 0, "is no text: it holds NUL bytes"),
        NotRead("gangs/bad.yaml", 7, 3, "mapping values are not allowed here"),
    ),
    failures=(Failure("sample-image", "KeyError: 'x'"),),
    summary=Summary(files=3, documents=12, error=1, warning=1, info=1, suppressed=2),
)


@pytest.mark.parametrize("name", FORMATS)
def test_golden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write them anew with `UPDATE_GOLDEN=1 pytest tests/test_report.py`, and read the difference."""
    monkeypatch.setattr(sarif, "__version__", "0.0.0")
    report = FORMATS[name](RESULT, RULES, Style())
    golden = GOLDEN / f"report.{name}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(report, encoding="utf-8")
    assert report == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_result_is_a_report(name: str) -> None:
    assert FORMATS[name](Result(), (), Style()).endswith("\n")


def test_text_does_not_pay_for_other_formats() -> None:
    code = (
        "import sys\nfrom webhook.result import Result\nbefore = set(sys.modules)\n"
        "from webhook.report import FORMATS, Style\nFORMATS['text'](Result(), (), Style())\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(done.stdout.split())
    assert "webhook.report.text" in new
    assert not new & {"json", "urllib.parse", "webhook.report.json_", "webhook.report.sarif", "webhook.explain"}


def test_verbose_text_shows_infos_and_fields() -> None:
    report = FORMATS["text"](RESULT, RULES, Style(verbose=True))
    assert "info[sample-key]: a hint\n" in report
    assert f' = at: Pod/w-0 metadata.annotations["{GROUP_LABEL}"]\n' in report
    assert report.endswith("; 1 file skipped, 1 document skipped, 1 file not read, 1 document not read, "
                           "1 rule failed, 2 suppressed\n")  # fmt: skip


def test_a_long_span_is_underlined_line_by_line() -> None:
    spot = Spot("a.yaml", Span(9, 3, 13, 5), ("  args:", "    - a", "      "))
    assert text_of(located(spot)).splitlines()[1:9] == [
        "  --> a.yaml:9:3",
        "   |",
        " 9 |   args:",
        "   |   ^^^^^",
        "10 |     - a",
        "   |     ^^^",
        "   | ...",
        "   |",
    ]


def test_a_span_that_ends_at_the_next_line_start() -> None:
    spot = Spot("a.yaml", Span(9, 3, 10, 1), ("  a: |", "b: 1"))
    report = text_of(located(spot))
    assert "b: 1" not in report
    assert "..." not in report


def test_a_place_without_source_lines() -> None:
    spot = Spot("a.json", Span(1, 1, 1, 1), ())
    lines = text_of(located(spot, notes=(Note(spot, "it is here"),))).splitlines()
    assert lines[1:6] == [" --> a.json:1:1", "  |", "  |", " ::: a.json:1:1", "  |"]
    assert lines[6:8] == ["  | it is here", "  |"]


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marks"),
    [
        ("a: b", 4, 5, "a: b", "   ^"),
        ("a: b", 4, 4, "a: b", "   ^"),
        ("a: b", 5, 5, "a: b", "    ^"),
        ("a: b", 9, 12, "a: b", "    ^"),
        ("\ta\t: b", 2, 3, "    a   : b", "    ^"),
        ("键: 值 x", 4, 5, "键: 值 x", "    ^^"),
        ("🚀: 🚀🚀", 4, 6, "🚀: 🚀🚀", "    ^^^^"),
        ("e\u0301: x", 5, 6, "e\u0301: x", "   ^"),
        ("\U0001f468\u200d\U0001f4bb: x", 6, 7, "\U0001f468\u200d\U0001f4bb: x", "      ^"),
        ("a: \x1b[2Jb", 8, 9, "a: \\x1b[2Jb", "          ^"),
        ("a: \u202eb", 5, 6, "a: \\u202eb", "         ^"),
    ],
)
def test_the_mark_stands_under_the_right_cell(line: str, column: int, end: int, shown: str, marks: str) -> None:
    lines = text_of(located(one_line(line, column, end))).splitlines()
    assert lines[3] == f"3 | {shown}"
    assert lines[4] == f"  | {marks}"


def test_long_lines_are_cut_around_the_span() -> None:
    line = "a" * 200 + "XYZ" + "b" * 200
    shown, first, last = excerpt(line, 200, 203, 60)
    assert shown[first:last] == "XYZ"
    assert shown[0] == shown[-1] == "…"
    assert len(shown) == 60


def test_what_the_right_side_does_not_need_the_left_side_gets() -> None:
    shown, first, last = excerpt("a" * 200 + "XYZ", 200, 203, 60)
    assert (shown, first, last) == ("…" + "a" * 55 + "XYZ", 56, 59)


def test_a_span_longer_than_the_screen() -> None:
    shown, first, last = excerpt("ab " + "x" * 1000, 3, 1003, 60)
    assert shown.startswith("ab xxx")
    assert shown.endswith("x…")
    assert (first, last) == (3, 58)


def test_a_huge_line_costs_no_more_than_a_short_one() -> None:
    line = "x" * 50_000_000
    report = text_of(located(one_line(line, 25_000_000, 50_000_000)), style=Style(width=80))
    assert len(report) < 1000


def test_a_tiny_screen_still_shows_something() -> None:
    report = text_of(located(one_line("key: " + "x" * 300, 6, 300)), style=Style(width=1))
    assert "key: xxxx" in report


def test_colors_only_when_asked() -> None:
    assert "\x1b" not in text_of(located(ANNOTATION))
    colored = FORMATS["text"](RESULT, RULES, Style(color=True))
    assert "\x1b[1;31merror[sample-key]\x1b[0m: \x1b[1mPod/w-0" in colored
    assert "\x1b[1;31m^^^" in colored


@pytest.mark.parametrize(
    ("result", "color"),
    [
        (Result(), "1;32"),
        (Result(summary=Summary(warning=1)), "1;33"),
        (Result(summary=Summary(error=1, warning=1)), "1;31"),
        (Result(unreadable=(NotRead("a", 0, 0, "x"),)), "1;31"),
    ],
)
def test_the_closing_line_has_the_color_of_the_worst(result: Result, color: str) -> None:
    report = FORMATS["text"](result, (), Style(color=True))
    assert report.splitlines()[-1].startswith(f"\x1b[{color}m")


def test_many_skipped_files_do_not_bury_the_rest() -> None:
    result = Result(skipped=tuple(Skipped(f"{number}.yaml", 0, "Helm template") for number in range(25)))
    report = FORMATS["text"](result, (), Style())
    assert report.count("Helm template") == 10
    assert "skipped 15 more (--verbose names them)" in report
    assert FORMATS["text"](result, (), Style(verbose=True)).count("Helm template") == 25


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (Summary(), "no files were linted"),
        (Summary(files=1, documents=1), "no mistakes found in 1 file (1 document)"),
        (Summary(files=3, documents=0), "no documents to lint in 3 files"),
        (Summary(files=1, documents=2, error=2, warning=1), "2 errors, 1 warning in 1 file (2 documents)"),
        (
            Summary(files=1, documents=2, info=1),
            "no errors or warnings in 1 file (2 documents); 1 info finding (--verbose shows them)",
        ),
        (Summary(files=1, documents=2, suppressed=1), "no mistakes found in 1 file (2 documents); 1 suppressed"),
    ],
)
def test_closing_line(summary: Summary, line: str) -> None:
    assert closing(Result(summary=summary), with_info=False) == line


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (Summary(files=1, documents=1), "nothing to judge in 1 file (1 document)"),
        (Summary(files=1, documents=1, warning=1), "1 warning in 1 file (1 document)"),
        (Summary(), "no files were linted"),
    ],
)
def test_closing_line_where_no_manifest_was(summary: Summary, line: str) -> None:
    assert closing(Result(summary=summary, judged=False), with_info=False) == line


def test_closing_line_with_infos() -> None:
    result = Result(skipped=(Skipped("a", 0, "x"),) * 2, summary=Summary(files=1, documents=2, error=1, info=2))
    assert closing(result, with_info=True) == "1 error, 2 info findings in 1 file (2 documents); 2 files skipped"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("spec", "template", "metadata", "labels", GROUP_LABEL), f'spec.template.metadata.labels["{GROUP_LABEL}"]'),
        (("spec", "containers", 0, "image"), "spec.containers[0].image"),
        (("items", 3), "items[3]"),
        (("data", 'a"b\\'), 'data["a\\"b\\\\"]'),
        (("spec", "pod-template"), "spec.pod-template"),
    ],
)
def test_dotted(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text


def test_visible() -> None:
    assert visible("plain Ünï 键 🚀") == "plain Ünï 键 🚀"
    assert visible("a\nb\r\x00\x9b\u2028\ud800\u200d") == "a\\nb\\r\\x00\\x9b\\u2028\\ud800\u200d"


def test_json_names_the_object_of_a_related_place() -> None:
    notes = (Note(ANNOTATION, "first"), Note(ANNOTATION, "second"))
    entry = located(ANNOTATION, notes=notes)
    entry = replace(entry, finding=replace(entry.finding, related=entry.finding.related[1:]))
    related = json.loads(FORMATS["json"](Result((entry,)), (), Style()))["findings"][0]["related"]
    assert [each["object"] for each in related] == [None, None]
    entry = located(ANNOTATION, notes=notes)
    related = json.loads(FORMATS["json"](Result((entry,)), (), Style()))["findings"][0]["related"]
    assert [each["object"]["name"] for each in related] == ["train", "train"]


def test_json_holds_nothing_that_drives_a_terminal() -> None:
    report = FORMATS["json"](Result((located(ANNOTATION, message="键\x9b\u202e\x1b\ud800"),)), (), Style())
    assert '"键\\u009b\\u202e\\u001b\\ud800"' in report
    assert report.encode()


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("./a b/c.yaml", "a%20b/c.yaml"),
        ("a:b#c?.yaml", "a%3Ab%23c%3F.yaml"),
        ("/tmp/x%.yaml", "file:///tmp/x%25.yaml"),  # noqa: S108 - a name, no file
        ("../ü.yaml", "../%C3%BC.yaml"),
        ("\udcff.yaml", "%FF.yaml"),
        ("\ud800.yaml", "%3F.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_sarif_uri(file: str, uri: str) -> None:
    assert sarif.uri(file) == uri


def test_sarif_of_an_unknown_rule_and_of_a_clean_run() -> None:
    run = json.loads(FORMATS["sarif"](Result((located(ANNOTATION, fix=""),)), (), Style()))["runs"][0]
    assert "ruleIndex" not in run["results"][0]
    assert run["results"][0]["message"]["text"] == "a thing is wrong"
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_github_escapes_and_shows_the_worst_first() -> None:
    info, error = (
        located(one_line("x", file="a,b:c.yaml"), severity=severity, message="100%\r\n::error::x", fix="")
        for severity in (Severity.INFO, Severity.ERROR)
    )
    report = FORMATS["github"](Result((info, error)), (), Style())
    where = "file=a%2Cb%3Ac.yaml,line=3,endLine=3,col=1,endColumn=2,title=gangcheck%3A sample-key"
    assert report.splitlines() == [
        f"::error {where}::100%25\\r\\n::error::x",
        f"::notice {where}::100%25\\r\\n::error::x",
        "no files were linted",
    ]
