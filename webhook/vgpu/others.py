"""The other vendors' GenerateResourceRequests, as far as they are alike (pkg/device/*/device.go, v2.9.0 and v2.10.0).

Not worked out: AWS Neuron and Enflame, which turn cores and memory into profiles, and memory of Ascend, which templates
of the device configuration round up (ascend/device.go trimMemory).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.quantity import canonical
from webhook.stack import Version
from webhook.vgpu.asking import Ask, Asked
from webhook.vgpu.reading import IGNORED, INT32, LARGEST, Fate, Reading, as_int32

_ALL = 100


class Traits(NamedTuple):
    """How a vendor reads a request.

    `unit` is MiB in one unit of memory, `cores` the percentage where none is asked for, `full` how many cores are all
    of a card's. `total`: memory and cores are those of all cards together. `suffix`: with one, memory is in bytes.
    `slices`: memory is rounded up to one of these MiB. `legal`: the webhook denies other units of memory. `whole` are
    counts of whole cards, beside which memory is not read. `several`: the webhook gives all cores of several cards.
    `counted`: it denies a count of 0, and `checked`: cores that are not 1 to 100, both from 2.10 on. `read` is False
    where it is not worked out.
    """

    unit: int = 1
    cores: int = 0
    full: int = 100
    total: bool = False
    suffix: bool = False
    slices: tuple[int, ...] = ()
    legal: tuple[int, ...] = ()
    whole: tuple[str, ...] = ()
    several: bool = False
    counted: bool = False
    checked: bool = False
    read: bool = True


TRAITS: Mapping[str, Traits] = {
    "amd": Traits(cores=100, checked=True),
    "awsneuron": Traits(read=False),
    "cambricon": Traits(unit=256, cores=100),
    "enflame": Traits(read=False),
    "hygon": Traits(cores=100),
    "iluvatar": Traits(unit=256, several=True),
    "kunlun": Traits(slices=(24576, 49152, 98304), whole=("kunlunxin.com/xpu",)),
    "metax": Traits(unit=1024, cores=100, suffix=True, whole=("metax-tech.com/gpu",)),
    "mthreads": Traits(unit=512, full=16, total=True, legal=(2, 4, 8, 16, 32, 64, 96), several=True, counted=True),
}
_PLAIN = Traits()


def traits(vendor: str) -> Traits:
    return TRAITS.get(vendor, _PLAIN)


def read(asked: Asked, version: Version, *, completed: bool) -> Reading | None:
    """What a release makes of a container that it counts; None where that is not worked out. `completed`: its webhook
    goes over the container first."""
    own = traits(asked.vendor)
    if not own.read:
        return None
    cards = asked.count.int64 if asked.count else None
    if cards is None or not 0 <= cards < INT32:
        return IGNORED
    if completed and _is_denied(asked, own, version):
        return Reading("denied")
    if cards == 0:
        return Reading("none")
    if own.checked and version >= (2, 10) and not _is_percentage(asked.cores):
        return IGNORED
    if asked.count and asked.count.name in own.whole:
        return Reading("shared", cards, None, _ALL, own.cores)
    memory = _memory(asked, own, version)
    if asked.vendor == "ascend" and memory != 0:
        return None
    if memory is None:
        return IGNORED
    return _booked(asked, version, cards, memory, completed=completed)


def _booked(asked: Asked, version: Version, cards: int, memory: int, *, completed: bool) -> Reading:
    own = traits(asked.vendor)
    whole = completed and own.total and (cards > 1 or asked.memory is None)
    cores = _ALL if completed and own.several and cards > 1 else _cores(asked, own, version, cards)
    if memory == 0 or whole:
        return Reading("shared", cards, None, _ALL, _ALL if whole or own.slices else cores)
    booked = as_int32(memory) // (cards if own.total else 1)
    fate: Fate = "pending" if booked >= LARGEST else "shared" if booked > 0 else "unbooked"
    if own.slices:
        cores = booked * _ALL // own.slices[-1]
    return Reading(fate, cards, booked if booked > 0 else None, None, cores)


def _is_denied(asked: Asked, own: Traits, version: Version) -> bool:
    """Whether the vendor's part of HAMi's webhook refuses the Pod."""
    if is_illegal(asked):
        return True
    if version < (2, 10):
        return False
    none = asked.count is not None and asked.count.number == 0
    return (own.counted and none) or (own.checked and not _is_percentage(asked.cores))


def _is_percentage(ask: Ask | None) -> bool:
    return ask is None or ask.number is None or 1 <= ask.number <= _ALL


def is_illegal(asked: Asked) -> bool:
    """Whether the vendor's part of HAMi's webhook takes no such memory (mthreads/device.go:94-128); several cards are
    given whole, whatever their memory says."""
    legal, ask = traits(asked.vendor).legal, asked.memory
    return bool(legal and ask and asked.count and asked.count.number == 1 and ask.number not in legal)


def _cores(asked: Asked, own: Traits, version: Version, cards: int) -> int:
    number = asked.cores.int64 if asked.cores and not _is_too_new(asked, version) else None
    if number is None:
        return own.cores
    of_one = number // cards if own.total else number
    return min(max(of_one * _ALL // own.full, 0), _ALL)


def _is_too_new(asked: Asked, version: Version) -> bool:
    """AMD's memory and cores are read from 2.10 on."""
    return asked.vendor == "amd" and version < (2, 10)


def _memory(asked: Asked, own: Traits, version: Version) -> int | None:
    """MiB before the cast to 32 bits; None where the request is dropped, which 2.10 does for what does not fit."""
    ask = asked.memory
    if ask is None or _is_too_new(asked, version):
        return 0
    number = ask.int64
    if number is None:
        return None if version >= (2, 10) else 0
    if own.slices:
        return next((size for size in own.slices if number <= size), own.slices[-1]) if number else 0
    mib = number // 2**20 if own.suffix and has_suffix(ask) else number * own.unit
    return mib if version < (2, 10) or 0 <= mib < INT32 else None


def has_suffix(ask: Ask) -> bool:
    """Whether a quantity has a letter in it once the API server has written it: `1000` has, it becomes `1k`."""
    return any(letter.isalpha() for letter in canonical(ask.value) or "")


def has_binary_suffix(ask: Ask) -> bool:
    """Whether a quantity is written in Mi or more, which nobody does who counts anything but bytes; Ki is taken for a
    number, 16Ki is 16384."""
    text = canonical(ask.value) or ""
    return text.endswith("i") and not text.endswith("Ki")
