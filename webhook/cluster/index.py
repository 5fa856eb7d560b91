"""The index of gangs: two watches in threads of their own, and look-ups that never wait for them.

This is the one object with a state that changes, since the threads that listen and those that answer reviews share
it. The lock is held for a few dictionary operations at a time; lists are taken in beside the old state and swapped.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

from webhook.cluster.news import Absent, Changed, Listed, Lost, News
from webhook.cluster.rest import Api
from webhook.cluster.tally import Groups, Member, Members, count, hold, is_growing, is_quiet, read_group, read_member
from webhook.cluster.watch import Resource, follow
from webhook.model import GROUP_LABEL, PodGroup
from webhook.review import Known

T = TypeVar("T")
Clock = Callable[[], float]

STALE_AFTER = 90.0
"""Seconds without a sign of life, after which nothing is known: a watch is given up after 70 s of silence."""

BUG_WAIT = 30.0

_AS = "application/json;as={};v=v1;g=meta.k8s.io"
_log = logging.getLogger(__name__)

PODS = Resource(
    "pods",
    "/api/v1/pods",
    read_member,
    # The scheduler leaves Succeeded and Failed ones out too (kubernetes pkg/scheduler/scheduler.go newPodInformer).
    {"labelSelector": GROUP_LABEL, "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
    _AS.format("PartialObjectMetadataList"),
    _AS.format("PartialObjectMetadata"),
)
POD_GROUPS = Resource("podgroups", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups", read_group, {}, optional=True)


class Index:
    """What is known of gangs at this moment; made by `start_index`."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._members = Members()
        self._groups = Groups()
        self._heard: dict[str, float] = {}
        self._counts: Counter[str] = Counter()
        self._said: dict[str, str] = {}
        self._threads = (
            threading.Thread(target=self._listen, args=(PODS, self._take_pod), name="watch-pods", daemon=True),
            threading.Thread(
                target=self._listen, args=(POD_GROUPS, self._take_group), name="watch-groups", daemon=True
            ),
        )

    def look_up(self, namespace: str, name: str) -> Known | None:
        """What is known of that gang; None while the index is not in sync or too old."""
        now = self._clock()
        with self._lock:
            age = self._age(now)
            if age is None or age > STALE_AFTER:
                return None
            key = namespace, name
            return Known(
                self._members.counts.get(key, 0),
                self._groups.held.get(key),
                quiet=is_quiet(self._groups, namespace, now),
                growing=is_growing(self._members, key, now),
            )

    def synced(self) -> bool:
        """Whether both resources have been listed once; a missing CRD counts as an empty list."""
        with self._lock:
            return len(self._heard) == len(self._threads)

    def size(self) -> tuple[int, int]:
        """How many members and how many PodGroups are known."""
        with self._lock:
            return len(self._members.homes), len(self._groups.held)

    def age(self) -> float | None:
        """Seconds since the last sign of life of the watch that has been silent for longer; None before the first
        sync."""
        now = self._clock()
        with self._lock:
            return self._age(now)

    def counts(self) -> Mapping[str, int]:
        """How often each thing has happened so far: `lists`, `events`, `losses`."""
        with self._lock:
            return dict(self._counts)

    def stop(self) -> None:
        """Ends both threads; waits for them no longer than a second."""
        self._over.set()
        ends = time.monotonic() + 1
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < ends:
            # Again and again: one may just be opening its watch.
            self._api.cut()
            self._threads[0].join(0.02)
            self._threads[1].join(0.02)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def _age(self, now: float) -> float | None:
        if len(self._heard) < len(self._threads):
            return None
        # The clock was read before the lock was had: a watch may have spoken since.
        return max(0.0, now - min(self._heard.values()))

    def _listen(self, resource: Resource[T], take: Callable[[News[T], float], None]) -> None:
        """A thread's whole life. It must not end by an accident, or the index would be stale for good."""
        while not self._over.is_set():
            try:
                for news in follow(self._api, resource, self._over.wait, self._clock, random.random):
                    self._note(resource.name, news)
                    take(news, self._clock())
            except Exception:  # noqa: BLE001 - see above
                _log.exception("the watch of %s met a bug and starts anew", resource.name)
                self._over.wait(BUG_WAIT)

    def _take_pod(self, news: News[Member], now: float) -> None:
        fresh = count(Members(), news) if isinstance(news, Listed) else None
        with self._lock:
            self._members = count(self._members, news, now) if fresh is None else fresh
            self._mark(PODS.name, news, now)

    def _take_group(self, news: News[PodGroup], now: float) -> None:
        fresh = hold(Groups(), news, now) if isinstance(news, Listed) else None
        with self._lock:
            self._groups = hold(self._groups, news, now) if fresh is None else fresh
            self._mark(POD_GROUPS.name, news, now)

    def _mark(self, name: str, news: News[T], now: float) -> None:
        """Opening a watch is a sign of life too: the server has taken our place in the history, and what was missed
        follows at once. An API server that has seen no event of a resource since its start sends no bookmarks
        (cacher.go dispatchEvents), and a quiet cluster must not look like a dead one."""
        if not isinstance(news, Lost):
            self._heard[name] = now
        what = {Listed: "lists", Changed: "events", Lost: "losses"}.get(type(news))
        if what:
            self._counts[what] += 1

    def _note(self, name: str, news: News[T]) -> None:
        """Says what went wrong, once until it is well again or something else is wrong."""
        if isinstance(news, Listed):
            said = f"{len(news.items)} listed"
        elif isinstance(news, Absent):
            said = "the API server does not know them: the CRD is not installed"
        elif isinstance(news, Lost) and not news.calm:
            said = news.why
        else:
            return
        if said == self._said.get(name) or self._over.is_set():
            return
        self._said[name] = said
        _log.log(logging.WARNING if isinstance(news, Lost) else logging.INFO, "watch of %s: %s", name, said)


def start_index(api: Api, clock: Clock = time.monotonic) -> Index:
    """Starts to listen, in threads of this process: after a fork, not before."""
    index = Index(api, clock)
    index.start()
    return index
