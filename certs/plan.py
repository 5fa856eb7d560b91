"""What to do now about an installation's certificates: what is published, what is held and the time, to a plan.

Pure, so that it can be tried against every schedule of restarts, losses and wrong clocks. Any replica may carry a
plan out: what it writes is in the Secret and in the caBundles, and whoever comes second finds it done.

An authority's life: it is made and put into the Secret; every caBundle gets it; once all have carried it for the
propagation time it signs, and those before it are replaced; a replaced one goes from the caBundles when the last leaf
that it can have signed has expired, then from the Secret. The time in between is counted from times in the Secret,
so that it survives every replica.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from certs.authority import SKEW, Pair, renewal
from certs.bundles import Bundle
from certs.ring import Authority, Content, Ring, age, known, sorted_ring

SECOND = timedelta(seconds=1)
"""As finely as certificates (RFC 5280, 4.1.2.5) and HTTP's Date (RFC 9110, 5.6.7) tell the time."""


class Terms(NamedTuple):
    """How long a leaf and an authority live, and how long every caBundle has carried an authority before it signs.

    A replica that is cut off from the API server goes on signing by what it last knew. So a replaced authority stays
    for two lives of a leaf: a replica may be cut off for nearly one of them without its leaf being distrusted.
    """

    leaf: timedelta = timedelta(days=7)
    authority: timedelta = timedelta(days=365)
    propagation: timedelta = timedelta(minutes=10)

    @property
    def skew(self) -> timedelta:
        """What clocks may differ by. Who lets a leaf live for seconds has better ones."""
        return min(SKEW, self.leaf / 4)

    @property
    def kept(self) -> timedelta:
        """How long a replaced authority stays in the caBundles."""
        return 2 * self.leaf + self.skew


class Published(NamedTuple):
    """What the API server holds: the Secret's content, and every entry's caBundle of the configurations.

    `complete`: whether both configurations could be read, or are known not to be there.
    """

    content: Content
    bundles: tuple[Bundle, ...] = ()
    complete: bool = True


class Leaf(NamedTuple):
    """A serving certificate. `issuer` is its authority's fingerprint, `renew` when to make the next one."""

    pair: Pair
    issuer: str
    made: datetime
    renew: datetime
    expires: datetime


class Held(NamedTuple):
    """What one replica has in memory: its leaf, and the authorities that it last read."""

    leaf: Leaf | None = None
    ring: Ring = ()


class Plan(NamedTuple):
    """What is to be done. Whoever carries it out reads again after each write.

    `ring` is to be written into the Secret, None where it is as it should be; with `issue` a new authority comes
    in beside it. Then every caBundle is to hold `trust` and nothing of `distrust`. `sign` is the authority to renew
    the leaf by, None while the leaf is good or nobody can sign. `known` is to be remembered.
    """

    known: Ring
    ring: Ring | None
    issue: bool
    trust: Ring
    distrust: frozenset[str]
    sign: Authority | None


def decide(published: Published | None, held: Held, terms: Terms, now: datetime) -> Plan:
    """What to do at `now`. `published` is None while the API server cannot be asked."""
    if published is None:
        return Plan(held.ring, None, False, (), frozenset(), _due(held, held.ring, terms, now))
    base = _remembered(published.content.ring, held, terms, now)
    ring = _aged(base, published, terms, now)
    issue = published.content.ours and _is_wanting(ring, now)
    to_write = ring if published.content.ours and (issue or ring != published.content.ring) else None
    trust = tuple(authority for authority in base if not authority.dropped)
    dropped = {authority.fingerprint for authority in base if authority.dropped}
    expired = {stray.fingerprint for stray in _strays(published, base) if stray.expires + terms.skew <= now}
    return Plan(base, to_write, issue, trust, frozenset(dropped | expired), _due(held, base, terms, now))


def signer(ring: Ring, terms: Terms, now: datetime) -> Authority | None:
    """Who signs: the youngest that has been trusted for long enough. Where there is none, as at the first start or
    after a long time without any replica, the one that has been trusted for longest."""
    able = [authority for authority in ring if is_able(authority, now)]
    ripe = [authority for authority in able if is_ripe(authority, terms, now)]
    if ripe:
        return ripe[-1]
    return min(able, key=lambda each: (_second(each.trusted_since or now + SKEW), age(each)), default=None)


def birth(ring: Ring, now: datetime) -> datetime:
    """When a new authority beside these is to have been made: now, but a second after the youngest that can sign.

    That it is the youngest makes it sign in the end. Nothing else would say so of one that is made in the same second,
    or by the clock of another API server that is behind.
    """
    able = [authority for authority in ring if is_able(authority, now)]
    soonest = able[-1].made + SECOND if able else now
    return max(now, min(soonest, now + SKEW))  # later it could not sign yet, and one more would be made


def is_able(authority: Authority, now: datetime) -> bool:
    """Whether it can sign at all: a clock that was once far ahead has left behind what is not valid yet."""
    return bool(authority.key) and not authority.dropped and authority.made - SKEW <= now < authority.expires


def is_ripe(authority: Authority, terms: Terms, now: datetime) -> bool:
    """Whether every caBundle has carried it for the propagation time."""
    since = _believed(authority.trusted_since, now)
    return since is not None and since + terms.propagation <= now


def is_trusted(published: Published, issuer: str) -> bool:
    """Whether every entry that there is trusts that authority, and there is one."""
    return published.complete and bool(published.bundles) and all(each.holds(issuer) for each in published.bundles)


def _remembered(ring: Ring, held: Held, terms: Terms, now: datetime) -> Ring:
    """The Secret's authorities; and where none of them may sign yet, those that it has lost and we still know."""
    if any(is_able(authority, now) and is_ripe(authority, terms, now) for authority in ring):
        return ring
    dropped = {authority.fingerprint for authority in ring if authority.dropped}
    remembered = (authority for authority in held.ring if authority.key and authority.fingerprint not in dropped)
    return sorted_ring((*(authority for authority in ring if authority.key), *remembered, *ring))


def _aged(base: Ring, published: Published, terms: Terms, now: datetime) -> Ring:
    """The authorities with what has come true of them meanwhile."""
    if not published.complete:
        return base
    # Ours, and not in the Secret, which was lost: somebody may still serve a leaf of it.
    adopted = [
        replace(stray, replaced_since=now) for stray in _strays(published, base) if stray.expires + terms.skew > now
    ]
    marked = sorted_ring(_marked(authority, published, terms, now) for authority in (*base, *adopted))
    signs = signer(marked, terms, now)
    ripe = signs is not None and is_ripe(signs, terms, now)
    ring = (_succeeded(authority, signs, now) if signs and ripe else authority for authority in marked)
    return tuple(each for each in ring if not (each.dropped and not _is_anywhere(each, published.bundles)))


def _marked(authority: Authority, published: Published, terms: Terms, now: datetime) -> Authority:
    replaced = _believed(authority.replaced_since, now, otherwise=now)
    since = _believed(authority.trusted_since, now)
    if is_trusted(published, authority.fingerprint):
        since = since or now
    elif published.bundles and not is_ripe(authority, terms, now):
        since = None  # somebody has put an older caBundle back: its time begins anew
    over = authority.expires + terms.skew <= now or (replaced is not None and replaced + terms.kept <= now)
    if authority.dropped or over:
        return replace(authority, key=b"", dropped=True)
    return replace(authority, trusted_since=since, replaced_since=replaced)


def _succeeded(authority: Authority, signs: Authority, now: datetime) -> Authority:
    """Those before the one that signs are replaced by it; it is not, nor are those that come after it."""
    if authority.dropped:
        return authority
    if authority.fingerprint == signs.fingerprint:
        return replace(authority, replaced_since=None)
    if age(authority) < age(signs) or not authority.key:
        return replace(authority, replaced_since=authority.replaced_since or now)
    return authority


def _is_wanting(ring: Ring, now: datetime) -> bool:
    """Whether it is time for a new authority: there is none, or the youngest has lived two thirds of its life."""
    able = [authority for authority in ring if is_able(authority, now)]
    return not able or renewal(able[-1].certificate) <= now


def _due(held: Held, ring: Ring, terms: Terms, now: datetime) -> Authority | None:
    """Who is to sign the next leaf now, if it is time for one. A leaf that is good is not given up for one by an
    authority that the API server may not have heard of yet."""
    signs, leaf = signer(ring, terms, now), held.leaf
    if signs is None or leaf is None or not leaf.made - SKEW <= now < leaf.expires or not _still_trusted(leaf, ring):
        return signs
    if now < leaf.renew or not (is_ripe(signs, terms, now) or signs.fingerprint == leaf.issuer):
        return None
    return signs


def _still_trusted(leaf: Leaf, ring: Ring) -> bool:
    return any(authority.fingerprint == leaf.issuer and not authority.dropped for authority in ring)


def _strays(published: Published, base: Ring) -> Ring:
    """Authorities of ours in caBundles that are not among those of the Secret."""
    own = {authority.fingerprint for authority in base}
    held = (each for bundle in published.bundles for each in bundle.held if each.ours)
    return sorted_ring(known(each.certificate) for each in held if each.fingerprint not in own)


def _is_anywhere(authority: Authority, bundles: Iterable[Bundle]) -> bool:
    return any(bundle.holds(authority.fingerprint) for bundle in bundles)


def _second(moment: datetime) -> datetime:
    """What is less than a second is how fast somebody was, and says nothing of who was first."""
    return moment.replace(microsecond=0)


def _believed(moment: datetime | None, now: datetime, otherwise: datetime | None = None) -> datetime | None:
    """A time of the Secret; one in the future, beyond what clocks differ, was written by a wrong clock."""
    return otherwise if moment is not None and moment > now + SKEW else moment
