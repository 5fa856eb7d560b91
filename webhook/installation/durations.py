"""Go's durations, as flags and configurations write them."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_WHOLE = rf"[-+]?(?:0|(?:{_PART})+)"
_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]*)?"
# Compiled at the first use: most runs hold no duration.


def seconds(text: str) -> float | None:
    """The seconds that Go's time.ParseDuration reads of a text; None where it reads none (time/format.go)."""
    if not re.fullmatch(_WHOLE, text):
        return None
    total = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, text))
    return -total if text.startswith("-") else total


def lacks_unit(text: str) -> bool:
    """Whether a text is a bare number, which time.ParseDuration refuses: `time: missing unit in duration "28"`."""
    return re.fullmatch(_NUMBER, text) is not None and seconds(text) is None
