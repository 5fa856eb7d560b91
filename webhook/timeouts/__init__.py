"""The chain of time limits that a gang passes, from the node's lock to the API server's patience.

`chains` puts it together from what an input shows, with the defaults where it is silent; `broken` says which limits do
not fit together. Both are pure: subjects in, values out.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from webhook.model import Place
from webhook.stack import Version

Origin: TypeAlias = Literal["input", "declared", "default", "fixed", "unknown"]
"""Where a value comes from: a manifest, the stack's declaration, a component's default, its source; or nobody knows."""


class Link(NamedTuple):
    """One time limit. `seconds` is None where it is unknown, or none holds; `value` says it in words.

    `rate` is what the API client is held to, in requests per second. `setting` is the flag or field that sets it;
    `source` tells whose default it is, or how we know; `place` is where it is written, where it is. `possible` are the
    seconds that an unknown limit comes to where its default holds.
    """

    name: str
    setting: str
    seconds: float | None
    value: str
    origin: Origin
    source: str = ""
    place: Place | None = None
    rate: float | None = None
    possible: float | None = None


class Break(NamedTuple):
    """Two limits that do not fit together. `certain` is False for what only may happen (a gang on one node)."""

    links: tuple[str, ...]
    message: str
    fix: str
    rules: tuple[str, ...]
    certain: bool = True


class Chain(NamedTuple):
    """The chain of one HAMi release; without one in the input that of the defaults, with an empty title."""

    title: str
    version: Version | None
    links: tuple[Link, ...]
    breaks: tuple[Break, ...]


CLIENT_LIMIT = "API client of HAMi's extender"
RETRY = "wait for a node's lock"
CALL = "kube-scheduler waits for the extender"
LOCK = "age at which a lock is taken over"
FIRST_ANSWER = "first answer of an extender that starts"
NO_EXTENDER = "none"
"""The value of CALL where kube-scheduler asks no extender of HAMi."""
PERMIT = "members wait for each other"
BACKOFF = "a group that failed is left alone"
LONGEST = "longest wait that the scheduler allows"
FLUSH = "kube-scheduler looks again at what nobody woke"
WEBHOOKS = "webhooks of one Pod together"
REQUEST = "the API server gives a request"
