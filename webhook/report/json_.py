"""Findings for programs: version 1 of our own JSON, described by report.schema.json beside this file."""

from __future__ import annotations

import json
import re

from webhook.model import Ref, pointer
from webhook.report import Style
from webhook.report.phrases import dotted
from webhook.result import Located, Result, Spot
from webhook.rule import Edit, Rule

_UNSAFE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON allows and terminals or UTF-8 do not: C1 controls, line ends, reordering, halves of surrogate pairs."""


def render(result: Result, rules: tuple[Rule, ...], style: Style) -> str:  # noqa: ARG001 - all renderers have one shape
    """The whole report: all findings, also those of info severity."""
    document = {
        "version": 1,
        "findings": [_finding(entry) for entry in result.findings],
        "skipped": [{"file": entry.file, "line": entry.line, "reason": entry.reason} for entry in result.skipped],
        "unreadable": [
            {"file": entry.file, "line": entry.line, "column": entry.column, "message": entry.message}
            for entry in result.unreadable
        ],
        "failures": [{"rule": entry.rule, "error": entry.error} for entry in result.failures],
        "summary": {
            "files": result.summary.files,
            "documents": result.summary.documents,
            "error": result.summary.error,
            "warning": result.summary.warning,
            "info": result.summary.info,
            "suppressed": result.summary.suppressed,
        },
    }
    return dump(document)


def dump(document: object) -> str:
    """JSON with a line end, readable in any script, that can be written as UTF-8 and shown on a terminal."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _finding(entry: Located) -> dict[str, object]:
    finding = entry.finding
    return {
        "rule": finding.rule,
        "severity": str(entry.severity),
        "confidence": finding.confidence,
        "message": finding.message,
        "fix": finding.fix,
        **_spot(entry.spot),
        "object": _object(finding.place.ref),
        "path": dotted(finding.place.path),
        "fingerprint": entry.fingerprint,
        "related": _related(entry),
        "edits": [_edit(edit) for edit in finding.edits],
    }


def _edit(edit: Edit) -> dict[str, object]:
    """An operation of RFC 6902 on the object that it names."""
    value = {} if edit.operation == "remove" else {"value": edit.value}
    return {"object": _object(edit.place.ref), "op": edit.operation, "path": pointer(edit.place.path), **value}


def _spot(spot: Spot) -> dict[str, object]:
    span = spot.span
    return {
        "file": spot.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _object(ref: Ref) -> dict[str, object]:
    return {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _related(entry: Located) -> list[dict[str, object]]:
    """The notes, each with the object it is about: notes keep the order of the finding's related places."""
    related = iter(entry.finding.related)
    entries = []
    for note in entry.notes:
        place = next((each.place for each in related if each.label == note.label), None)
        about = _object(place.ref) if place else None
        entries.append({**_spot(note.spot), "label": note.label, "object": about})
    return entries
