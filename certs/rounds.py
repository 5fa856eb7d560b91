"""Plans carried out: a round reads everything, signs this replica's leaf if it is time, and writes one object at most.

Rounds follow each other until there is nothing to write. No leader is needed: whoever comes second to a write is told
so by the object's resourceVersion, reads again, and mostly finds it done.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from certs.authority import SKEW, expiry, issue_leaf, split
from certs.bundles import bundles, corrected, is_right, last_writer
from certs.clock import Clock
from certs.plan import SECOND, Held, Leaf, Plan, Published, Terms, birth, decide
from certs.ring import Authority, Ring, new_authority, read_secret, sorted_ring, write_secret
from certs.store import Conflict, Denied, Seen, Store, Thing
from certs.told import Told

Body: TypeAlias = Mapping[str, Any]
Dice: TypeAlias = Callable[[], float]
"""A random number from 0 up to 1."""

ROUNDS = 16
"""At the first start five are needed, for a new authority four; the rest is for those who were faster."""

SECRET_WRITES = 4
"""In one run. Two are needed; if somebody else undoes each at once, more would not help."""

JITTER = 0.1
"""Of a leaf's life: so much before two thirds of it are over it may be renewed. Replicas do not do it together."""

HOT = 3
"""After so many runs in a row that found a configuration without us, it is mended less and less often."""
LONGEST_TRUCE = timedelta(minutes=5)


class Settings(NamedTuple):
    """`names` are the DNS names and IP addresses of the leaf; `poll` is the time from one run to the next."""

    names: tuple[str, ...] = ()
    terms: Terms = Terms()
    poll: timedelta = timedelta(seconds=10)


def service_names(service: str, namespace: str, domain: str) -> tuple[str, ...]:
    """What a Service may be called. The API server asks for the certificate of `service.namespace.svc`
    (apiserver pkg/util/webhook/client.go)."""
    inside = f"{service}.{namespace}.svc"
    return service, f"{service}.{namespace}", inside, f"{inside}.{domain}"


class Done(NamedTuple):
    """What a replica holds after a run, and what was published at its end."""

    held: Held
    published: Published
    wrote: tuple[str, ...] = ()


class _Write(NamedTuple):
    """What may be written: for which state of the object, how often in a run, and what makes its body and what to say.

    A configuration is written once for each state that it is to have: if somebody changes it back at once, that is
    for the next run.
    """

    thing: Thing
    wanted: str
    often: int
    make: Callable[[], tuple[Body, str]]


@dataclass(slots=True)
class _Truce:
    """How many runs in a row found a configuration without us, and until when it is left so."""

    times: int = 0
    until: datetime | None = None


@dataclass(slots=True)
class Rounds:
    """What the runs of one process share. `lost` is called for each configuration that was found without us."""

    store: Store
    settings: Settings
    clock: Clock
    dice: Dice
    told: Told
    lost: Callable[[], object] = lambda: None
    _truces: dict[str, _Truce] = field(default_factory=dict)

    def run(self, held: Held, *, serves: bool = True, rotate: bool = False) -> Done:
        """Rounds until there is nothing to write. `serves`: a leaf is wanted. `rotate`: one more authority is.

        Raises Away; then nothing was signed that is not in `held`."""
        over: Counter[str] = Counter()
        wrote: list[str] = []
        left: frozenset[str] = frozenset()
        while True:
            seen = self._read()
            published, now = self._understood(seen), self.clock.now()
            plan = decide(published, held, self.settings.terms, now)
            held = held._replace(ring=plan.known)
            if serves:
                held = self._signed(held, plan.sign, now)
            if not over["rounds"]:
                left = frozenset(str(thing) for thing in seen.configurations if self._is_left(thing, plan, now))
            written = self._write_first(self._writes(plan, seen, published, left, now, rotate=rotate), over)
            over["rounds"] += 1
            if written:
                wrote.append(written)
                rotate = False
            if written is None or over["rounds"] == ROUNDS:
                return Done(held, published, tuple(wrote))

    def alone(self, held: Held) -> Held:
        """What can be done without the API server: the leaf goes on, by what was last known."""
        now = self.clock.now()
        return self._signed(held, decide(None, held, self.settings.terms, now).sign, now)

    def _read(self) -> Seen:
        seen = self.store.read()
        if seen.date is not None:
            self.clock.tell(seen.date)
            ahead = self.clock.ahead()
            way, far = "ahead of" if ahead > timedelta() else "behind", timedelta(seconds=abs(ahead) // SECOND)
            wrong = f"is {way} the API server's by {far}; certificates go by the API server's"
            self.told.trouble("this machine's clock", wrong if far > SKEW else "", logging.WARNING)
        return seen

    def _understood(self, seen: Seen) -> Published:
        """What was seen, and what is wrong with it said."""
        content = read_secret(seen.secret.body)
        if seen.secret.fault:
            content = content._replace(fault=f"cannot be read: {seen.secret.fault}")
        self.told.fault(str(seen.secret), content.fault)
        for thing in seen.configurations:
            absent = "" if thing.body else "it is not there, so the API server does not call us by it"
            self.told.fault(str(thing), f"cannot be read: {thing.fault}" if thing.fault else absent, logging.WARNING)
        found = tuple(bundle for thing in seen.configurations if thing.body for bundle in bundles(thing.body))
        return Published(content, found, complete=not any(thing.fault for thing in seen.configurations))

    def _writes(
        self, plan: Plan, seen: Seen, published: Published, left: frozenset[str], now: datetime, *, rotate: bool
    ) -> Iterator[_Write]:
        """What is to be written. The Secret first: nobody is to trust what is not in it."""
        secret = seen.secret.body
        if secret is not None and published.content.ours and (plan.ring is not None or rotate):
            ring = published.content.ring if plan.ring is None else plan.ring
            make = partial(self._secret, secret, ring, now, new=plan.issue or rotate)
            yield _Write(seen.secret, "", SECRET_WRITES, make)
        wanted = " ".join((*(authority.fingerprint for authority in plan.trust), "-", *sorted(plan.distrust)))
        for thing in seen.configurations:
            if thing.body is None or str(thing) in left:
                continue
            if not all(is_right(bundle, plan.trust, plan.distrust) for bundle in bundles(thing.body)):
                body = corrected(thing.body, plan.trust, plan.distrust)
                yield _Write(thing, wanted, 1, partial(_as_is, body))

    def _write_first(self, writes: Iterable[_Write], over: Counter[str]) -> str | None:
        """The first write that the API server takes: its object, empty where another was faster, None for nothing."""
        for write in writes:
            name = str(write.thing)
            if over[name + write.wanted] >= write.often:
                continue
            body, news = write.make()
            try:
                self.store.write(write.thing._replace(body=body))
            except Conflict:
                return ""
            except Denied as denied:
                over[name + write.wanted] = write.often
                self.told.fault(f"writing {name}", str(denied))
                continue
            over[name + write.wanted] += 1
            self.told.fault(f"writing {name}", "")
            if news:
                self.told.news(news)
            return name
        return None

    def _secret(self, body: Body, ring: Ring, now: datetime, *, new: bool) -> tuple[Body, str]:
        """The Secret to be written, with one more authority in it where one is wanted, and what to say of that."""
        if not new:
            return write_secret(body, ring), ""
        made = new_authority(self.settings.terms.authority, birth(ring, now))
        news = f"a new authority {short(made)} was made, valid until {made.expires.isoformat()}"
        return write_secret(body, sorted_ring((*ring, made))), news

    def _is_left(self, thing: Thing, plan: Plan, now: datetime) -> bool:
        """Whether a configuration that has lost what it once trusted is left so for now; what is wrong is said."""
        if thing.body is None:
            return False
        once = [authority.fingerprint for authority in plan.trust if authority.trusted_since]
        entries = bundles(thing.body)
        lacking = [entry for entry in entries if not all(map(entry.holds, once))]
        truce = self._truces.setdefault(str(thing), _Truce())
        if not lacking:
            truce.times, truce.until = 0, None
            self.told.fault(f"caBundle of {thing}", "")
            return False
        if truce.until is not None and now < truce.until:
            return True
        truce.times += 1
        self.lost()
        who = last_writer(thing.body)
        fault = f"{len(lacking)} of {len(entries)} do not trust us{f', last written by {who}' if who else ''}"
        if truce.times <= HOT:
            self.told.fault(f"caBundle of {thing}", f"{fault}; our authority is put back", logging.WARNING)
            return False
        # Mended this time, and then left alone for longer each time: it is in vain.
        truce.until = now + min(LONGEST_TRUCE, self.settings.poll * 2 ** min(truce.times - HOT, 10))
        again = "it is taken out again and again; let them leave caBundle alone, or serve with --certs external"
        self.told.fault(f"caBundle of {thing}", f"{fault}; {again}")
        return False

    def _signed(self, held: Held, authority: Authority | None, now: datetime) -> Held:
        if authority is None:
            return held
        names, addresses = split(self.settings.names)
        life = self.settings.terms.leaf
        pair = issue_leaf(authority.pair, names, addresses, life, now)
        expires = expiry(pair.certificate)
        renew = now + (expires - now) * (2 / 3 - JITTER * self.dice())
        self.told.news(f"a leaf was signed by {short(authority)}, valid until {expires.isoformat()}")
        return held._replace(leaf=Leaf(pair, authority.fingerprint, now, renew, expires))


def _as_is(body: Body) -> tuple[Body, str]:
    return body, ""


def short(authority: Authority) -> str:
    """As much of the fingerprint as tells authorities apart."""
    return authority.fingerprint[:12]
