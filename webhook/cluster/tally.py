"""What is known of the gangs of a cluster, as a fold over news (pure: no threads, no clock, no sockets).

An event changes the mappings inside a tally in place, since copying ten thousand entries for each is wasteful; a
list makes a new one beside the old. Whoever holds a tally keeps its readers out meanwhile (index.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any, NamedTuple, TypeAlias, TypeVar

from webhook.cluster.news import Absent, Changed, Listed, Lost, News, Opened
from webhook.model import GROUP_LABEL, PodGroup, dig
from webhook.parse import parse
from webhook.stack import Stack

T = TypeVar("T", str, tuple[str, str])

Key: TypeAlias = tuple[str, str]
"""A gang's namespace and name."""

QUIET_AFTER = 5.0
"""Seconds without an event: one apply of a PodGroup and its Pods takes less."""

_TOUCHED_AT_MOST = 256
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_STACK = Stack()


class Member(NamedTuple):
    """A Pod, as far as counting needs it. `key` is None for one that names no group."""

    uid: str
    key: Key | None


@dataclass(frozen=True, slots=True)
class Members:
    """Which gang each Pod belongs to, how many each gang has, and when a member of it last came or went.

    Terminating Pods count, as for the scheduler.
    """

    homes: dict[str, Key] = field(default_factory=dict)
    counts: dict[Key, int] = field(default_factory=dict)
    touched: dict[Key, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Groups:
    """The PodGroups, when each namespace last saw an event of one, and since when the watch goes without a gap
    (infinity: it does not)."""

    held: dict[Key, PodGroup] = field(default_factory=dict)
    touched: dict[str, float] = field(default_factory=dict)
    since: float = math.inf


def read_member(body: Mapping[str, Any]) -> Member | None:
    """A Pod's metadata, with whatever else there is left out."""
    namespace, uid = dig(body, "metadata", "namespace"), dig(body, "metadata", "uid")
    group = dig(body, "metadata", "labels", GROUP_LABEL)
    if not isinstance(uid, str) or not isinstance(namespace, str):
        return None
    # The members of a gang share these texts.
    return Member(uid, (intern(namespace), intern(group)) if isinstance(group, str) else None)


def read_group(body: Mapping[str, Any]) -> PodGroup | None:
    """A PodGroup, read as the linter reads it; its managed fields, status and last manifest are not kept."""
    metadata = body.get("metadata")
    kept = dict(metadata) if isinstance(metadata, dict) else {}
    kept.pop("managedFields", None)
    if isinstance(kept.get("annotations"), dict):
        kept["annotations"] = {key: text for key, text in kept["annotations"].items() if key != _LAST_APPLIED}
    slim = {key: body.get(key) for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}
    parsed = parse(slim, -1, _STACK, written=lambda _path: "")
    return next((subject for subject in parsed.subjects if isinstance(subject, PodGroup)), None)


def count(members: Members, news: News[Member], now: float = 0.0) -> Members:
    """The members after the news, which arrived at `now`. Pods that end their work arrive as gone: the watch's field
    selector sees to it.
    """
    match news:
        case Listed(items):
            members = Members()
            for item in items:
                _enter(members, item)
        case Changed(item, gone):
            before, after = members.homes.get(item.uid), None if gone else item.key
            for key in (before, after) if before != after else ():
                if key is not None:
                    _touch(members.touched, key, now)
            if gone:
                _leave(members, item.uid)
            else:
                _enter(members, item)
    return members


def is_growing(members: Members, key: Key, now: float) -> bool:
    """Whether a member of the gang came or went a moment ago: then more may be on their way."""
    return now - members.touched.get(key, -math.inf) < QUIET_AFTER


def hold(groups: Groups, news: News[PodGroup], now: float) -> Groups:
    """The PodGroups after the news, which arrived at `now`."""
    match news:
        case Listed(items):
            return Groups({_key(item): item for item in items})
        case Absent():
            return Groups()
        case Opened():
            return replace(groups, since=now)
        case Lost():
            return replace(groups, since=math.inf)
        case Changed(item, gone):
            _touch(groups.touched, item.ref.namespace, now)
            if gone:
                groups.held.pop(_key(item), None)
            else:
                groups.held[_key(item)] = item
    return groups


def is_quiet(groups: Groups, namespace: str, now: float) -> bool:
    """Whether nothing was heard of the namespace's PodGroups for a while, though we did listen."""
    return now - max(groups.since, groups.touched.get(namespace, -math.inf)) >= QUIET_AFTER


def _enter(members: Members, item: Member) -> None:
    _leave(members, item.uid)
    if item.key is None:
        return
    members.homes[item.uid] = item.key
    members.counts[item.key] = members.counts.get(item.key, 0) + 1


def _leave(members: Members, uid: str) -> None:
    """A Pod whose label was changed leaves the gang that it was in."""
    key = members.homes.pop(uid, None)
    if key is None:
        return
    left = members.counts[key] - 1
    if left:
        members.counts[key] = left
    else:
        del members.counts[key]


def _touch(touched: dict[T, float], what: T, now: float) -> None:
    touched[what] = now
    if len(touched) > _TOUCHED_AT_MOST:  # namespaces and gangs come and go
        for old in [each for each, when in touched.items() if now - when >= QUIET_AFTER]:
            del touched[old]


def _key(group: PodGroup) -> Key:
    return group.ref.namespace, group.ref.name
