"""A configuration and its rules to the functions behind the server's three entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from math import inf
from time import monotonic
from typing import TypeAlias

from webhook.admission import judge_by, law, mutate
from webhook.config import Config, policy
from webhook.model import Subject
from webhook.registration import MUTATE, VALIDATE, WARN
from webhook.review import Answer, Enforcement, LookUp, Request, VgpuEnv, nothing_known
from webhook.rule import Finding, Rule
from webhook.stack import Stack

Entry: TypeAlias = Callable[[Request], Answer]

_UNTIL: ContextVar[float] = ContextVar("until", default=inf)


def entries(config: Config, rules: tuple[Rule, ...], look_up: LookUp = nothing_known) -> Mapping[str, Entry]:
    """What answers at each path."""
    chosen = policy(config, tuple(in_time(rule) for rule in rules))
    held = law(chosen.rules, config.stack, chosen.severities)
    enforcement = config.enforcement or Enforcement()
    judged = partial(judge_by, held, enforcement=enforcement, look_up=look_up)
    return {
        MUTATE: partial(mutate, stack=config.stack, env=config.env or VgpuEnv()),
        VALIDATE: partial(judged, mode="enforce"),
        WARN: partial(judged, mode="warn"),
    }


class OutOfTime(Exception):  # noqa: N818 - reads as what it is
    """A rule was not asked because the review's time was over; it is named like one that raised."""


def limit(seconds: float) -> None:
    """From now on, rules have this many seconds in this thread."""
    _UNTIL.set(monotonic() + seconds)


def in_time(rule: Rule, clock: Callable[[], float] = monotonic) -> Rule:
    """The same rule, which is not asked when the time is over: the others' findings are of use only if they are sent
    before the API server gives up."""
    asked, until = rule.check, _UNTIL.get  # named here, since this stands between every rule and every subject

    def check(subject: Subject, stack: Stack) -> Iterable[Finding]:
        if clock() > until():
            raise OutOfTime
        return asked(subject, stack)

    return rule._replace(check=check)
