"""A scheduler extender, as small as one can be: it speaks the protocol of HAMi's, and keeps what it was asked.

kubernetes v1.35.4 staging/src/k8s.io/kube-scheduler/extender/v1/types.go. It lets every Node through and binds as
HAMi's does, by itself, however long that takes: kube-scheduler's patience is what the tests are about.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from apiserver import ControlPlane, Object, path_of, request


@dataclass(slots=True)
class Extender:
    """`port` on loopback; `calls` are (verb, arguments) in the order in which they came; `slow` holds back a bind."""

    port: int
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    slow: float = 0.0

    def verbs(self) -> set[str]:
        return {verb for verb, _ in self.calls}

    def entry(self, **fields: object) -> dict[str, Any]:
        """How a scheduler's configuration names it, as HAMi's chart does; None takes a field away."""
        entry: dict[str, Any] = {
            "urlPrefix": f"http://127.0.0.1:{self.port}",
            "filterVerb": "filter",
            "bindVerb": "bind",
            "nodeCacheCapable": True,
            "weight": 1,
            "httpTimeout": "30s",
            "managedResources": [
                {"name": name, "ignoredByScheduler": True} for name in ("nvidia.com/gpu", "nvidia.com/gpumem")
            ],
        }
        return {key: value for key, value in (entry | fields).items() if value is not None}


@contextmanager
def extending(control: ControlPlane) -> Iterator[Extender]:
    """An extender that answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 20

        def do_POST(self) -> None:
            arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            verb = self.path.strip("/")
            extender.calls.append((verb, arguments))
            answer = _filtered(arguments) if verb == "filter" else _bound(control, arguments, extender.slow)
            body = json.dumps(answer).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()
            except OSError:
                self.close_connection = True  # kube-scheduler has given up on this call

        def log_message(self, *said: object) -> None:
            """The calls are the log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        extender = Extender(server.server_port)
        thread = threading.Thread(target=server.serve_forever, name="extender", kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield extender
        finally:
            server.shutdown()
            thread.join()


def _filtered(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"nodeNames": arguments.get("NodeNames"), "nodes": arguments.get("Nodes"), "error": ""}


def _bound(control: ControlPlane, arguments: dict[str, Any], slow: float) -> dict[str, Any]:
    time.sleep(slow)
    name, namespace = arguments["PodName"], arguments["PodNamespace"]
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
    target = {"apiVersion": "v1", "kind": "Node", "name": arguments["Node"]}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": pod["metadata"], "target": target}
    answer = request(control, "POST", path_of(pod, subresource="binding"), binding)
    return {"error": "" if answer.ok else answer.message}
