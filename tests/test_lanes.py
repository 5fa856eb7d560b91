"""Who answers: a line that one thread works off, and more of them only where that one is stuck."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Queue
from typing import Any, NamedTuple

import pytest

from webhook.serving.lanes import STUCK, Lanes
from webhook.serving.logging_ import flush, later, waiting

MOST = 3


class Desk(NamedTuple):
    """Lanes over a real pool, with a main loop that runs when told to, and what has come out of it."""

    lanes: Lanes[str]
    calls: Queue[Callable[[], object]]
    done: list[tuple[str, object]]

    def left(self, count: int) -> None:
        """Wait until threads have taken all but so many."""
        while len(self.lanes._line) > count:
            time.sleep(0.001)

    def turn(self) -> None:
        """Wait for one call to the main loop, and make it."""
        self.calls.get(timeout=5)()


@contextmanager
def desk(work: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> Iterator[Desk]:
    calls: Queue[Callable[[], object]] = Queue()
    done: list[tuple[str, object]] = []

    def main(call: Callable[..., object], *given: object) -> None:
        calls.put(lambda: call(*given))

    def keep(item: str, result: object) -> None:
        done.append((item, result))

    with ThreadPoolExecutor(MOST) as pool:
        yield Desk(Lanes(pool, MOST, work, main, keep, clock=clock), calls, done)


def test_one_thread_works_off_the_line_in_order() -> None:
    threads = set()

    def work(item: str) -> str:
        threads.add(threading.get_ident())
        return item.upper()

    with desk(work) as at:
        for item in "abcd":
            at.lanes.add(item)
        for _ in range(5):
            at.turn()
    assert at.done == [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]
    assert len(threads) == 1
    assert not at.lanes.is_waiting()


def test_who_is_stuck_holds_up_nobody_for_long() -> None:
    free, now = threading.Event(), [100.0]
    with desk(lambda item: free.wait(5) if item.startswith("slow") else True, lambda: now[0]) as at:
        for item in ("slow 1", "slow 2", "quick"):
            at.lanes.add(item)
        at.left(2)
        now[0] += STUCK / 2
        at.lanes.look()
        assert at.lanes._open == 1  # nothing has stood still for long
        now[0] += STUCK
        at.lanes.look()
        at.lanes.look()
        assert at.lanes._open == 2  # a new lane has the same time
        at.left(1)
        now[0] += 2 * STUCK
        at.lanes.look()
        at.turn()
        assert at.done == [("quick", True)]
        at.turn()  # the third lane's end
        for item in ("slow 3", "last"):
            at.lanes.add(item)
        for _ in range(MOST):
            now[0] += 2 * STUCK
            at.lanes.look()
        assert at.lanes._open == MOST  # as many as there are threads
        at.left(1)
        free.set()
        while len(at.done) < 5:
            at.turn()
    assert sorted(item for item, _ in at.done) == ["last", "quick", "slow 1", "slow 2", "slow 3"]
    assert all(result is True for _, result in at.done)


def test_what_comes_while_a_lane_ends_is_not_left_waiting() -> None:
    with desk(str.upper) as at:
        at.lanes.add("a")
        ended: list[Callable[[], object]] = []
        while len(ended) < 2:  # its result and its end are on the way to the main loop, which knows of neither
            ended.append(at.calls.get(timeout=5))
        at.lanes.add("b")
        for call in ended:
            call()
        at.turn()
    assert at.done == [("a", "A"), ("b", "B")]


def test_work_that_raises_ends_no_lane() -> None:
    def work(item: str) -> object:
        if item == "bad":
            raise ValueError(item)
        return item

    with desk(work) as at:
        for item in ("bad", "good"):
            at.lanes.add(item)
        for _ in range(3):
            at.turn()
    assert at.done == [("bad", False), ("good", "good")]


def test_what_waits_is_done_at_the_flush_whatever_one_of_them_raises(capfd: pytest.CaptureFixture[str]) -> None:
    flush()
    done: list[Any] = []
    later(lambda: done.append(1))
    later(lambda: done[99])
    later(lambda: done.append(2))
    assert (waiting(), done) == (3, [])
    flush()
    assert (waiting(), done) == (0, [1, 2])
    assert '"event":"record lost"' in capfd.readouterr().err
