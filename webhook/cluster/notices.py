"""Events written beside the reviews: the caller never waits, and what is too much is dropped and counted.

The one object here has a state for the same reason as the index: a queue between the threads that answer reviews
and the one that writes.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus

from webhook.cluster.events import Owner, Recent, collection, controller, event, forget, is_news, resource_of
from webhook.cluster.rest import Api, Refused, Trouble
from webhook.model import dig
from webhook.review import Notice

WAITING_AT_MOST = 256
PER_SECOND = 5.0
STEPS = 3
"""Owners above the Pod's own controller that are looked for: a Pod of a JobSet has two, one of a workflow three."""

_REMEMBERED = 2048
_FOUND_AGAIN_AFTER = 600.0
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_log = logging.getLogger(__name__)


class Notices:
    """Takes notices from any thread and writes Events from its own; made by `start_notices`."""

    def __init__(self, api: Api, clock: Callable[[], float], per_second: float, waiting: int) -> None:
        self._api = api
        self._clock = clock
        self._gap = 1 / per_second
        self._queue: queue.Queue[Notice | None] = queue.Queue(waiting)
        self._lock = threading.Lock()
        self._heard = Recent()
        self._written = Recent()
        self._tops: OrderedDict[str, tuple[Owner, float]] = OrderedDict()
        self._resources: dict[tuple[str, str], str | None] = {}
        self._counts: Counter[str] = Counter()
        self._over = threading.Event()
        self._instance = socket.gethostname()
        self._thread = threading.Thread(target=self._write_all, name="events", daemon=True)

    def __call__(self, notices: Iterable[Notice]) -> None:
        """Never waits and never raises. Not to be called for a dry-run."""
        for notice in notices:
            with self._lock:
                fresh = is_news(self._heard, (notice.uid, notice.reason), notice.message, self._clock())
                self._counts["taken" if fresh else "repeated"] += 1
            if not fresh:
                continue
            try:
                self._queue.put_nowait(notice)
            except queue.Full:
                with self._lock:
                    self._counts["dropped"] += 1
                    forget(self._heard, (notice.uid, notice.reason), notice.message)

    def counts(self) -> Mapping[str, int]:
        """So far: `taken`, `repeated` (said a short while ago, or too much about one object), `dropped` (the queue
        was full), `written`, `failed`."""
        with self._lock:
            return dict(self._counts)

    def waiting(self) -> int:
        return self._queue.qsize()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the Event that it is writing; the rest is dropped. Waits no longer than a second."""
        self._over.set()
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            _log.debug("events: %d are dropped at the end", self._queue.qsize())
        self._thread.join(1)

    def _write_all(self) -> None:
        while not self._over.is_set():
            notice = self._queue.get()
            if notice is None:
                return
            try:
                what = self._write(notice)
            except Trouble as trouble:
                # Not tried again soon: what is refused once will be refused again.
                _log.warning("no Event written on %s %s: %s", notice.kind, notice.name, trouble)
                what = "failed"
            except Exception:  # noqa: BLE001 - an accident with one must not silence all that follow
                _log.exception("no Event written on %s %s", notice.kind, notice.name)
                what = "failed"
            with self._lock:
                self._counts[what] += 1
            self._over.wait(self._gap)

    def _write(self, notice: Notice) -> str:
        top = self._top(notice)
        topic = top.uid, notice.reason
        if not is_news(self._written, topic, notice.message, self._clock()):
            return "repeated"
        try:
            path = collection("v1", "events", notice.namespace)
            self._api.post(path, event(notice, top, datetime.now(UTC), self._instance))
        except Trouble as trouble:
            if isinstance(trouble, Refused) and trouble.status == HTTPStatus.CONFLICT:
                return "repeated"  # another replica was faster
            forget(self._written, topic, notice.message)
            raise
        return "written"

    def _top(self, notice: Notice) -> Owner:
        """The topmost owner that we may see. Kept for a while: owners do not change, but an adopted object gets one."""
        known = self._tops.pop(notice.uid, None)
        if known is None or self._clock() - known[1] > _FOUND_AGAIN_AFTER:
            own = Owner(notice.api_version, notice.kind, notice.name, notice.uid)
            known = self._climb(own, notice.namespace), self._clock()
        self._tops[notice.uid] = known
        if len(self._tops) > _REMEMBERED:
            self._tops.popitem(last=False)
        return known[0]

    def _climb(self, owner: Owner, namespace: str) -> Owner:
        for _ in range(STEPS):
            above = self._above(owner, namespace)
            if above is None or self._resource(above) is None:
                return owner
            owner = above
        return owner

    def _above(self, owner: Owner, namespace: str) -> Owner | None:
        resource = self._resource(owner)
        if resource is None:
            return None
        path = f"{collection(owner.api_version, resource, namespace)}/{owner.name}"
        try:
            metadata = self._api.get(path, {}, _METADATA).get("metadata")
        except Refused as refused:
            if refused.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
                return None
            raise
        # Another object of that name knows nothing of this one's owners.
        return controller(metadata) if dig(metadata, "uid") == owner.uid else None

    def _resource(self, owner: Owner) -> str | None:
        """The resource of the owner's kind, asked of the API server once; None for one outside of namespaces."""
        key = owner.api_version, owner.kind
        if key not in self._resources:
            group = f"/{'apis' if '/' in owner.api_version else 'api'}/{owner.api_version}"
            try:
                self._resources[key] = resource_of(owner.kind, self._api.get(group, {}))
            except Refused as refused:
                if refused.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
                    raise
                return None
        return self._resources[key]


def start_notices(
    api: Api,
    clock: Callable[[], float] = time.monotonic,
    *,
    per_second: float = PER_SECOND,
    waiting: int = WAITING_AT_MOST,
) -> Notices:
    """Starts the thread that writes, in this process: after a fork, not before. At most `waiting` notices wait."""
    notices = Notices(api, clock, per_second, waiting)
    notices.start()
    return notices
