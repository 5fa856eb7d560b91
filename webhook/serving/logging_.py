"""One JSON object a line on stderr, for reviews and for what gunicorn has to say; and what can wait to be said."""

from __future__ import annotations

import atexit
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TypeVar

from gunicorn.glogging import Logger

from webhook.codec import dumps
from webhook.errors import where

T = TypeVar("T")

STDERR = 2

MOST = 64
"""Pieces of work that wait at most: then they are done, whoever else waits."""

_work: deque[Callable[[], object]] = deque()
_lines: deque[bytes] = deque()
_flushing = Lock()

MOST_UNWRITTEN = 500
"""Flushes that wait for the reader of stderr, each of at most some ten thousand bytes. What comes then is lost."""

_unwritten: SimpleQueue[bytes | None] = SimpleQueue()
_lost: deque[int] = deque()
_apart = Event()


def _write_on() -> None:
    while (data := _unwritten.get()) is not None:
        _out(data)
        if _lost:
            _out(_line({"event": "lines lost", "level": "error", "lines": sum(_taken(_lost))}))


def write_apart() -> None:
    """From now on, and until the process ends, a thread of its own writes the lines. Who reads stderr may stall, as
    `less` does and a node whose disk is full: reviews are answered all the same."""
    writer = Thread(target=_write_on, name="log", daemon=True)
    writer.start()
    _apart.set()
    atexit.register(_end, writer)  # behind the last answer: Python waits for the threads of pools first


def _end(writer: Thread) -> None:
    flush()
    _unwritten.put(None)
    writer.join(1)
    if not writer.is_alive():
        _apart.clear()


def log(entry: Mapping[str, object]) -> None:
    """Write one line at once."""
    _write([_line(entry)])


def log_soon(entry: Mapping[str, object]) -> None:
    """Keep a line until the next flush. A write makes a thread wait for the others, and reviews are many: kept
    lines cost a tenth less of the throughput."""
    _lines.append(_line(entry))


def later(work: Callable[[], object]) -> None:
    """Keep a piece of work until the next flush: what is counted and logged of a review can wait until it is answered.
    Done for many at once it costs a third of what it costs between two of them, when nothing of it is in the caches."""
    _work.append(work)


def waiting() -> int:
    """How many pieces of work are kept."""
    return len(_work)


def flush(*, wait: bool = True) -> None:
    """Do the work that is kept, and write the lines that are, in one go. Where another thread is at it, wait until it
    has done all that was kept when this one came; or leave it to the other, not to wait."""
    if not _flushing.acquire(blocking=wait):
        return
    try:
        _flush()
    finally:
        _flushing.release()


def _flush() -> None:
    for work in _taken(_work):
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the server's main loop calls this, and must go on
            log({"event": "record lost", "level": "error", "error": where(error)})
    lines = list(_taken(_lines))
    if lines:
        _write(lines)


def _taken(queue: deque[T]) -> Iterator[T]:
    """What stands in a queue at this moment."""
    for _ in range(len(queue)):
        yield queue.popleft()


def _line(entry: Mapping[str, object]) -> bytes:
    return dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}) + b"\n"


def _write(lines: list[bytes]) -> None:
    data = b"".join(lines)
    if not _apart.is_set():
        _out(data)
    elif _unwritten.qsize() < MOST_UNWRITTEN:
        _unwritten.put(data)
    else:
        _lost.append(len(lines))


def _out(data: bytes) -> None:
    """A reader that left is no reason to fail a review."""
    with suppress(OSError):
        while data:
            data = data[os.write(STDERR, data) :]


def take_over() -> None:
    """From now on, whatever a module of this process logs is one of these lines."""
    logging.basicConfig(level=logging.INFO, handlers=[_Lines()], force=True)


class ServerLog(Logger):
    """gunicorn's own messages, in the same form."""

    def setup(self, cfg: object) -> None:
        super().setup(cfg)
        for handler in list(self.error_log.handlers):
            self.error_log.removeHandler(handler)
        self.error_log.addHandler(_Lines())


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        entry = {"event": "message", "level": record.levelname.lower(), "message": record.getMessage()}
        log({**entry, "error": where(error)} if error else entry)
