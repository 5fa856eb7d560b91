"""What is heard of a resource, as values: the watch makes them, the tally takes them in."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class Listed(NamedTuple, Generic[T]):
    """All there is at this moment; what is not in it is gone."""

    items: tuple[T, ...]


class Changed(NamedTuple, Generic[T]):
    """One object as it is now, or as it last was where it is `gone`."""

    item: T
    gone: bool = False


class Opened(NamedTuple):
    """The server goes on from where we were: what has changed since follows at once."""


class Heard(NamedTuple):
    """A bookmark: nothing has changed."""


class Absent(NamedTuple):
    """The server does not know the resource: its CRD is not installed."""


class Lost(NamedTuple):
    """The watch is over, and for a while nobody listens. `calm` where that is an ordinary end."""

    why: str
    calm: bool = False


News: TypeAlias = Listed[T] | Changed[T] | Opened | Heard | Absent | Lost
