"""What a finding is about inside its object: whether an update brings it, and whether an annotation silences it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from webhook.admission.arrival import Arrival
from webhook.model import Path, dig
from webhook.rule import Finding
from webhook.suppress import PREFIX

Identity: TypeAlias = tuple[str, tuple[object, ...], str, str]
"""Rule, path, whether the key or the value is meant, and the value."""


def identity(finding: Finding, arrival: Arrival) -> Identity:
    """What makes a finding the same in an object and in its successor: the rule, the path and the value there."""
    path = (*finding.place.ref.prefix, *finding.place.path)
    return finding.rule, tuple(_named(arrival.body, path)), finding.place.at, _value(dig(arrival.body, *path))


def _named(body: object, path: Path) -> Iterator[object]:
    """A path that survives an entry put before it: items of lists by their name, where they have one."""
    for index, step in enumerate(path):
        name = dig(body, *path[: index + 1], "name") if isinstance(step, int) else None
        yield ("name", name) if isinstance(name, str) else step


def _value(value: object) -> str:
    """A scalar as it is; of a collection only that it is one: what is missing in it is missing still."""
    return type(value).__name__ if isinstance(value, dict | list) else repr(value)


def is_silenced(finding: Finding, arrival: Arrival) -> bool:
    """Whether an annotation `ignore.gangcheck.io/<rule>` covers a finding: on the object, or on a template around it.

    A finding whose place is another object, the PodGroup, is also covered where it touches this one.
    """
    refs = arrival.refs
    places = [finding.place, *(related.place for related in finding.related)]
    own = [place for place in places if place.ref in refs]
    path = (*own[0].ref.prefix, *own[0].path) if own else ()
    key = PREFIX + finding.rule
    return any(key in annotations for annotations in _around(arrival.body, path))


def _around(body: object, path: Path) -> Iterator[Mapping[object, object]]:
    """The annotations of every node from the root to a path."""
    for length in range(len(path) + 1):
        node = dig(body, *path[:length])
        if not isinstance(node, dict):
            continue
        holders = (part for name, part in node.items() if str(name).lower().endswith("metadata"))
        for holder in (node, *holders):
            annotations = dig(holder, "annotations")
            if isinstance(annotations, dict):
                yield annotations
