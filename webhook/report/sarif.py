"""Findings as SARIF 2.1.0, for code scanning. Rules carry their documentation with them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from webhook import __version__, explain
from webhook.report import Style
from webhook.report.json_ import dump
from webhook.report.phrases import dotted
from webhook.result import Located, NotRead, Result, Skipped, Spot
from webhook.rule import Rule, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

FINGERPRINT = "gangcheck/v1"
"""The name of our fingerprints; a change in how they are made needs a new number."""


def render(result: Result, rules: tuple[Rule, ...], style: Style) -> str:  # noqa: ARG001 - all renderers have one shape
    """The whole log, with one run."""
    index = {rule.name: number for number, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "gangcheck",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                # Exit code 4 tells the same: not everything could be judged.
                "executionSuccessful": not (result.unreadable or result.failures),
                "toolExecutionNotifications": list(_notifications(result)),
            }
        ],
        "results": [_result(entry, index) for entry in result.findings],
    }
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, object]:
    """A rule's entry. Code scanning wants a full description too and takes 1024 characters; `help` has it all."""
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": explain.text(rule, color=False), "markdown": explain.markdown(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"evidence": rule.evidence},
    }


def _result(entry: Located, index: dict[str, int]) -> dict[str, object]:
    finding = entry.finding
    text = f"{finding.message}\nHelp: {finding.fix}" if finding.fix else finding.message
    known = {"ruleIndex": index[finding.rule]} if finding.rule in index else {}
    related = [
        {"id": number, "physicalLocation": _spot(note.spot), "message": {"text": note.label}}
        for number, note in enumerate(entry.notes, 1)
    ]
    return {
        "ruleId": finding.rule,
        **known,
        "level": _LEVELS[entry.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _spot(entry.spot), "logicalLocations": [_logical(entry)]}],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {FINGERPRINT: entry.fingerprint},
        "properties": {"confidence": finding.confidence},
    }


def _logical(entry: Located) -> dict[str, object]:
    """The object and the field: what stays when lines move."""
    place = entry.finding.place
    owner = "/".join(filter(None, (place.ref.namespace, str(place.ref))))
    return {"name": str(place.ref), "fullyQualifiedName": f"{owner} {dotted(place.path)}".strip(), "kind": "object"}


def _spot(spot: Spot) -> dict[str, object]:
    span = spot.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"artifactLocation": {"uri": uri(spot.file)}, "region": region}


def uri(file: str) -> str:
    """A path as a URI reference: percent-encoded, relative where the path is, so that code scanning finds the file."""
    text = file.removeprefix("./")
    try:
        encoded = quote(text, errors="surrogateescape")  # a file name that is no UTF-8 keeps its bytes
    except UnicodeEncodeError:
        encoded = quote(text, errors="replace")
    return f"file://{encoded}" if encoded.startswith("/") else encoded


def _notifications(result: Result) -> Iterator[dict[str, object]]:
    for missed in result.unreadable:
        yield _notification(f"cannot read: {missed.message}", "error", missed)
    for failure in result.failures:
        yield {
            "level": "error",
            "message": {"text": f"the rule {failure.rule} failed: {failure.error}"},
            "associatedRule": {"id": failure.rule},
        }
    for skipped in result.skipped:
        yield _notification(f"skipped: {skipped.reason}", "note", skipped)


def _notification(text: str, level: str, entry: NotRead | Skipped) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": uri(entry.file)}}
    if entry.line:
        place["region"] = {"startLine": entry.line}
    if entry.line and isinstance(entry, NotRead) and entry.column:
        place["region"] = {"startLine": entry.line, "startColumn": entry.column}
    return {"level": level, "message": {"text": text}, "locations": [{"physicalLocation": place}]}
