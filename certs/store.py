"""What the keeper asks of the API server, as values. Who carries it there is handed in (cluster/published.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol


class Away(Exception):  # noqa: N818 - it reads as what happened
    """The API server did not answer. `str(away)` is one line for the log."""


class Conflict(Exception):  # noqa: N818 - as Away
    """Somebody else has written the object since it was read."""


class Denied(Exception):  # noqa: N818 - as Away
    """The API server did not write one object. `str(denied)` is one line for the log."""


class Thing(NamedTuple):
    """An object of the API server. `body` is None where there is none; `fault`: why it could not be read."""

    kind: str
    name: str
    body: Mapping[str, Any] | None = None
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Seen(NamedTuple):
    """The Secret and the configurations at one moment; `date` is the API server's own clock, None where it is mute."""

    secret: Thing
    configurations: tuple[Thing, ...]
    date: datetime | None


class Store(Protocol):
    def read(self) -> Seen:
        """Raises Away. An object that is refused comes with its fault."""

    def write(self, thing: Thing) -> None:
        """Replaces an object that was read, if it is still as it was then. Raises Away, Conflict or Denied."""
