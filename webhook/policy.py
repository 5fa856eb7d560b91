"""Subjects in, findings out: the one pure function of the product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple, TypeAlias

from webhook.model import NOTHING, Gang, Member, Subject
from webhook.rule import Check, Finding, Rule, Severity, Where
from webhook.stack import Stack

LONGEST = 600
"""Characters of a message or a fix; more has only what quotes a value that no real manifest has."""

_KEPT = 250


class Policy(NamedTuple):
    """Which rules speak, and how loud. `severities` overrides a rule's own, downwards or upwards."""

    rules: tuple[Rule, ...]
    severities: Mapping[str, Severity] = NOTHING


class Failure(NamedTuple):
    """A rule that raised: a bug of ours. The others have answered all the same."""

    rule: str
    error: str


class Verdict(NamedTuple):
    """What the rules said, in no particular order, and which of them failed."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...] = ()


Asked: TypeAlias = tuple[Where | None, tuple[tuple[Rule, Check], ...]]
"""Rules that are asked together, where something holds of a subject."""


class Prepared(NamedTuple):
    """A policy with what asking it needs: for who asks it again and again."""

    rules: tuple[Rule, ...]
    severities: Mapping[str, Severity]
    by_type: Mapping[type, tuple[Asked, ...]]
    over: Mapping[str, tuple[str, ...]]


def prepare(policy: Policy) -> Prepared:
    over = {rule.name: rule.over for rule in policy.rules if rule.over}
    return Prepared(policy.rules, policy.severities, _by_type(policy.rules), over)


class Deadline(NamedTuple):
    """Until when rules are asked, by a clock: the others' findings are of use only if they are sent in time."""

    clock: Callable[[], float]
    until: float


NO_END = Deadline(float, inf)
OUT_OF_TIME = "OutOfTime: the review's time was over"


def evaluate(
    subjects: Iterable[Subject], policy: Policy | Prepared, stack: Stack, deadline: Deadline = NO_END
) -> Verdict:
    """Ask every rule about every subject of its type. A rule that raises is skipped for that subject and named, and
    so is one whose turn comes after the deadline."""
    clock, until = deadline
    asked = policy if isinstance(policy, Prepared) else prepare(policy)
    found: list[Finding] = []
    failures: dict[str, Failure] = {}
    for subject in subjects:
        for rule, check in _due(subject, stack, asked):
            if clock() > until:
                failures.setdefault(rule.name, Failure(rule.name, OUT_OF_TIME))
                continue
            try:
                for finding in check(subject, stack):
                    completed = _complete(finding, rule, asked)
                    found.append(_as_hearsay(completed) if _is_hearsay(subject) else completed)
            except Exception as error:  # noqa: BLE001 - one rule's bug must not silence the others
                failures.setdefault(rule.name, Failure(rule.name, _told(error)))
    return Verdict(tuple(_without_overruled(found, asked.over)), tuple(failures.values()))


def _due(subject: Subject, stack: Stack, policy: Prepared) -> list[tuple[Rule, Check]]:
    """The rules that may have something to say of a subject."""
    due: list[tuple[Rule, Check]] = []
    for where, rules in policy.by_type.get(type(subject), ()):
        if where is None or _holds(where, subject, stack):
            due += rules
    return due


def _holds(where: Where, subject: Subject, stack: Stack) -> bool:
    """A condition that raises holds: the rules ask the same, and are named for it."""
    try:
        return bool(where(subject, stack))
    except Exception:  # noqa: BLE001 - see above
        return True


def _by_type(rules: Iterable[Rule]) -> dict[type, tuple[Asked, ...]]:
    by_type: dict[type, dict[Where | None, list[tuple[Rule, Check]]]] = {}
    for rule in rules:
        for subject in rule.subjects:
            by_type.setdefault(subject, {}).setdefault(rule.where, []).append((rule, rule.check))
    return {
        subject: tuple((where, tuple(asked)) for where, asked in by_where.items())
        for subject, by_where in by_type.items()
    }


def _complete(finding: Finding, rule: Rule, policy: Prepared) -> Finding:
    """Fill in the rule's name and the severity: the rule's own is the upper bound, the policy has the last word."""
    severity = rule.severity if finding.severity is None else min(finding.severity, rule.severity)
    override = policy.severities.get(rule.name)
    if override is not None:
        severity = override if finding.severity is None else min(override, severity)
    message, fix = _shortened(finding.message), _shortened(finding.fix)
    return finding._replace(rule=rule.name, severity=severity, message=message, fix=fix)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:_KEPT]}…{text[-_KEPT:]}"


def _is_hearsay(subject: Subject) -> bool:
    """Whether a subject holds what a watch heard of the cluster, or only a part of a gang: it may be outdated, and
    nothing may be denied for it."""
    return type(subject) is Member or (type(subject) is Gang and subject.partial)


def _as_hearsay(finding: Finding) -> Finding:
    return finding._replace(severity=min(finding.severity or Severity.WARNING, Severity.WARNING))


def _told(error: Exception) -> str:
    """An exception with the place that raised it, for whoever writes the rule or reports the bug."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    at = f" ({last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno})" if last else ""
    return f"{type(error).__name__}: {error}{at}"


def _without_overruled(found: list[Finding], over: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """One place, one finding: leave out what another rule at the same place says better."""
    overruled = {(name, finding.place) for finding in found for name in over.get(finding.rule, ())}
    return (finding for finding in found if (finding.rule, finding.place) not in overruled)
