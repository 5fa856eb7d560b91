"""The admission server's process: sockets, gunicorn, TLS, readiness, and an end that loses nothing."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from webhook.errors import BadConfig
from webhook.metrics import Metrics, rendered, watch_requests
from webhook.service import Server, host_of, port_of
from webhook.serving.logging_ import ServerLog, flush, log, take_over
from webhook.serving.probes import Check, Probes, start
from webhook.serving.tls import Certificates
from webhook.serving.worker import Worker

BACKLOG = 1024
CONNECTIONS = 800
"""Above the 25 idle connections that an API server keeps, and below the 1024 files that a process often may open."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What the worker tells the application about the request at hand (see app.Parts)."""

    overloaded: Callable[[], bool]
    waited: Callable[[], float]


Wsgi: TypeAlias = Callable[..., Any]
MakeApp: TypeAlias = Callable[[Gates], tuple[Wsgi, Mapping[str, Check]]]
"""Called once in the worker process: the application, and what must hold beside the server's own for it to be ready."""


def serve(server: Server, make_app: MakeApp, certificates: Certificates, metrics: Metrics) -> NoReturn:
    """Serve until SIGTERM. Raises BadConfig where a port cannot be had."""
    take_over()
    listener, probes = _listen("listen", server.listen), _listen("probes", server.probes)
    Application(server, make_app, certificates, metrics, (listener, probes)).run()
    raise SystemExit(0)


def _listen(key: str, where: str) -> socket.socket:
    """A socket that listens. Bound here and not by gunicorn, which tries for five seconds and says little."""
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(
            host_of(where), port_of(where), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise BadConfig(f"server.{key}: cannot listen on {where}: {_said(error)}") from error


def _said(error: OSError) -> str:
    """An error without Python's own remarks on it; name resolution has numbers of its own, below 0."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)


class Application(BaseApplication):
    """gunicorn's view of us: its settings, and the WSGI application made in the worker."""

    def __init__(
        self,
        server: Server,
        make_app: MakeApp,
        certificates: Certificates,
        metrics: Metrics,
        sockets: tuple[socket.socket, socket.socket],
    ) -> None:
        self._server = server
        self._make_app = make_app
        self._certificates = certificates
        self._metrics = metrics
        self._probes = sockets[1]
        self._addresses = [_shown(sock) for sock in sockets]
        self._listener = sockets[0].detach()
        self.context = certificates.context
        super().__init__()

    def load_config(self) -> None:
        for key, value in _gunicorn(self._server, self._listener).items():
            self.cfg.set(key, value)

    def open(self, worker: Worker) -> Wsgi:
        """In the worker, before its main loop begins."""
        limit = self._server.max_in_flight
        app, checks = self._make_app(Gates(lambda: worker.in_flight() > limit, worker.waited))
        watch_requests(self._metrics, worker.in_flight)
        own: dict[str, Check] = {
            "listener": worker.is_listening,
            "certificate": self._certificates.is_valid,
            "not draining": lambda: not worker.draining and worker.alive,
        }
        start(Probes(self._probes, {**own, **checks}, self._rendered))
        listen, probes = self._addresses
        began = {"listen": listen, "probes": probes, "index": "index" in checks, "pid": os.getppid()}
        log({"event": "serving", "level": "info", **began})
        return app

    def _rendered(self) -> bytes:
        """The metrics, with all that has been answered until now."""
        flush()
        return rendered(self._metrics)

    def tick(self) -> None:
        self._certificates.refresh()

    def count_cut(self, phase: str) -> None:
        self._metrics.cut.labels(phase).inc()

    def run(self) -> None:
        DrainingArbiter(self, self._server.drain_seconds).run()


def _shown(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _gunicorn(server: Server, listener: int) -> dict[str, object]:
    settings: dict[str, object] = {
        "bind": f"fd://{listener}",
        "worker_class": Worker,
        "workers": 1,
        "threads": server.threads,
        "keepalive": server.keepalive_seconds,
        "graceful_timeout": server.grace_seconds,
        "timeout": 30,
        "backlog": BACKLOG,
        "worker_connections": CONNECTIONS,
        "control_socket_disable": True,
        "http_protocols": "h1",
        "limit_request_line": 512,
        "limit_request_fields": 32,
        "limit_request_field_size": 4096,
        "header_map": "refuse",
        "forwarded_allow_ips": "",
        "accesslog": None,
        "loglevel": "warning",
        "logger_class": ServerLog,
        "proc_name": "gangcheck",
    }
    if os.access("/dev/shm", os.W_OK):  # noqa: S108 - gunicorn's heartbeat; elsewhere a disk may delay it
        settings["worker_tmp_dir"] = "/dev/shm"  # noqa: S108 - as above
    return settings


class DrainingArbiter(Arbiter):
    """gunicorn's parent process, with a time between SIGTERM and the end.

    Kubernetes takes a Pod out of its Service and sends it SIGTERM at the same time, and the API server goes on using
    the connections that it has (kubernetes issue 127335). So at first the worker only becomes unready and closes
    every connection behind its answer; the listener goes when all have had time to hear of it.
    """

    def __init__(self, app: Application, seconds: float) -> None:
        super().__init__(app)
        self._drain_seconds = seconds

    def handle_term(self) -> NoReturn:
        self.kill_workers(signal.SIGWINCH)  # before the line: who reads stderr may stall
        log({"event": "draining", "level": "info", "seconds": self._drain_seconds})
        until = time.monotonic() + self._drain_seconds
        hurry = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
        while (left := until - time.monotonic()) > 0:
            if hurry.intersection(self.wait_for_signals(timeout=left)):
                break
        raise StopIteration
