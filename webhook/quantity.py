"""Quantities of resource lists, as Kubernetes reads and writes them (apimachinery v0.35.4 api/resource/quantity.go).

A manifest's quantity is text, or a number that YAML made of it. Three questions: which number it is, how the API
server will write it, which is what every webhook and HAMi see, and what HAMi's `AsInt64` makes of that.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

Number: TypeAlias = "int | Fraction"

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])0*(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _BINARY.items()}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}

MOST = 2**63 - 1
"""The largest quantity with a binary suffix; larger ones become this one."""

_MILLI, _FINEST = 10**3, -3  # a thousandth, and its power of ten
_DIGITS = 18  # of a decimal that Go keeps in 64 bits
_BINARY_DIGITS = 14  # of one with a binary suffix, less three for every ten bits of the suffix
_LONGEST, _FARTHEST = 100, 99  # characters and powers of ten, so that no text costs more than it is worth
_WITHOUT_EXPONENT = 10**21  # Go writes whole floats below this as integers (encoding/json floatEncoder)


class _Reading(NamedTuple):
    """A text as Go holds it: the number; how it is to be written; `fast`: in 64 bits; `kept`: its text is reused."""

    number: Number
    form: str
    fast: bool
    kept: bool


@lru_cache(maxsize=4096)
def is_quantity(text: str) -> bool:
    """Whether the API server takes the text, with blanks round it (Quantity.UnmarshalJSON). A text without a digit,
    such as `Gi`, which it takes for 0, is none here: nobody means that."""
    return _QUANTITY.fullmatch(text.strip(" ")) is not None


def quantity(value: object) -> Number | None:
    """The number that a quantity is, exact; None for what is none.

    What is finer than a thousandth is rounded away from zero, as in every resource list (pkg/apis/core/v1/defaults.go
    SetDefaults_ResourceList), and what has a binary suffix ends at 2^63-1.
    """
    if type(value) is int:
        return value
    reading = _read(_text(value))
    return reading.number if reading else None


def canonical(value: object) -> str | None:
    """A quantity as the API server writes it: `3000` as `3k`, `2048Mi` as `2Gi`, `1.5` as `1500m`; None for none."""
    text = _text(value)
    reading = _read(text)
    if reading is None:
        return None
    number = reading.number
    if reading.kept or reading.form == "far":
        return text
    if reading.form == "binary" and type(number) is int and abs(number) >= 1024:  # noqa: PLR2004 - less has no suffix
        amount, power = _without(number, 1024)
        return f"{amount}{_BINARY_SUFFIXES.get(power * 10, '')}"
    if not number:
        return "0"
    amount, zeros = _without(int(number * _MILLI), 10)
    power = (zeros - 3) // 3 * 3
    amount *= 10 ** (zeros - 3 - power)
    suffix = (f"e{power}" if power else "") if reading.form == "exponent" else _DECIMAL_SUFFIXES.get(power, "")
    return f"{amount}{suffix}"


def as_int64(value: object) -> int | None:
    """What Go's `Quantity.AsInt64` gives for a quantity that has been through the API server; None where it fails.

    It fails for fractions, beyond 64 bits, and for some whole numbers: one with a binary suffix is kept in a slower
    form from about 10^14 on (`100Ti`), and that form is not converted.
    """
    number = quantity(value)
    if type(number) is not int or abs(number) > MOST:
        return None
    if abs(number) < 10 ** (_BINARY_DIGITS - 1):
        return number
    reading = _read(canonical(value))
    return number if reading and reading.fast else None


def _text(value: object) -> str | None:
    """What the API server is sent for a value that YAML read."""
    if type(value) is str:
        return value.strip(" ")
    if type(value) is int:
        return str(value)
    if type(value) is float and value - value == 0:  # neither infinite nor NaN
        whole = _read(repr(value)) if abs(value) < _WITHOUT_EXPONENT and value.is_integer() else None
        return str(whole.number) if whole else repr(value)
    return None


@lru_cache(maxsize=4096)
def _read(text: str | None) -> _Reading | None:
    """ParseQuantity: None for what it refuses, and for what is too long to be meant."""
    match = _QUANTITY.fullmatch(text) if text and len(text) <= _LONGEST else None
    if match is None:
        return None
    whole, part, suffix = match["whole"] or "0", match["part"] or "", match["suffix"] or ""
    digits = int(f"{match['sign']}{whole}{part}")
    if suffix in _BINARY:
        power = _BINARY[suffix]
        fast = not part and len(whole) + power * 3 // 10 <= _BINARY_DIGITS
        return _Reading(_capped(_scaled(digits << power, -len(part))), "binary", fast, fast and digits % 8 != 0)
    form, power = ("decimal", _DECIMAL[suffix]) if suffix in _DECIMAL else ("exponent", int(suffix[1:]))
    if abs(power) > _FARTHEST:
        return _Reading(_scaled(digits, _FARTHEST if power > 0 else -_FARTHEST), "far", False, True)
    scale, shown = power - len(part), whole + part
    fast = len(shown) <= _DIGITS and scale >= -9  # noqa: PLR2004 - a billionth
    kept = fast and scale >= _FINEST and scale % 3 == 0 and not shown.endswith("000") and shown[0] != "0"
    return _Reading(_scaled(digits, scale), form, fast, kept)


def _scaled(digits: int, power: int) -> Number:
    """`digits` by a power of ten, rounded away from zero to a thousandth."""
    scale: int = 10 ** abs(power)
    if power >= 0:
        return digits * scale
    if digits % scale == 0:
        return digits // scale
    from fractions import Fraction  # noqa: PLC0415 - hardly a quantity has a fraction, and this costs 5 ms at start-up

    thousandths = -(-abs(digits) * _MILLI // scale)
    rounded = Fraction(thousandths if digits > 0 else -thousandths, _MILLI)
    return rounded.numerator if rounded.denominator == 1 else rounded


def _capped(number: Number) -> Number:
    return max(min(number, MOST), -MOST)


def _without(number: int, factor: int) -> tuple[int, int]:
    """A number without its factors of one kind, and how many those were."""
    times = 0
    while number % factor == 0:
        number //= factor
        times += 1
    return number, times
