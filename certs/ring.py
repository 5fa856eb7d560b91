"""The authorities of an installation, as the Secret keeps them: those that sign, the next one, those that go.

The Secret holds one key, `authorities.json`:
`{"version": 1, "authorities": [{"certificate": PEM, "key": PEM, "trustedSince": RFC 3339, "replacedSince": RFC 3339,
"dropped": bool}]}`; what is unknown is left out. Whatever else the Secret holds stays.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from certs.authority import Pair, expiry, issue_authority, issued

KEY = "authorities.json"
VERSION = 1

NAME = "gangcheck managed"
"""How the subject of each of our authorities begins; by it one is known again whose Secret is lost."""

_SUBJECT = re.compile(rf"{NAME} [0-9a-f]{{40}}")


@dataclass(frozen=True, slots=True)
class Authority:
    """One authority. `certificate` and `key` are PEM, the key empty where it is lost or no longer needed.

    `trusted_since`: since when every caBundle has carried it; None until that was seen. `replaced_since`: since when
    a younger one signs in its stead. `dropped`: no caBundle shall carry it any longer. The rest is read from the
    certificate: its SHA-256, when it was made and when it expires.
    """

    certificate: bytes
    key: bytes
    fingerprint: str
    made: datetime
    expires: datetime
    trusted_since: datetime | None = None
    replaced_since: datetime | None = None
    dropped: bool = False

    @property
    def pair(self) -> Pair:
        return Pair(self.certificate, self.key)


Ring: TypeAlias = tuple[Authority, ...]
"""Oldest first."""


class Content(NamedTuple):
    """What the Secret holds. `ring` is what of it can be used; `fault` says what is wrong with the rest, in words.

    `ours`: whether it may be written: it is there, and nobody else's.
    """

    ring: Ring = ()
    fault: str = ""
    ours: bool = True


def new_authority(lifetime: timedelta, now: datetime) -> Authority:
    pair = issue_authority(NAME, lifetime, now)
    return known(pair.certificate, pair.key)


def known(certificate: bytes, key: bytes = b"") -> Authority:
    """An authority of which no more than its certificate is known, and its key. Raises ValueError for no PEM."""
    return Authority(certificate, key, fingerprint(certificate), issued(certificate), expiry(certificate))


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of the certificate in hexadecimal. Raises ValueError for no PEM."""
    der = x509.load_pem_x509_certificate(certificate).public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest()


def is_ours(certificate: x509.Certificate) -> bool:
    """Whether it is an authority that `new_authority` made, in whatever installation."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    own = [str(name.value) for name in names if _SUBJECT.fullmatch(str(name.value))]
    return bool(own) and certificate.issuer == certificate.subject


def age(authority: Authority) -> tuple[datetime, str]:
    """What a ring is sorted by: the lesser is the older."""
    return authority.made, authority.fingerprint


def sorted_ring(authorities: Iterable[Authority]) -> Ring:
    """Each once, the first of equal ones; oldest first, and in the same order everywhere."""
    each = {authority.fingerprint: authority for authority in reversed(tuple(authorities))}
    return tuple(sorted(each.values(), key=age))


def read_secret(body: Mapping[str, Any] | None) -> Content:
    """A Secret as the API server gives it, None where there is none."""
    if body is None:
        return Content(fault="it is not there; apply the manifests again, which ship it empty", ours=False)
    data = body.get("data") or {}
    if body.get("type", "Opaque") != "Opaque":
        return Content(fault=f"it is somebody else's, of type {body['type']}; name another by --ca-secret", ours=False)
    if data and KEY not in data:
        held = ", ".join(sorted(map(str, data))[:5])
        return Content(fault=f"it is somebody else's: it holds {held} and no {KEY}", ours=False)
    return _read(data.get(KEY) or "")


def write_secret(body: Mapping[str, Any], ring: Ring) -> Mapping[str, Any]:
    """The Secret with these authorities in it."""
    text = json.dumps({"version": VERSION, "authorities": [_entry(authority) for authority in ring]}, indent=1)
    data = {**(body.get("data") or {}), KEY: base64.b64encode(text.encode()).decode()}
    return {**body, "data": data}


def _read(encoded: object) -> Content:
    if not encoded:
        return Content()
    try:
        content = json.loads(base64.b64decode(str(encoded), validate=True))
        version, entries = content["version"], list(content["authorities"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Content(fault=f"{KEY} is cut off or was changed by hand")
    if version != VERSION:
        return Content(fault=f"{KEY} is of version {version}, which a newer gangcheck wrote", ours=False)
    ring = sorted_ring(_readable(entries))
    lost = len(entries) - len(ring)
    return Content(ring, f"{lost} of {len(entries)} authorities in {KEY} cannot be used" if lost else "")


def _readable(entries: Iterable[Any]) -> Iterator[Authority]:
    for entry in entries:
        try:
            yield _authority(entry)
        except (ValueError, KeyError, TypeError, AttributeError, UnsupportedAlgorithm):
            continue


def _authority(entry: Mapping[str, Any]) -> Authority:
    """Raises what `_readable` catches for an entry that cannot be used."""
    certificate, key = entry["certificate"].encode(), entry.get("key", "").encode()
    plain = known(certificate, key)
    loaded = x509.load_pem_x509_certificate(certificate)
    if not is_ours(loaded):
        raise ValueError("no authority of ours")
    if key and serialization.load_pem_private_key(key, None).public_key() != loaded.public_key():
        raise ValueError("the key is another certificate's")
    return Authority(
        certificate,
        key,
        plain.fingerprint,
        plain.made,
        plain.expires,
        _time(entry.get("trustedSince")),
        _time(entry.get("replacedSince")),
        dropped=entry.get("dropped", False) is True,
    )


def _time(text: Any) -> datetime | None:  # noqa: ANN401 - whatever somebody wrote there
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment


def _entry(authority: Authority) -> Mapping[str, object]:
    said = {
        "certificate": authority.certificate.decode(),
        "key": authority.key.decode(),
        "trustedSince": authority.trusted_since and authority.trusted_since.isoformat(timespec="milliseconds"),
        "replacedSince": authority.replaced_since and authority.replaced_since.isoformat(timespec="milliseconds"),
        "dropped": authority.dropped,
    }
    return {key: value for key, value in said.items() if value}
