"""Runs every rule's fixtures. It names no rule: `x.bad.yaml` marks the lines where findings must land."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fixture import FIXTURES, config_of
from made import replace

from webhook import lint
from webhook.model import Subject
from webhook.rule import Finding, Rule, Severity
from webhook.rules import all_rules
from webhook.stack import Stack

RULES = {rule.name: rule for rule in all_rules()}
MARK = re.compile(r"#\s*expect:\s*(.+?)\s*$")

Found = tuple[int, str, str]


def findings(path: Path, rules: tuple[Rule, ...] = tuple(RULES.values())) -> set[Found]:
    text = path.read_text(encoding="utf-8")
    config = config_of(text)
    result = lint.lint([(path.name, [text.encode()])], config, rules=rules)
    assert not result.failures
    assert not result.unreadable
    return {(item.spot.span.line, item.finding.rule, str(item.severity)) for item in result.findings}


def expected(path: Path) -> set[Found]:
    marks: set[Found] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        mark = MARK.search(line)
        for item in mark.group(1).split(",") if mark else ():
            name, _, severity = item.strip().partition("=")
            marks.add((number, name, severity or str(RULES[name].severity)))
    return marks


def heard(found: set[Found], wanted: set[Found], rule: str) -> set[Found]:
    """What a bad manifest must answer for: info of other rules is no part of it unless it is marked."""
    return {item for item in found if item in wanted or item[1] == rule or item[2] != "info"}


def files(ending: str) -> list[str]:
    """The fixtures of this ending: one of each rule, and further ones, as for another stack (`x.old.bad.yaml`)."""
    return sorted({f"{rule}{ending}" for rule in RULES} | {path.name for path in FIXTURES.glob(f"*{ending}")})


@pytest.mark.parametrize("name", files(".bad.yaml"))
def test_bad_manifest_gets_a_finding_on_every_marked_line_and_on_no_other(name: str) -> None:
    path, rule = FIXTURES / name, name.partition(".")[0]
    wanted = expected(path)
    assert any(name == rule for _, name, _ in wanted), "the bad manifest marks no line for its own rule"
    assert heard(findings(path), wanted, rule) == wanted


@pytest.mark.parametrize("name", files(".bad.yaml"))
def test_a_rule_that_says_nothing_is_noticed(name: str) -> None:
    path, rule = FIXTURES / name, name.partition(".")[0]
    wanted = expected(path)
    muted = tuple(replace(each, check=silence) if each.name == rule else each for each in RULES.values())
    assert heard(findings(path, muted), wanted, rule) != wanted


def silence(subject: Subject, stack: Stack) -> tuple[Finding, ...]:
    return ()


CONDITIONS = tuple(rule for rule in RULES.values() if rule.where)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.name)
def test_where_a_condition_does_not_hold_its_rules_have_nothing_to_say(path: Path) -> None:
    config = config_of(path.read_text(encoding="utf-8"))
    for subject in lint.examine([str(path)], config).subjects:
        for rule in CONDITIONS:
            assert rule.where is not None
            if type(subject) in rule.subjects and not rule.where(subject, config.stack):
                assert list(rule.check(subject, config.stack)) == []


@pytest.mark.parametrize("name", files(".good.yaml"))
def test_good_manifest_is_clean_under_every_rule(name: str) -> None:
    rule = name.partition(".")[0]
    loud = {item for item in findings(FIXTURES / name) if item[2] != "info" or item[1] == rule}
    assert loud == set()


def test_every_fixture_belongs_to_a_rule() -> None:
    assert {path.name.split(".")[0] for path in FIXTURES.glob("*.yaml")} == set(RULES)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_docstring_names_the_mistake_and_says_why(rule: str) -> None:
    summary, _, why = RULES[rule].doc.partition("\n\n")
    assert "\n" not in summary
    assert summary.endswith(".")
    assert len(summary) <= 110
    assert why.strip()


def test_a_rule_that_overrules_names_rules_that_exist() -> None:
    named = {name for rule in RULES.values() for name in rule.over}
    assert named <= set(RULES)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_errors_are_seen_or_read(rule: str) -> None:
    assert RULES[rule].severity < Severity.ERROR or RULES[rule].evidence in {"seen", "read"}
