"""gunicorn's threaded worker, with three things that a server before an API server needs.

A thread gets a connection only when a whole request lies ready: handshakes and bodies that stall cost no thread
(with gunicorn's own worker, as many stalled clients as there are threads block everybody). A draining worker answers
all that comes and closes each connection behind its answer. A stopping worker takes what the kernel has accepted and
then closes its ears, so that nobody is left hanging.

The classes here are gunicorn's way to be extended; they build on the inside of gunicorn 27's gthread.py.
"""

from __future__ import annotations

import errno
import re
import selectors
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from gunicorn import http, util
from gunicorn.workers.gthread import _DEFER, STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from webhook.serving.logging_ import flush

if TYPE_CHECKING:
    from webhook.serving import Application

PATIENCE = 5.0
"""Seconds for a handshake, for a request once its first byte is here, and for each write of an answer. The webhooks
are registered with 2 and 3 seconds: whoever takes longer has gone."""

LINGER = 2.0
"""Seconds to let a client read the end before the kernel may reset the connection (RFC 9112 section 9.6)."""

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 7 * 1024 * 1024
DISCARDED = 32 * 1024 * 1024
"""Bytes of a body too large that are read and thrown away, so that its sender gets to read the answer."""

MOST_HELD = 64 * 1024 * 1024
"""Bytes of requests that are not whole yet, over all connections. Above it the largest is cut."""

SWEEP = 0.25

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,12})[ \t]*\r\n", re.IGNORECASE)
_NOT_AWAITED = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)


class PatientSocket(ssl.SSLSocket):
    """A TLS socket on which nothing lasts for ever: gunicorn asks for a blocking one, and gets one with a timeout."""

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - socket's own signature
        self.settimeout(PATIENCE if flag else 0.0)


class Connection(TConn):
    """A client, and what has arrived of its next request."""

    def __init__(self, worker: Worker, sock: socket.socket, client: object, server: object) -> None:
        self.sock: socket.socket = sock
        super().__init__(worker.cfg, sock, client, server)
        self.worker = worker
        self.began: float | None = time.monotonic()
        self.since = self.began
        self.arrived = bytearray()
        self.received = 0
        self.needed: int | None = None
        self.unread = False

    def fill(self) -> None:
        """Shake hands, then read until a request is whole. Raises BlockingIOError or SSLWantReadError until then."""
        self.sock.setblocking(False)
        if self.parser is None:
            self._shake_hands()
        self.began = self.began or time.monotonic()
        self._take(self.parser.unreader.take_buffered())
        while self.needed is None or self.received < self.needed:
            try:
                data = self.sock.recv(65536)
            except ssl.SSLWantReadError:
                if not self.received:
                    self.began = None  # idle, as a client may be for long
                raise
            if not data:
                raise ConnectionResetError(errno.ECONNRESET, "the client left")
            self._take(data)
        self.parser.unreader.unread(bytes(self.arrived))
        self.arrived.clear()
        self.received, self.needed, self.began = 0, None, None

    def _shake_hands(self) -> None:
        if not isinstance(self.sock, ssl.SSLSocket):
            context: ssl.SSLContext = self.worker.app.context()
            self.sock = context.wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False)
        self.sock.do_handshake()
        self.parser = http.get_parser(self.cfg, self.sock, self.client)
        self.initialized = True
        self.began = None

    def _take(self, data: bytes) -> None:
        self.received += len(data)
        if self.needed is None:
            self.arrived += data
            self._measure()
        elif not self.unread:
            self.arrived += data

    def _measure(self) -> None:
        """How many bytes to wait for, as soon as the head tells. What is wrong with a head the parser will say."""
        end = self.arrived.find(b"\r\n\r\n")
        if end < 0:
            if len(self.arrived) > LARGEST_HEAD:
                self.needed = 0
            return
        head = bytes(self.arrived[: end + 2])
        length = _LENGTH.search(head)
        body = int(length[1]) if length else 0
        self.unread = body > LARGEST_BODY or _NOT_AWAITED.search(head) is not None
        self.needed = end + 4 + min(body, DISCARDED)
        if body > LARGEST_BODY:
            del self.arrived[end + 4 :]
        elif self.unread:
            self.needed = 0

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002 - gunicorn's own signature
        """Gunicorn would wait for the client here, up to two seconds in the worker's one main loop."""
        if graceful:
            self.worker.linger(self.sock)
        else:
            util.close(self.sock)


class Worker(ThreadWorker):
    """The one worker process. What is not said here is gunicorn's."""

    app: Application

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - gunicorn's own signature
        super().__init__(*args, **kwargs)
        self.draining = False
        self.jobs = 0
        self._lingering: list[tuple[socket.socket, float]] = []
        self._swept = 0.0
        self._request = threading.local()

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

    def notify(self) -> None:
        """Called in every turn of the main loop."""
        super().notify()
        flush()
        now = time.monotonic()
        if now - self._swept >= SWEEP:
            self._swept = now
            self._sweep(now)
            self.app.tick()

    def run(self) -> None:
        try:
            super().run()
        finally:
            flush()

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001 - gunicorn's own signature
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
                time.sleep(0.05)  # the poller would call again at once
            return False
        self.nr_conns += 1
        self.enqueue_req(Connection(self, sock, client, listener.getsockname()))
        return True

    def enqueue_req(self, conn: Connection) -> None:
        self.jobs += 1
        conn.since = time.monotonic()
        super().enqueue_req(conn)

    def finish_request(self, conn: Connection, fs: Future[object]) -> None:
        self.jobs -= 1
        if not self.alive and not fs.cancelled() and fs.exception() is None and fs.result() is _DEFER:
            self._await_more(conn)
        else:
            super().finish_request(conn, fs)

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
        if held > MOST_HELD:
            self._cut(max(self.pending_conns, key=lambda conn: len(conn.arrived)), "request")

    def _cut(self, conn: Connection, phase: str) -> None:
        self.app.count_cut(phase)
        self._drop(conn)

    def _drop(self, conn: Connection) -> None:
        self.pending_conns.remove(conn)
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


def _is_over(item: tuple[socket.socket, float], now: float) -> bool:
    sock, until = item
    try:
        while now < until and sock.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    util.close(sock)
    return True
