"""gunicorn's threaded worker, with four things that a server before an API server needs.

A thread answers only when a whole request lies ready, and leaves what the client does not read of the answer to the
main loop: handshakes, bodies and readers that stall cost no thread (with gunicorn's own worker, as many stalled clients
as there are threads block everybody). Requests stand in one line (see lanes.py), and what is counted and logged of them
is done for many at once, behind their answers. A draining worker answers all that comes and closes each connection
behind its answer. A stopping worker takes what the kernel has accepted and then closes its ears, so that nobody is left
hanging.

The classes here are gunicorn's way to be extended; they build on the inside of gunicorn 27's gthread.py.
"""

from __future__ import annotations

import errno
import selectors
import socket
import ssl
import sys
import threading
import time
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gunicorn import util
from gunicorn.workers.gthread import _DEFER, STOP_KEEPALIVE_LINGER, ThreadWorker

from webhook.serving.connection import PATIENCE, Connection
from webhook.serving.lanes import STUCK, Lanes
from webhook.serving.logging_ import MOST, flush, waiting, write_apart

if TYPE_CHECKING:
    from webhook.serving import Application

LINGER = 2.0
"""Seconds to let a client read the end before the kernel may reset the connection (RFC 9112 section 9.6)."""

MOST_READS = 64
"""Reads of 64 KiB in one sweep from a client that goes on sending: it may never stop, and the main loop goes on."""

MOST_HELD = 64 * 1024 * 1024
"""Bytes of requests that are not whole yet, over all connections. Above it the largest is cut."""

SWEEP = 0.25

PAUSE = 0.05
"""Seconds after which what can wait is done. A shorter pause costs: few pieces at once find nothing in the caches."""


class Worker(ThreadWorker):
    """The one worker process. What is not said here is gunicorn's."""

    app: Application
    _lanes: Lanes[Connection]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - gunicorn's own signature
        super().__init__(*args, **kwargs)
        self.draining = False
        self.jobs = 0
        self._lingering: list[tuple[socket.socket, float]] = []
        self._unsent: dict[Connection, tuple[object, float]] = {}
        self._swept = self._flushed = self._resting = 0.0
        self._request = threading.local()

    def get_thread_pool(self) -> Executor:
        """Called once, by gunicorn."""
        pool: Executor = super().get_thread_pool()
        self._lanes = Lanes(pool, self.cfg.threads, self.handle, self.method_queue.defer, self._finish)
        return pool

    def load_wsgi(self) -> None:
        self.wsgi = self.app.open(self)

    def in_flight(self) -> int:
        """Requests that are being answered or wait for a thread."""
        return self.jobs

    def waited(self) -> float:
        """Seconds since the request that this thread answers was here."""
        since: float = self._request.since
        return time.monotonic() - since

    def is_listening(self) -> bool:
        return self.booted and self.alive and time.monotonic() - self._swept < PATIENCE

    def handle_winch(self, _signal: int, _frame: object) -> None:
        """The parent's word that the end is near. gunicorn closes a connection behind its answer where too many are
        kept: from now on, one is."""
        self.draining = True
        self.max_keepalived = -1

    def handle_quit(self, _signal: int, _frame: object) -> None:
        """The end without grace, at the next turn of the main loop. gunicorn's own ends wherever the main loop is, and
        what was just being counted and logged is lost."""
        self.alive = False
        self.method_queue.defer(sys.exit, 0)

    def notify(self) -> None:
        """Called in every turn of the main loop."""
        super().notify()
        now = time.monotonic()
        if waiting() >= MOST or now - self._flushed >= PAUSE or not self.alive:
            self._flushed = now
            flush(wait=False)
        if now - self._swept >= SWEEP:
            self._swept = now
            self._sweep(now)
            self.app.tick()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """One turn of the main loop; no longer than what waits may wait."""
        if self._lanes.is_waiting():
            timeout = min(timeout, STUCK)
            self._lanes.look()
        hurries = waiting() or not self._accepting
        super().wait_for_and_dispatch_events(min(timeout, PAUSE) if hurries else timeout)

    def run(self) -> None:
        write_apart()
        try:
            super().run()
        finally:
            flush()

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001 - gunicorn's own signature
        if enabled and time.monotonic() < self._resting:
            return  # gunicorn asks again in every turn
        super().set_accept_enabled(enabled)
        if self.alive:
            return
        for listener in self.sockets:
            while self.accept(listener):
                pass
            listener.close()

    def accept(self, listener: socket.socket) -> bool:
        """Take one connection, if there is one. Never raises: gunicorn's own ends the worker when files run out."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.ECONNABORTED}:
                self.log.warning("cannot accept a connection: %s", error)
                self._rest()
            return False
        self.nr_conns += 1
        to = (self.cfg, listener.getsockname())
        self.enqueue_req(Connection(to, sock, client, context=self.app.context, linger=self.linger))
        return True

    def _rest(self) -> None:
        """The poller would call again at once."""
        if self.alive:
            self._resting = time.monotonic() + PAUSE
            self.set_accept_enabled(False)

    def enqueue_req(self, conn: Connection) -> None:
        self.jobs += 1
        conn.since = time.monotonic()
        self._lanes.add(conn)

    def _finish(self, conn: Connection, result: object) -> None:
        self.jobs -= 1
        if conn.is_unsent():
            self._unsent[conn] = result, time.monotonic()
            self.poller.register(conn.sock, selectors.EVENT_WRITE, partial(self._send_rest, conn))
        else:
            self._finish_sent(conn, result)

    def _send_rest(self, conn: Connection, _sock: socket.socket) -> None:
        """Called when the client has room for more of its answer."""
        try:
            conn.send_rest()
        except OSError:
            self._drop(conn)
            return
        if not conn.is_unsent():
            self.poller.unregister(conn.sock)
            result, _ = self._unsent.pop(conn)
            self._finish_sent(conn, result)

    def _finish_sent(self, conn: Connection, result: object) -> None:
        if not self.alive and result is _DEFER:
            self._await_more(conn)
        else:
            self.finish_request(conn, _Given(result))

    def _await_more(self, conn: Connection) -> None:
        """As gunicorn does while it is not stopping. Then it closes the connection, and a client whose handshake is
        half done has lost its request."""
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + STOP_KEEPALIVE_LINGER
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def _cap_keepalive(self, deadline: float) -> None:
        """Called at the stop. Go's client opens connections that it comes to have no use for: gunicorn would wait for
        a first request on each until its time to stop is over."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def handle(self, conn: Connection) -> object:
        """Runs in a thread: give the connection back until a request is whole, then let gunicorn answer it."""
        try:
            conn.fill()
        except (BlockingIOError, ssl.SSLWantReadError):
            return _DEFER
        except OSError:
            return False  # the client left, or speaks no TLS that we do
        self._request.since = conn.since
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Connection) -> object:  # noqa: ANN401 - gunicorn has no types
        req._expected_100_continue = False  # noqa: SLF001 - it has been told to (see Connection)
        if conn.unread:
            req.force_close()  # where the next request would begin is unknown
        return super().handle_request(req, conn)

    def murder_pending(self) -> None:
        """Gunicorn's own gives a stalled client the time of an idle one. See _sweep."""

    def linger(self, sock: socket.socket) -> None:
        """Say that nothing more comes, and close when the client has read that or its time is over."""
        try:
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(0)
        except OSError:
            util.close(sock)
        else:
            self._lingering.append((sock, time.monotonic() + LINGER))

    def _sweep(self, now: float) -> None:
        self._lingering = [item for item in self._lingering if not _is_over(item, now)]
        held = 0
        for conn in list(self.pending_conns):
            held += len(conn.arrived)
            if conn.began is not None and now - conn.began > PATIENCE:
                self._cut(conn, "request" if conn.initialized else "handshake")
            elif now > conn.timeout:
                self._drop(conn)
        for conn, (_, since) in list(self._unsent.items()):
            if now - since > PATIENCE:
                self._cut(conn, "answer")
        if held > MOST_HELD:
            self._cut(max(self.pending_conns, key=lambda conn: len(conn.arrived)), "request")

    def _cut(self, conn: Connection, phase: str) -> None:
        self.app.count_cut(phase)
        self._drop(conn)

    def _drop(self, conn: Connection) -> None:
        if self._unsent.pop(conn, None) is None:
            self.pending_conns.remove(conn)
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


class _Given(NamedTuple):
    """What gunicorn asks of a Future, of work that is done."""

    value: object

    def result(self) -> object:
        return self.value

    def cancelled(self) -> bool:
        return False


def _is_over(item: tuple[socket.socket, float], now: float) -> bool:
    sock, until = item
    try:
        reads = 0
        while now < until and sock.recv(65536):
            reads += 1
            if reads == MOST_READS:
                return False
    except BlockingIOError:
        return False
    except OSError:
        pass
    util.close(sock)
    return True
