"""Every rule that may deny has an object with its mistake for the test of old mistakes on a real control plane."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "e2e"))

import old_mistakes

NAMES = [rule.name for rule in old_mistakes.demanded()]


@pytest.mark.parametrize("rule", NAMES)
def test_there_is_an_old_mistake_for_each_rule_that_may_deny(rule: str) -> None:
    assert rule in old_mistakes.ELSEWHERE or old_mistakes.case_of(rule), (
        f"nothing in tests/rules/{rule}.bad.yaml can stand in a cluster as an old mistake of {rule}: "
        "add a row to BY_HAND or ELSEWHERE in tests/e2e/old_mistakes.py"
    )


def test_rows_are_of_rules_that_need_them() -> None:
    assert set(old_mistakes.BY_HAND) | set(old_mistakes.ELSEWHERE) <= set(NAMES)
    assert not set(old_mistakes.BY_HAND) & set(old_mistakes.ELSEWHERE)


def test_most_of_them_would_be_denied_today() -> None:
    verdicts = [case.verdict for case in old_mistakes.cases().values()]
    assert verdicts.count("denied") > len(verdicts) / 2, verdicts
