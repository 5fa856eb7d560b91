"""The time by which certificates are made: the API server's, since it is the one that looks at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """The API server's clock as far as it has told; until then this machine's.

    Between two answers a monotonic clock counts on, whatever becomes of the machine's own. For several threads.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._told: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        with self._lock:
            told = self._told
        if told is None:
            return self._wall()
        return told[0] + timedelta(seconds=self._monotonic() - told[1])

    def tell(self, date: datetime) -> None:
        """The API server's own time at this moment. HTTP gives whole seconds, cut off: it is later by half a second
        on average, and what is made a little early is valid all the same."""
        with self._lock:
            self._told = date, self._monotonic()

    def ahead(self) -> timedelta:
        """By how much this machine's clock is ahead of the API server's."""
        return self._wall() - self.now()
