"""A lint run: files to documents to subjects to findings, each with its place in a file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from webhook import sources
from webhook.config import Config, is_excluded, is_ignored, policy
from webhook.errors import Unreadable
from webhook.gather import gather, shows_installation
from webhook.kinds import GROUPS, STEMS
from webhook.manifest import Chunk, Document, Span, Templated, concerns, cut, read, span, written
from webhook.manifest.lines import split
from webhook.model import (
    Access,
    Certificate,
    HookConfiguration,
    Namespace,
    Path,
    Place,
    Release,
    SchedulerConfig,
    Service,
    Subject,
)
from webhook.parse import parse
from webhook.policy import Failure, Policy, Verdict, evaluate
from webhook.result import Located, Note, NotRead, Result, Skipped, Spot, Summary
from webhook.rule import Finding, Rule, Severity
from webhook.stack import Stack

if TYPE_CHECKING:
    from webhook.suppress import Silencer

Progress = Callable[[int, int], None]
"""Called with (files done, files in all)."""

Blocks = Iterable[bytes]

LINES_SHOWN = 3


WORDS = (
    b"ontainers",
    b"pod-group",
    b"podgroup",
    b"scheduling.",
    b"kustomiz",
    b"gangcheck",
    b"ScaledObject",
    b"scheduler",
    b"hami",
    b"device-config",
    b"resourceCountName",
    b"resourceMem",
    b"resourceCores",
    b"resourcePriority",
    b"evicePlugin",
    b"gpuHookPath",
    b"managedNodeSelector",
    b"HelmRelease",
    b"ebhookConfiguration",
    b"ResourceQuota",
    *map(str.encode, STEMS + GROUPS),
)
"""A document concerns us only if it holds one of these: Pods and their templates have containers, and whatever
else is judged names a kind, a key or an API group of this list."""

AROUND = (b"Service", b"Namespace", b"Certificate", b"ebhookconfigurations")
"""What a webhook configuration leans on holds one of these. Trees are full of Services, so they are read only where a
run has a webhook configuration."""

_LONGEST_TEXT = 1 << 16
"""Bytes of what is looked at to tell text from a manifest; larger data that is no business of ours is not read."""

RIGHTS = b"rbac.authorization"
"""Roles and bindings hold it. They are read only where a run has a scheduler, or a webhook configuration."""


class _Run:
    """What has been read so far. The one mutable value of a run; it never leaves this module. (No dataclass: making one
    takes longer than reading a file.)"""

    def __init__(self, stack: Stack, *, every: bool = False) -> None:
        self.stack = stack
        self.every = every
        self.files: list[str] = []
        self.documents: list[Document] = []
        self.subjects: list[Subject] = []
        self.silencers: list[Silencer] = []
        self.comments: dict[Place, Span] = {}
        self.skipped: list[Skipped] = []
        self.unreadable: list[NotRead] = []
        self.waiting: list[tuple[str, Chunk]] = []
        self.named = False
        self.strays: dict[str, int] = {}
        self.read = 0
        self.seen = 0


def run(
    paths: Sequence[str],
    config: Config,
    *,
    rules: tuple[Rule, ...],
    stdin_name: str = "<stdin>",
    progress: Progress | None = None,
    least: Severity = Severity.INFO,
) -> Result:
    """Lint files and folders. Findings do not depend on the order in which paths are given.

    What is below `least` is counted in the summary and not among the findings: a place costs as much as reading its
    document again, which is too much for what no report shows.
    """
    return _judge(_read_paths(paths, config, stdin_name, progress), config, rules, least)


class Examined(NamedTuple):
    """What files hold, for commands that show it instead of judging it: subjects as rules see them, and `spot`, which
    tells where a place is. `stack` is what a lint run takes to hold, with what the files show."""

    subjects: tuple[Subject, ...]
    spot: Callable[[Place], Spot]
    skipped: tuple[Skipped, ...]
    unreadable: tuple[NotRead, ...]
    files: int
    stack: Stack


def examine(
    paths: Sequence[str], config: Config, *, stdin_name: str = "<stdin>", progress: Progress | None = None
) -> Examined:
    """Read files and folders as a lint run does, and judge nothing."""
    state = _read_paths(paths, config, stdin_name, progress)
    gathered = tuple(_gathered(state, config))
    stack = _shown_stack(config.stack, state.subjects, gathered)
    spot = partial(_spot, state=state)
    subjects = (*state.subjects, *gathered)
    return Examined(subjects, spot, tuple(state.skipped), tuple(state.unreadable), state.read, stack)


def _read_paths(paths: Sequence[str], config: Config, stdin_name: str, progress: Progress | None) -> _Run:
    found = list(sources.find(paths, partial(is_excluded, config), stdin_name))
    files = sorted((item for item in found if isinstance(item, sources.Source)), key=lambda source: source.name)
    state = _Run(config.stack)
    state.skipped.extend(item for item in found if isinstance(item, Skipped))
    state.unreadable.extend(item for item in found if isinstance(item, NotRead))
    for done, source in enumerate(files):
        if progress:
            progress(done, len(files))
        state.named = source.path is None or source.path in paths
        _read_file(source.name, sources.blocks(source), state)
    if progress:
        progress(len(files), len(files))
    return state


def lint(
    files: Iterable[tuple[str, Blocks]],
    config: Config,
    *,
    rules: tuple[Rule, ...],
    every: bool = False,
    least: Severity = Severity.INFO,
) -> Result:
    """Lint named texts that are in memory, as `run` does files. `every`: read also the documents that cannot concern
    us."""
    state = _Run(config.stack, every=every)
    for name, blocks in files:
        _read_file(name, blocks, state)
    return _judge(state, config, rules, least)


def _read_file(name: str, blocks: Blocks, state: _Run) -> None:
    state.read += 1
    try:
        for chunk in cut(blocks):
            state.seen += 1
            if state.every or concerns(chunk, WORDS):
                _read_chunk(name, chunk, state)
            elif RIGHTS in chunk.data or any(word in chunk.data for word in AROUND):
                state.waiting.append((name, chunk))
            elif state.named and len(chunk.data) < _LONGEST_TEXT and b"kind" not in chunk.data:
                _read_stray(name, chunk, state)
    except Unreadable as error:
        state.unreadable.append(NotRead(name, error.line or 0, error.column or 0, str(error)))


def _read_stray(name: str, chunk: Chunk, state: _Run) -> None:
    """Look at what cannot concern us and names no kind: somebody named it, or piped it here, so that it be linted."""
    try:
        strays = [document.line for document in read(chunk) if _is_text(document.data)]
    except Templated:
        return
    except Unreadable:
        strays = [chunk.line]
    if strays:
        state.strays.setdefault(name, strays[0])


def _is_text(data: object) -> bool:
    """Whether it is no object, list or values: a plain text, or what `helm` and `kustomize` say when they fail."""
    if isinstance(data, dict):
        return len(data) == 1 and isinstance(data.get("Error"), str)
    return not isinstance(data, list)


def _read_chunk(name: str, chunk: Chunk, state: _Run) -> None:
    try:
        documents = read(chunk)
    except Templated as template:
        state.skipped.append(
            Skipped(
                name,
                template.line or chunk.line,
                template.engine if "template" in template.engine else f"{template.engine} template",
            )
        )
        return
    except Unreadable as error:
        state.unreadable.append(NotRead(name, error.line or chunk.line, error.column or 0, str(error)))
        return
    state.seen += len(documents) - 1
    for document in documents:
        _parse(name, document, state)


def _parse(name: str, document: Document, state: _Run) -> None:
    parsed = parse(
        document.data,
        len(state.documents),
        state.stack,
        written=lambda path: written(document, path),
        duplicates=[(twice.path, twice.first.line, twice.second.line) for twice in document.duplicates],
    )
    if parsed.skipped:
        state.skipped.append(Skipped(name, document.line, parsed.skipped))
    if not parsed.subjects and state.named and _is_text(document.data):
        state.strays.setdefault(name, document.line)
    if not parsed.subjects and "gangcheck" not in document.text:
        return
    if "gangcheck" in document.text:
        from webhook import suppress

        state.silencers.extend(suppress.collect(len(state.documents), document))
    state.subjects.extend(parsed.subjects)
    state.files.append(name)
    state.documents.append(document)


def _read_around(state: _Run) -> None:
    """Read what has been put aside, where there is something that leans on it."""
    waiting, state.waiting = state.waiting, []
    hooks = any(type(subject) is HookConfiguration for subject in state.subjects)
    if not hooks and not any(shows_installation(subject) for subject in state.subjects):
        return
    for name, chunk in waiting:
        if hooks or RIGHTS in chunk.data:
            _read_chunk(name, chunk, state)


def _gathered(state: _Run, config: Config) -> Iterator[Subject]:
    """What the objects of all files are put together to."""
    _read_around(state)
    return gather(state.subjects, files=state.files, whole=config.whole, now=config.now)


def _judge(state: _Run, config: Config, rules: tuple[Rule, ...], least: Severity) -> Result:
    gathered = list(_gathered(state, config))
    shown = _shown_stack(config.stack, state.subjects, gathered)
    chosen = policy(config, rules)
    verdict = _verdict(state.subjects, gathered, chosen, (config.stack, shown))
    if state.silencers:
        return _silence(state, verdict, config._replace(stack=shown), chosen, (rules, least))
    heard = [finding for finding in verdict.findings if not _is_off(finding, state, config)]
    return _result(state, _locate(heard, state, least), Counter(map(_severity, heard)), verdict.failures)


def _shown_stack(stack: Stack, subjects: Sequence[Subject], gathered: Sequence[Subject]) -> Stack:
    """The stack with what the input shows of its installation, where nobody has declared it."""
    if not any(type(each) is Release or type(each) is SchedulerConfig for each in gathered):
        return stack
    from webhook.installation.detecting import applied, detect

    return applied(stack, detect(chain(subjects, gathered)))


def _verdict(
    subjects: Sequence[Subject], gathered: Sequence[Subject], chosen: Policy, stacks: tuple[Stack, Stack]
) -> Verdict:
    """What the rules say. Of several installations in one input none is judged by what another one shows."""
    declared, shown = stacks
    parts = [each for each in gathered if type(each) in _PARTS]
    if shown is declared or sum(type(each) is Release for each in parts) <= 1:
        return evaluate(chain(subjects, gathered), chosen, shown)
    rest = [each for each in gathered if type(each) not in _PARTS]
    of_parts, of_rest = evaluate(parts, chosen, declared), evaluate(chain(subjects, rest), chosen, shown)
    return Verdict((*of_rest.findings, *of_parts.findings), (*of_rest.failures, *of_parts.failures))


_PARTS = frozenset({Access, Release, SchedulerConfig})

_BYSTANDERS = frozenset({Certificate, Namespace, Service})
"""What no rule judges without a webhook configuration or a workload beside it."""


def _silence(
    state: _Run, verdict: Verdict, config: Config, chosen: Policy, asked: tuple[tuple[Rule, ...], Severity]
) -> Result:
    """Leave out what is silenced, and say what silences nothing; that may be silenced in its turn. All findings are
    located: a comment silences those of its line, whether a report shows them or not."""
    from webhook import suppress

    rules, least = asked
    known, ran = {rule.name for rule in rules}, {rule.name for rule in chosen.rules}
    outcome = suppress.apply(_locate(verdict.findings, state), state.silencers, known, ran)
    state.comments.update(outcome.spans)
    remarks = evaluate(outcome.subjects, chosen, config.stack)
    after = suppress.apply(_locate(remarks.findings, state), state.silencers, known, ran)
    heard = [item for item in (*outcome.kept, *after.kept) if not _is_off(item.finding, state, config)]
    counts = Counter(item.severity for item in heard)
    shown = (item for item in heard if item.severity >= least)
    failures = (*verdict.failures, *remarks.failures)
    return _result(state, shown, counts, failures, outcome.silenced + after.silenced)


def _is_off(finding: Finding, state: _Run, config: Config) -> bool:
    return is_ignored(config, state.files[finding.place.ref.document], finding.rule)


def _severity(finding: Finding) -> Severity:
    return finding.severity or Severity.INFO


def _result(
    state: _Run, found: Iterable[Located], counts: Counter[Severity], failures: tuple[Failure, ...], silenced: int = 0
) -> Result:
    summary = Summary(
        files=state.read,
        documents=state.seen,
        error=counts[Severity.ERROR],
        warning=counts[Severity.WARNING],
        info=counts[Severity.INFO],
        suppressed=silenced,
    )
    return Result(
        tuple(sorted(found, key=_order)),
        tuple(sorted(state.skipped, key=lambda item: (item.file, item.line))),
        tuple(sorted(state.unreadable, key=lambda item: (item.file, item.line, item.column))),
        failures,
        summary,
        tuple(Skipped(name, line, "text, no manifest") for name, line in state.strays.items()),
        any(type(subject) not in _BYSTANDERS for subject in state.subjects),
    )


def _order(item: Located) -> tuple[str, int, int, int, str, str]:
    span = item.spot.span
    return (item.spot.file, span.line, span.column, -item.severity, item.finding.rule, item.finding.message)


def _locate(findings: Iterable[Finding], state: _Run, least: Severity = Severity.INFO) -> Iterator[Located]:
    """Give every finding from `least` on its place in a file; equal findings at different places keep apart by their
    number, in which all count."""
    seen: Counter[str] = Counter()
    for finding in sorted(findings, key=_document):  # each document is read for places once
        identity = _identity(finding, state)
        seen[identity] += 1
        severity = _severity(finding)
        if severity < least:
            continue
        digest = _digest(f"{identity}|{seen[identity]}")
        notes = tuple(Note(_spot(related.place, state), related.label) for related in finding.related)
        yield Located(finding, severity, _spot(finding.place, state), digest, notes)


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _document(finding: Finding) -> int:
    return finding.place.ref.document


def _identity(finding: Finding, state: _Run) -> str:
    """What a finding is, without the lines around it: rule, file, object and path."""
    ref, path = finding.place.ref, finding.place.path
    parts = (finding.rule, state.files[ref.document], ref.kind, ref.namespace, ref.name, path)
    return repr(parts)


def _spot(place: Place, state: _Run) -> Spot:
    document = state.documents[place.ref.document]
    where = state.comments.get(place) or span(document, _whole_path(place), key=place.at == "key")
    lines = _lines(document.text)
    first = where.line - document.line
    shown = lines[first : min(where.end_line - document.line + 1, first + LINES_SHOWN)]
    return Spot(state.files[place.ref.document], where, tuple(shown))


@lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    """A document's lines, kept for its next finding."""
    return split(text)


def _whole_path(place: Place) -> Path:
    return (*place.ref.prefix, *place.path)
