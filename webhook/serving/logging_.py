"""One JSON object a line on stderr, for reviews and for what gunicorn has to say."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from gunicorn.glogging import Logger

from webhook.codec import dumps
from webhook.errors import where

STDERR = 2

_kept: deque[bytes] = deque()


def log(entry: Mapping[str, object]) -> None:
    """Write one line at once."""
    _write([_line(entry)])


def log_soon(entry: Mapping[str, object]) -> None:
    """Keep a line until the next flush. A write makes a thread wait for the others, and reviews are many: kept
    lines cost a tenth less of the throughput."""
    _kept.append(_line(entry))


def flush() -> None:
    """Write what is kept, in one go."""
    if _kept:
        _write([_kept.popleft() for _ in range(len(_kept))])


def _line(entry: Mapping[str, object]) -> bytes:
    return dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}) + b"\n"


def _write(lines: list[bytes]) -> None:
    """A reader that left is no reason to fail a review."""
    data = b"".join(lines)
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
        if isinstance(error, TimeoutError):
            return  # a client that stalled while it was answered; the connection is closed, and that is all
        entry = {"event": "message", "level": record.levelname.lower(), "message": record.getMessage()}
        log({**entry, "error": where(error)} if error else entry)
