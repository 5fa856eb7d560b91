"""The index against a server on loopback: after whatever happens it holds what the server holds."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_apiserver import GROUPS, PODS, FakeApi, kubeconfig, pod, pod_group, serving, wait_for

from webhook.cluster import index as index_module
from webhook.cluster import rest, watch
from webhook.cluster.index import Index, start_index
from webhook.cluster.news import News
from webhook.cluster.rest import connect
from webhook.cluster.tally import Member, Members, count
from webhook.review import Known


class Clock:
    """Seconds that run with the real ones, and jump where a test says so."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "wait", lambda *_: 0.02)
    monkeypatch.setattr(watch, "ABSENT_WAIT", 0.05)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with serving(FakeApi()) as started:
        yield started


@contextmanager
def indexed(fake: FakeApi, folder: Path, clock: Clock | None = None, **user: str) -> Iterator[Index]:
    api = connect(kubeconfig(folder, fake.url, **user))
    assert api is not None
    index = start_index(api, clock or Clock())
    try:
        yield index
    finally:
        index.stop()
        api.close()


def holds_the_truth(index: Index, fake: FakeApi) -> bool:
    members, groups = fake.truth()
    if index.size() != (sum(members.values()), len(groups)):
        return False
    for key in members.keys() | groups.keys():
        known = index.look_up(*key)
        if known is None or known.members != members.get(key, 0):
            return False
        if (known.group.min_member if known.group else None) != groups.get(key):
            return False
    return True


def agrees(index: Index, fake: FakeApi) -> None:
    wait_for(lambda: holds_the_truth(index, fake))


def known(index: Index, namespace: str, name: str) -> Known:
    found = index.look_up(namespace, name)
    assert found is not None
    return found


def test_nothing_is_known_before_the_first_sync(fake: FakeApi, tmp_path: Path) -> None:
    fake.refuse[GROUPS] = [(503, {})] * 100_000
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS])
        assert not index.synced()
        assert index.age() is None
        assert index.look_up("default", "g") is None
        fake.set(refuse={})
        wait_for(index.synced)
        assert known(index, "default", "g") == Known(0, None, quiet=False)


def test_counts_follow_the_server(fake: FakeApi, tmp_path: Path) -> None:
    fake.put(pod("w-0"))
    fake.put(pod("w-1", phase="Succeeded"))
    fake.put(pod("stranger", None))
    fake.put(pod_group("g", members=3))
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)
        assert known(index, "default", "g").members == 1
        changes: list[Callable[[], None]] = [
            lambda: fake.put(pod("w-2")),
            lambda: fake.put(pod("w-2", "other")),
            lambda: fake.put(pod("w-2", None)),
            lambda: fake.put(pod("w-0", phase="Failed")),
            lambda: fake.put(pod_group("g", members=5)),
            lambda: fake.delete(pod_group("g")),
            lambda: fake.delete(pod("w-0")),
        ]
        for change in changes:
            change()
            agrees(index, fake)


def test_only_metadata_of_gang_pods_is_asked_for(fake: FakeApi, tmp_path: Path) -> None:
    with indexed(fake, tmp_path):
        wait_for(lambda: fake.watching[PODS] and fake.watching[GROUPS])
    (listed,), (watched,) = fake.asks(PODS), fake.asks(PODS, watch=True)
    for asked in (listed, watched):
        assert asked.query["labelSelector"] == "scheduling.x-k8s.io/pod-group"
        assert asked.query["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"
    assert listed.headers["Accept"] == "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    assert watched.headers["Accept"] == "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    assert listed.query["limit"] == "500"
    assert watched.query["allowWatchBookmarks"] == "true"
    assert 240 <= int(watched.query["timeoutSeconds"]) <= 300


def test_first_list_comes_in_pages(fake: FakeApi, tmp_path: Path) -> None:
    for n in range(25):
        fake.put(pod(f"w-{n}"))
    fake.page = 10
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)
    assert len(fake.asks(PODS)) == 3


def test_page_that_is_too_old_starts_the_list_again(fake: FakeApi, tmp_path: Path) -> None:
    for n in range(5):
        fake.put(pod(f"w-{n}"))

    def age() -> None:
        fake.set(after_page=None)
        fake.compact()

    fake.set(page=2, after_page=age)
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)


@pytest.mark.parametrize("how", ["event", "http"])
def test_gone_lists_again_and_swaps(how: str, fake: FakeApi, tmp_path: Path) -> None:
    for n in range(3):
        fake.put(pod(f"w-{n}"))
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS])
        agrees(index, fake)
        if how == "http":
            fake.set(refuse={PODS: [(410, {})]})
            fake.end_watches()
        else:
            fake.compact()
        wait_for(lambda: len(fake.asks(PODS)) >= 2)
        fake.put(pod("w-9"))
        agrees(index, fake)
        assert index.counts()["lists"] >= 3


def test_what_changed_while_nobody_watched_is_there_after_a_relist(fake: FakeApi, tmp_path: Path) -> None:
    for n in range(3):
        fake.put(pod(f"w-{n}"))
        fake.put(pod_group(f"g-{n}"))
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)
        with fake.changed:
            fake.epoch += 1
            fake.objects[PODS].pop(("default", "w-1"))
            fake.objects[GROUPS].pop(("default", "g-1"))
            fake.version += 1
            fake.oldest = fake.version
        agrees(index, fake)
        assert index.size() == (2, 2)


def test_ordinary_end_of_a_watch_goes_on_from_where_it_was(fake: FakeApi, tmp_path: Path) -> None:
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS])
        fake.put(pod("a"))
        agrees(index, fake)
        fake.end_watches()
        fake.put(pod("b"))
        agrees(index, fake)
        wait_for(lambda: len(fake.asks(PODS, watch=True)) >= 2)
        assert len(fake.asks(PODS)) == 1


def test_connection_cut_in_the_middle_of_an_event(fake: FakeApi, tmp_path: Path) -> None:
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS])
        fake.set(cut_at=fake.version + 1)
        fake.put(pod("a"))
        agrees(index, fake)
        assert index.size() == (1, 0)
        assert index.counts()["losses"] >= 1


def test_half_open_connection_is_given_up(fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "WATCHING", (1, 0.2))
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS])
        fake.set(silent=True)
        fake.put(pod("a"))
        wait_for(lambda: len(fake.asks(PODS, watch=True)) >= 2)
        fake.set(silent=False)
        agrees(index, fake)


def test_age_and_staleness(fake: FakeApi, tmp_path: Path) -> None:
    clock = Clock()
    with indexed(fake, tmp_path, clock) as index:
        wait_for(lambda: fake.watching[PODS] and fake.watching[GROUPS])
        wait_for(index.synced)
        fake.set(bookmarks=0)
        time.sleep(0.05)
        assert (index.age() or 0) < 1
        clock.ahead = 89
        assert index.look_up("default", "g") is not None
        clock.ahead = 92
        assert index.look_up("default", "g") is None
        assert (index.age() or 0) > 90
        assert index.synced()
        fake.put(pod("a"))
        wait_for(lambda: index.size() == (1, 0))
        assert index.look_up("default", "g") is None  # PodGroups are silent still
        fake.set(bookmarks=0.01)
        wait_for(lambda: index.look_up("default", "g") is not None)


def test_quiet_is_five_seconds_without_an_event(fake: FakeApi, tmp_path: Path) -> None:
    clock = Clock()
    with indexed(fake, tmp_path, clock) as index:
        wait_for(lambda: fake.watching[PODS] and fake.watching[GROUPS])
        wait_for(index.synced)
        assert not known(index, "default", "x").quiet
        clock.ahead += 6
        wait_for(lambda: known(index, "default", "x").quiet)
        fake.put(pod_group("g"))
        agrees(index, fake)
        assert not known(index, "default", "x").quiet
        assert known(index, "elsewhere", "x").quiet


def test_api_server_away_and_back(tmp_path: Path) -> None:
    fake = FakeApi()
    with ExitStack() as stack:
        with serving(fake):
            fake.put(pod("a"))
            port = int(fake.url.rpartition(":")[2])
            index = stack.enter_context(indexed(fake, tmp_path))
            agrees(index, fake)
        fake.put(pod("b"))
        assert known(index, "default", "g").members == 1  # the last that is known, while it is young
        wait_for(lambda: index.counts().get("losses", 0) >= 6)
        stack.enter_context(serving(fake, port))
        agrees(index, fake)
        assert index.size() == (2, 0)


def test_missing_crd_is_no_pod_groups_and_comes_later(
    fake: FakeApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "webhook.cluster.index")
    fake.absent.add(GROUPS)
    fake.put(pod("a"))
    clock = Clock()
    with indexed(fake, tmp_path, clock) as index:
        agrees(index, fake)
        wait_for(lambda: len(fake.asks(GROUPS)) >= 3)
        assert index.synced()
        clock.ahead += 60
        assert known(index, "default", "g") == Known(1, None, quiet=False)
        said = [one for one in caplog.records if "CRD is not installed" in one.getMessage()]
        assert [one.levelname for one in said] == ["INFO"]
        fake.put(pod_group("g"))
        with fake.changed:
            fake.absent.clear()
        agrees(index, fake)
        with fake.changed:
            fake.absent.add(GROUPS)
        fake.end_watches()
        agrees(index, fake)
        assert known(index, "default", "g").group is None


def test_forbidden_is_waited_out_and_said_once(fake: FakeApi, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fake.refuse[PODS] = [(403, {})] * 6
    fake.put(pod("a"))
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)
    said = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert said == ["watch of pods: 403 planned 403"]


def test_token_that_has_changed_is_read_again(fake: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old", encoding="ascii")
    fake.tokens = {"old"}
    with indexed(fake, tmp_path, tokenFile=str(token)) as index:
        wait_for(lambda: fake.watching[PODS])
        token.write_text("new", encoding="ascii")
        fake.set(tokens={"new"})
        fake.end_watches()
        fake.put(pod("a"))
        agrees(index, fake)


@pytest.mark.parametrize("answer", [{}, {"metadata": 3}, {"kind": "PodList", "apiVersion": "v1", "metadata": {}}])
def test_list_that_makes_no_sense_is_trouble_and_no_crash(
    answer: dict[str, Any], fake: FakeApi, tmp_path: Path
) -> None:
    fake.objects.pop(PODS)
    fake.others[PODS] = answer
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: index.counts().get("losses", 0) >= 2)
        assert not index.synced()


def test_bug_in_the_fold_does_not_end_the_thread(
    fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(index_module, "BUG_WAIT", 0.01)
    failing = [True]

    def broken(members: Members, news: News[Member]) -> Members:
        if failing:
            failing.pop()
            raise ZeroDivisionError
        return count(members, news)

    monkeypatch.setattr(index_module, "count", broken)
    fake.put(pod("a"))
    with indexed(fake, tmp_path) as index:
        agrees(index, fake)
    assert "the watch of pods met a bug" in caplog.text


def test_stop_ends_both_threads_soon(fake: FakeApi, tmp_path: Path) -> None:
    before = threading.active_count()
    with indexed(fake, tmp_path) as index:
        wait_for(lambda: fake.watching[PODS] and fake.watching[GROUPS])
        began = time.monotonic()
        index.stop()
        assert time.monotonic() - began < 1
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("watch-")]
    assert threading.active_count() >= before


def turn(fake: FakeApi, dice: random.Random) -> None:
    """Something happens to the server or to its connections."""
    group, namespace = dice.choice(["g", "h", "i", None]), dice.choice(["a", "b"])
    phase = dice.choice(["Pending", "Pending", "Running", "Succeeded"])
    thing = pod(f"w-{dice.randrange(20)}", group, namespace=namespace, phase=phase)
    thing["metadata"]["uid"] += namespace
    gang = pod_group(dice.choice("ghi"), namespace=namespace, members=dice.randrange(1, 9))
    failing: dict[str, list[tuple[int, dict[str, str]]]] = {
        PODS: [(dice.choice([500, 503, 429, 410]), {})],
        GROUPS: [(404, {})],
    }
    happens: list[tuple[Callable[[], None], int]] = [
        (lambda: fake.put(thing), 50),
        (lambda: fake.delete(thing), 20),
        (lambda: fake.put(gang), 12),
        (lambda: fake.delete(gang), 8),
        (fake.end_watches, 3),
        (fake.compact, 3),
        (lambda: fake.set(cut_at=fake.version + 1), 2),
        (lambda: fake.set(refuse=failing), 2),
    ]
    (what,) = dice.choices([one for one, _ in happens], [weight for _, weight in happens])
    what()


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_over_sockets_ends_at_the_truth(seed: int, fake: FakeApi, tmp_path: Path) -> None:
    dice = random.Random(seed)
    fake.page = 7
    with indexed(fake, tmp_path) as index:
        for step in range(300):
            turn(fake, dice)
            if step % 60 == 59:
                agrees(index, fake)
