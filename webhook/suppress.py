"""What is silenced where: comments and annotations, and those that silence nothing.

`# gangcheck: ignore[rule] reason` silences findings that begin on its line, or, on a line of its own, on the next
line that is no comment. The annotation `ignore.gangcheck.io/<rule>: reason` silences findings in the object or the
Pod template that bears it, with all that is below. The reason is for readers; it may be left out.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from webhook.manifest import Document, Span, comments, span
from webhook.manifest.lines import split
from webhook.model import Path, Place, Ref, Suppression, dig
from webhook.result import Located

PREFIX = "ignore.gangcheck.io/"

HINT = "gangcheck"
"""A document whose text lacks this silences nothing; asking costs less than collecting."""

_DIRECTIVE = re.compile(r"#\s*gangcheck:\s*([A-Za-z-]+)\b([^#]*)")
_RULES = re.compile(r"\s*\[([^\]]*)\]")
_NAME = re.compile(r"[^\s,]+")
_ALONE = re.compile(r"[-?\s]*")
_EMPTY = re.compile(r"\s*(?:#|---|\Z)")
_VERBS = ("ignore", "disable", "noqa", "skip", "suppress", "silence", "allow", "nolint", "off")
"""What people write who want to silence a rule; other words after `# gangcheck:` are prose."""


class Silencer(NamedTuple):
    """One silencing of one rule. It covers the findings on `line` of its file, or, where that is 0, those at and
    below `scope` of its document. `rule` is empty for a comment that names none: `near` has what it may mean."""

    place: Place
    span: Span
    rule: str
    line: int = 0
    scope: Path = ()
    near: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """Findings that stay, how many were silenced, the subjects for the rules about suppressions, and where in
    the file the subjects' places are (a comment is no node of a document)."""

    kept: tuple[Located, ...]
    silenced: int
    subjects: tuple[Suppression, ...]
    spans: Mapping[Place, Span]


def collect(index: int, document: Document) -> tuple[Silencer, ...]:
    """What a document silences; `index` is its number in the run, as in the `document` of a Ref."""
    if HINT not in document.text:
        return ()
    return (*_from_comments(index, document), *_from_annotations(index, document))


def apply(
    findings: Iterable[Located], silencers: Sequence[Silencer], known: Collection[str], ran: Collection[str]
) -> Outcome:
    """Leave out what is silenced. `known` are the names of all rules, `ran` of those that were asked: what silences
    a rule that was not asked is not unused.
    """
    index = {_address(silencer): silencer for silencer in silencers}
    kept, silenced, used = [], 0, set()
    for item in findings:
        by = [index[address] for address in _addresses(item) if address in index] if index else []
        used.update(by)
        silenced += bool(by)
        if not by:
            kept.append(item)
    working = {_address(silencer) for silencer in used}
    subjects = tuple(
        _subject(silencer, known, used=_address(silencer) in working)
        for silencer in silencers
        if silencer.rule not in known or silencer.rule in ran
    )
    return Outcome(tuple(kept), silenced, subjects, {silencer.place: silencer.span for silencer in silencers})


_Address: TypeAlias = tuple[int, str, int, Path]
"""What a silencer covers: a document, a rule, and a line or a path. A dictionary of them is asked for each finding."""


def _address(silencer: Silencer) -> _Address:
    return (silencer.place.ref.document, silencer.rule, silencer.line, silencer.scope)


def _addresses(item: Located) -> Iterator[_Address]:
    """All that would silence a finding: its line, and every node that it stands in."""
    place, rule = item.finding.place, item.finding.rule
    document = place.ref.document
    path = (*place.ref.prefix, *place.path)
    yield (document, rule, item.spot.span.line, ())
    for length in range(len(path) + 1):
        yield (document, rule, 0, path[:length])


def _subject(silencer: Silencer, known: Collection[str], *, used: bool) -> Suppression:
    rule = silencer.rule
    if rule in known:
        near: tuple[str, ...] = ()
    elif rule:
        asked = rule.lower().replace("_", "-")
        close = difflib.get_close_matches(asked, known, n=1, cutoff=0.85) or difflib.get_close_matches(asked, known)
        near = tuple(close)
    else:
        near = tuple(word for word in silencer.near if word in known)
    where = silencer.span
    return Suppression(silencer.place, rule, rule in known, used, near, where.line, where.column)


def _from_comments(index: int, document: Document) -> Iterator[Silencer]:
    lines = split(document.text)
    ref = _ref(index, document.data, ())
    written: Counter[str] = Counter()
    for line, column, text in comments(document):
        target = _target(lines, line - document.line, column) + document.line
        for rule, start, end, near in _directives(text):
            # The place names no line, so that a finding's fingerprint does not move with the lines above it.
            step = f"# gangcheck: ignore[{rule}]"
            place = Place(ref, (step, written[step]))
            written[step] += 1
            yield Silencer(place, Span(line, column + start, line, column + end), rule, target, (), near)


def _target(lines: Sequence[str], at: int, column: int) -> int:
    """The line that a comment is about, counted from 0: its own, or the next one that holds more than comments."""
    if not _ALONE.fullmatch(lines[at], 0, column - 1):
        return at
    after = (number for number in range(at + 1, len(lines)) if not _EMPTY.match(lines[number]))
    return next(after, at)


def _directives(comment: str) -> Iterator[tuple[str, int, int, tuple[str, ...]]]:
    """Each rule that a comment silences, and the characters to underline. An empty rule: it silences nothing."""
    for match in _DIRECTIVE.finditer(comment):
        verb, rest = match[1].lower(), match[2]
        rules = _RULES.match(rest) if verb == "ignore" else None
        names = list(_NAME.finditer(rules[1])) if rules else []
        begin = match.start(2) + (rules.start(1) if rules else 0)
        for name in names:
            yield name[0], begin + name.start(), begin + name.end(), ()
        if not names and difflib.get_close_matches(verb, _VERBS, n=1, cutoff=0.75):
            words = tuple(word.strip("[](),.:;'\"") for word in rest.split())
            yield "", match.start(), match.start() + len(match[0].rstrip()), words


def _from_annotations(index: int, document: Document) -> Iterator[Silencer]:
    """All mappings named `annotations` are looked at: of objects, of templates of any kind, of a Spark driver."""
    todo: list[tuple[Path, object]] = [((), document.data)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, Mapping):
            todo.extend(((*path, key), item) for key, item in value.items() if isinstance(item, _INNER))
            if path[-1:] == ("annotations",):
                keys = [key for key in value if isinstance(key, str) and key.startswith(PREFIX)]
                yield from (_annotation(index, document, (*path, key)) for key in keys)
        elif isinstance(value, list):
            todo.extend(((*path, number), item) for number, item in enumerate(value) if isinstance(item, _INNER))


_INNER = (Mapping, list)


def _annotation(index: int, document: Document, path: Path) -> Silencer:
    rule = str(path[-1]).removeprefix(PREFIX)
    holder = path[:-2]
    last = holder[-1] if holder else ""
    scope = holder[:-1] if isinstance(last, str) and last.lower().endswith("metadata") else holder
    ref = _ref(index, document.data, path)
    place = Place(ref, path[len(ref.prefix) :], "key")
    return Silencer(place, span(document, path, key=True), rule, scope=scope)


def _ref(index: int, data: object, path: Path) -> Ref:
    """The object at or around a path: the document's own, or a List's item."""
    depth = 0
    while path[depth : depth + 1] == ("items",) and len(path) > depth + 1:
        depth += 2
    body = dig(data, *path[:depth])
    steps = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    api_version, kind, namespace, name = (_text(dig(body, *step)) for step in steps)
    return Ref(api_version, kind, namespace, name, index, path[:depth])


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
