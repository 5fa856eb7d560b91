from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Suppression
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Suppression, Severity.WARNING, evidence="read", lint_only=True)
def unknown_suppression(suppression: Suppression, stack: Stack) -> Iterator[Finding]:
    """A comment or an annotation silences a rule that does not exist.

    Nothing is silenced by it: the rule's name is misspelt, the rule has another name in this release, or a comment
    names no rule in brackets. What works is `# gangcheck: ignore[rule] reason`, with several rules as
    `ignore[one, other]`, on the line of the finding or on the line above it, and the annotation
    `ignore.gangcheck.io/<rule>: reason` on the object or on its Pod template.
    """
    if suppression.known:
        return
    near = suppression.near
    if suppression.rule:
        yield Finding(
            suppression.place,
            f"there is no rule {suppression.rule!r}; this silences nothing",
            fix=f"write {' or '.join(near)}" if near else "take a name that `gangcheck rules` lists, or remove it",
        )
        return
    yield Finding(
        suppression.place,
        "this comment names no rule in brackets; it silences nothing",
        fix=f"write # gangcheck: ignore[{', '.join(near) or 'rule'}] reason",
    )
