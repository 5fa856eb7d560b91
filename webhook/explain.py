"""What a rule's docstring says, as text, as Markdown, and as one row of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.rule import Rule

_EVIDENCE = {
    "seen": "seen on the real scheduler, API server or HAMi",
    "read": "read in the source of the component",
    "inferred": "inferred from what was seen or read",
}


def text(rule: Rule, color: bool = False) -> str:  # noqa: FBT001, FBT002 - the one choice there is
    """A rule's page for a terminal, ending with a line end."""
    title = f"{rule.name} ({rule.severity})"
    return "\n".join(
        [
            f"\x1b[1m{title}\x1b[0m" if color else title,
            "",
            rule.doc,
            "",
            *(f"{name + ':':<10}{value}" for name, value in _facts(rule)),
            "",
            "To silence it:",
            *(f"  {where:<29}{what}" for where, what in _silencers(rule)),
            "",
        ]
    )


def markdown(rule: Rule) -> str:
    """A rule's page in Markdown, ending with a line end. Docstrings are Markdown already."""
    return "\n".join(
        [
            f"# {rule.name}",
            "",
            rule.doc,
            "",
            *(f"- {name}: {value}" for name, value in [("Severity", str(rule.severity)), *_facts(rule)]),
            "",
            "To silence it:",
            "",
            *(f"- {where}: `{what}`" for where, what in _silencers(rule)),
            "",
        ]
    )


def table(rules: Iterable[Rule]) -> str:
    """All rules, one a row, in Markdown that also reads well on a terminal."""
    head = ("rule", "severity", "what it catches")
    rows = [(f"`{rule.name}`", str(rule.severity), rule.summary.replace("|", "\\|")) for rule in rules]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in [head, *rows]]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "Evidence", _EVIDENCE[rule.evidence]
    if rule.lint_only:
        yield "Speaks", "only when linting"
    if rule.over:
        yield "Replaces", f"{', '.join(rule.over)}, where both would speak at one place"


def _silencers(rule: Rule) -> tuple[tuple[str, str], ...]:
    return (
        ("on the line or above it", f"# gangcheck: ignore[{rule.name}] reason"),
        ("annotation on the object", f'ignore.gangcheck.io/{rule.name}: "reason"'),
        ("everywhere, .gangcheck.yaml", f"ignore: [{rule.name}]"),
    )
