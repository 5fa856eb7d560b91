"""Time travel: whatever happens to replicas, Secret and caBundles, and in whatever order, the API server is content.

Replicas have clocks of their own here, wrong by what clocks may be wrong. A schedule is a list of events; after
each all replicas look, as they do every ten seconds, and then everything must be well. Two things have their limits,
since nobody could help beyond them: a replica is cut off from the API server for half a leaf's life at most, and
somebody applies the manifests again when the Secret has been away for a quarter of one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from shelf import ENTRIES, MUTATING, SECRET, Replica, Shelf, Time, configuration, empty_secret, garbled, replica, shelf

from certs.authority import SKEW
from certs.plan import Leaf, Terms
from certs.store import Seen, Thing

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

LIVES = (
    Terms(),
    Terms(7 * DAY, 30 * DAY, 10 * MINUTE),
    Terms(7 * DAY, 21 * DAY + 31 * MINUTE, 10 * MINUTE),  # the least that the settings allow
    Terms(DAY, 5 * DAY, HOUR),
)


@dataclass(slots=True)
class Door:
    """The API server as one replica reaches it: not at all, or with what it says going through the replica's clock."""

    published: Shelf
    time: Time
    cut_until: float = 0.0
    between: list[Replica] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        return self.time.passed < self.cut_until

    def read(self) -> Seen:
        self.published.away = "cut off" if self.is_cut else ""
        seen = self.published.read()
        while self.between:  # somebody else does all that it wants to do, and then this one goes on with what it read
            self.between.pop().look()
        return seen._replace(date=None)  # it is left to its own clock

    def write(self, thing: Thing) -> None:
        self.published.away = ""
        self.published.write(thing)


@dataclass(slots=True)
class World:
    """Three replicas, and what is remembered of what was published."""

    terms: Terms
    time: Time = field(default_factory=Time)
    published: Shelf = field(default_factory=shelf)
    doors: list[Door] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)
    offsets: list[timedelta] = field(default_factory=lambda: [timedelta()] * 3)
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    deleted: float = 0.0
    lossy: bool = False
    carried: dict[str, datetime] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    leaves: list[Leaf | None] = field(default_factory=lambda: [None] * 3)
    signed: set[str] = field(default_factory=set)

    def begin(self) -> None:
        self.published.now = self.time.now
        self.published.after_write = lambda _: self.written()
        self.doors = [Door(self.published, self.time) for _ in range(3)]
        self.replicas = [self.fresh(number) for number in range(3)]
        self.look()

    def fresh(self, number: int) -> Replica:
        made = replica(self.published, self.time, self.terms, lambda: number / 3)
        made.rounds.store = self.doors[number]
        made.rounds.clock._wall = lambda: self.time.now() + self.offsets[number]
        return made

    def note(self) -> None:
        """Since when each authority is in every caBundle, in truth; and which were for the propagation time, less
        what two clocks may differ."""
        everywhere = frozenset.intersection(*self.published.trusted()) if self.published.trusted() else frozenset()
        now = self.time.now()
        self.carried = {each: self.carried.get(each, now) for each in everywhere}
        long_enough = self.terms.propagation - self.terms.skew
        self.known |= {each for each, since in self.carried.items() if now - since >= long_enough}

    def written(self) -> None:
        """Between two writes of one replica the others are called too; but while a caBundle is being mended."""
        self.note()
        if not self.lossy:
            self.judge()

    def look(self) -> None:
        for number, each in enumerate(self.replicas):
            each.look()
            self.note()
            self.judge_signature(number)
            if not self.lossy:
                self.judge()
        self.lossy = False

    def judge_signature(self, number: int) -> None:
        """Who had a good leaf, or could have had one, has not taken one that an API server may not know yet."""
        before, now = self.leaves[number], self.replicas[number].held().leaf
        self.leaves[number] = now
        if now is None or now == before:
            return
        self.signed.add(now.issuer)
        if now.issuer in self.known:
            return
        assert before is None or not self.is_good(before), "a good leaf was given up for an authority too young"
        able = [each for each in self.published.ring() if each.key and each.fingerprint in self.known]
        assert not [each for each in able if each.expires > self.time.now() + SKEW], "there was a better authority"

    def is_good(self, leaf: Leaf) -> bool:
        loaded = x509.load_pem_x509_certificate(leaf.pair.certificate)
        valid = loaded.not_valid_before_utc <= self.time.now() < loaded.not_valid_after_utc
        return valid and all(leaf.issuer in trusted for trusted in self.published.trusted())

    def judge(self) -> None:
        """What the API server finds when it calls any replica that is ready."""
        for number, each in enumerate(self.replicas):
            leaf = each.held().leaf
            assert not each.keeper.trusted() or (leaf and self.is_good(leaf)), f"replica {number} is not trusted"

    def judge_readiness(self) -> None:
        """Who has just looked is ready: there is always a replica to call."""
        for number, each in enumerate(self.replicas):
            helpless = self.doors[number].is_cut or not self.published.ring()
            assert each.keeper.trusted() or helpless, f"replica {number} is not ready: {each.said}"

    # What may happen.

    def passes(self, seconds: int) -> None:
        self.time.go(seconds=seconds)
        if SECRET in self.published.objects:
            self.deleted = self.time.passed
        elif self.time.passed - self.deleted >= self.terms.leaf.total_seconds() / 4:
            self.published.put(SECRET, empty_secret())
        self.note()
        self.judge()  # before anybody looks, too

    def restarts(self, number: int) -> None:
        self.replicas[number] = self.fresh(number)
        self.leaves[number] = None

    def is_cut_off(self, number: int, share: float) -> None:
        if self.leaves[number] is not None:
            longest = self.terms.leaf / 2
            self.doors[number].cut_until = self.time.passed + longest.total_seconds() * share

    def clock_jumps(self, number: int, share: float) -> None:
        """Any two clocks, the API server's among them, differ by the skew at most."""
        self.offsets[number] = self.terms.skew / 2 * share

    def secret_is_lost(self, how: str) -> None:
        if how == "deleted":
            self.published.objects.pop(SECRET, None)
        elif how == "emptied" or SECRET not in self.published.objects:
            self.published.put(SECRET, empty_secret())
        elif "data" in self.published.objects[SECRET]:
            self.published.put(SECRET, garbled(self.published.objects[SECRET]))

    def bundle_is_lost(self, kind: str, how: str) -> None:
        """Where nobody who could mend it is there, or nobody knows what it held, no keeper can help."""
        if all(door.is_cut for door in self.doors) or not self.published.ring():
            return
        self.lossy = True
        self.snapshots.append(copy.deepcopy(self.published.objects[kind]))
        older = [each for each in self.snapshots if each["kind"] == kind]
        self.published.put(kind, configuration(kind) if how == "emptied" else older[0])
        self.note()

    def rotates(self) -> None:
        waiting = [each for each in self.published.ring() if each.key and each.replaced_since is None]
        here = [number for number, door in enumerate(self.doors) if not door.is_cut]
        if len(waiting) == 1 and here and SECRET in self.published.objects:
            helper = replica(self.published, self.time, self.terms)
            self.published.away = ""
            helper.rounds.run(helper.held(), serves=False, rotate=True)

    def two_at_once(self, one: int, other: int) -> None:
        if one != other and not self.doors[other].is_cut:
            self.doors[one].between.append(self.replicas[other])


AGAIN = (("passes", 280), ("bundle_is_lost", MUTATING, "older"))
NUMBERS = st.integers(0, 2)
SHARES = st.floats(-1, 1)
EVENTS = st.one_of(
    st.tuples(st.just("passes"), st.sampled_from([10, 60, 400, 660, 5 * 3600, 20 * 3600, 23 * 3600])),
    st.tuples(st.just("days"), st.integers(1, 20)),
    st.tuples(st.just("restarts"), NUMBERS),
    st.tuples(st.just("is_cut_off"), NUMBERS, st.floats(0.1, 1)),
    st.tuples(st.just("clock_jumps"), NUMBERS, SHARES),
    st.tuples(st.just("secret_is_lost"), st.sampled_from(["deleted", "emptied", "garbled"])),
    st.tuples(st.just("bundle_is_lost"), st.sampled_from(sorted(ENTRIES)), st.sampled_from(["emptied", "older"])),
    st.tuples(st.just("rotates")),
    st.tuples(st.just("two_at_once"), NUMBERS, NUMBERS),
)


def live(terms: Terms, schedule: list[tuple[Any, ...]]) -> World:
    world = World(terms)
    world.begin()
    world.judge()
    stride = min(20 * HOUR, terms.leaf / 6)
    for what, *details in schedule:
        if what == "days":
            steps = [("passes", int(stride.total_seconds()))] * int(details[0] * DAY / stride)
        elif what == "passes":
            steps = [("passes", min(details[0], int(stride.total_seconds())))]
        else:
            steps = [(what, *details)]
        for name, *given_ in steps:
            getattr(world, name)(*given_)
            world.look()
            world.judge()
            world.judge_readiness()
    return world


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(LIVES), st.lists(EVENTS, max_size=25))
@example(LIVES[1], [("secret_is_lost", "emptied"), ("restarts", 0), ("restarts", 1), ("restarts", 2), ("days", 40)])
@example(LIVES[1], [("is_cut_off", 2, 1.0), ("secret_is_lost", "emptied"), ("restarts", 0), ("restarts", 1)])
@example(LIVES[2], [("days", 14), ("is_cut_off", 0, 1.0), ("days", 9), ("rotates",), ("days", 30)])
@example(LIVES[0], [("days", 40)] * 30)
@example(LIVES[1], [*AGAIN, ("days", 20), *AGAIN, *AGAIN, ("passes", 100), ("restarts", 0)])
@example(LIVES[1], [("days", 20), ("is_cut_off", 0, 1.0), ("is_cut_off", 1, 1.0), ("rotates",), ("days", 20)])
def test_every_call_finds_a_certificate_that_it_trusts(terms: Terms, schedule: list[tuple[Any, ...]]) -> None:
    world = live(terms, schedule)
    event(f"authorities that signed: {min(len(world.signed), 5)}")


def test_time_travel_goes_through_rotations() -> None:
    """The property above is about something."""
    world = live(LIVES[1], [("days", 40), ("restarts", 1), ("days", 40), ("rotates",), ("passes", 660), ("days", 20)])
    assert len(world.signed) >= 5
    assert len(world.published.ring()) <= 3
