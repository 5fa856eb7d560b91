"""What is said of the certificates in the log: each thing once, until it changes."""

from __future__ import annotations

import logging
from collections.abc import Callable

Log = Callable[[int, str], object]
"""Takes a level of `logging` and a line."""


class Told:
    """Remembers what was last said of each topic."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._faults: dict[str, str] = {}

    def fault(self, topic: str, fault: str, level: int = logging.ERROR) -> None:
        """What is wrong with a topic; an empty fault says that it is well."""
        if fault == self._faults.get(topic, ""):
            return
        self._faults[topic] = fault
        if fault:
            self._log(level, f"{topic}: {fault}")
        else:
            self._log(logging.INFO, f"{topic}: well again")

    def trouble(self, topic: str, fault: str, level: int = logging.ERROR) -> None:
        """As `fault`, for a fault whose words may change while it lasts: only the first are said."""
        if not fault or not self._faults.get(topic):
            self.fault(topic, fault, level)

    def news(self, text: str) -> None:
        self._log(logging.INFO, text)
