"""A caBundle's text to what the API server could make of it: base64, PEM, and from each certificate its end.

Read here and not by a library of certificates: a lint run would pay for loading one more than for all else it does.
"""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import UTC, datetime

from webhook.model import Authorities

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----\s(.*?)-----END CERTIFICATE-----", re.DOTALL)
_SPACE = re.compile(rb"\s+")

_SEQUENCE, _INTEGER, _EXPLICIT_VERSION = 0x30, 0x02, 0xA0
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_LONG, _LENGTH_BYTES = 0x80, 4
_CENTURY = 50
"""Two-digit years from here on are of the 20th century (RFC 5280, 4.1.2.5.1)."""


def authorities(text: str) -> Authorities | None:
    """Read a caBundle. None where there is nothing in it: absent, empty, or the line end that stands for it."""
    try:
        pem = b64decode(_SPACE.sub(b"", text.encode()), validate=True)
    except ValueError:
        return Authorities("is no base64")
    if not pem.strip():
        return None
    blocks = _BLOCK.findall(pem)
    if not blocks:
        return Authorities("holds no certificate in PEM")
    ends = [_expiry(block) for block in blocks]
    known = [end for end in ends if end is not None]
    return Authorities(expires=max(known)) if known else Authorities("holds no certificate that can be read")


def _expiry(block: bytes) -> int | None:
    try:
        return not_after(b64decode(_SPACE.sub(b"", block), validate=True))
    except ValueError:
        return None


def not_after(der: bytes) -> int:
    """When an X.509 certificate (DER) expires, in seconds since 1970. Raises ValueError where it is none."""
    start, _ = _enter(der, 0, len(der), _SEQUENCE)  # Certificate
    at, end = _enter(der, start, len(der), _SEQUENCE)  # TBSCertificate
    if der[at : at + 1] == bytes([_EXPLICIT_VERSION]):
        at = _after(der, at, end, _EXPLICIT_VERSION)
    for tag in (_INTEGER, _SEQUENCE, _SEQUENCE):  # serialNumber, signature, issuer
        at = _after(der, at, end, tag)
    at, end = _enter(der, at, end, _SEQUENCE)  # Validity
    for tag in (_UTC_TIME, _GENERALIZED_TIME):
        if der[at : at + 1] == bytes([tag]):
            return _time(der, _after(der, at, end, tag), end)
    raise ValueError("no time where notBefore belongs")


def _enter(der: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """The bounds of what an element holds; `at` is where the element begins, `end` what it must not reach beyond."""
    if end - at < 2 or der[at] != tag:  # noqa: PLR2004 - tag and length
        raise ValueError(f"no element of type {tag:#x} at byte {at}")
    length, start = der[at + 1], at + 2
    if length >= _LONG:
        count = length - _LONG
        if not 0 < count <= _LENGTH_BYTES or start + count > end:
            raise ValueError(f"no length at byte {at + 1}")
        length, start = int.from_bytes(der[start : start + count], "big"), start + count
    if start + length > end:
        raise ValueError(f"the element at byte {at} is cut short")
    return start, start + length


def _after(der: bytes, at: int, end: int, tag: int) -> int:
    return _enter(der, at, end, tag)[1]


def _time(der: bytes, at: int, end: int) -> int:
    """A time of RFC 5280: to the second, in UTC, with two or four digits for the year."""
    if der[at : at + 1] == bytes([_UTC_TIME]):
        start, stop = _enter(der, at, end, _UTC_TIME)
        text = der[start:stop].decode("ascii")
        century = "19" if text[:2].isdecimal() and int(text[:2]) >= _CENTURY else "20"
        text = century + text
    else:
        start, stop = _enter(der, at, end, _GENERALIZED_TIME)
        text = der[start:stop].decode("ascii")
    if not re.fullmatch(r"[0-9]{14}Z", text):
        raise ValueError(f"{text!r} is no time of a certificate")
    parts = [int(text[:4]), *(int(text[place : place + 2]) for place in range(4, 14, 2))]
    year, month, day, hour, minute, second = parts
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
