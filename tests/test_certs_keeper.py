"""Certificates as replicas keep them: the first start, rotation, and every trouble that is known from the field."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import timedelta

import pytest
from cryptography import x509
from shelf import (
    ENTRIES,
    MUTATING,
    SECRET,
    START,
    VALIDATING,
    Replica,
    Shelf,
    Time,
    configuration,
    empty_secret,
    entries_of,
    garbled,
    replica,
    shelf,
)

from certs.authority import SKEW, issue_authority
from certs.bundles import last_writer
from certs.plan import Terms, is_ripe
from certs.ring import KEY, read_secret, write_secret
from certs.rounds import service_names

DAY = timedelta(days=1)
TERMS = Terms()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def published(time: Time) -> Shelf:
    made = shelf()
    made.now = time.now
    return made


def serves_well(published: Shelf, *replicas: Replica) -> bool:
    """Each has a leaf that is valid now, by an authority that every caBundle holds, and knows it."""
    return all(is_served(published, each) and each.keeper.trusted() for each in replicas)


def is_served(published: Shelf, each: Replica) -> bool:
    leaf = each.held().leaf
    if leaf is None:
        return False
    loaded = x509.load_pem_x509_certificate(leaf.pair.certificate)
    valid = loaded.not_valid_before_utc <= published.now() < loaded.not_valid_after_utc
    return valid and all(leaf.issuer in trusted for trusted in published.trusted())


def live(time: Time, *replicas: Replica, days: float) -> Iterator[None]:
    """Days of replicas that look twice a day."""
    for _ in range(int(days * 2)):
        time.go(hours=12)
        for each in replicas:
            each.look()
        yield


def settled(published: Shelf, time: Time, *others: Replica) -> Replica:
    """A replica of an installation whose authority has been trusted for long."""
    first = replica(published, time)
    first.look()
    time.go(minutes=11)
    for each in (first, *others):
        each.look()
    return first


def test_first_start(published: Shelf, time: Time) -> None:
    first = replica(published, time)
    assert (first.keeper.pair(), first.keeper.trusted(), first.keeper.authority_expiry()) == (None, False, None)
    first.look()
    assert serves_well(published, first)
    [authority] = published.ring()
    assert published.writes == [SECRET, MUTATING, VALIDATING, SECRET]
    assert authority.trusted_since == START
    assert authority.expires == START + 365 * DAY == first.keeper.authority_expiry()
    assert published.objects[MUTATING]["kept"] == "as it is"
    second = replica(published, time)
    second.look()
    assert serves_well(published, first, second)
    assert len(published.writes) == 4
    assert second.held().leaf != first.held().leaf


def test_leaf_is_renewed_at_two_thirds_with_jitter(published: Shelf, time: Time) -> None:
    leaves = []
    for dice in (0.0, 0.999):
        each = replica(published, time, dice=lambda dice=dice: dice)  # type: ignore[misc] # the default is the value
        each.look()
        leaf = each.held().leaf
        assert leaf is not None
        leaves.append(leaf.renew - leaf.made)
    late, early = leaves
    assert (late, round(early / timedelta(days=7), 2)) == (timedelta(days=7) * 2 / 3, 0.57)
    each = settled(published, time)
    first = each.held().leaf
    time.go(days=4)
    each.look()
    assert each.held().leaf == first
    time.go(hours=10)
    each.look()
    assert each.held().leaf != first
    assert serves_well(published, each)


def test_rotation_loses_nothing(published: Shelf, time: Time) -> None:
    """Over two lives of an authority: what signs is always trusted, and was for the propagation time before."""
    other = replica(published, time)
    each = settled(published, time, other)
    issuers: dict[str, None] = {}
    for _ in live(time, each, other, days=620):
        assert serves_well(published, each, other)
        for leaf in (each.held().leaf, other.held().leaf):
            assert leaf is not None
            issuers[leaf.issuer] = None
        assert 1 <= len(published.ring()) <= 2
    assert len(issuers) == 3
    first, second, third = issuers
    held = {authority.fingerprint for authority in published.ring()}
    assert held == {third}
    assert [trusted == {third} for trusted in published.trusted()] == [True] * 3
    assert first != second
    assert not [line for line in each.said if "ERROR" in line or "WARNING" in line]


def test_next_authority_is_trusted_before_it_signs_and_the_old_one_stays(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    [old] = published.ring()
    time.go(days=244)
    each.look()
    old, new = published.ring()
    assert all(trusted == {old.fingerprint, new.fingerprint} for trusted in published.trusted())
    assert not is_ripe(new, TERMS, time.now())
    fresh = replica(published, time)
    fresh.look()
    leaf = fresh.held().leaf
    assert leaf is not None
    assert leaf.issuer == old.fingerprint  # the new one does not sign yet
    time.go(minutes=11)
    fresh = replica(published, time)
    fresh.look()
    leaf = fresh.held().leaf
    assert leaf is not None
    assert leaf.issuer == new.fingerprint
    assert published.ring()[0].replaced_since is not None
    time.go(days=14)
    fresh.look()
    assert len(published.ring()) == 2
    time.go(minutes=6)
    fresh.look()
    assert [authority.fingerprint for authority in published.ring()] == [new.fingerprint]
    assert all(trusted == {new.fingerprint} for trusted in published.trusted())


@pytest.mark.parametrize("later", [timedelta(), timedelta(seconds=0.9), -timedelta(minutes=4)])
def test_rotation_right_after_the_first_authority(published: Shelf, time: Time, later: timedelta) -> None:
    """The next one is the younger, within one second and by the clock of an API server that is behind too."""
    each = replica(published, time)
    each.look()
    [old] = published.ring()
    time.go(seconds=later.total_seconds())
    each.rounds.run(each.held(), rotate=True)
    first, new = published.ring()
    assert first.fingerprint == old.fingerprint
    assert new.made > old.made
    time.go(minutes=16)
    each.look()
    assert [authority.replaced_since is None for authority in published.ring()] == [False, True]
    for _ in live(time, each, days=16):
        assert serves_well(published, each)
    assert [authority.fingerprint for authority in published.ring()] == [new.fingerprint]


def test_older_bundle_put_back_before_the_new_authority_signs(published: Shelf, time: Time) -> None:
    """Its time begins anew: an API server may not have seen it for long enough."""
    each = settled(published, time)
    before = published.objects[VALIDATING]
    time.go(days=244)
    each.look()
    time.go(minutes=9)
    published.put(VALIDATING, before)
    each.look()
    time.go(minutes=5)
    each.look()
    _, new = published.ring()
    assert new.trusted_since == time.now() - timedelta(minutes=5)
    assert not is_ripe(new, TERMS, time.now())
    assert serves_well(published, each)


def test_two_replicas_make_the_first_authority_at_once(published: Shelf, time: Time) -> None:
    """The second reads before the first writes, and finds out when it writes itself."""
    one, two = replica(published, time), replica(published, time)
    waiting = [two.look]
    published.after_read = lambda: waiting.pop()() if waiting else None
    one.look()
    assert len(published.ring()) == 1
    assert serves_well(published, one)
    two.look()
    assert serves_well(published, one, two)
    assert published.writes.count(SECRET) == 2


def test_two_replicas_rotate_at_once(published: Shelf, time: Time) -> None:
    two = replica(published, time)
    one = settled(published, time, two)
    time.go(days=244)
    waiting = [two.look]
    published.after_read = lambda: waiting.pop()() if waiting else None
    one.look()
    assert len(published.ring()) == 2
    assert serves_well(published, one, two)


def test_api_server_is_away_while_the_leaf_is_due(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    first = each.held().leaf
    published.away = "no route to host"
    waits = []
    for number in range(6):
        published.away = f"no route to host {number}"
        waits.append(each.look())
    assert [wait.total_seconds() for wait in waits] == [18.0, 27.0, 27.0, 27.0, 27.0, 27.0]
    time.go(days=5)
    each.look()
    assert each.held().leaf != first
    assert serves_well(published, each)
    assert [line for line in each.said if "API server" in line] == [
        "WARNING API server: no route to host 0; certificates go on as they are"
    ]
    published.away = ""
    assert each.look() < timedelta(seconds=10)
    assert each.said[-1] == "INFO API server: well again"


def test_no_wait_goes_beyond_the_time_to_renew(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    leaf = each.held().leaf
    assert leaf is not None
    time.passed = (leaf.renew - START).total_seconds() - 2
    published.away = "no route to host"
    assert each.look() == timedelta(seconds=2)


def test_api_server_is_away_at_the_first_start(published: Shelf, time: Time) -> None:
    published.away = "connection refused"
    each = replica(published, time)
    each.look()
    assert (each.keeper.pair(), each.keeper.trusted()) == (None, False)
    published.away = ""
    each.look()
    assert serves_well(published, each)


def test_deleted_secret(published: Shelf, time: Time) -> None:
    """Nobody may make one; so who knows the authorities goes on, and puts them back into an empty one."""
    each = settled(published, time)
    ring = published.ring()
    del published.objects[SECRET]
    for _ in live(time, each, days=20):
        assert serves_well(published, each)
    assert "ERROR Secret gangcheck: it is not there; apply the manifests again, which ship it empty" in each.said
    assert sum("it is not there" in line for line in each.said) == 1
    fresh = replica(published, time)
    fresh.look()
    assert fresh.keeper.pair() is None
    assert "ERROR certificate: there is none, since no authority can sign one; see above" in fresh.said
    published.put(SECRET, empty_secret())
    each.look()
    fresh.look()
    assert published.ring() == ring
    assert serves_well(published, each, fresh)


def test_emptied_secret_is_filled_again(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    ring = published.ring()
    published.put(SECRET, empty_secret())
    each.look()
    assert published.ring() == ring
    assert serves_well(published, each)


def test_truncated_secret_is_mended_from_memory(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    ring = published.ring()
    published.put(SECRET, garbled(published.objects[SECRET]))
    each.look()
    assert published.ring() == ring
    assert "ERROR Secret gangcheck: authorities.json is cut off or was changed by hand" in each.said
    assert serves_well(published, each)


def test_truncated_secret_and_nobody_remembers(published: Shelf, time: Time) -> None:
    """A new authority at once, since nothing else can sign; the old one is trusted as long as somebody may use it."""
    settled(published, time)
    [old] = published.ring()
    published.put(SECRET, garbled(published.objects[SECRET]))
    fresh = replica(published, time)
    fresh.look()
    assert serves_well(published, fresh)
    kept, new = published.ring()
    assert (kept.fingerprint, kept.key) == (old.fingerprint, b"")
    assert all(trusted == {old.fingerprint, new.fingerprint} for trusted in published.trusted())
    for _ in live(time, fresh, days=16):
        assert serves_well(published, fresh)
    assert all(trusted == {new.fingerprint} for trusted in published.trusted())


def test_fresh_replica_comes_before_the_one_that_remembers(published: Shelf, time: Time) -> None:
    old = settled(published, time)
    [first] = published.ring()
    published.put(SECRET, empty_secret())
    fresh = replica(published, time)
    fresh.look()
    assert serves_well(published, old, fresh)
    old.look()
    remembered, second = published.ring()
    assert (remembered.fingerprint, remembered.key) == (first.fingerprint, first.key)
    assert remembered.trusted_since == first.trusted_since
    assert remembered.replaced_since is None
    for _ in live(time, old, fresh, days=30):
        assert serves_well(published, old, fresh)
    assert [authority.fingerprint for authority in published.ring()] == [second.fingerprint]


def test_nothing_is_forgotten_while_others_write(published: Shelf, time: Time) -> None:
    """The one that remembers is beaten to its write again and again, and remembers still."""
    old = settled(published, time)
    [first] = published.ring()
    published.put(SECRET, empty_secret())
    replica(published, time).look()
    busy = [published.put] * 3
    published.after_read = lambda: busy.pop()(SECRET, published.objects[SECRET]) if busy else None
    old.look()
    assert not busy
    assert published.ring()[0].key == first.key
    published.unwritable = {SECRET}
    published.put(SECRET, empty_secret())
    old.look()
    published.unwritable = set()
    old.look()
    assert published.ring()[0].key == first.key
    assert serves_well(published, old)


def test_successor_that_is_lost(published: Shelf, time: Time) -> None:
    """The one before it signs again, and is not dropped for having been replaced."""
    each = settled(published, time)
    each.rounds.run(each.held(), rotate=True)
    for _ in live(time, each, days=7):
        assert serves_well(published, each)
    first, second = published.ring()
    leaf = each.held().leaf
    assert leaf is not None
    assert (leaf.issuer, first.replaced_since is None) == (second.fingerprint, False)
    published.put(SECRET, dict(write_secret(published.objects[SECRET], (first,))))
    for _ in live(time, each, days=20):
        assert serves_well(published, each)
    assert [(each.fingerprint, each.replaced_since) for each in published.ring()] == [(first.fingerprint, None)]


def test_damaged_entry_among_good_ones(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    time.go(days=244)
    each.look()
    ring = published.ring()
    secret = published.objects[SECRET]
    text = base64.b64decode(secret["data"][KEY]).replace(ring[0].key[100:120], b"A" * 20)
    published.put(SECRET, {**secret, "data": {KEY: base64.b64encode(text).decode()}})
    assert read_secret(published.objects[SECRET]).fault == "1 of 2 authorities in authorities.json cannot be used"
    each.look()
    assert published.ring() == ring
    assert serves_well(published, each)


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
            "it is somebody else's, of type kubernetes.io/tls; name another by --ca-secret",
        ),
        ({"type": "Opaque", "data": {"password": "eA=="}}, "it is somebody else's: it holds password and no"),
        (
            {"data": {KEY: base64.b64encode(b'{"version": 2, "authorities": []}').decode()}},
            "authorities.json is of version 2, which a newer gangcheck wrote",
        ),
    ],
)
def test_secret_of_somebody_else(published: Shelf, time: Time, secret: dict[str, object], says: str) -> None:
    old = settled(published, time)
    published.put(SECRET, secret)
    published.writes.clear()
    fresh = replica(published, time)
    for _ in live(time, old, fresh, days=20):
        assert serves_well(published, old)
    assert (fresh.keeper.pair(), published.writes) == (None, [])
    assert any(says in line and line.startswith("ERROR Secret gangcheck: ") for line in fresh.said)


def test_other_content_of_the_secret_stays(published: Shelf, time: Time) -> None:
    published.put(SECRET, {**empty_secret(), "data": {KEY: "", "note": "eA=="}})
    each = replica(published, time)
    each.look()
    assert published.objects[SECRET]["data"]["note"] == "eA=="
    assert len(entries_of(published.objects[SECRET])) == 1


def wrote(manager: str, day: int, **fields: object) -> dict[str, object]:
    """An entry of managedFields."""
    owned = {"f:webhooks": {'k:{"name":"a"}': {"f:clientConfig": {f"f:{name}": each for name, each in fields.items()}}}}
    return {"manager": manager, "time": f"2026-03-0{day}T00:00:00Z", "fieldsV1": owned}


def test_bundle_emptied_by_hand(published: Shelf, time: Time) -> None:
    lost = []
    each = settled(published, time)
    each.rounds.lost = lambda: lost.append(1)
    emptied = configuration(VALIDATING)
    emptied["metadata"]["managedFields"] = [
        wrote("gangcheck", 2, caBundle={}),
        wrote("kubectl-create", 1, caBundle={}),
        wrote("kubectl-edit", 3, caBundle={}),
        wrote("helm", 4, url={}),
    ]
    published.put(VALIDATING, emptied)
    each.look()
    assert serves_well(published, each)
    assert (
        "WARNING caBundle of ValidatingWebhookConfiguration gangcheck: "
        "2 of 2 do not trust us, last written by kubectl-edit; our authority is put back"
    ) in each.said
    each.look()
    assert each.said[-1] == "INFO caBundle of ValidatingWebhookConfiguration gangcheck: well again"
    assert lost == [1]


def test_entry_that_is_new(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    more = published.objects[VALIDATING]
    more["webhooks"].append({"name": "jobs", "clientConfig": {"service": {"name": "x"}}})
    published.put(VALIDATING, more)
    each.look()
    assert len(published.trusted()) == 4
    assert serves_well(published, each)


def test_foreign_authorities_stay(time: Time) -> None:
    """cert-manager's injector, or a proxy's authority: in each caBundle, in its place."""
    foreign = issue_authority("somebody", 30 * DAY, START).certificate
    published = shelf(foreign)
    published.now = time.now
    each = settled(published, time)
    assert serves_well(published, each)
    assert all(bundle.held[0].certificate.strip() == foreign.strip() for bundle in published.bundles())
    assert [len(bundle.held) for bundle in published.bundles()] == [2, 2, 2]
    time.go(days=244)
    each.look()
    assert [len(bundle.held) for bundle in published.bundles()] == [3, 3, 3]
    for _ in live(time, each, days=20):
        assert serves_well(published, each)
    assert [len(bundle.held) for bundle in published.bundles()] == [2, 2, 2]
    assert all(bundle.held[0].certificate.strip() == foreign.strip() for bundle in published.bundles())


def test_bundle_that_is_no_certificate(time: Time) -> None:
    """The manifests of many ship a placeholder."""
    published = shelf(b"Cg==")
    published.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"] = "no base64!"
    published.now = time.now
    each = settled(published, time)
    assert serves_well(published, each)
    assert [len(bundle.held) for bundle in published.bundles()] == [1, 1, 1]


def test_fight_is_not_fought(published: Shelf, time: Time) -> None:
    """Something takes us out as soon as we are in: never more than one write in a look, then fewer and fewer."""
    each = settled(published, time)
    reset = configuration(MUTATING, issue_authority("somebody", 30 * DAY, START).certificate)

    def again(kind: str) -> None:
        if kind == MUTATING:
            published.put(MUTATING, reset)

    published.put(MUTATING, reset)
    published.after_write = again
    each.said.clear()
    published.writes.clear()
    for _ in range(360):  # an hour
        time.go(seconds=10)
        before = len(published.writes)
        each.look()
        assert len(published.writes) - before <= 1
    assert published.writes.count(MUTATING) < 25
    assert len(each.said) == 3
    assert "our authority is put back" in each.said[0]
    assert each.said[1] == "ERROR certificate: not every caBundle trusts it"
    assert "let them leave caBundle alone, or serve with --certs external" in each.said[2]
    published.after_write = lambda _: None
    for _ in range(31):
        time.go(seconds=10)
        each.look()
    assert serves_well(published, each)


def test_secret_that_is_emptied_again_at_once(published: Shelf, time: Time) -> None:
    each = settled(published, time)
    published.after_write = lambda kind: published.put(SECRET, empty_secret()) if kind == SECRET else None
    published.put(SECRET, empty_secret())
    published.writes.clear()
    each.look()
    assert len(published.writes) <= 4
    assert serves_well(published, each)


def test_no_right_to_write(published: Shelf, time: Time) -> None:
    """One configuration may not be written: the other is, and whoever is not trusted is not ready."""
    published.unwritable = {MUTATING}
    each = replica(published, time)
    each.look()
    assert each.keeper.pair() is not None
    assert not each.keeper.trusted()
    assert [bool(trusted) for trusted in published.trusted()] == [False, True, True]
    assert "ERROR writing MutatingWebhookConfiguration gangcheck: 403 forbidden" in each.said
    published.unwritable = set()
    each.look()
    assert serves_well(published, each)


def test_no_right_to_read(published: Shelf, time: Time) -> None:
    """What is not known is not believed to be trusted; but who was trusted stays ready."""
    old = settled(published, time)
    published.unreadable = {MUTATING}
    fresh = replica(published, time)
    for each in (old, fresh):
        each.look()
    assert (old.keeper.trusted(), fresh.keeper.trusted()) == (True, False)
    assert "WARNING MutatingWebhookConfiguration gangcheck: cannot be read: 403 forbidden" in fresh.said
    published.unreadable = {SECRET}
    for _ in live(time, old, days=10):
        assert serves_well(published, old)


def test_secret_may_not_be_written(published: Shelf, time: Time) -> None:
    published.unwritable = {SECRET}
    each = replica(published, time)
    for _ in range(5):
        each.look()
    assert each.keeper.pair() is None
    assert published.writes == []
    assert sum("403" in line for line in each.said) == 1
    assert not any("new authority" in line for line in each.said)
    assert "ERROR writing Secret gangcheck: 403 forbidden" in each.said


def test_configuration_that_is_not_there(published: Shelf, time: Time) -> None:
    """Whoever does not want the mutator deletes its configuration. Where neither is there nobody calls us."""
    del published.objects[MUTATING]
    each = settled(published, time)
    assert serves_well(published, each)
    assert any("MutatingWebhookConfiguration gangcheck: it is not there" in line for line in each.said)
    del published.objects[VALIDATING]
    each.look()
    assert not each.keeper.trusted()
    for kind in ENTRIES:
        published.put(kind, configuration(kind))
    each.look()
    assert serves_well(published, each)


@pytest.mark.parametrize("off", [timedelta(minutes=4), timedelta(hours=-3), 400 * DAY, -400 * DAY])
def test_replica_with_a_wrong_clock(published: Shelf, time: Time, off: timedelta) -> None:
    """It asks the API server what time it is: that is who looks at its certificate."""
    good = settled(published, time)
    wrong = replica(published, time, wall=lambda: time.now() + off)
    for _ in live(time, wrong, good, days=9):
        assert serves_well(published, good, wrong)
    assert len(published.ring()) == 1
    assert any("this machine's clock" in line for line in wrong.said) == (abs(off) > SKEW)
    assert not any("this machine's clock" in line for line in good.said)


def test_clock_that_jumps_while_the_api_server_is_away(published: Shelf, time: Time) -> None:
    off = [timedelta()]
    each = replica(published, time, wall=lambda: time.now() + off[0])
    each.look()
    off[0] = 300 * DAY
    published.away = "no route to host"
    for _ in live(time, each, days=6):
        assert is_served(published, each)


def test_time_in_the_secret_that_lies_in_the_future(published: Shelf, time: Time) -> None:
    """Written while somebody's clock was far ahead: it does not hold a rotation up for as long."""
    each = settled(published, time)
    time.go(days=244)
    each.look()
    secret = published.objects[SECRET]
    text = base64.b64decode(secret["data"][KEY]).replace(b'"trustedSince": "2026-10', b'"trustedSince": "2036-10')
    published.put(SECRET, {**secret, "data": {KEY: base64.b64encode(text).decode()}})
    assert published.ring()[-1].trusted_since == time.now().replace(year=2036)
    each.look()
    assert published.ring()[-1].trusted_since == time.now()


def test_api_servers_clock_that_was_ahead_for_a_while(published: Shelf, time: Time) -> None:
    """By a year: all is made anew by that clock, and anew when it is right again, each time at once."""
    each = settled(published, time)
    time.go(days=400)
    each.look()
    assert serves_well(published, each)
    time.go(days=-390)
    each.look()
    assert serves_well(published, each)


def test_long_time_without_any_replica(published: Shelf, time: Time) -> None:
    settled(published, time)
    time.go(days=500)
    each = replica(published, time)
    each.look()
    assert serves_well(published, each)
    assert [len(trusted) for trusted in published.trusted()] == [1, 1, 1]


def test_replica_that_was_cut_off_for_nearly_a_leafs_life(published: Shelf, time: Time) -> None:
    """Others rotate meanwhile; what it signed by is still trusted."""
    cut_off = replica(published, time)
    other = settled(published, time, cut_off)
    time.go(days=243.3)
    for each in (cut_off, other):
        each.look()
    cut_off.rounds.store = Shelf(away="no route to host")
    for _ in live(time, cut_off, other, days=6.9):
        assert is_served(published, cut_off)
    assert len(published.ring()) == 2


def test_a_bug_does_not_end_the_thread(published: Shelf, time: Time, caplog: pytest.LogCaptureFixture) -> None:
    each = replica(published, time)
    published.after_read = lambda: 1 / 0
    each.keeper.start()
    try:
        for _ in range(200):
            if caplog.records:
                break
            each.keeper._thread.join(0.02)
        assert each.keeper._thread.is_alive()
    finally:
        each.keeper.stop()
    assert [record.getMessage() for record in caplog.records] == [
        "the keeper of certificates met a bug and starts anew"
    ]
    assert not each.keeper._thread.is_alive()


def test_names_of_a_service() -> None:
    assert service_names("it", "ours", "cluster.test") == ("it", "it.ours", "it.ours.svc", "it.ours.svc.cluster.test")


def test_last_writer() -> None:
    """Whoever only took it out is not known, and nobody else is blamed."""
    assert last_writer({}) == ""
    older, ours = wrote("kubectl-create", 1, caBundle={}), wrote("gangcheck", 2, caBundle={})
    assert last_writer({"metadata": {"managedFields": [ours, older]}}) == ""
    assert last_writer({"metadata": {"managedFields": [wrote("kubectl-edit", 3, url={}), ours]}}) == ""
    assert last_writer({"metadata": {"managedFields": [ours, wrote("cainjector", 3, caBundle={})]}}) == "cainjector"
