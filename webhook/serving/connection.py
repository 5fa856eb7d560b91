"""A client's connection: the handshake, and what has arrived of its next request.

The classes here are gunicorn's way to be extended; they build on the inside of gunicorn 27's gthread.py.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
import time
from collections.abc import Callable

from gunicorn import http, util
from gunicorn.workers.gthread import TConn

PATIENCE = 5.0
"""Seconds for a handshake, for a request once its first byte is here, and for each write of an answer. The webhooks
are registered with 2 and 3 seconds: whoever takes longer has gone."""

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 7 * 1024 * 1024
DISCARDED = 32 * 1024 * 1024
"""Bytes of a body too large that are read and thrown away, so that its sender gets to read the answer."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,12})[ \t]*\r\n", re.IGNORECASE)
_NOT_AWAITED = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)


class PatientSocket(ssl.SSLSocket):
    """A TLS socket on which nothing lasts for ever: gunicorn asks for a blocking one, and gets one with a timeout."""

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - socket's own signature
        self.settimeout(PATIENCE if flag else 0.0)


class Connection(TConn):
    """A client, and what has arrived of its next request."""

    def __init__(
        self,
        listener: tuple[object, object],
        sock: socket.socket,
        client: object,
        *,
        context: Callable[[], ssl.SSLContext],
        linger: Callable[[socket.socket], object],
    ) -> None:
        """`listener` has gunicorn's settings and the address listened on; `linger` closes a socket in its own time."""
        self.sock: socket.socket = sock
        settings, address = listener
        super().__init__(settings, sock, client, address)
        self._context, self._linger = context, linger
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
            self.sock = self._context().wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False)
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
            self._linger(self.sock)
        else:
            util.close(self.sock)
