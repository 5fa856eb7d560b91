"""One JSON object a line on stderr, for reviews and for what gunicorn has to say."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from gunicorn.glogging import Logger

from webhook.errors import where

STDERR = 2


def log(entry: Mapping[str, object]) -> None:
    """Write one line, in one call, so that lines of several threads do not mix. A reader that left is no reason
    to fail a review."""
    text = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
    with suppress(OSError):
        os.write(STDERR, text.encode() + b"\n")


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
