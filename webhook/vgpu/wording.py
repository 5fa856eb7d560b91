"""A reading in words, for messages, tables and audit annotations."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from webhook.model import Container, Pod
from webhook.vgpu.asking import Asked
from webhook.vgpu.reading import Reading

_ALL = 100
_SHORT = 40


def excerpt(text: str) -> str:
    """A value of the user's in a message: of eight cards' UUIDs or a whole script the beginning will do."""
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def container_of(container: Container, pod: Pod) -> str:
    """How messages name a container: `container main of Pod/train`."""
    return f"container {container.name} of {pod}"


def named(request: Asked, pod: Pod) -> str:
    return container_of(request.container, pod)


def consequence(readings: Iterable[Reading]) -> str:
    """What becomes of a request: "HAMi up to 2.9 reads no limit, from 2.10 ignores the request"."""
    told = [f"{reading.who} {fate(reading)}" for reading in readings]
    return ", ".join([*told[:1], *(text.removeprefix("HAMi ") for text in told[1:])])


def fate(reading: Reading) -> str:
    """What a release does with a request; the release's name goes before."""
    texts = {
        "exclusive": f"gives {amount(reading)}",
        "shared": f"gives {amount(reading)}",
        "unlimited": "reads no limit",
        "unbooked": "books 0 MiB",
        "ignored": "ignores the request",
        "none": "gives no card",
        "pending": "never finds such a card",
        "denied": "denies the Pod",
        "refused": "refuses the Pod",
    }
    return texts[reading.fate]


def amount(reading: Reading) -> str:
    """What a container gets, in short: `2 x 16384 MiB, 30 % of the cores`, `1 whole card`."""
    if not reading.is_sound:
        return "nothing"
    if reading.percent == _ALL and not 0 < reading.cores < _ALL:
        kind, own = ("whole card", "") if reading.fate == "exclusive" else ("card", " with all of its memory")
        return f"{reading.cards} {kind}{'s' if reading.cards > 1 else ''}{own}"
    cores = "alone on the card" if reading.fate == "exclusive" else f"{reading.cores} % of the cores"
    return f"{reading.cards} x {share(reading)}{f', {cores}' if reading.cores else ''}"


def share(reading: Reading) -> str:
    """The memory of each card."""
    return f"{reading.memory} MiB" if reading.memory is not None else f"{reading.percent} % of the memory"


@lru_cache(maxsize=1024)
def brief(name: str, readings: tuple[Reading, ...]) -> str:
    """A container in an audit annotation: `main=1x16384MiB`; releases that differ with a bar between."""
    shown = dict.fromkeys(map(_brief, readings))
    return f"{name}={'|'.join(shown)}" if shown else ""


def _brief(reading: Reading) -> str:
    if not reading.is_sound:
        return reading.fate
    memory = f"{reading.memory}MiB" if reading.memory is not None else f"{reading.percent}%"
    return f"{reading.cards}x{memory}{f'x{reading.cores}%cores' if reading.cores else ''}"
