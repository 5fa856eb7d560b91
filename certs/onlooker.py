"""Certificates that somebody else keeps: only looked at. That no caBundle trusts what is served is said, and left."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Protocol

from cryptography import x509

from certs.authority import Pair, is_signed_by
from certs.bundles import bundles
from certs.store import Away, Thing
from certs.told import Told

POLL = timedelta(minutes=1)
_log = logging.getLogger(__name__)


class Configurations(Protocol):
    def configurations(self) -> tuple[Thing, ...]:
        """Both webhook configurations. Raises Away."""


def distrusting(certificate: bytes, configuration: Thing) -> tuple[str, ...]:
    """The webhooks whose caBundle leads to none of the certificates that are served, PEM. An empty caBundle means the
    authorities of the API server's own machine, and may be right."""
    if configuration.body is None:
        return ()
    chain = x509.load_pem_x509_certificates(certificate)
    found = (bundle for bundle in bundles(configuration.body) if bundle.held)
    return tuple(bundle.webhook for bundle in found if not _leads(chain, (each.certificate for each in bundle.held)))


def _leads(chain: Iterable[x509.Certificate], trusted: Iterable[bytes]) -> bool:
    anchors = [x509.load_pem_x509_certificate(pem) for pem in trusted]
    return any(link in anchors or any(is_signed_by(link, anchor) for anchor in anchors) for link in chain)


class Onlooker:
    """Looks once a minute, in a thread of its own."""

    def __init__(self, published: Configurations, read: Callable[[], Pair], told: Told) -> None:
        """`read` gives the pair that is served; what it raises is for whoever serves it to say."""
        self._published = published
        self._read = read
        self._told = told
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="certificates", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(1)

    def look(self) -> None:
        try:
            certificate = self._read().certificate
            for thing in self._published.configurations():
                self._told.fault(str(thing), self._fault(certificate, thing), logging.WARNING)
        except Away as away:
            self._told.trouble("API server", f"{away}; who trusts the certificate is not known", logging.WARNING)
        except (OSError, ValueError):  # half of a pair that is being exchanged; the server says it, if it stays so
            return
        else:
            self._told.trouble("API server", "")

    @staticmethod
    def _fault(certificate: bytes, thing: Thing) -> str:
        if thing.fault:
            return f"cannot be read, so whether it trusts the certificate is not known: {thing.fault}"
        names = distrusting(certificate, thing)
        return f"caBundle does not trust the certificate that is served: {', '.join(names)}" if names else ""

    def _keep(self) -> None:
        while not self._over.is_set():
            try:
                self.look()
            except Exception:  # noqa: BLE001 - a thread that ends says nothing any more
                _log.exception("looking at caBundles met a bug")
            self._over.wait(POLL.total_seconds())
