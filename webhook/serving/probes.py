"""/healthz, /readyz and /metrics in plain HTTP, on a port and in threads of their own.

Not through the server's threads: a liveness probe that waits behind reviews kills a busy replica, and then the next.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from webhook.metrics import CONTENT_TYPE

Check = Callable[[], bool]


class Probes(ThreadingHTTPServer):
    """The server, over a socket that listens already. `checks` must all hold for the replica to be ready."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, checks: Mapping[str, Check], rendered: Callable[[], bytes]) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.checks = checks
        self.rendered = rendered


class _Handler(BaseHTTPRequestHandler):
    """http.server's way: one method for each verb."""

    server: Probes
    timeout = 5

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/healthz":
            self._answer(200, b"ok\n")
        elif path == "/readyz":
            states = {name: check() for name, check in self.server.checks.items()}
            lines = "".join(f"{name}: {'ok' if state else 'no'}\n" for name, state in states.items())
            self._answer(200 if all(states.values()) else 503, lines.encode())
        elif path == "/metrics":
            self._answer(200, self.server.rendered(), CONTENT_TYPE)
        else:
            self._answer(404, b"there are /healthz, /readyz and /metrics\n")

    def _answer(self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Probes come every few seconds; nobody reads that."""


def start(probes: Probes) -> None:
    threading.Thread(target=probes.serve_forever, name="probes", daemon=True).start()
