"""The verdict on an object: which findings deny, which warn, and who must hear of them.

Never turn an old mistake into an outage: what was wrong before an update, what a controller makes, and what rests on
hearsay is admitted and told. The one exception is `pod-group-annotation`, which denies owned objects too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from webhook.admission.arrival import Arrival, Heard, Owner, arrive, hear
from webhook.admission.effective import effective_request
from webhook.admission.identity import identity, is_silenced
from webhook.admission.speech import WARNINGS_AT_MOST, denial, warning, warnings
from webhook.model import NOTHING, Malformed, Pod, RepeatedKey, StrangeKind, Suppression, WrongScalar
from webhook.policy import NO_END, Deadline, Policy, Prepared, Verdict, evaluate, prepare
from webhook.review import Answer, Enforcement, LookUp, Notice, Request, nothing_known
from webhook.rule import Finding, Rule, Severity
from webhook.stack import Stack

Mode: TypeAlias = Literal["enforce", "warn"]
"""What an entry does with denials: they deny, or they become warnings."""

_READING = frozenset({Malformed, WrongScalar, RepeatedKey, StrangeKind, Suppression})
"""Subjects that come of reading. The API server has decoded the object, so these findings are ours to doubt."""

_ON_LABELS = "pod-group-"
"""A Pod's update reaches us only where its gang's label or annotation changes: only rules of this family are asked."""

_DENIES_OWNED = "pod-group-annotation"


def judge(  # noqa: PLR0917 - the parts of one question
    request: Request,
    rules: tuple[Rule, ...],
    stack: Stack,
    enforcement: Enforcement,
    look_up: LookUp = nothing_known,
    mode: Mode = "enforce",
    *,
    severities: Mapping[str, Severity] = NOTHING,
) -> Answer:
    """Judge the object of a request. Always answers, whatever the object looks like; asks nobody but `look_up`.

    `severities` are the policy's own, as in Policy: they may make a denial of a warning, though never of a reading
    rule or of what the index said.
    """
    return judge_by(law(rules, stack, severities), request, enforcement, look_up, mode)


class Law(NamedTuple):
    """The rules that are asked at admission and the stack they are told, prepared once for many requests.

    `updated` are the rules for a Pod's update. A Pod has been through the mutating webhooks: the scheduler that
    stands there is the one it will go to, which is what `settled` says.
    """

    rules: Prepared
    updated: Prepared
    stack: Stack
    settled: Stack


def law(rules: tuple[Rule, ...], stack: Stack, severities: Mapping[str, Severity] = NOTHING) -> Law:
    asked = tuple(rule for rule in rules if not rule.lint_only and _may_be_heard(rule, severities))
    on_labels = tuple(rule for rule in asked if rule.name.startswith(_ON_LABELS))
    return Law(
        prepare(Policy(asked, severities)),
        prepare(Policy(on_labels, severities)),
        stack,
        replace(stack, hami_webhook=False, injects_scheduler=False),
    )


def _may_be_heard(rule: Rule, severities: Mapping[str, Severity]) -> bool:
    """Whether a rule can change an answer: info is not told at admission, so who says no more need not be asked."""
    return bool(rule.over) or max(rule.severity, severities.get(rule.name, rule.severity)) > Severity.INFO


def judge_by(  # noqa: PLR0917 - as judge
    prepared: Law,
    request: Request,
    enforcement: Enforcement,
    look_up: LookUp = nothing_known,
    mode: Mode = "enforce",
    deadline: Deadline = NO_END,
) -> Answer:
    """As `judge`; after the deadline no rule is asked."""
    if request.operation not in {"CREATE", "UPDATE"} or request.subresource or request.object is None:
        return Answer()
    case = _open(request, prepared, deadline)
    heard = hear(case.arrival, look_up)
    verdict = evaluate(chain(case.arrival.subjects, heard.subjects), case.policy, case.stack, deadline)
    denied, told = _weigh(case, verdict, enforcement, mode)
    return _answer(case, (denied, told), (verdict, heard), enforcement)


class _Case(NamedTuple):
    """A request with its object, the rules that are asked about it, and the stack they are told."""

    request: Request
    arrival: Arrival
    policy: Prepared
    stack: Stack
    deadline: Deadline


def _open(request: Request, prepared: Law, deadline: Deadline) -> _Case:
    arrival = arrive(request, request.object or {}, prepared.stack)
    if arrival.pod is None:
        return _Case(request, arrival, prepared.rules, prepared.stack, deadline)
    policy = prepared.updated if request.operation == "UPDATE" else prepared.rules
    return _Case(request, arrival, policy, prepared.settled, deadline)


def _weigh(
    case: _Case, verdict: Verdict, enforcement: Enforcement, mode: Mode
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that deny, and those that are told; info and what is silenced is neither."""
    if not verdict.findings:  # as with most
        return (), ()
    loud = [finding for finding in verdict.findings if _loudness(finding) >= Severity.WARNING]
    loud.sort(key=_order)
    silenced = [finding for finding in loud if is_silenced(finding, case.arrival)]  # an edit may hold what has no hash
    denying = [finding for finding in loud if mode == "enforce" and _may_deny(finding, case, enforcement)]
    if enforcement.suppressions_lift_denials:
        denying = [finding for finding in denying if finding not in silenced]
    denied = tuple(_new(denying, case))
    return denied, tuple(finding for finding in loud if finding not in silenced and finding not in denied)


def _loudness(finding: Finding) -> Severity:
    return finding.severity or Severity.INFO


def _order(finding: Finding) -> tuple[int, str, str, str]:
    return (-_loudness(finding), finding.rule, repr(finding.place.path), finding.message)


def _may_deny(finding: Finding, case: _Case, enforcement: Enforcement) -> bool:
    """Whether a finding is a certain error, and its object one that may be refused for it."""
    if finding.severity is not Severity.ERROR or finding.confidence == "low" or case.arrival.made:
        return False
    if any(rule.name == finding.rule and _READING.issuperset(rule.subjects) for rule in case.policy.rules):
        return False
    owner = case.arrival.owner
    if owner is None:
        return True
    # A Node owns its static Pods' mirrors: they run whether the API server has them or not.
    return finding.rule == _DENIES_OWNED and enforcement.owned_pods == "deny" and owner.kind != "Node"


def _new(errors: list[Finding], case: _Case) -> Iterator[Finding]:
    """The errors that an update brings; on CREATE all of them are new."""
    request = case.request
    if not errors or request.operation == "CREATE":
        yield from errors
        return
    if request.old_object is None:  # nobody can tell
        return
    before = arrive(request, request.old_object, case.stack)
    verdict = evaluate(before.subjects, case.policy, case.stack, case.deadline)
    failed = {failure.rule for failure in verdict.failures}
    old = {identity(finding, before) for finding in verdict.findings if finding.severity is Severity.ERROR}
    for finding in errors:
        if finding.rule not in failed and identity(finding, case.arrival) not in old:
            yield finding


def _answer(
    case: _Case,
    findings: tuple[tuple[Finding, ...], tuple[Finding, ...]],
    sources: tuple[Verdict, Heard],
    enforcement: Enforcement,
) -> Answer:
    (denied, told), (verdict, heard) = findings, sources
    vgpu = effective_request(case.arrival.pod, case.stack) if case.request.operation == "CREATE" else ""
    if not (denied or told or verdict.failures):  # as with most
        audit = {"verdict": "allowed"}
        if heard.skipped:
            audit["skipped"] = ", ".join(heard.skipped)
        if vgpu:
            audit["vgpu"] = vgpu
        return Answer(audit=audit, skipped=heard.skipped)
    failed = tuple(sorted(failure.rule for failure in verdict.failures))
    audit = {
        "verdict": "denied" if denied else "warned" if told else "allowed",
        "rules": ",".join(_names((*denied, *told))),
        "admitted": ",".join(_names(finding for finding in told if finding.severity is Severity.ERROR)),
        "failed": ",".join(failed),
        "skipped": ", ".join(heard.skipped),
        "vgpu": vgpu,
    }
    return Answer(
        allowed=not denied,
        message=denial(denied, case.arrival.owner) if denied else "",
        warnings=warnings(told),
        audit={key: value for key, value in audit.items() if value},
        notices=tuple(_notices(told, case, enforcement)),
        rules=_names((*denied, *told)),
        failed=failed,
        skipped=heard.skipped,
    )


def _names(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.rule for finding in findings}))


def _notices(told: tuple[Finding, ...], case: _Case, enforcement: Enforcement) -> Iterator[Notice]:
    """Events on the controller that made the object: controllers throw warnings away."""
    request, owner = case.request, case.arrival.owner
    if owner is None or not all(owner) or request.operation != "CREATE" or request.dry_run or not enforcement.events:
        return
    unique = {warning(finding): finding.rule for finding in told if not _comes_again(finding, case)}
    for text, rule in list(unique.items())[:WARNINGS_AT_MOST]:
        yield _notice(owner, request.namespace, rule, text)


def _comes_again(finding: Finding, case: _Case) -> bool:
    """Whether the Pods of an owned workload, a Deployment's ReplicaSet, will have the same said of them: one Event."""
    if case.arrival.pod or not any(type(each) is Pod for each in case.arrival.subjects):
        return False
    return any(rule.name == finding.rule and Pod in rule.subjects for rule in case.policy.rules)


def _notice(owner: Owner, namespace: str, rule: str, text: str) -> Notice:
    reason = "".join(word.capitalize() for word in rule.split("-"))
    return Notice(owner.api_version, owner.kind, namespace, owner.name, owner.uid, reason, text)
