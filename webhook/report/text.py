"""Findings for people: the source line with the span underlined, related places, the cure, one closing line."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report import Style
from webhook.report.phrases import closing, dotted
from webhook.report.terminal import excerpt, paint, visible
from webhook.result import Located, NotRead, Result, Skipped, Spot
from webhook.rule import Rule, Severity

_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_FRAME = "1;34"
_CURE = "1;32"
_BOLD = "1"

_NAMED = 10
"""So many skipped files are named without --verbose: a repository full of charts must not bury its findings."""


def render(result: Result, rules: tuple[Rule, ...], style: Style) -> str:  # noqa: ARG001 - all renderers have one shape
    """The whole report. Info findings are shown only when `style.verbose`."""
    shown = (entry for entry in result.findings if style.verbose or entry.severity > Severity.INFO)
    blocks = ["\n".join(_finding(entry, style)) + "\n" for entry in shown]
    rest = "\n".join(_rest(result, style))
    return "\n".join([*blocks, rest]) + "\n"


def _finding(entry: Located, style: Style) -> Iterator[str]:
    finding, color = entry.finding, _COLORS[entry.severity]
    head = paint(f"{entry.severity}[{visible(finding.rule)}]", color, on=style.color)
    yield f"{head}: {paint(visible(finding.message), _BOLD, on=style.color)}"
    gutter = max(len(str(_last_line(spot))) for spot in (entry.spot, *(note.spot for note in entry.notes)))
    yield from _excerpt(entry.spot, "", gutter, ("-->", "^", color), style)
    for note in entry.notes:
        yield from _excerpt(note.spot, note.label, gutter, (":::", "-", _FRAME), style)
    bullet = " " * gutter + paint(" =", _FRAME, on=style.color)
    if style.verbose:
        yield f"{bullet} at: {visible(f'{finding.place.ref} {dotted(finding.place.path)}'.strip())}"
    if finding.confidence == "low":
        yield f"{bullet} note: this is a guess (low confidence)"
    if finding.fix:
        yield f"{bullet} {paint('help', _CURE, on=style.color)}: {visible(finding.fix)}"


def _last_line(spot: Spot) -> int:
    return spot.span.line + max(len(spot.lines) - 1, 0)


def _excerpt(spot: Spot, label: str, gutter: int, look: tuple[str, str, str], style: Style) -> Iterator[str]:
    """One place: where it is, its source lines with the span underlined, its label behind the last underline.

    `look` is the arrow before the place, the character to underline with, and its colour.
    """
    arrow, mark, color = look
    place = f"{visible(spot.file)}:{spot.span.line}:{spot.span.column}"
    bar = " " * gutter + paint(" |", _FRAME, on=style.color)
    yield " " * gutter + f"{paint(arrow, _FRAME, on=style.color)} {place}"
    yield bar
    rows = list(_marked(spot, style.width - gutter - 3))
    for number, line, first, last in rows:
        yield f"{paint(f'{number:>{gutter}} |', _FRAME, on=style.color)} {line}".rstrip()
        marks = mark * max(last - first, 1)
        if label and number == rows[-1][0]:
            marks += f" {visible(label)}"
        yield f"{bar} {' ' * first}{paint(marks, color, on=style.color)}"
    if _goes_on(spot):
        yield f"{bar} {paint('...', color, on=style.color)}"
    if label and not rows:
        yield f"{bar} {paint(visible(label), color, on=style.color)}"
    yield bar


def _marked(spot: Spot, room: int) -> Iterator[tuple[int, str, int, int]]:
    """Each source line of a span: its number, what is shown of it, and the cells to underline."""
    span = spot.span
    for number, line in enumerate(spot.lines, span.line):
        start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
        end = span.end_column - 1 if number == span.end_line else len(line)
        if number > span.line and end <= start:
            continue  # a block scalar's span ends at the start of the line after it
        yield (number, *excerpt(line, start, end, room))


def _goes_on(spot: Spot) -> bool:
    """Whether the span reaches beyond the lines at hand."""
    last = spot.span.end_line - (1 if spot.span.end_column == 1 else 0)
    return bool(spot.lines) and last > _last_line(spot)


def _rest(result: Result, style: Style) -> Iterator[str]:
    """What was left out, what failed, and the closing line."""
    named = result.skipped if style.verbose else result.skipped[:_NAMED]
    for skipped in named:
        yield f"skipped {_where(skipped)}: {visible(skipped.reason)}"
    if len(named) < len(result.skipped):
        yield f"skipped {len(result.skipped) - len(named)} more (--verbose names them)"
    error = _COLORS[Severity.ERROR]
    for missed in result.unreadable:
        yield f"{paint('cannot read', error, on=style.color)} {_where(missed)}: {visible(missed.message)}"
    for failure in result.failures:
        yield (
            f"{paint('internal error', error, on=style.color)} in the rule {visible(failure.rule)}: "
            f"{visible(failure.error)}; this is a bug in gangcheck, the other rules have answered"
        )
    yield paint(closing(result, with_info=style.verbose), _closing_color(result), on=style.color)


def _where(entry: Skipped | NotRead) -> str:
    place = visible(entry.file)
    if entry.line:
        place += f":{entry.line}"
    if isinstance(entry, NotRead) and entry.line and entry.column:
        place += f":{entry.column}"
    return place


def _closing_color(result: Result) -> str:
    if result.summary.error or result.unreadable or result.failures:
        return _COLORS[Severity.ERROR]
    return _COLORS[Severity.WARNING] if result.summary.warning else _CURE
