"""The rules, one file each, found by looking: adding a rule edits nothing here."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from webhook.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every Rule of this folder, sorted by name. The module `x_y` holds the rule `x-y` and nothing else public."""
    rules = [_rule_of(module.name) for module in pkgutil.iter_modules(__path__)]
    return tuple(sorted(rules, key=lambda rule: rule.name))


def _rule_of(module: str) -> Rule:
    made = getattr(importlib.import_module(f"{__name__}.{module}"), module, None)
    if not isinstance(made, Rule):
        raise TypeError(f"webhook/rules/{module}.py holds no rule named {module}")
    return made
