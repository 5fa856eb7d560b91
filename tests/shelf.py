"""What certificates publish, played in memory: the Secret and both configurations, with resourceVersions."""

from __future__ import annotations

import base64
import copy
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from certs.bundles import Bundle, bundles
from certs.clock import Clock
from certs.keeper import Keeper
from certs.plan import Held, Terms
from certs.ring import KEY, Ring, read_secret
from certs.rounds import Rounds, Settings
from certs.store import Away, Conflict, Denied, Seen, Thing
from certs.told import Told

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "Secret"  # noqa: S105 - a kind
MUTATING = "MutatingWebhookConfiguration"
VALIDATING = "ValidatingWebhookConfiguration"
TERMS = Terms()
ENTRIES = {MUTATING: ("inject",), VALIDATING: ("pods.enforce", "pods.warn")}

Object = dict[str, Any]


def configuration(kind: str, *bundle: bytes) -> Object:
    held = {"caBundle": base64.b64encode(b"".join(bundle)).decode()} if bundle else {}
    hooks = [{"name": name, "clientConfig": {"service": {"name": "x"}, **held}} for name in ENTRIES[kind]]
    return {"kind": kind, "metadata": {"name": "gangcheck"}, "webhooks": hooks, "kept": "as it is"}


@dataclass(slots=True)
class Shelf:
    """The objects by kind, absent ones left out, and what may go wrong with them."""

    objects: dict[str, Object] = field(default_factory=dict)
    now: Callable[[], datetime] = lambda: START
    away: str = ""
    unreadable: set[str] = field(default_factory=set)
    unwritable: set[str] = field(default_factory=set)
    after_read: Callable[[], object] = lambda: None
    after_write: Callable[[str], object] = lambda _: None
    writes: list[str] = field(default_factory=list)
    versions: Any = field(default_factory=lambda: count(1))

    def put(self, kind: str, body: Object) -> None:
        """As somebody else would: without a look at what is there."""
        body = copy.deepcopy(body)
        body.setdefault("metadata", {})["resourceVersion"] = str(next(self.versions))
        self.objects[kind] = body

    def read(self) -> Seen:
        if self.away:
            raise Away(self.away)
        seen = Seen(self._thing(SECRET), tuple(map(self._thing, ENTRIES)), self.now().replace(microsecond=0))
        self.after_read()
        return seen

    def write(self, thing: Thing) -> None:
        if self.away:
            raise Away(self.away)
        if thing.kind in self.unwritable:
            raise Denied("403 forbidden")
        assert thing.body is not None
        stored = self.objects.get(thing.kind, {"metadata": {}})
        if stored["metadata"].get("resourceVersion") != thing.body["metadata"].get("resourceVersion"):
            raise Conflict
        self.put(thing.kind, dict(thing.body))
        self.writes.append(thing.kind)
        self.after_write(thing.kind)

    def _thing(self, kind: str) -> Thing:
        if kind in self.unreadable:
            return Thing(kind, "gangcheck", fault="403 forbidden")
        return Thing(kind, "gangcheck", copy.deepcopy(self.objects.get(kind)))

    # What a test looks at.

    def ring(self) -> Ring:
        return read_secret(self.objects.get(SECRET)).ring

    def bundles(self) -> tuple[Bundle, ...]:
        return tuple(each for kind in ENTRIES if kind in self.objects for each in bundles(self.objects[kind]))

    def trusted(self) -> list[frozenset[str]]:
        """The fingerprints in each entry's caBundle."""
        return [frozenset(each.fingerprint for each in bundle.held) for bundle in self.bundles()]


def empty_secret() -> Object:
    return {"kind": SECRET, "type": "Opaque", "metadata": {"name": "gangcheck-ca"}}


def garbled(secret: Object) -> Object:
    """The Secret with the second half of its content lost."""
    text = base64.b64decode(secret["data"][KEY])
    return {**secret, "data": {KEY: base64.b64encode(text[: len(text) // 2]).decode()}}


def entries_of(secret: Object) -> list[Object]:
    entries: list[Object] = json.loads(base64.b64decode(secret["data"][KEY]))["authorities"]
    return entries


def shelf(*bundle: bytes) -> Shelf:
    """An installation as the manifests make it; `bundle` is what somebody else has put into every caBundle."""
    made = Shelf()
    made.put(SECRET, empty_secret())
    for kind in ENTRIES:
        made.put(kind, configuration(kind, *bundle))
    return made


@dataclass(slots=True)
class Time:
    """The API server's clock, moved by hand, and the monotonic one that goes with it."""

    passed: float = 0.0

    def go(self, **how: float) -> None:
        self.passed += timedelta(**how).total_seconds()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed


@dataclass(slots=True)
class Replica:
    """A keeper whose thread is not started: `look` is one turn of it. `said` are its log's lines."""

    keeper: Keeper
    rounds: Rounds
    said: list[str]

    def look(self) -> timedelta:
        return self.keeper.look()

    def held(self) -> Held:
        return self.keeper._held


def replica(
    store: Shelf,
    time: Time,
    terms: Terms = TERMS,
    dice: Callable[[], float] = lambda: 0.5,
    wall: Callable[[], datetime] | None = None,
) -> Replica:
    """One with no memory, as after a restart. `wall` is its machine's own clock where that is wrong."""
    said: list[str] = []
    told = Told(lambda level, line: said.append(f"{logging.getLevelName(level)} {line}"))
    settings = Settings(("gangcheck.gangcheck.svc",), terms, timedelta(seconds=10))
    rounds = Rounds(store, settings, Clock(wall or time.now, time.monotonic), dice, told)
    return Replica(Keeper(rounds, dice), rounds, said)
