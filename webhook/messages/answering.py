"""A text to the rows of the table that are said in it, each once, in order; or to the nearest rows."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from webhook.messages import Message
from webhook.messages.patterns import Pattern, compiled, tokens, words
from webhook.messages.reading import Text, plain
from webhook.messages.surroundings import described, facts

_BEFORE, _AFTER = 1500, 3000
"""Characters around a pattern's anchor in which the whole message must stand."""

_SHARED = frozenset({"namespace", "group", "pod", "node"})
"""Variables that mean the same in all messages of one line; a count does not."""

_NEAREST = 3
_NEAR_ENOUGH = 0.35
_LINES_COMPARED = 400


class Hit(NamedTuple):
    """Where a message is said: its line (from 1), its text, and the values of its variables."""

    line: int
    text: str
    values: Mapping[str, str]


class Answer(NamedTuple):
    """A message that is said in the text, with every place where it is."""

    message: Message
    hits: tuple[Hit, ...]


class Reply(NamedTuple):
    """What a text says. `nearest` is filled only where there is no answer; `empty` tells that nothing was asked."""

    answers: tuple[Answer, ...]
    nearest: tuple[Message, ...] = ()
    empty: bool = False


class _Found(NamedTuple):
    start: int
    end: int
    weight: int
    message: Message
    values: Mapping[str, str]


def reply(asked: str, table: Sequence[Message]) -> Reply:
    """Every message of the table that is said in the text, by first place, each once; else those that come near.

    Where two messages overlap, the one with more plain text is meant: the other is a part of it or its wrapping.
    """
    text = plain(asked)
    found = _without_overlaps([hit for message in table for hit in _said(text, message)])
    if not found:
        return Reply((), _nearest(text, table), empty=not text.flat)
    hits: dict[str, tuple[Message, list[Hit]]] = {}
    for each, values in zip(found, _values(text, found), strict=True):
        hit = Hit(text.numbers[text.line_at(each.start)], text.spaced[each.start : each.end], values)
        hits.setdefault(each.message.name, (each.message, []))[1].append(hit)
    told = (Answer(message, tuple(places)) for message, places in hits.values())
    return Reply(tuple(answer for answer in told if not hits.keys() & set(answer.message.unless)))


def _said(text: Text, message: Message) -> Iterator[_Found]:
    if message.words and not any(word in text.spaced for word in message.words):
        return
    for source in message.patterns:
        pattern = compiled(source)
        for begin, end in _windows(text.spaced, pattern):
            for match in pattern.regex.finditer(text.flat, begin, end):
                yield _Found(match.start(), match.end(), pattern.weight, message, match.groupdict())


def _windows(spaced: str, pattern: Pattern) -> Iterator[tuple[int, int]]:
    """The stretches of a text in which a pattern may match; finding its anchor is cheap, its regex need not be."""
    at = spaced.find(pattern.anchor)
    while at >= 0:
        begin, end = max(at - _BEFORE, 0), at + _AFTER
        while (at := spaced.find(pattern.anchor, at + 1)) >= 0 and at - _BEFORE <= end:
            end = at + _AFTER
        yield begin, min(end, len(spaced))


def _without_overlaps(found: list[_Found]) -> list[_Found]:
    """In order of places; of those that overlap the one with the most plain text, the longest, the first."""
    kept: list[_Found] = []
    cluster: list[_Found] = []
    end = 0
    for each in sorted(found, key=lambda one: one.start):
        if each.start >= end:
            kept += _weightiest(cluster)
            cluster = []
        cluster.append(each)
        end = max(end, each.end)
    return kept + _weightiest(cluster)


def _weightiest(cluster: list[_Found]) -> list[_Found]:
    """Of matches that hang together by overlapping, those that stay."""
    kept: list[_Found] = []
    for each in sorted(cluster, key=lambda one: (-one.weight, one.start - one.end, one.start)):
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda one: one.start)


def _values(text: Text, found: Sequence[_Found]) -> Iterator[Mapping[str, str]]:
    """The values for each message: its own, those of other messages in its line, those of the Pod described above."""
    sections = described(text)
    begins = [begin for begin, _ in sections]
    by_line: dict[int, dict[str, str]] = {}
    for each in found:
        names = {name: value for name, value in each.values.items() if name in _SHARED}
        by_line.setdefault(text.line_at(each.start), {}).update(names)
    for each in found:
        line = text.line_at(each.start)
        around = sections[bisect_right(begins, each.start) - 1][1]
        yield {**around, **facts(text, line), **by_line[line], **each.values}


def _nearest(text: Text, table: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that share the most telling words with a line of the text; common words count for little."""
    asked = [tokens(line) for line in text.flat.split("\n")[:_LINES_COMPARED]]
    known = [(message, words(pattern)) for message in table for pattern in message.patterns]
    often = Counter(word for _, said in known for word in said)
    # A word that no message has tells the most: near `Error: ImagePullBackOff` is not whatever says `error`.
    unknown = dict.fromkeys(frozenset().union(*asked) - often.keys(), 1)
    worth = {word: log(1 + len(known) / times) for word, times in (unknown | often).items()}
    scores: dict[Message, float] = {}
    for message, said in known:
        best = max((_likeness(line, said, worth) for line in asked), default=0.0)
        scores[message] = max(scores.get(message, 0.0), best)
    near = sorted(scores, key=lambda message: -scores[message])[:_NEAREST]
    return tuple(message for message in near if scores[message] >= _NEAR_ENOUGH)


def _likeness(line: frozenset[str], said: frozenset[str], worth: Mapping[str, float]) -> float:
    """From 0 (no word in common) to 1 (the same words)."""
    shared = sum(worth[word] for word in line & said)
    if not shared:
        return 0.0
    return 2 * shared / (sum(worth[word] for word in said) + sum(worth[word] for word in line))
