"""What HAMi reads of a GPU request, by release: the one answer for rules, messages, audits and `explain request`.

Pure: a container and a stack in, values out. Where the stack does not say which HAMi is there, the answer is what all
releases make of it, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from webhook.model import Container, Pod
from webhook.recall import recalled
from webhook.stack import Stack, Version
from webhook.vgpu import nvidia, others
from webhook.vgpu.asking import Ask, Asked, asked, asking, is_refused, shown
from webhook.vgpu.others import Traits, has_binary_suffix, has_suffix, is_illegal, traits
from webhook.vgpu.reading import (
    IGNORED,
    INT32,
    LARGEST,
    REFUSED,
    Fate,
    Reading,
    Where,
    by_release,
    is_completed,
    is_counted,
    where,
)

__all__ = [
    "INT32",
    "LARGEST",
    "Ask",
    "Asked",
    "Effective",
    "Fate",
    "Reading",
    "Total",
    "Traits",
    "asked",
    "asking",
    "effective",
    "has_binary_suffix",
    "has_suffix",
    "is_illegal",
    "is_refused",
    "readings",
    "requests",
    "served",
    "shown",
    "totals",
    "traits",
]


class Effective(NamedTuple):
    """What a container asks of one family of cards, and what HAMi reads: one reading where the release is known or all
    agree; none where a value is no quantity (a placeholder), or it is not worked out for the vendor."""

    asked: Asked
    readings: tuple[Reading, ...]


def effective(container: Container, pod: Pod, stack: Stack) -> tuple[Effective, ...]:
    """What HAMi will read of a container of this Pod, for each family of cards that it asks for."""
    return tuple(Effective(each, readings(each, pod, stack)) for each in asked(container, stack) if each.device)


def requests(pod: Pod, stack: Stack) -> Iterator[Effective]:
    """What HAMi will read of all containers of a Pod."""
    return (Effective(each, readings(each, pod, stack)) for each in asking(pod, stack) if each.device)


@recalled
def served(pod: Pod, stack: Stack) -> tuple[Asked, ...]:
    """The requests of a Pod that HAMi is to serve: none of a finished one, or of a scheduler with GPUs of its own."""
    found = asking(pod, stack)
    if not found or pod.finished or stack.is_foreign(pod):
        return ()
    return tuple(each for each in found if each.device)


def readings(request: Asked, pod: Pod, stack: Stack) -> tuple[Reading, ...]:
    """What the releases of HAMi make of a request, see Effective."""
    if request.is_unclear:
        return () if any(ask.number is None for ask in request.device) else (REFUSED,)
    asks = (request.count, request.memory, request.percentage, request.cores)
    return _readings(request.vendor, asks, where(pod, request.container, stack))


_ANY = Container("", "", "app", ())


@lru_cache(maxsize=1024)
def _readings(
    vendor: str, asks: tuple[Ask | None, Ask | None, Ask | None, Ask | None], at: Where
) -> tuple[Reading, ...]:
    """Remembered by value: most Pods of a cluster ask for what others have asked for before them."""
    count, memory, percentage, cores = asks
    device = tuple(ask for ask in asks if ask)
    request = Asked(vendor, "", _ANY, count, memory, percentage, cores, device=device)
    named: list[Reading] = []
    for reading, who in by_release(partial(_reading, request, at), at.hami):
        if reading is None:
            return ()
        named.append(reading._replace(who=who))
    return tuple(named)


def _reading(request: Asked, at: Where, version: Version) -> Reading | None:
    """What one release makes of a request; None where that is not worked out."""
    counted, completed = is_counted(at, version), is_completed(at, version)
    if request.vendor != "nvidia":
        return others.read(request, version, completed=completed) if counted else IGNORED
    reading = nvidia.read(request, version, at.defaults, completed=completed)
    return reading if counted or reading.fate == "denied" else IGNORED


class Total(NamedTuple):
    """What a Pod books at once of one family of cards: cards and MiB over all of them.

    `memory` is None where a container asks for a percentage or a whole card. `who` as in Reading.
    """

    family: str
    cards: int
    memory: int | None
    who: str


def totals(pod: Pod, stack: Stack) -> tuple[Total, ...]:
    """What HAMi books for a whole Pod, by family and release.

    Up to 2.8 that is the sum of its app containers; 2.9 adds the init containers; from 2.10 on it is the sum of the app
    containers or the largest init container, whichever is more (pkg/device/initContainer.go:36-114). Native sidecars
    count as init containers. 2.10 compares card by card; this is the sum over all of them, which is the same while each
    container asks for the same cards. A Pod that HAMi's webhook denies for one container books nothing.
    """
    found: list[Total] = []
    families = dict.fromkeys(each.asked.family for each in requests(pod, stack))
    for family in families:
        for total, who in by_release(partial(_total, pod, stack, family), stack.hami):
            found.extend([total._replace(who=who)] if total.cards else [])
    return tuple(found)


_BOOKED = frozenset({"exclusive", "shared", "unlimited", "unbooked"})


def _total(pod: Pod, stack: Stack, family: str, version: Version) -> Total:
    nothing = Total(family, 0, 0, "")
    apps = inits = nothing
    for request in asking(pod, stack):
        if request.family != family or not request.device or request.is_unclear:
            continue
        reading = _reading(request, where(pod, request.container, stack), version)
        if reading is not None and reading.fate == "denied":
            return nothing
        if reading is None or reading.fate not in _BOOKED:
            continue
        if request.container.role == "app":
            apps = _sum(apps, reading)
        else:
            inits = _larger(inits, _sum(nothing, reading)) if version >= (2, 10) else _sum(inits, reading)
    return _larger(apps, inits) if version >= (2, 10) else _both(apps, inits)


def _both(first: Total, second: Total) -> Total:
    return first._replace(cards=first.cards + second.cards, memory=_plus(first.memory, second.memory))


def _sum(total: Total, reading: Reading) -> Total:
    held = reading.fate in {"unlimited", "unbooked"}
    memory = 0 if held else None if reading.memory is None else reading.memory * reading.cards
    return total._replace(cards=total.cards + reading.cards, memory=_plus(total.memory, memory))


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _larger(first: Total, second: Total) -> Total:
    unknown = first.memory is None or second.memory is None
    memory = None if unknown else max(first.memory or 0, second.memory or 0)
    return Total(first.family, max(first.cards, second.cards), memory, "")
