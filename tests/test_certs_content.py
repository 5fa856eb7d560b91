"""What the Secret and the caBundles may hold, and what is decided from it: the pure parts by themselves."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from shelf import MUTATING, START, configuration

from certs.authority import SKEW, Pair, issue_authority, issue_leaf
from certs.bundles import bundles, corrected, is_right
from certs.onlooker import Onlooker, distrusting
from certs.plan import Held, Leaf, Published, Terms, birth, decide, is_able, signer
from certs.ring import KEY, Content, new_authority, read_secret, sorted_ring, write_secret
from certs.store import Away, Thing
from certs.told import Told

DAY = timedelta(days=1)
OLD, NEW = new_authority(365 * DAY, START - DAY), new_authority(365 * DAY, START)
RING = (
    replace(OLD, trusted_since=START - DAY, replaced_since=START),
    replace(NEW, trusted_since=START),
)
FOREIGN = issue_authority("somebody", DAY, START)


def secret(content: object) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"type": "Opaque", "data": {KEY: base64.b64encode(text.encode()).decode()}}


def entry(**changes: object) -> dict[str, object]:
    said = {"certificate": OLD.certificate.decode(), "key": OLD.key.decode()}
    return {key: value for key, value in {**said, **changes}.items() if value is not ...}


def test_what_is_written_is_read_again() -> None:
    body = write_secret({"metadata": {"name": "gangcheck-ca"}, "data": {"note": "eA=="}}, RING)
    assert body["metadata"] == {"name": "gangcheck-ca"}
    assert body["data"]["note"] == "eA=="
    assert read_secret(body) == Content(RING)
    dropped = (replace(OLD, key=b"", dropped=True), *RING[1:])
    assert read_secret(write_secret(body, dropped)) == Content(dropped)


def test_empty_secrets() -> None:
    bodies: list[dict[str, Any]] = [
        {},
        {"data": None},
        {"data": {}},
        {"data": {KEY: ""}},
        {"type": "Opaque", "data": {KEY: None}},
    ]
    for body in bodies:
        assert read_secret(body) == Content()


@pytest.mark.parametrize(
    "wrong",
    [
        entry(certificate="x"),
        entry(certificate=...),
        entry(certificate=None),
        entry(certificate=FOREIGN.certificate.decode(), key=FOREIGN.key.decode()),
        entry(key=NEW.key.decode()),
        entry(key="-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
        entry(key=5),
        entry(trustedSince="yesterday"),
        entry(trustedSince="2026-03-01T12:00:00"),
        entry(replacedSince=5),
        [],
        None,
        "x",
    ],
)
def test_entry_that_cannot_be_used_costs_no_other(wrong: object) -> None:
    good = {"certificate": NEW.certificate.decode(), "key": NEW.key.decode()}
    content = read_secret(secret({"version": 1, "authorities": [wrong, good]}))
    assert content == Content((NEW,), "1 of 2 authorities in authorities.json cannot be used")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", "5", '{"version": 1}', '{"version": 1, "authorities": 5}', "[" * 100_000, '"x"', "\udcff"],
)
def test_content_that_is_none_may_be_written_over(text: str) -> None:
    body = secret("")
    body["data"][KEY] = base64.b64encode(text.encode(errors="surrogatepass")).decode()
    assert read_secret(body) == Content((), "authorities.json is cut off or was changed by hand")
    assert read_secret({"data": {KEY: "no base64!"}}).ours


@given(st.binary(max_size=300))
def test_any_bytes_are_no_content(data: bytes) -> None:
    content = read_secret({"data": {KEY: base64.b64encode(data).decode()}})
    assert content.ring == ()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_webhooks_are_read(value: object) -> None:
    hook = {"name": "a", "clientConfig": {"caBundle": value}}
    [bundle] = bundles({"webhooks": [hook]})
    assert bundle.held == ()
    [mended] = bundles(corrected({"webhooks": [hook]}, (OLD,), frozenset()))
    assert mended.holds(OLD.fingerprint)


def test_bundles_are_merged() -> None:
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"  # Go leaves it out as well
    was = configuration(MUTATING, b"# whose it is\n", broken, FOREIGN.certificate, OLD.certificate, b"junk")
    now = corrected(was, (NEW,), frozenset({OLD.fingerprint}))
    [bundle] = bundles(now)
    assert [each.certificate.strip() for each in bundle.held] == [
        FOREIGN.certificate.strip(),
        NEW.certificate.strip(),
    ]
    assert [(each.ours, each.subject.partition(" ")[0]) for each in bundle.held] == [
        (False, "somebody"),
        (True, "gangcheck"),
    ]
    assert is_right(bundle, (NEW,), frozenset({OLD.fingerprint}))
    assert not is_right(bundle, (OLD, NEW), frozenset())
    assert corrected(now, (NEW,), frozenset({OLD.fingerprint})) == now
    # What is right keeps every byte, whatever stands between the certificates.
    text = configuration(MUTATING, b"# whose it is\n", NEW.certificate, b"\n\n")
    assert corrected(text, (NEW,), frozenset()) == text


def leaf_of(authority: Pair, fingerprint: str, *, life: timedelta = 7 * DAY) -> Leaf:
    pair = issue_leaf(authority, ["a"], [], life, START)
    return Leaf(pair, fingerprint, START, START + life * 2 / 3, START + life)


def test_good_leaf_is_kept_while_the_only_signer_is_young() -> None:
    """The one that signed it has lost its key; the next one is not known everywhere yet."""
    keyless, young = replace(OLD, key=b"", trusted_since=START - DAY), NEW
    held = Held(leaf_of(OLD.pair, OLD.fingerprint), (keyless, young))
    published = Published(Content((keyless, young)), bundles(configuration(MUTATING, OLD.certificate)))
    due, over = START + 5 * DAY, START + 7 * DAY
    assert signer((keyless, young), Terms(), due) == young
    assert decide(published, held, Terms(), due).sign is None
    assert decide(published, held, Terms(), over).sign == young
    ripe = (keyless, replace(young, trusted_since=due - timedelta(minutes=10)))
    assert decide(published._replace(content=Content(ripe)), held, Terms(), due).sign == ripe[1]


def test_part_of_a_second_does_not_say_who_signs() -> None:
    """Both were seen in every caBundle in one second, and neither for long enough: the older one signs on."""
    started = START + timedelta(microseconds=3000)
    older, younger = replace(OLD, trusted_since=started), replace(NEW, trusted_since=START)
    assert signer((older, younger), Terms(), started) == older
    assert signer((replace(older, trusted_since=START + timedelta(seconds=1)), younger), Terms(), started) == younger


def test_authorities_of_one_second_follow_each_other() -> None:
    """The ring's order decides, so that one of them is replaced in the end."""
    ring = sorted_ring(replace(new_authority(365 * DAY, START), trusted_since=START) for _ in range(2))
    published = Published(Content(ring), bundles(configuration(MUTATING, *(each.certificate for each in ring))))
    now = START + Terms().propagation
    assert decide(published, Held(), Terms(), now).ring == (replace(ring[0], replaced_since=now), ring[1])


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(seconds=0.5), SKEW - timedelta(seconds=1), SKEW, 2 * SKEW])
def test_new_authority_can_sign_at_once(ahead: timedelta) -> None:
    """However far ahead the clock was that the youngest was made by: else another one would be made, and another."""
    first = new_authority(365 * DAY, START + ahead)
    new = new_authority(365 * DAY, birth((first,), START))
    assert is_able(new, START)
    assert new.made > first.made or ahead >= SKEW


def test_nothing_is_marked_while_a_configuration_cannot_be_read() -> None:
    """Whether it trusts anybody is not known."""
    ring = (replace(OLD, trusted_since=None),)
    published = Published(Content(ring), bundles(configuration(MUTATING, OLD.certificate)), complete=False)
    assert decide(published, Held(), Terms(), START).ring is None
    assert decide(published._replace(complete=True), Held(), Terms(), START).ring == (
        replace(OLD, trusted_since=START),
    )


# Certificates of others.


def served(authority: Pair) -> bytes:
    return issue_leaf(authority, ["a"], [], DAY, START).certificate


def test_certificate_of_others_that_is_not_trusted() -> None:
    thing = Thing(MUTATING, "zz-gangcheck", configuration(MUTATING, OLD.certificate))
    assert distrusting(served(FOREIGN), thing) == ("inject",)
    assert distrusting(served(OLD.pair), thing) == ()
    assert distrusting(OLD.certificate, thing) == ()  # self-signed, and its own authority
    assert distrusting(served(FOREIGN), thing._replace(body=configuration(MUTATING))) == ()
    assert distrusting(served(FOREIGN), thing._replace(body=None)) == ()


def test_onlooker_says_once_and_writes_nothing() -> None:
    bodies = [configuration(MUTATING, OLD.certificate)]
    said: list[str] = []

    class Looked:
        def configurations(self) -> tuple[Thing, ...]:
            if not bodies:
                raise Away("no route to host")
            return Thing(MUTATING, "a", bodies[0]), Thing("X", "b", fault="403 forbidden")

    pair = issue_leaf(FOREIGN, ["a"], [], DAY, START)
    pairs = [pair]
    onlooker = Onlooker(Looked(), lambda: pairs[0], Told(lambda _level, line: said.append(line)))
    for _ in range(2):
        onlooker.look()
    assert said == [
        "MutatingWebhookConfiguration a: caBundle does not trust the certificate that is served: inject",
        "X b: cannot be read, so whether it trusts the certificate is not known: 403 forbidden",
    ]
    said.clear()
    bodies[0] = configuration(MUTATING, FOREIGN.certificate)
    onlooker.look()
    assert said == ["MutatingWebhookConfiguration a: well again"]
    bodies.clear()
    for _ in range(2):
        onlooker.look()
    assert said[1:] == ["API server: no route to host; who trusts the certificate is not known"]
    bodies.append(configuration(MUTATING, OLD.certificate))
    pairs[0] = Pair(b"half", b"")
    onlooker.look()
    assert said[2:] == []  # the server says itself that it cannot be used


def test_onlooker_as_a_thread() -> None:
    looked: list[int] = []
    has_looked = threading.Event()

    class Looked:
        def configurations(self) -> tuple[Thing, ...]:
            looked.append(1)
            has_looked.set()
            return ()

    onlooker = Onlooker(Looked(), lambda: FOREIGN, Told(lambda _level, _line: None))
    onlooker.start()
    assert has_looked.wait(10)  # who is stopped before it came to look does not look
    onlooker.stop()
    assert looked == [1]


def test_a_bug_does_not_end_the_onlooker(caplog: pytest.LogCaptureFixture) -> None:
    has_looked = threading.Event()

    class Looked:
        def configurations(self) -> tuple[Thing, ...]:
            has_looked.set()
            raise ZeroDivisionError

    onlooker = Onlooker(Looked(), lambda: FOREIGN, Told(lambda _level, _line: None))
    onlooker.start()
    assert has_looked.wait(10)
    onlooker.stop()
    assert [record.getMessage() for record in caplog.records] == ["looking at caBundles met a bug"]


def test_keys_of_another_kind_sign_nothing() -> None:
    """A P-384 key would do for TLS; it is none of ours."""
    other = ec.generate_private_key(ec.SECP384R1())
    key = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    assert read_secret(secret({"version": 1, "authorities": [entry(key=key)]})).ring == ()
