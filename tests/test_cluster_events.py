"""What an Event says, on what it goes, and when it is kept back (no sockets)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.events import (
    AGAIN_AFTER,
    MOST_PER_OBJECT,
    Owner,
    Recent,
    collection,
    controller,
    event,
    forget,
    is_news,
    resource_of,
)
from webhook.review import Notice

NOW = datetime(2026, 11, 29, 18, 0, 5, tzinfo=UTC)
NOTICE = Notice("apps/v1", "ReplicaSet", "team", "train-abc", "u-rs", "GangCheck", "musl-image: use a glibc image")
DEPLOYMENT = Owner("apps/v1", "Deployment", "train", "u-d")


def test_event() -> None:
    made = event(NOTICE, DEPLOYMENT, NOW, "replica-1")
    assert made["metadata"]["namespace"] == made["involvedObject"]["namespace"] == "team"
    assert made["involvedObject"]["kind"] == "Deployment"
    assert made["involvedObject"]["uid"] == "u-d"
    assert (made["type"], made["reason"], made["message"]) == ("Warning", NOTICE.reason, NOTICE.message)
    assert made["firstTimestamp"] == made["lastTimestamp"] == "2026-11-29T18:00:05Z"
    assert made["metadata"]["name"].startswith("train.")


def test_replicas_name_it_alike_and_other_messages_differently() -> None:
    names = {
        event(NOTICE, DEPLOYMENT, NOW, "replica-1")["metadata"]["name"],
        event(NOTICE, DEPLOYMENT, NOW.replace(hour=20), "replica-2")["metadata"]["name"],
    }
    assert len(names) == 1
    other = event(NOTICE._replace(message="else"), DEPLOYMENT, NOW, "replica-1")
    assert other["metadata"]["name"] not in names


def test_long_names_and_messages_are_cut() -> None:
    made = event(NOTICE._replace(message="x" * 5000), DEPLOYMENT._replace(name="a" * 199 + ".b" * 20), NOW, "r")
    assert len(made["message"]) == 1024
    name = made["metadata"]["name"]
    assert len(name) <= 253
    assert ".." not in name


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u"}]}, None),
        ({"ownerReferences": [3, {**DEPLOYMENT._asdict(), "apiVersion": "apps/v1", "controller": True}]}, DEPLOYMENT),
        ({"ownerReferences": [{"kind": "X", "controller": True}]}, None),
        ({"ownerReferences": 3}, None),
        ({}, None),
        (None, None),
    ],
)
def test_controller(metadata: object, owner: Owner | None) -> None:
    assert controller(metadata) == owner


def test_paths() -> None:
    assert collection("v1", "events", "n") == "/api/v1/namespaces/n/events"
    assert collection("apps/v1", "deployments", "n") == "/apis/apps/v1/namespaces/n/deployments"


@pytest.mark.parametrize(
    ("kind", "found", "resource"),
    [
        ("Job", [{"name": "jobs/status", "kind": "Job", "namespaced": True}], None),
        ("Job", [{"name": "jobs", "kind": "Job", "namespaced": True}], "jobs"),
        ("Node", [{"name": "nodes", "kind": "Node", "namespaced": False}], None),
        ("Job", [{"name": "cronjobs", "kind": "CronJob", "namespaced": True}], None),
        ("Job", [{"kind": "Job"}, 3], None),
        ("Job", None, None),
    ],
)
def test_resource_of_a_kind(kind: str, found: object, resource: str | None) -> None:
    assert resource_of(kind, {"resources": found}) == resource


def test_the_same_is_not_said_again_for_a_while() -> None:
    recent, topic = Recent(), ("u", "r")
    assert is_news(recent, topic, "m", 0)
    assert not is_news(recent, topic, "m", AGAIN_AFTER - 1)
    assert is_news(recent, ("other", "r"), "m", 0)
    assert is_news(recent, topic, "m", AGAIN_AFTER)


def test_one_object_is_not_flooded() -> None:
    recent = Recent()
    said = [is_news(recent, ("u", "r"), f"m{n}", 0) for n in range(50)]
    assert sum(said) == MOST_PER_OBJECT


def test_what_was_not_said_may_be_said() -> None:
    recent = Recent()
    is_news(recent, ("u", "r"), "m", 0)
    forget(recent, ("u", "r"), "m")
    forget(recent, ("none", "r"), "m")
    assert is_news(recent, ("u", "r"), "m", 1)


def test_memory_is_bounded_and_the_longest_silent_go_first() -> None:
    recent = Recent()
    for n in range(10_000):
        is_news(recent, (f"u{n}", "r"), "m", n / 1000)
        is_news(recent, ("busy", "r"), "m", n / 1000)
    assert len(recent.said) <= 4097
    assert ("busy", "r") in recent.said


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.floats(0, 400)), max_size=30))
def test_whatever_is_said_was_not_said_within_the_time(said: list[tuple[str, str, float]]) -> None:
    recent, now, last = Recent(), 0.0, dict[tuple[str, str], float]()
    for uid, message, later in said:
        now += later
        fresh = is_news(recent, (uid, "r"), message, now)
        assert fresh == (now - last.get((uid, message), -AGAIN_AFTER) >= AGAIN_AFTER)
        if fresh:
            last[uid, message] = now
