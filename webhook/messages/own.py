"""What gangcheck itself says: denials, warnings and Events lead to the page of their rule."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.messages import Check, Message
from webhook.rule import Rule


def own(rules: Iterable[Rule]) -> tuple[Message, ...]:
    """A row for each rule, in every form in which the webhook speaks (admission/speech.py)."""
    return tuple(map(_row, rules))


def _row(rule: Rule) -> Message:
    said = f"{rule.name}: "
    event = "".join(word.capitalize() for word in rule.name.split("-"))
    patterns = (
        f'admission webhook "{{webhook}}" denied the request: {said}',
        f"denied the request: {said}",
        f"Warning: {said}",
        f"Warning {event} ",
        f"{event} {said}",
        f"gangcheck explain {rule.name}",
        f"gangcheck: {said}",
        f"error[{rule.name}]",
        f"warning[{rule.name}]",
        f"info[{rule.name}]",
    )
    return Message(
        rule.name,
        patterns,
        "gangcheck: a denial, a warning, or an Event on the Pods' owner",
        rule.summary,
        (Check("the whole page", f"gangcheck explain {rule.name}"),),
        (rule.name,),
        evidence=rule.evidence,
        words=(rule.name, event),
    )
