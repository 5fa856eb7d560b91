"""Events are written beside the caller, on the topmost owner, and never too many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_apiserver import FakeApi, kubeconfig, serving, wait_for

from webhook.cluster import notices as notices_module
from webhook.cluster.notices import Notices, start_notices
from webhook.cluster.rest import connect
from webhook.review import Notice

EVENTS = "/api/v1/namespaces/team/events"
APPS = "/apis/apps/v1"
SET = Notice("apps/v1", "ReplicaSet", "team", "train-abc", "u-rs", "GangCheck", "musl-image: use a glibc image")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def resources(*entries: tuple[str, str, bool]) -> dict[str, Any]:
    found = [{"name": name, "kind": kind, "namespaced": inside} for name, kind, inside in entries]
    return {"kind": "APIResourceList", "resources": found}


def owned(uid: str, *owner: str) -> dict[str, Any]:
    reference = dict(zip(("apiVersion", "kind", "name", "uid"), owner, strict=False))
    return {"metadata": {"uid": uid, "ownerReferences": [reference | {"controller": True}] if owner else []}}


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    """A ReplicaSet of a Deployment."""
    with serving(FakeApi()) as started:
        started.others |= {
            APPS: resources(("replicasets", "ReplicaSet", True), ("deployments", "Deployment", True)),
            f"{APPS}/namespaces/team/replicasets/train-abc": owned("u-rs", "apps/v1", "Deployment", "train", "u-d"),
            f"{APPS}/namespaces/team/deployments/train": owned("u-d"),
        }
        yield started


@contextmanager
def noticing(fake: FakeApi, folder: Path, waiting: int = 256) -> Iterator[Notices]:
    api = connect(kubeconfig(folder, fake.url))
    assert api is not None
    notices = start_notices(api, per_second=1000, waiting=waiting)
    try:
        yield notices
    finally:
        notices.stop()
        api.close()


def posted(fake: FakeApi) -> list[Any]:
    with fake.changed:
        return [asked.body for asked in fake.asked if asked.method == "POST"]


def about(fake: FakeApi) -> list[tuple[str, str]]:
    return [(body["involvedObject"]["kind"], body["involvedObject"]["name"]) for body in posted(fake)]


def settled(notices: Notices, fake: FakeApi, **counts: int) -> None:
    wait_for(lambda: {**dict.fromkeys(counts, 0), **notices.counts()}.items() >= counts.items())


def test_event_goes_on_the_topmost_owner(fake: FakeApi, tmp_path: Path) -> None:
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, taken=1, written=1)
    (body,) = posted(fake)
    assert body["involvedObject"]["uid"] == "u-d"
    assert about(fake) == [("Deployment", "train")]
    assert body["message"] == SET.message


def test_owners_are_looked_for_once(fake: FakeApi, tmp_path: Path) -> None:
    with noticing(fake, tmp_path) as notices:
        notices([SET, SET._replace(message="else"), SET._replace(reason="Other")])
        settled(notices, fake, written=3)
    assert len([asked for asked in fake.asked if asked.method == "GET"]) == 4  # both kinds, both objects


def test_at_most_three_steps(fake: FakeApi, tmp_path: Path) -> None:
    fake.others |= {"/apis/x/v1": resources(("links", "Link", True))}
    for n in range(9):
        fake.others[f"/apis/x/v1/namespaces/team/links/l{n}"] = owned(f"u{n}", "x/v1", "Link", f"l{n + 1}", f"u{n + 1}")
    with noticing(fake, tmp_path) as notices:
        notices([Notice("x/v1", "Link", "team", "l0", "u0", "r", "m")])
        settled(notices, fake, written=1)
    assert about(fake) == [("Link", "l3")]


def test_owner_outside_of_namespaces_is_left_out(fake: FakeApi, tmp_path: Path) -> None:
    fake.others |= {
        "/api/v1": resources(("nodes", "Node", False)),
        f"{APPS}/namespaces/team/replicasets/train-abc": owned("u-rs", "v1", "Node", "n", "u-n"),
    }
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, written=1)
    assert about(fake) == [("ReplicaSet", "train-abc")]


@pytest.mark.parametrize("status", [403, 404])
def test_what_may_not_be_read_ends_the_climb(status: int, fake: FakeApi, tmp_path: Path) -> None:
    fake.refuse[f"{APPS}/namespaces/team/replicasets/train-abc"] = [(status, {})]
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, written=1)
    assert about(fake) == [("ReplicaSet", "train-abc")]


def test_kinds_that_may_not_be_discovered_end_the_climb(fake: FakeApi, tmp_path: Path) -> None:
    fake.refuse[APPS] = [(403, {})]
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, written=1)
    assert about(fake) == [("ReplicaSet", "train-abc")]


def test_another_object_of_the_same_name_is_not_asked_for_its_owner(fake: FakeApi, tmp_path: Path) -> None:
    fake.others[f"{APPS}/namespaces/team/replicasets/train-abc"]["metadata"]["uid"] = "another"
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, written=1)
    assert about(fake) == [("ReplicaSet", "train-abc")]


def test_the_same_is_written_once(fake: FakeApi, tmp_path: Path) -> None:
    other_set = SET._replace(name="train-def", uid="u-rs2")
    fake.others[f"{APPS}/namespaces/team/replicasets/train-def"] = owned(
        "u-rs2", "apps/v1", "Deployment", "train", "u-d"
    )
    with noticing(fake, tmp_path) as notices:
        notices([SET] * 50)
        notices([other_set])  # of the same Deployment, which has been told
        settled(notices, fake, taken=2, written=1, repeated=50)
    assert len(posted(fake)) == 1


def test_what_another_replica_has_written_is_no_failure(fake: FakeApi, tmp_path: Path) -> None:
    with noticing(fake, tmp_path) as one, noticing(fake, tmp_path) as two:
        one([SET])
        settled(one, fake, written=1)
        two([SET])
        settled(two, fake, repeated=1)
    assert "failed" not in two.counts()


@pytest.mark.parametrize("path", [EVENTS, APPS, f"{APPS}/namespaces/team/replicasets/train-abc"])
def test_failures_are_counted_and_others_go_on(path: str, fake: FakeApi, tmp_path: Path) -> None:
    fake.refuse[path] = [(500, {})]
    with noticing(fake, tmp_path) as notices:
        notices([SET])
        settled(notices, fake, failed=1)
        notices([SET._replace(message="else")])
        settled(notices, fake, written=1)


def test_accidents_do_not_end_the_thread(fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with noticing(fake, tmp_path) as notices:
        with monkeypatch.context() as broken:
            broken.setattr(notices_module, "event", None)
            notices([SET])
            settled(notices, fake, failed=1)
        notices([SET._replace(message="else")])
        settled(notices, fake, written=1)


def test_full_queue_drops_counts_and_never_waits(fake: FakeApi, tmp_path: Path) -> None:
    api = connect(kubeconfig(tmp_path, fake.url))
    assert api is not None
    notices = Notices(api, time.monotonic, 1000, 2)  # its thread is not started
    many = [SET._replace(uid=f"u{n}") for n in range(100)]
    began = time.monotonic()
    notices(many)
    assert time.monotonic() - began < 1
    assert notices.counts() == {"taken": 100, "dropped": 98}
    assert notices.waiting() == 2
    notices.start()
    settled(notices, fake, written=2)
    notices(many[-1:])  # it was dropped, so it may be said
    settled(notices, fake, written=3)
    notices.stop()
    api.close()


def test_stop_with_a_full_queue(fake: FakeApi, tmp_path: Path) -> None:
    api = connect(kubeconfig(tmp_path, fake.url))
    assert api is not None
    notices = Notices(api, time.monotonic, 0.1, 1)
    notices.start()
    notices([SET])
    settled(notices, fake, written=1)
    notices([SET._replace(message="else")])  # waits: one in ten seconds is written
    notices.stop()
    assert notices.counts()["written"] == 1
    api.close()


def test_owners_are_forgotten_in_time(fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices_module, "_REMEMBERED", 1)
    with noticing(fake, tmp_path) as notices:
        for uid in ("u-rs", "u-other", "u-rs"):
            notices([SET._replace(uid=uid, message=f"{uid} {time.monotonic()}")])
        settled(notices, fake, written=3)
        assert len(notices._tops) == 1
