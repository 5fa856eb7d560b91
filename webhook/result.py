"""What a lint run came to: findings with their places in files, what was skipped, what could not be read."""

from typing import NamedTuple

from webhook.manifest import Span
from webhook.policy import Failure
from webhook.rule import Finding, Severity


class Spot(NamedTuple):
    """A span in a file, with the source lines that it covers (at most the first three), without line ends."""

    file: str
    span: Span
    lines: tuple[str, ...]


class Note(NamedTuple):
    """A related place: "the PodGroup is here"."""

    spot: Spot
    label: str


class Located(NamedTuple):
    """A finding with its place in a file. `fingerprint` does not move with the lines around it."""

    finding: Finding
    severity: Severity
    spot: Spot
    fingerprint: str
    notes: tuple[Note, ...] = ()


class Skipped(NamedTuple):
    """A file (line 0) or a document in it that is left out on purpose, and why: a Helm template, a kustomization."""

    file: str
    line: int
    reason: str


class NotRead(NamedTuple):
    """A file or a document that could not be read. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int
    column: int
    message: str


class Summary(NamedTuple):
    """Totals of a run. `documents` counts all documents, also those that are no business of ours."""

    files: int = 0
    documents: int = 0
    error: int = 0
    warning: int = 0
    info: int = 0
    suppressed: int = 0


class Result(NamedTuple):
    """Everything that a report shows, sorted by file and place: two runs give the same bytes.

    `strays` has, of each file that was named and of stdin, the first document that is text and surely no manifest.
    `judged`: whether there was a Pod, a workload, a gang or a part of an installation at all.
    """

    findings: tuple[Located, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unreadable: tuple[NotRead, ...] = ()
    failures: tuple[Failure, ...] = ()
    summary: Summary = Summary()
    strays: tuple[Skipped, ...] = ()
    judged: bool = True
