"""Who trusts what until when, and whether that is well: for people and for probes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from cryptography import x509

from certs.authority import is_signed_by, issued
from certs.bundles import Bundle, Trusted, bundles
from certs.plan import Terms, is_ripe, signer
from certs.ring import Authority, Ring, read_secret
from certs.store import Seen, Thing

Standing = Literal["signs", "waits", "replaced", "dropped"]

LATE = 0.25
"""Of a life: what has so little of it left should have been renewed long ago, at a third."""


class Member(NamedTuple):
    """An authority of the Secret. `then` is when its standing will change: when it signs, when it is dropped."""

    authority: Authority
    standing: Standing
    then: datetime | None


class Entry(NamedTuple):
    """A webhook: the fingerprints of our authorities in its caBundle, and the subjects of others'."""

    configuration: str
    webhook: str
    ours: tuple[str, ...]
    foreign: tuple[str, ...]


class Served(NamedTuple):
    """The leaf that a replica serves at `url`, or why none could be had."""

    url: str
    certificate: bytes = b""
    fault: str = ""


class Leaf(NamedTuple):
    """What is in a served leaf. `issuer` is its authority's fingerprint, empty where no caBundle knows it."""

    url: str
    serial: str
    issuer: str
    made: datetime
    expires: datetime


class Status(NamedTuple):
    """`troubles` is empty where all is well; each is a line that says what is wrong."""

    secret: str
    members: tuple[Member, ...]
    entries: tuple[Entry, ...]
    leaves: tuple[Leaf, ...]
    troubles: tuple[str, ...]


def status(seen: Seen, served: Sequence[Served], terms: Terms, now: datetime) -> Status:
    """What is published and served at `now`."""
    content = read_secret(seen.secret.body)
    fault = seen.secret.fault or content.fault
    members = tuple(_member(authority, content.ring, terms, now) for authority in content.ring)
    found = [(thing, bundle) for thing in seen.configurations if thing.body for bundle in bundles(thing.body)]
    leaves = tuple(_leaf(each, [bundle for _, bundle in found]) for each in served if not each.fault)
    troubles = [
        *([f"{seen.secret}: {fault}"] if fault else ()),
        *_of_members(members, fault, now),
        *(trouble for thing in seen.configurations for trouble in _of_configuration(thing, members)),
        *([] if found or any(thing.fault for thing in seen.configurations) else ["nothing is registered"]),
        *(f"{each.url}: {each.fault}" for each in served if each.fault),
        *(trouble for leaf in leaves for trouble in _of_leaf(leaf, [bundle for _, bundle in found], now)),
    ]
    return Status(str(seen.secret), members, tuple(_entry(*each) for each in found), leaves, tuple(troubles))


def _member(authority: Authority, ring: Ring, terms: Terms, now: datetime) -> Member:
    signs = signer(ring, terms, now)
    if authority.dropped:
        return Member(authority, "dropped", None)
    if signs is not None and authority.fingerprint == signs.fingerprint:
        return Member(authority, "signs", None)
    if authority.replaced_since is not None or not authority.key or is_ripe(authority, terms, now):
        since = authority.replaced_since
        return Member(authority, "replaced", min(authority.expires, since + terms.kept) if since else None)
    since = authority.trusted_since
    return Member(authority, "waits", since + terms.propagation if since else None)


def _entry(thing: Thing, bundle: Bundle) -> Entry:
    ours = tuple(each.fingerprint for each in bundle.held if each.ours)
    return Entry(str(thing), bundle.webhook, ours, tuple(each.subject for each in bundle.held if not each.ours))


def _leaf(served: Served, found: Iterable[Bundle]) -> Leaf:
    loaded = x509.load_pem_x509_certificate(served.certificate)
    signed = (each for each in _held(found) if is_signed_by(loaded, x509.load_pem_x509_certificate(each.certificate)))
    issuer = next((each.fingerprint for each in signed), "")
    made = issued(served.certificate)
    return Leaf(served.url, f"{loaded.serial_number:x}", issuer, made, loaded.not_valid_after_utc)


def _held(found: Iterable[Bundle]) -> Iterable[Trusted]:
    return (each for bundle in found for each in bundle.held)


def _of_members(members: Sequence[Member], fault: str, now: datetime) -> Iterable[str]:
    signs = [member.authority for member in members if member.standing == "signs"]
    if not signs and not fault:
        yield "no authority can sign: no replica with --certs managed has run, or see `gangcheck certs issue`"
    for authority in signs:
        waits = any(member.standing == "waits" for member in members)
        if _is_late(authority.made, authority.expires, now) and not waits:
            yield f"the authority expires at {authority.expires.isoformat()} and no next one waits: no replica rotates"


def _of_configuration(thing: Thing, members: Sequence[Member]) -> Iterable[str]:
    if thing.fault:
        yield f"{thing}: cannot be read: {thing.fault}"
    if thing.body is None:
        return
    needed = [member.authority.fingerprint for member in members if member.standing in {"signs", "replaced"}]
    found = bundles(thing.body)
    lacking = [bundle.webhook for bundle in found if not all(map(bundle.holds, needed))]
    if lacking and needed:
        yield f"{thing}: {len(lacking)} of {len(found)} do not trust an authority that signs or has: {lacking[0]} …"


def _of_leaf(leaf: Leaf, found: Sequence[Bundle], now: datetime) -> Iterable[str]:
    if not all(bundle.holds(leaf.issuer) for bundle in found):
        yield f"{leaf.url}: its certificate is signed by an authority that not every caBundle holds"
    if leaf.expires <= now:
        yield f"{leaf.url}: its certificate expired at {leaf.expires.isoformat()}"
    elif _is_late(leaf.made, leaf.expires, now):
        yield f"{leaf.url}: its certificate expires at {leaf.expires.isoformat()} and was not renewed in time"


def _is_late(made: datetime, expires: datetime, now: datetime) -> bool:
    return expires - now < (expires - made) * LATE
