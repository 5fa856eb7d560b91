"""A configuration and its rules to the functions behind the server's three entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from math import inf
from time import monotonic
from typing import TypeAlias

from webhook.admission import Mode, judge_by, law, mutate
from webhook.config import Config, policy
from webhook.policy import Deadline
from webhook.registration import MUTATE, VALIDATE, WARN
from webhook.review import Answer, Enforcement, LookUp, Request, VgpuEnv, nothing_known
from webhook.rule import Rule

Entry: TypeAlias = Callable[[Request], Answer]

_UNTIL: ContextVar[float] = ContextVar("until", default=inf)


def entries(config: Config, rules: tuple[Rule, ...], look_up: LookUp = nothing_known) -> Mapping[str, Entry]:
    """What answers at each path."""
    chosen = policy(config, rules)
    held = law(chosen.rules, config.stack, chosen.severities)
    enforcement = config.enforcement or Enforcement()

    def judged(request: Request, mode: Mode) -> Answer:
        return judge_by(held, request, enforcement, look_up, mode, Deadline(monotonic, _UNTIL.get()))

    return {
        MUTATE: partial(mutate, stack=config.stack, env=config.env or VgpuEnv()),
        VALIDATE: partial(judged, mode="enforce"),
        WARN: partial(judged, mode="warn"),
    }


def limit(seconds: float) -> None:
    """From now on, rules have this many seconds in this thread."""
    _UNTIL.set(monotonic() + seconds)
