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


def test_a_lane_that_was_stuck_ends_when_another_goes_on() -> None:
    """Else one large object under load, when the line is never empty, leaves all lanes open for good."""
    free, now = {"slow": threading.Event(), "next": threading.Event()}, [100.0]
    with desk(lambda item: item not in free or free[item].wait(5), lambda: now[0]) as at:
        for item in ("slow", "next", "last"):
            at.lanes.add(item)
        at.left(2)
        now[0] += 2 * STUCK
        at.lanes.look()
        at.left(1)
        free["slow"].set()
        at.turn()
        at.turn()  # its lane's end
        assert (at.done, at.lanes._open, at.lanes.is_waiting()) == ([("slow", True)], 1, True)
        free["next"].set()
        at.turn()
        at.turn()
        at.turn()
    assert at.done == [("slow", True), ("next", True), ("last", True)]


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
        if item == "worse":
            raise SystemExit
        return item

    with desk(work) as at:
        for item in ("bad", "worse", "good"):
            at.lanes.add(item)
        for _ in range(4):
            at.turn()
    assert at.done == [("bad", False), ("worse", False), ("good", "good")]


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


def test_a_flush_waits_for_what_another_thread_has_taken() -> None:
    """Metrics are shown behind a flush: all that was answered before must be counted."""
    flush()
    begun, free = threading.Event(), threading.Event()
    done: list[str] = []

    def first() -> None:
        begun.set()
        assert free.wait(5)
        done.append("first")

    def shown() -> None:
        flush()
        done.append("shown")

    later(first)
    main = threading.Thread(target=flush)
    main.start()
    assert begun.wait(5)
    later(lambda: done.append("second"))
    flush(wait=False)
    assert done == []
    scrape = threading.Thread(target=shown)
    scrape.start()
    free.set()
    main.join(5)
    scrape.join(5)
    assert done == ["first", "second", "shown"]
