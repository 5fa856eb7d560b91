"""The words of an answer: denials in one message, warnings that fit a header, the text of an Event.

A warning with a control character is dropped by the API server without a word, and long ones are cut for all
(apimachinery pkg/util/net/http.go NewWarningHeader; apiserver pkg/endpoints/filters/warning.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.admission.arrival import Owner
from webhook.report.phrases import dotted
from webhook.rule import Finding

WARNING_AT_MOST = 200
"""Characters of one warning."""

WARNINGS_AT_MOST = 10

_LINE_AT_MOST = 800
_LINES_AT_MOST = 20


def warnings(findings: Iterable[Finding]) -> tuple[str, ...]:
    """At most ten warnings, each once; the last one tells how many more there are."""
    texts = tuple(dict.fromkeys(map(warning, findings)))
    if len(texts) <= WARNINGS_AT_MOST:
        return texts
    shown = texts[: WARNINGS_AT_MOST - 1]
    return (*shown, f"… and {len(texts) - len(shown)} more; run gangcheck lint")


def warning(finding: Finding) -> str:
    """The rule and the cure first: what is cut is the end."""
    return printable(f"{finding.rule}: {finding.fix}; {finding.message}", WARNING_AT_MOST)


def denial(findings: Sequence[Finding], owner: Owner | None) -> str:
    """All denials in one message, a line each, that ends with where to read more. A single one is a single line."""
    lines = list(dict.fromkeys(_line(finding, owner) for finding in findings))
    rules = dict.fromkeys(finding.rule for finding in findings)
    more = "; ".join(f"gangcheck explain {rule}" for rule in rules)
    if len(lines) == 1:
        return f"{lines[0]}; {more}"
    shown = lines[:_LINES_AT_MOST]
    if len(shown) < len(lines):
        shown.append(f"… and {len(lines) - len(shown)} more; run gangcheck lint")
    return "\n".join([*shown, more])


def _line(finding: Finding, owner: Owner | None) -> str:
    ref = finding.place.ref
    where = dotted((*ref.prefix, *finding.place.path))
    named = "" if str(ref) in finding.message else f"{ref} "
    mend = f"; mend it in {owner}, which makes it" if owner else ""
    return printable(f"{finding.rule}: {named}{where}: {finding.message}; {finding.fix}{mend}", _LINE_AT_MOST)


def printable(text: str, limit: int) -> str:
    """Text without control characters and half surrogates, cut to so many characters."""
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
