"""Who answers: one thread after the other, and a second beside it only where the first is stuck.

Python runs one thread at a time. Eight that all have requests hand the interpreter on at every read and write, and the
handing on costs nearly as much as the answers: with one thread and 8 clients there were a third more of them
(`python tests/bench/serving.py`). So requests wait in a line that one thread works off, which is a lane; where the line
stands still, because an object is very large, another lane is opened, and the one that was stuck ends when it is free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")

STUCK = 0.01
"""Seconds without a step of the line after which another lane is opened. Most answers take a tenth of that."""


class Lanes(Generic[T]):
    """A line of items and the threads that work it off. All but the work itself happens in the main loop's thread."""

    def __init__(
        self,
        pool: Executor,
        most: int,
        work: Callable[[T], object],
        main: Callable[..., object],
        done: Callable[[T, object], object],
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """At most `most` lanes in the pool. `work` is done in a thread, and `done` gets what it gave in the main loop,
        which calls what `main` is handed. An item whose work raises gave False."""
        self._pool, self._most, self._work, self._main, self._done = pool, most, work, main, done
        self._clock = clock
        self._line: deque[T] = deque()
        self._open, self._moved = 0, 0.0

    def add(self, item: T) -> None:
        self._line.append(item)
        if not self._open:
            self._start()

    def is_waiting(self) -> bool:
        return bool(self._line)

    def look(self) -> None:
        """Open another lane where none has come for the first in line for long. To be called while anything waits."""
        if self._line and self._open < self._most and self._clock() - self._moved >= STUCK:
            self._start()

    def _start(self) -> None:
        self._open += 1
        self._moved = self._clock()
        self._pool.submit(self._lane)

    def _lane(self) -> None:
        try:
            while True:
                item = self._line.popleft()
                began = self._moved = self._clock()
                self._main(self._done, item, self._result(item))
                if self._open > 1 and self._clock() - began >= STUCK:
                    break  # it has been replaced. Under load the line is never empty, and all lanes would stay
        except IndexError:
            pass
        self._main(self._end)

    def _result(self, item: T) -> object:
        try:
            return self._work(item)
        except BaseException:  # noqa: BLE001 - SystemExit too: a lane that ends unnoticed is one less for good
            return False

    def _end(self) -> None:
        """What was added after a lane saw the line empty, and before it was known to have ended, still waits."""
        self._open -= 1
        if self._line and not self._open:
            self._start()
