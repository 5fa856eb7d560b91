"""Findings as GitHub workflow commands, which become annotations on the changed files."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report import Style
from webhook.report.phrases import closing
from webhook.report.terminal import visible
from webhook.result import Located, NotRead, Result
from webhook.rule import Rule, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: Result, rules: tuple[Rule, ...], style: Style) -> str:  # noqa: ARG001 - all renderers have one shape
    """One command a line, worst first: GitHub shows ten annotations of a kind per step and drops the rest."""
    errors = [entry for entry in result.findings if entry.severity is Severity.ERROR]
    others = [entry for entry in result.findings if entry.severity is not Severity.ERROR]
    others.sort(key=lambda entry: -entry.severity)
    lines = [
        *(_finding(entry) for entry in errors),
        *(_not_read(entry) for entry in result.unreadable),
        *(
            _command("error", f"the rule {failure.rule} failed: {failure.error}", title="gangcheck: internal error")
            for failure in result.failures
        ),
        *(_finding(entry) for entry in others),
        closing(result, with_info=True),
    ]
    return "\n".join(lines) + "\n"


def _finding(entry: Located) -> str:
    span = entry.spot.span
    where: dict[str, str | int] = {"file": entry.spot.file, "line": span.line, "endLine": span.end_line}
    if span.line == span.end_line:  # the runner refuses columns on several lines
        where |= {"col": span.column, "endColumn": span.end_column}
    text = "\n".join(_text(entry))
    return _command(_COMMANDS[entry.severity], text, **where, title=f"gangcheck: {entry.finding.rule}")


def _text(entry: Located) -> Iterator[str]:
    yield visible(entry.finding.message)
    for note in entry.notes:
        yield visible(f"{note.label}: {note.spot.file}:{note.spot.span.line}")
    if entry.finding.fix:
        yield visible(f"help: {entry.finding.fix}")


def _not_read(entry: NotRead) -> str:
    where: dict[str, str | int] = {"file": entry.file}
    if entry.line:
        where["line"] = entry.line
    if entry.line and entry.column:
        where["col"] = entry.column
    return _command("error", entry.message, **where, title="gangcheck: cannot read")


def _command(name: str, text: str, **properties: str | int) -> str:
    """`::error file=a.yaml,line=3::text`, escaped as the runner unescapes it (actions/toolkit core/src/command.ts)."""
    pairs = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {pairs}::{_data(text)}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
