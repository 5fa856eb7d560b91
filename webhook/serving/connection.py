"""A client's connection: the handshake, what has arrived of its next request, what is unsent of the last answer.

The classes here are gunicorn's way to be extended; they build on the inside of gunicorn 27's gthread.py.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from gunicorn import http, util
from gunicorn.workers.gthread import TConn

PATIENCE = 5.0
"""Seconds for a handshake, for a request once its first byte is here, and for an answer that the client does not read.
The webhooks are registered with 2 and 3 seconds: whoever takes longer has gone."""

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 7 * 1024 * 1024
DISCARDED = 32 * 1024 * 1024
"""Bytes of a body too large that are read and thrown away, so that its sender gets to read the answer."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,4000})[ \t]*\r\n", re.IGNORECASE)
"""Whatever gunicorn takes for a length, whose header fields have at most 4096 bytes: where the two do not agree, a
thread waits for a body."""

_SPECIAL = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)
_CONTINUE = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)


class PatientSocket(ssl.SSLSocket):
    """A TLS socket on which no thread ever waits, whatever gunicorn asks for: as many clients as there are threads
    could hold up all others. `unsent` is what the client has had no room for; the main loop sends it."""

    unsent: bytes = b""

    def setblocking(self, flag: bool) -> None:  # noqa: ARG002, FBT001 - socket's own signature
        self.settimeout(0)

    def settimeout(self, value: float | None) -> None:  # noqa: ARG002 - as above
        if self.gettimeout() != 0:
            super().settimeout(0)

    def sendall(self, data: Any, flags: int = 0) -> None:  # noqa: ANN401, ARG002 - as above
        self.unsent += data
        self.send_rest()

    def send_rest(self) -> None:
        """Send as much of `unsent` as there is room for. Raises OSError where the client has gone."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self.send(self.unsent) :]
        except ssl.SSLWantWriteError:
            pass  # to be tried again with the same bytes, and any behind them (SSL_write(3))
        except OSError:
            self.unsent = b""
            raise


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
                self._refuse_head()
            return
        head = bytes(self.arrived[: end + 2])
        length = _LENGTH.search(head)
        body = int(length[1]) if length else 0
        self.unread = body > LARGEST_BODY
        self.needed = end + 4 + min(body, DISCARDED)
        if _SPECIAL.search(head):
            self._measure_special(head)
        if body > LARGEST_BODY:
            del self.arrived[end + 4 :]

    def _measure_special(self, head: bytes) -> None:
        """A sender that waits for the word to go on, as curl does, gets it here, and a thread when all of the body is
        there. Other expectations, bodies in chunks and bodies too large are refused without a look at the body."""
        if self.unread or not _CONTINUE.search(head) or len(_SPECIAL.findall(head)) > 1:
            self.unread, self.needed = True, 0
        elif self.needed and self.received < self.needed:
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _refuse_head(self) -> None:
        """The parser would go on reading."""
        util.write_error(self.sock, 431, "Request Header Fields Too Large", f"a head has at most {LARGEST_HEAD} bytes")
        raise ConnectionAbortedError(errno.ECONNABORTED, "the head is too large")

    def is_unsent(self) -> bool:
        """Whether some of the last answer has yet to be sent."""
        return isinstance(self.sock, PatientSocket) and bool(self.sock.unsent) and self.sock.fileno() >= 0

    def send_rest(self) -> None:
        """Raises OSError where the client has gone."""
        if isinstance(self.sock, PatientSocket):
            self.sock.send_rest()

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002 - gunicorn's own signature
        """Gunicorn would wait for the client here, up to two seconds in the worker's one main loop."""
        if graceful:
            self._linger(self.sock)
        else:
            util.close(self.sock)
