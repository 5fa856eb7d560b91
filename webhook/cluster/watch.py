"""A resource of the API server as news without end: list, watch, and what to do when either fails.

410 means that our place in the history is gone: list again. Anything else is waited out, longer each time, and after
three failures in a row the place is not trusted any more either.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from webhook.cluster.news import Absent, Changed, Heard, Listed, Lost, News, Opened
from webhook.cluster.rest import LISTING, Api, Refused, Silent, Trouble, Unreachable
from webhook.model import dig

T = TypeVar("T")
Dice: TypeAlias = Callable[[], float]
"""A random number from 0 up to 1."""

PAGE = 500
LONGEST_WAIT = 30.0
ABSENT_WAIT = 30.0
"""Seconds, give or take a third, until a missing CRD is asked for again: it is no error, and may never come."""

_SETTLED = 5.0
"""A watch that lived for so many seconds was a good one: its end is no sign of trouble."""
_TRUSTED = 3
_TYPES = {"ADDED": False, "MODIFIED": False, "DELETED": True}


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """What is watched. `read` keeps of each object what is needed; None for one that is of no use.

    `listed` and `watched` are the Accept headers. `optional`: the resource may be absent (404).
    """

    name: str
    path: str
    read: Callable[[Mapping[str, Any]], T | None]
    query: Mapping[str, str]
    listed: str = "application/json"
    watched: str = "application/json"
    optional: bool = False


def follow(
    api: Api, resource: Resource[T], pause: Callable[[float], bool], clock: Callable[[], float], dice: Dice
) -> Iterator[News[T]]:
    """The news of a resource until `pause`, which waits so many seconds, says that it is over."""
    version, failures = "", 0
    while True:
        trouble, opened = None, math.inf
        try:
            if not version:
                listed, version = _listed(api, resource)
                yield listed
            for news, after in _watched(api, resource, version, dice):
                version = after
                if isinstance(news, Opened):
                    opened = clock()
                else:
                    failures = 0
                yield news
        except Trouble as error:
            trouble = error
        if clock() - opened >= _SETTLED:
            failures = 0
        turn = turn_after(trouble, failures, dice, optional=resource.optional)
        yield turn.news
        failures = turn.failures
        version = version if turn.trusted else ""
        if pause(turn.seconds):
            return


class Turn(NamedTuple):
    """How to go on after a watch or a list has ended: whether the place in the history is still trusted."""

    news: Lost | Absent
    seconds: float
    failures: int
    trusted: bool


def turn_after(trouble: Trouble | None, failures: int, dice: Dice, *, optional: bool = False) -> Turn:
    """What follows on `trouble` (None: the server ended the watch) when so many failures came just before it."""
    status = trouble.status if isinstance(trouble, Refused) else 0
    if optional and status == HTTPStatus.NOT_FOUND:
        return Turn(Absent(), ABSENT_WAIT * (2 + 2 * dice()) / 3, 0, trusted=False)
    gone = status == HTTPStatus.GONE
    # Where a resource has not changed since the API server's start there are no bookmarks: silence is ordinary.
    calm = not failures and (trouble is None or gone or isinstance(trouble, Silent))
    seconds = 0 if calm else wait(failures, dice, trouble)
    trusted = not gone and failures + 1 < _TRUSTED
    return Turn(Lost(str(trouble or "the server ended it"), calm), seconds, failures + 1, trusted)


def wait(failures: int, dice: Dice, trouble: Trouble | None = None) -> float:
    """Seconds to wait after so many failures before this one: 1 to 2, 1 to 4, ... 1 to 30.

    The jitter is wide, so that replicas do not come back all at once. An API server that says when to come back
    is obeyed, within reason.
    """
    most = min(LONGEST_WAIT, 2.0 ** min(failures + 1, 10))
    asked = trouble.retry_after if isinstance(trouble, Refused) else 0
    return max(1 + (most - 1) * dice(), min(asked, LONGEST_WAIT))


def read_event(line: bytes, read: Callable[[Mapping[str, Any]], T | None]) -> tuple[News[T], str]:
    """One line of a watch: what it says, and the place in the history after it, empty where it does not tell.

    Raises Refused for an ERROR event, Unreachable for a line that is none.
    """
    try:
        event = json.loads(line)
        kind, body = event["type"], event["object"]
        version = str(dig(body, "metadata", "resourceVersion") or "")
        if kind == "ERROR":
            raise Refused(int(body.get("code", 0)), str(body.get("message", "")))
        item = read(body) if kind in _TYPES else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreachable(f"a line of the watch makes no sense: {line[:60]!r}") from error
    return (Heard() if item is None else Changed(item, _TYPES[kind])), version


def _listed(api: Api, resource: Resource[T]) -> tuple[Listed[T], str]:
    """All pages. Each is decoded and cut down before the next one is asked for."""
    items: list[T] = []
    query = {**resource.query, "limit": str(PAGE)}
    while True:
        page = api.get(resource.path, query, resource.listed, LISTING)
        try:
            metadata = page["metadata"]
            # Items of a typed list need not say what they are.
            own = {"apiVersion": page["apiVersion"], "kind": str(page["kind"]).removesuffix("List")}
            items.extend(item for body in page["items"] or () if (item := resource.read({**own, **body})) is not None)
            version = str(metadata["resourceVersion"])
        except (KeyError, TypeError, AttributeError) as error:
            raise Unreachable(f"the list of {resource.name} makes no sense: {error!r}") from error
        if not metadata.get("continue"):
            return Listed(tuple(items)), version
        query["continue"] = metadata["continue"]


def _watched(api: Api, resource: Resource[T], version: str, dice: Dice) -> Iterator[tuple[News[T], str]]:
    """What happens from `version` on, and the place in the history after each piece of news."""
    query = {
        **resource.query,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(240 + int(60 * dice())),
    }
    with api.lines(resource.path, query, resource.watched) as lines:
        yield Opened(), version
        for line in lines:
            news, after = read_event(line, resource.read)
            version = after or version
            yield news, version
