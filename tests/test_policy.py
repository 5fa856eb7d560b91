from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from made import pod, podgroup, replace

from webhook.model import Place, Pod, PodGroup
from webhook.policy import LONGEST, Deadline, Policy, evaluate
from webhook.rule import Finding, Rule, Severity, rule
from webhook.stack import Stack

STACK = Stack()


@rule(Pod, Severity.WARNING, evidence="inferred", over=("quiet",))
def loud(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A Pod exists.

    Why.
    """
    yield Finding(pod.field("containers"), "it exists", "remove it", severity=Severity.ERROR)


@rule(Pod | PodGroup, Severity.ERROR, evidence="read")
def quiet(thing: Pod | PodGroup, stack: Stack) -> Iterator[Finding]:
    """A thing exists.

    Why.
    """
    yield Finding(Place(thing.ref, ("spec", "containers")), "it exists too", "remove it", severity=Severity.INFO)


@rule(Pod, Severity.ERROR, evidence="seen")
def broken(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A rule raises.

    Why.
    """
    if pod.ref.name:
        raise KeyError(pod.ref.name)
    yield Finding(pod.field("containers"), "never said", "never done")


def test_a_condition_is_asked_once_for_the_rules_that_share_it() -> None:
    asked: list[str] = []

    def first(pod: Pod, stack: Stack) -> bool:
        asked.append(pod.ref.name)
        return pod.ref.name == "a"

    rules = tuple(replace(each, where=first) for each in (loud, broken))
    verdict = evaluate([pod("a"), pod("b")], Policy((*rules, quiet)), STACK)
    assert asked == ["a", "b"]
    assert [(finding.rule, finding.place.ref.name) for finding in verdict.findings] == [("loud", "a"), ("quiet", "b")]
    assert [failure.rule for failure in verdict.failures] == ["broken"]


def test_a_condition_that_raises_holds() -> None:
    def raises(pod: Pod, stack: Stack) -> bool:
        raise KeyError(pod.ref.name)

    verdict = evaluate([pod("a")], Policy((replace(loud, where=raises),)), STACK)
    assert [finding.rule for finding in verdict.findings] == ["loud"]


def names(*rules: Rule) -> list[tuple[str, Severity | None]]:
    verdict = evaluate([pod("a"), podgroup("g")], Policy(rules), STACK)
    return [(finding.rule, finding.severity) for finding in verdict.findings]


def test_a_rule_is_asked_about_its_own_subjects_only() -> None:
    assert names(loud) == [("loud", Severity.WARNING)]
    assert names(quiet) == [("quiet", Severity.INFO), ("quiet", Severity.INFO)]


def test_a_finding_never_exceeds_its_rules_severity() -> None:
    assert names(loud)[0][1] is Severity.WARNING


def test_one_place_one_finding() -> None:
    assert names(loud, quiet) == [("loud", Severity.WARNING), ("quiet", Severity.INFO)]


def test_a_rule_that_raises_is_named_and_the_others_answer() -> None:
    verdict = evaluate([pod("a"), pod("b")], Policy((broken, loud)), STACK)
    assert [finding.rule for finding in verdict.findings] == ["loud", "loud"]
    [(rule, error)] = verdict.failures
    assert rule == "broken"
    assert re.fullmatch(r"KeyError: 'a' \(test_policy\.py:\d+\)", error)


@pytest.mark.parametrize(("override", "told"), [(Severity.INFO, Severity.INFO), (Severity.ERROR, Severity.WARNING)])
def test_the_policy_may_lower_what_a_finding_says_of_itself(override: Severity, told: Severity) -> None:
    verdict = evaluate([pod("a")], Policy((loud,), {"loud": override}), STACK)
    assert verdict.findings[0].severity is told


def test_the_policy_may_raise_a_rules_own_severity() -> None:
    @rule(Pod, Severity.INFO, evidence="inferred")
    def plain(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A Pod exists.

        Why.
        """
        yield Finding(pod.field("containers"), "it exists", "remove it")

    verdict = evaluate([pod("a")], Policy((plain,), {"plain": Severity.ERROR}), STACK)
    assert verdict.findings[0].severity is Severity.ERROR


def test_an_error_that_is_only_inferred_is_refused() -> None:
    with pytest.raises(ValueError, match="evidence"):
        rule(Pod, Severity.ERROR, evidence="inferred")


@rule(Pod, Severity.ERROR, evidence="seen")
def verbose(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A value is quoted.

    Why.
    """
    yield Finding(pod.field("containers"), f"{pod.scheduler} is long", f"remove {pod.scheduler}")


def test_a_huge_value_makes_no_huge_message() -> None:
    (found,) = evaluate([pod(scheduler="x" * 1_000_000)], Policy((verbose,)), STACK).findings
    assert len(found.message) < LONGEST
    assert len(found.fix) < LONGEST
    assert found.message.endswith("x is long")


def test_no_rule_is_asked_after_the_deadline() -> None:
    ticks = iter([1.0, 2.0, 3.0])
    rules = (loud._replace(name="first"), loud._replace(name="second"), loud._replace(name="third"))
    verdict = evaluate([pod("a")], Policy(rules), STACK, Deadline(lambda: next(ticks), 1.5))
    assert [finding.rule for finding in verdict.findings] == ["first"]
    assert [failure.rule for failure in verdict.failures] == ["second", "third"]
    assert {failure.error for failure in verdict.failures} == {"OutOfTime: the review's time was over"}
