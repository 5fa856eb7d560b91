"""An API server played over real HTTP: lists in pages, watches, bookmarks, and every way in which they can fail."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from webhook.model import GROUP_LABEL

PODS = "/api/v1/pods"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
Object = dict[str, Any]


class Asked(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


class Event(NamedTuple):
    version: int
    path: str
    kind: str
    body: Object


def pod(name: str, group: str | None = "g", *, namespace: str = "default", phase: str = "Pending") -> Object:
    labels = {} if group is None else {GROUP_LABEL: group}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/ml/torch:2.4"}]},
        "status": {"phase": phase},
    }


def pod_group(name: str, *, namespace: str = "default", members: int = 2) -> Object:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "managedFields": [{"manager": "x"}]},
        "spec": {"minMember": members},
    }


@dataclass(slots=True)
class FakeApi:
    """The server's state, and the knobs. All of it is changed under `changed`, which wakes the watches."""

    url: str = ""
    objects: dict[str, dict[tuple[str, str], Object]] = field(default_factory=lambda: {PODS: {}, GROUPS: {}})
    others: dict[str, Object] = field(default_factory=dict)
    history: list[Event] = field(default_factory=list)
    version: int = 100
    oldest: int = 0
    tokens: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    refuse: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    page: int = 500
    bookmarks: float = 0.05
    silent: bool = False
    cut_at: int = -1
    after_page: Any = None
    epoch: int = 0
    ahead: float = 0
    asked: list[Asked] = field(default_factory=list)
    watching: Counter[str] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, thing: Object) -> None:
        """Creates or changes an object; one that the watch's selectors leave out is gone to it."""
        path = PODS if thing["kind"] == "Pod" else GROUPS
        key = thing["metadata"]["namespace"], thing["metadata"]["name"]
        with self.changed:
            was = self.objects[path].get(key)
            self.version += 1
            thing["metadata"]["resourceVersion"] = str(self.version)
            self.objects[path][key] = thing
            before, now = was is not None and _selected(was), _selected(thing)
            if before or now:
                kind = ("MODIFIED" if now else "DELETED") if before else "ADDED"
                # What leaves the selection is shown as it last was in it (apiserver cache_watcher.go).
                old = {**(was or {}), "metadata": {**(was or thing)["metadata"], "resourceVersion": str(self.version)}}
                self.history.append(Event(self.version, path, kind, thing if now else old))
            self.changed.notify_all()

    def delete(self, thing: Object) -> None:
        path = PODS if thing["kind"] == "Pod" else GROUPS
        with self.changed:
            was = self.objects[path].pop((thing["metadata"]["namespace"], thing["metadata"]["name"]), None)
            self.version += 1
            if was is not None and _selected(was):
                gone = {**was, "metadata": {**was["metadata"], "resourceVersion": str(self.version)}}
                self.history.append(Event(self.version, path, "DELETED", gone))
            self.changed.notify_all()

    def compact(self) -> None:
        """Forgets the history, and ends the watches with it: whoever comes back is told 410."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.changed.notify_all()
        self.end_watches()

    def end_watches(self) -> None:
        with self.changed:
            self.epoch += 1
            self.changed.notify_all()

    def set(self, **knobs: Any) -> None:  # noqa: ANN401 - any field
        with self.changed:
            for name, value in knobs.items():
                setattr(self, name, value)
            self.changed.notify_all()

    def truth(self) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
        """Members by gang, and minMember by PodGroup, as a list would show them."""
        with self.changed:
            pods = [thing for thing in self.objects[PODS].values() if _selected(thing)]
            members = Counter((p["metadata"]["namespace"], p["metadata"]["labels"][GROUP_LABEL]) for p in pods)
            groups = {} if GROUPS in self.absent else self.objects[GROUPS]
            return dict(members), {key: group["spec"]["minMember"] for key, group in groups.items()}

    def asks(self, path: str, *, watch: bool = False) -> list[Asked]:
        with self.changed:
            return [one for one in self.asked if one.path == path and ("watch" in one.query) == watch]


def _selected(thing: Object) -> bool:
    if thing["kind"] != "Pod":
        return True
    return GROUP_LABEL in thing["metadata"]["labels"] and thing["status"]["phase"] not in {"Succeeded", "Failed"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeApi

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        epoch = self.fake.epoch  # before all else: what ends watches from here on ends this one too
        path, query = self._note(None)
        if self._refused(path):
            return
        if path in self.fake.objects and path not in self.fake.absent:
            if "watch" in query:
                self._watch(path, query, epoch)
            else:
                self._list(path, query)
        elif path in self.fake.others:
            self._answer(200, self.fake.others[path])
        else:
            self._status(404, "the server could not find the requested resource")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, _ = self._note(body)
        if self._refused(path):
            return
        made = f"{path}/{body['metadata']['name']}"
        if made in self.fake.others:
            self._status(409, f"{body['metadata']['name']} already exists")
            return
        self.fake.others[made] = body
        self._answer(201, body)

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, _ = self._note(body)
        if self._refused(path):
            return
        with self.fake.changed:
            stored = self.fake.others.get(path)
            if stored is None:
                self._status(404, "not found")
                return
            if stored["metadata"].get("resourceVersion") != body["metadata"].get("resourceVersion"):
                self._status(409, "the object has been modified; please apply your changes to the latest version")
                return
            self.fake.version += 1
            body["metadata"]["resourceVersion"] = str(self.fake.version)
            self.fake.others[path] = body
        self._answer(200, body)

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The Date header: the API server's own clock."""
        return super().date_time_string((time.time() if timestamp is None else timestamp) + self.fake.ahead)

    def _note(self, body: object) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        with self.fake.changed:
            self.fake.asked.append(Asked(self.command, parts.path, query, dict(self.headers.items()), body))
        return parts.path, query

    def _refused(self, path: str) -> bool:
        token = self.headers.get("authorization", "").partition(" ")[2].strip()
        if self.fake.tokens and token not in self.fake.tokens:
            self._status(401, "Unauthorized")
            return True
        with self.fake.changed:
            planned = self.fake.refuse.get(path)
            status, headers = planned.pop(0) if planned else (0, {})
        if status:
            self._status(status, f"planned {status}", headers)
        return bool(status)

    def _status(self, code: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._answer(code, {"kind": "Status", "code": code, "message": message}, headers)

    def _answer(self, code: int, body: Object, headers: Mapping[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _list(self, path: str, query: Mapping[str, str]) -> None:
        fake = self.fake
        with fake.changed:
            start, version = json.loads(query["continue"]) if "continue" in query else (0, fake.version)
            if version < fake.oldest:
                self._status(410, "The provided continue parameter is too old")
                return
            # Objects are held as they were at `version` by the tests: they change none between two pages but to
            # make the token expire.
            found = [self._shown(path, thing) for thing in fake.objects[path].values() if _selected(thing)]
            items = found[start : start + min(fake.page, int(query["limit"]))]
            more = start + len(items) < len(found)
            metadata = {"resourceVersion": str(version)}
            if more:
                metadata["continue"] = json.dumps([start + len(items), version])
            kind, api = ("PodGroupList", "scheduling.x-k8s.io/v1alpha1") if path == GROUPS else ("PodList", "v1")
            hook = fake.after_page
        self._answer(200, {"kind": kind, "apiVersion": api, "metadata": metadata, "items": items})
        if hook:
            hook()

    def _shown(self, path: str, thing: Object) -> Object:
        if "as=PartialObjectMetadata" in self.headers["Accept"]:
            return {"metadata": thing["metadata"]}
        # The real one's lists of custom resources say what each item is; the linter's reader copes with both.
        return {key: value for key, value in thing.items() if path == PODS or key not in {"apiVersion", "kind"}}

    def _watch(self, path: str, query: Mapping[str, str], epoch: int) -> None:
        fake, at = self.fake, int(query["resourceVersion"])
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with fake.changed:
            fake.watching[path] += 1
        try:
            self._stream(path, at, epoch)
        except OSError:
            self.close_connection = True
        finally:
            with fake.changed:
                fake.watching[path] -= 1

    def _stream(self, path: str, at: int, epoch: int) -> None:
        fake = self.fake
        if at < fake.oldest:
            self._send({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}})
            self._end()
            return
        last = time.monotonic()
        while True:
            with fake.changed:
                fake.changed.wait(0.01)
                if fake.epoch != epoch:
                    break
                if fake.silent:
                    continue
                fresh = [event for event in fake.history if event.version > at]
                now = fake.version
                cut_at = fake.cut_at
            for event in fresh:
                at = event.version
                if event.path != path:
                    continue
                line = {"type": event.kind, "object": self._seen(event.body)}
                if 0 <= cut_at <= at:
                    fake.set(cut_at=-1)
                    self._cut(line)
                    return
                self._send(line)
                last = time.monotonic()
            if fake.bookmarks and time.monotonic() - last > fake.bookmarks:
                at = max(at, now)
                self._send({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(now)}}})
                last = time.monotonic()
        self._end()

    def _seen(self, body: Object) -> Object:
        return {"metadata": body["metadata"]} if "as=PartialObjectMetadata" in self.headers["Accept"] else body

    def _send(self, event: Object) -> None:
        raw = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    def _cut(self, event: Object) -> None:
        raw = json.dumps(event).encode()
        half = raw[: len(raw) // 2]
        self.wfile.write(f"{len(half):x}\r\n".encode() + half + b"\r\n")
        self.wfile.flush()
        self.close_connection = True

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


class _Server(ThreadingHTTPServer):
    """Closes its connections at the end too, as a server does whose process is gone."""

    daemon_threads = True

    def __init__(self, handler: type[_Handler], port: int) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's own
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - socketserver's own
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        """Clients that go away in the middle are what the tests are about."""

    def hang_up(self) -> None:
        for connection in tuple(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(fake: FakeApi, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[FakeApi]:
    """Answers on loopback, on a free port where none is given; at the end its watches end too."""
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = _Server(handler, port)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    fake.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        fake.end_watches()
        server.hang_up()
        server.server_close()
        thread.join()


def kubeconfig(folder: Path, url: str, **user: str) -> str:
    """A kubeconfig file for that server."""
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


def wait_for(condition: Callable[[], object], seconds: float = 5) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"not within {seconds} s: {condition}"
        time.sleep(0.005)
