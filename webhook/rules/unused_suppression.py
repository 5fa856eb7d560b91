from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Suppression
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Suppression, Severity.WARNING, evidence="read", lint_only=True)
def unused_suppression(suppression: Suppression, stack: Stack) -> Iterator[Finding]:
    """A comment or an annotation silences a rule that finds nothing there.

    What it was written for is mended, or it stands in the wrong place, and it would hide the next mistake of this
    kind. A comment covers findings that begin on its own line or, where it has a line to itself, on the next line
    that is no comment. An annotation covers the object or the Pod template that bears it. Rules that are switched off
    by `select` or `ignore` are not counted as unused.
    """
    if suppression.known and not suppression.used:
        yield Finding(suppression.place, f"{suppression.rule} finds nothing here to silence", fix="remove it")
