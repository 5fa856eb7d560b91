"""An admission webhook on loopback, round any function that answers an AdmissionReview."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from apiserver import ControlPlane, create, delete, made, wait_for
from certificates import self_signed
from objects import pod


@dataclass(frozen=True, slots=True)
class Hook:
    """Where the API server finds the webhook, and the reviews that have reached it, oldest first."""

    url: str
    ca_bundle: str  # base64 of the PEM, as clientConfig wants it
    reviews: list[dict[str, Any]]

    @property
    def client_config(self) -> dict[str, str]:
        return {"url": self.url, "caBundle": self.ca_bundle}


@contextmanager
def serving(answer: Callable[[dict[str, Any]], dict[str, Any]], folder: Path, name: str) -> Iterator[Hook]:
    """Serves `answer`, which takes a whole AdmissionReview and returns one. Certificates are left in `folder`."""
    reviews: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body leave in one send: two of them cost 40 ms a call, Nagle waits for the delayed ack.
        wbufsize = 1 << 20
        timeout = 60

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reviews.append(review)
            body = json.dumps(answer(review)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            """The reviews are the log."""

    pair = self_signed(folder, name)
    # No ALPN: to loopback the API server offers h2, and a server that took it would have to speak it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # The handshake belongs to the thread of the connection: a stalled one must not stop the others.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, name=name, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            bundle = base64.b64encode(pair.certificate.read_bytes()).decode()
            yield Hook(f"https://127.0.0.1:{server.server_port}/webhook", bundle, reviews)
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def registered(control: ControlPlane, registration: dict[str, Any], hook: Hook) -> Iterator[None]:
    """Registers a webhook that all Pods go to, and waits until they do; after the test, until they no longer do."""

    def reached() -> bool:
        before = len(hook.reviews)
        create(control, pod("default", "probe"), dryRun="All")
        return len(hook.reviews) > before

    made(control, registration)
    try:
        wait_for(reached, what="the webhook's first review", every=0.01)
        hook.reviews.clear()
        yield
    finally:
        delete(control, registration)
        wait_for(lambda: not reached(), what="the webhook's last review", every=0.01)
