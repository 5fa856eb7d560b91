"""Every case of a public bug report that the rules cover answers as its first line says, and exactly as recorded.

`cases/findings.txt` has a line per case: the file, then `line severity rule` for each error and warning, `skipped`,
`unreadable`, or nothing. A case marked `later` is about a rule that does not exist yet and must stay silent.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook import lint
from webhook.config import Config
from webhook.result import Result
from webhook.rule import Severity
from webhook.rules import all_rules

CASES = Path(__file__).parent / "cases"
EXPECTED = {
    name: tuple(part.strip() for part in rest.split(";") if part.strip())
    for name, _, rest in (
        line.partition(":") for line in (CASES / "findings.txt").read_text(encoding="utf-8").splitlines() if line
    )
}


def run(*names: str) -> Result:
    files = [(name, [(CASES / name).read_bytes()]) for name in names]
    return lint.lint(files, Config(), rules=all_rules())


def told(result: Result) -> tuple[str, ...]:
    """The errors and warnings of a result, and what it left out, as `findings.txt` writes them."""
    loud = [item for item in result.findings if item.severity > Severity.INFO]
    return (
        *(f"{item.spot.span.line} {item.severity} {item.finding.rule}" for item in loud),
        *("skipped" for _ in result.skipped),
        *("unreadable" for _ in result.unreadable),
    )


def verdict(name: str) -> str:
    """The first word of what the case's first line expects."""
    first = (CASES / name).read_text(encoding="utf-8-sig", errors="replace").split("\n", 1)[0]
    return first.partition("EXPECT")[2].split()[0].strip(":,")


def keeps(word: str, parts: tuple[str, ...]) -> bool:
    """Whether what was told agrees with a case's verdict."""
    errors = any(" error " in part for part in parts)
    warnings = any(" warning " in part for part in parts)
    agrees = {
        "CLEAN": not errors and not warnings,
        "INFO": not errors and not warnings,
        "WARN": warnings and not errors,
        "WARN+": warnings or errors,
        "ERROR": errors,
        "PARSE": "unreadable" in parts,
        "SKIPPED": "skipped" in parts,
    }
    return agrees.get(word, True)  # what is worded otherwise stands in findings.txt alone


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*.yaml")))
def test_case_answers_as_its_first_line_says(name: str) -> None:
    parts = told(run(name))
    if EXPECTED[name] == ("later",):
        assert parts == ()
        return
    assert parts == EXPECTED[name]
    assert keeps(verdict(name), parts)


def test_every_case_is_recorded() -> None:
    assert set(EXPECTED) == {path.name for path in CASES.glob("*.yaml")}


def test_a_gang_over_two_files_is_one_gang() -> None:
    first, second = "R041-gang-over-two-files-a.yaml", "R041-gang-over-two-files-b.yaml"
    assert told(run(first, second)) == told(run(second, first)) == ()
