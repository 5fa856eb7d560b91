"""What the rules about vGPU requests cost in a review, and which of them the most: `python tests/bench/rules.py`.

The same review is answered with all rules and without those, in turns within this run, as `/validate` does it without
HTTP: decode, judge, encode. Machines differ, so read the ratios.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from serving import BODIES, handle

from webhook.config import Config
from webhook.doors import entries
from webhook.rule import Rule
from webhook.rules import all_rules

TURNS, ROUNDS = 40, 100
AIM = 20
FAMILY = ("gpu-", "env-", "isolation-", "dead-", "driver-", "device-", "scheduler-owned-", "quota-")


def in_turns(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of this process's own time for each, at best: what else the machine does only adds to that."""
    best = dict.fromkeys(works, math.inf)
    for _ in range(TURNS):
        for name, work in works.items():
            began = time.process_time()
            for _ in range(ROUNDS):
                work()
            best[name] = min(best[name], (time.process_time() - began) / ROUNDS)
    return best


def answering(body: bytes, rules: tuple[Rule, ...]) -> Callable[[], object]:
    door = entries(Config(), rules)["/validate"]
    return lambda: handle(body, door)


def main() -> None:
    rules = all_rules()
    asked = [rule for rule in rules if rule.name.startswith(FAMILY) and not rule.lint_only]
    others = tuple(rule for rule in rules if rule not in asked)
    print(f"what {len(asked)} rules about vGPU requests add to a review (aim: below {AIM} % of the handler's time)")
    for name, body in BODIES.items():
        took = in_turns({"with": answering(body, rules), "without": answering(body, others)})
        parsing = in_turns({"json": lambda body=body: json.loads(body)})["json"]
        more = took["with"] - took["without"]
        share = 100 * more / took["with"]
        print(
            f"  {name:16} {took['with'] * 1e6:6.0f} us with, {took['without'] * 1e6:6.0f} us without: "
            f"{more * 1e6:5.0f} us = {share:4.1f} % of the handler, {more / parsing:4.2f} x json.loads"
        )
    body = BODIES["small Pod"]
    alone = in_turns({"": answering(body, others), **{r.name: answering(body, (*others, r)) for r in asked}})
    base = alone.pop("")
    print("  of the small Pod, each alone:")
    for rule, took_alone in sorted(alone.items(), key=lambda item: -item[1])[:6]:
        print(f"    {rule:32} {(took_alone - base) * 1e6:5.1f} us")


if __name__ == "__main__":
    main()
