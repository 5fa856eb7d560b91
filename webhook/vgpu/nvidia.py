"""NVIDIA's GenerateResourceRequests and Fit, release by release (pkg/device/nvidia/device.go)."""

from __future__ import annotations

from typing import NamedTuple

from webhook.stack import Version
from webhook.vgpu.asking import Ask, Asked
from webhook.vgpu.reading import IGNORED, INT32, LARGEST, Defaults, Fate, Reading, as_int32

_UNSET = 101
"""How HAMi writes that no percentage is asked for; up to 2.9 a user's 101 means the same."""

_ALL = 100


class _Request(NamedTuple):
    """The struct that GenerateResourceRequests returns."""

    cards: int
    memory: int
    percent: int
    cores: int


def read(asked: Asked, version: Version, defaults: Defaults, *, completed: bool) -> Reading:
    """What a release makes of a container that it counts. `completed`: its webhook goes over the container first."""
    if completed and version >= (2, 10) and not _is_percentage(asked.percentage):
        return Reading("denied")
    cards = _count(asked, defaults, completed=completed)
    cores = _cores(asked, version, defaults, completed=completed)
    if cards is None:
        return IGNORED
    if cards <= 0:
        return Reading("none") if cards == 0 else IGNORED
    memory = _memory(asked.memory, version, defaults.factor)
    if memory is None:
        return IGNORED
    percent = _percent(asked.percentage, version)
    if percent == _UNSET and memory == 0:
        memory, percent = (defaults.memory, _UNSET) if defaults.memory else (0, _ALL)
    return _fitted(_Request(cards, as_int32(memory), percent, cores))


def _is_percentage(ask: Ask | None) -> bool:
    """What HAMi's webhook demands from 2.10 on (device.go:389-396, seen)."""
    return ask is None or ask.number is None or 0 <= ask.number <= _ALL


def _count(asked: Asked, defaults: Defaults, *, completed: bool) -> int | None:
    """The number of cards. The webhook adds one where limits ask for memory or cores only (device.go:398-414, seen)."""
    if asked.count is None:
        wanted = any(ask.half == "limits" for ask in asked.device)
        return defaults.cards or None if completed and wanted else None
    number = asked.count.int64
    return None if number is None else as_int32(number)


def _cores(asked: Asked, version: Version, defaults: Defaults, *, completed: bool) -> int:
    """Percent of the cores. From 2.7 on the webhook makes a bare count, or one with 100 percent of the memory, a whole
    card (device.go:417-449, seen)."""
    if asked.cores is not None:
        number = asked.cores.int64
        return defaults.cores if number is None else max(0, min(as_int32(number), _ALL))
    whole = asked.percentage.number == _ALL if asked.percentage else asked.memory is None
    has_count = asked.count is not None or _count(asked, defaults, completed=completed)
    if completed and version >= (2, 7) and has_count and whole:
        return _ALL
    return min(defaults.cores, _ALL)


def _memory(ask: Ask | None, version: Version, memory_factor: int) -> int | None:
    """Units of memory by memoryFactor, before the cast to 32 bits; None where the whole request is dropped, which 2.10
    does for what does not fit (device.go:537-543, seen)."""
    if ask is None:
        return 0
    number, factor = ask.int64, max(memory_factor, 1) if version >= (2, 8) else 1
    if version >= (2, 10):
        return number * factor if number is not None and 0 <= number <= (INT32 - 1) // factor else None
    return 0 if number is None else number * factor


def _percent(ask: Ask | None, version: Version) -> int:
    number = ask.int64 if ask else None
    if number is None:
        return _UNSET
    if version >= (2, 10):
        return min(number, _ALL) if number > 0 else _UNSET
    return as_int32(number)


def _fitted(request: _Request) -> Reading:
    """What Fit books (device.go:772-806): the memory, or the percentage where there is none; 100 percent of the cores
    are the card alone."""
    cards, memory, percent, cores = request
    sound: Fate = "exclusive" if cores == _ALL else "shared"
    if memory > 0:
        return Reading("pending" if memory >= LARGEST else sound, cards, memory, None, cores)
    if memory < 0 or percent == _UNSET or percent <= 0:
        return Reading("unlimited", cards, None, None, cores)
    return Reading("pending" if percent > _ALL else sound, cards, None, percent, cores)
