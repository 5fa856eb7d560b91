"""The serving certificate: one SSLContext for all connections, made anew when the certificate's content changes.

gunicorn's own way makes a context for every connection (2 ms each) and may pair a new certificate with an old key.
"""

from __future__ import annotations

import errno
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from certs.authority import Pair, expiry
from webhook.errors import BadConfig
from webhook.metrics import Metrics
from webhook.serving.connection import PatientSocket

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: with forward secrecy and authenticated encryption only; Go's client knows them all."""


def from_files(certificate: str, key: str) -> Callable[[], Pair]:
    """Where the pair comes from when it is mounted. Raises OSError."""
    return lambda: Pair(Path(certificate).read_bytes(), Path(key).read_bytes())


def context_of(pair: Pair) -> ssl.SSLContext:
    """A context that serves the pair. Raises ssl.SSLError where the two do not belong together or are no PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    # No h2: to loopback addresses the API server would take it, and gunicorn's serves one stream after the other.
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = PatientSocket
    with _as_file(pair.certificate + b"\n" + pair.key) as file:
        context.load_cert_chain(file, password=_no_password)
    return context


def _no_password() -> str:
    """Without this, OpenSSL asks the terminal for an encrypted key's password, and waits."""
    return ""


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """OpenSSL's loader takes files only. Where Linux gives files in memory, the key never touches a disk."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pair"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as named:
            named.write(content)
            named.flush()
            yield named.name


class Certificates:
    """The pair in use. `refresh` is called often and by one thread; `context` costs nothing."""

    _context: ssl.SSLContext
    _pair: Pair | None = None
    _expiry = datetime.min.replace(tzinfo=UTC)

    def __init__(
        self,
        read: Callable[[], Pair | None],
        metrics: Metrics,
        log: Callable[[Mapping[str, object]], object],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`read` gives the pair to use, None while there is none yet. Raises BadConfig where the first is no good."""
        self._read = read
        self._metrics = metrics
        self._log = log
        self._now = now
        self._refused = ""
        try:
            pair = read()
            if pair is not None:
                self._use(pair)
        except (OSError, ValueError) as error:
            raise BadConfig(f"the certificate cannot be used: {reason(error)}") from error

    def context(self) -> ssl.SSLContext:
        """Raises ConnectionAbortedError while there is no pair: the connection is closed."""
        if self._pair is None:
            raise ConnectionAbortedError(errno.ECONNABORTED, "there is no certificate yet")
        return self._context

    def is_valid(self) -> bool:
        return self._now() < self._expiry

    def refresh(self) -> None:
        """Take a new pair if there is one that can be used; the last good one stays otherwise. Never raises."""
        try:
            pair = self._read()
            if pair is not None and pair != self._pair:
                self._use(pair)
                self._log({"event": "certificate", "level": "info", "expires": self._expiry.isoformat()})
            self._refused = ""
        except (OSError, ValueError) as error:
            self._refuse(reason(error))

    def _use(self, pair: Pair) -> None:
        expires = expiry(pair.certificate)
        if expires <= self._now():
            raise ValueError(f"it expired at {expires.isoformat()}")
        self._context = context_of(pair)
        self._pair, self._expiry = pair, expires
        self._metrics.certificate_expiry.set(expires.timestamp())

    def _refuse(self, why: str) -> None:
        """Say so once, not with every look: files of a pair that is being exchanged do not match for a moment."""
        if why != self._refused:
            self._refused = why
            self._metrics.certificate_failures.inc()
            self._log({"event": "certificate refused", "level": "error", "error": why})


def reason(error: Exception) -> str:
    """What to tell of an error in reading or loading a pair."""
    if isinstance(error, ssl.SSLError):
        words = (error.reason or "no PEM").replace("_", " ").lower()
        return "the key is not the certificate's" if words == "key values mismatch" else f"OpenSSL: {words}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(error)
