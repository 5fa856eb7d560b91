"""What a review costs, as ratios within this run: `python tests/bench/serving.py [--reviews 100000]`.

Handlers are timed without HTTP, against json.loads of the same body. Over TLS with kept connections the same process
answers a constant at /floor: the same gunicorn, TLS and Flask, so what is above it is ours. Then the worker's memory
with and without 10,000 members in the index, and its growth over many reviews. Clients run in this process, on the
other core; machines differ, so read the ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fake_apiserver import PODS, FakeApi, kubeconfig, pod, serving
from flask import Flask, Response, request

from webhook.admission import decode, encode
from webhook.app import LARGEST
from webhook.assembly import make_app, pairs
from webhook.codec import dumps
from webhook.config import Config
from webhook.doors import entries
from webhook.metrics import metrics
from webhook.rules import all_rules
from webhook.service import Server
from webhook.serving import Gates, Wsgi, serve
from webhook.serving.logging_ import log
from webhook.serving.probes import Check
from webhook.serving.tls import Certificates

ROUNDS = 2000
SECONDS, TURNS = 0.2, 40
CLIENTS = (1, 8, 32)
FLOOR = "/floor"
PATHS = (FLOOR, "/validate", "/mutate")


def template(containers: int) -> dict[str, Any]:
    """A Pod's metadata and spec as the API server sends them: defaulted, with managedFields."""
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "16384"}
    made = [
        {
            "name": f"c{number}",
            "image": "registry.example.com/ml/torch:2.4-cuda12",
            "command": ["torchrun", "--nnodes=4", "train.py"],
            "env": [{"name": f"SETTING_{each}", "value": f"value-{each}"} for each in range(6)],
            "resources": {"limits": limits, "requests": limits} if number == 0 else {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
            "volumeMounts": [
                {"name": "token", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
            ],
        }
        for number in range(containers)
    ]
    fields = {f'k:{{"name":"c{number}"}}': {".": {}, "f:image": {}, "f:env": {}} for number in range(containers)}
    return {
        "metadata": {
            "name": "w-0",
            "namespace": "team-a",
            "labels": {"scheduling.x-k8s.io/pod-group": "gang", "app": "train"},
            "managedFields": [
                {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:containers": fields}}}
            ],
        },
        "spec": {
            "schedulerName": "hami-scheduler",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "enableServiceLinks": True,
            "containers": made,
            "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": []}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        },
    }


def review(group: str, kind: str, resource: str, content: Mapping[str, Any]) -> bytes:
    version = "v1"
    api = f"{group}/{version}" if group else version
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "name": "w-0",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
        "object": {"apiVersion": api, "kind": kind, **content},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": asked}).encode()


def torch_job() -> dict[str, Any]:
    inner = template(1)
    roles = {role: {"replicas": count, "template": inner} for role, count in (("Master", 1), ("Worker", 7))}
    return {"metadata": {"name": "w-0", "namespace": "team-a"}, "spec": {"pytorchReplicaSpecs": roles}}


BODIES = {
    "small Pod": review("", "Pod", "pods", template(1)),
    "20-container Pod": review("", "Pod", "pods", template(20)),
    "PyTorchJob": review("kubeflow.org", "PyTorchJob", "pytorchjobs", torch_job()),
}


def handlers() -> None:
    print("handlers, without HTTP (aim: p50 of /validate of the small Pod 8 x json.loads)")
    doors = entries(Config(), all_rules())
    for name, body in BODIES.items():
        parsing = timed(lambda body=body: json.loads(body))
        for path in ("/validate", "/mutate"):
            took = timed(lambda body=body, door=doors[path]: handle(body, door))
            print(
                f"  {name:16} {len(body) / 1000:5.1f} kB  {path:9}  p50 {took[0] * 1e6:6.0f} us = "
                f"{took[0] / parsing[0]:4.1f} x json.loads, p99 {took[1] * 1e6:6.0f} us"
            )


def handle(body: bytes, door: Callable[..., Any]) -> bytes:
    asked = decode(body)
    return dumps(encode(asked, door(asked)))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """p50 and p99, in seconds."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return percentiles(took[ROUNDS // 10 :])


def percentiles(took: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(took, n=100)
    return cuts[49], cuts[98]


def run_server(ca_out: str, config_file: str) -> None:
    """The server under test, in a process of its own, with a constant at /floor."""
    server = Server("127.0.0.1:0", "127.0.0.1:0", ca_out=ca_out, threads=8, drain_seconds=0)
    counted = metrics()
    api = None
    if config_file:
        from webhook.cluster import connect  # noqa: PLC0415 - a server without an index does not have it either

        api = connect(config_file)
    made = make_app(Config(server=server), all_rules(), counted, api)

    def with_floor(gates: Gates) -> tuple[Wsgi, Mapping[str, Check]]:
        app, checks = made(gates)
        assert isinstance(app, Flask)
        app.add_url_rule(FLOOR, "floor", constant, methods=["POST"])
        return app, checks

    serve(server, with_floor, Certificates(pairs(server), counted, log), counted)


def constant() -> Response:
    assert len(request.get_data(cache=False)) < LARGEST
    return Response('{"response":{"allowed":true}}', content_type="application/json")


class Running:
    def __init__(self, process: subprocess.Popen[bytes], port: int, probes: int, context: ssl.SSLContext) -> None:
        self.process, self.port, self.probes, self.context = process, port, probes, context

    def connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(plain, server_hostname="127.0.0.1")

    @property
    def worker(self) -> Path:
        pid = self.process.pid
        [worker] = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return Path("/proc", worker)

    def memory(self) -> float:
        """The worker's resident memory, in MB."""
        [line] = [line for line in (self.worker / "status").read_text("ascii").splitlines() if "VmRSS" in line]
        return int(line.split()[1]) / 1000

    def spent(self) -> float:
        """The processor's time that the worker has had, in seconds: it says the same on a busy machine."""
        return sum(int(part.read_text("ascii").split()[0]) for part in self.worker.glob("task/*/schedstat")) / 1e9

    def is_ready(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.probes)) as plain:
            plain.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            return b" 200 " in plain.recv(64)


@contextmanager
def running(config_file: str = "") -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as folder:
        ca, errors = Path(folder, "ca.pem"), Path(folder, "log")
        command = [sys.executable, __file__, "--serve", str(ca), "--kubeconfig", config_file]
        with errors.open("wb") as output:
            process = subprocess.Popen(command, stderr=output)
        try:
            while b'"serving"' not in errors.read_bytes():
                assert process.poll() is None, errors.read_text("utf-8")
                time.sleep(0.05)
            told = next(line for line in errors.read_text("utf-8").splitlines() if '"serving"' in line)
            ports = [int(json.loads(told)[key].rpartition(":")[2]) for key in ("listen", "probes")]
            server = Running(process, *ports, ssl.create_default_context(cafile=str(ca)))
            while not server.is_ready():
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()
            process.wait(20)


def call_of(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path}?timeout=3s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


def ask(secure: ssl.SSLSocket, call: bytes) -> None:
    secure.sendall(call)
    answer = secure.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    while b'"response":' not in answer:
        answer += secure.recv(65536)


def load(server: Running, path: str, body: bytes, clients: int, calls: int) -> None:
    """So many calls on so many kept connections."""
    call = call_of(path, body)

    def client() -> None:
        with server.connect() as secure:
            for _ in range(calls // clients):
                ask(secure, call)

    together(client, clients)


def together(work: Callable[[], None], clients: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Turn(NamedTuple):
    """Answers a second in one turn, the worker's own seconds for each, and what the clients waited for each."""

    rate: float
    own: float
    waits: list[float]


def over_tls() -> None:
    print("over TLS, small Pod, kept connections (aim: 85 % of the floor's throughput; at 32 clients p99 2 x its p99)")
    print(f"each the median of {TURNS} turns of {SECONDS:g} s, p50 and p99 over all of them")
    body = BODIES["small Pod"]
    with running() as server:
        for path in PATHS:
            load(server, path, body, 4, ROUNDS)
        for clients in CLIENTS:
            turns = measure(server, body, clients)
            floor = turns[FLOOR]
            for path, taken in turns.items():
                rate, own = (median_ratio(taken, floor, field) for field in ("rate", "own"))
                absolute = statistics.median(turn.rate for turn in taken)
                spent = statistics.median(turn.own for turn in taken)
                p50, p99 = waited(taken)
                least50, least99 = waited(floor)
                print(
                    f"  {clients:2} clients  {path:9} {absolute:6.0f}/s = {rate:4.0%}  "
                    f"worker {spent * 1e6:4.0f} us = {1 / own:4.0%}  "
                    f"p50 {p50 * 1e3:6.2f} ms = {p50 / least50:4.2f} x  "
                    f"p99 {p99 * 1e3:6.2f} ms = {p99 / least99:4.2f} x"
                )


def waited(taken: list[Turn]) -> tuple[float, float]:
    return percentiles([wait for turn in taken for wait in turn.waits])


def median_ratio(taken: list[Turn], floor: list[Turn], field: str) -> float:
    """Each turn against the floor's of the same round: what slows the machine slows both."""
    return statistics.median(
        getattr(turn, field) / getattr(least, field) for turn, least in zip(taken, floor, strict=True)
    )


def measure(server: Running, body: bytes, clients: int) -> dict[str, list[Turn]]:
    """Short turns on connections that are kept, in an order that changes: a machine's speed does while one looks."""
    turns: dict[str, list[Turn]] = {path: [] for path in PATHS}
    chance = random.Random(clients)
    plan = [path for _ in range(TURNS) for path in chance.sample(PATHS, len(PATHS))]
    calls = {path: call_of(path, body) for path in PATHS}
    waits: list[list[float]] = [[] for _ in range(clients)]
    turn = iter(plan)
    state = {"path": "", "began": 0.0, "spent": 0.0}

    def change() -> None:
        """Between turns, while every client stands at the barrier."""
        now, spent = time.perf_counter(), server.spent()
        if state["path"]:
            all_waits = [wait for each in waits for wait in each]
            rate = len(all_waits) / (now - float(state["began"]))
            own = (spent - float(state["spent"])) / len(all_waits)
            turns[str(state["path"])].append(Turn(rate, own, all_waits))
        for each in waits:
            each.clear()
        state.update(path=next(turn, ""), began=time.perf_counter(), spent=server.spent())

    barrier = threading.Barrier(clients, change)
    numbers = iter(range(clients))

    def client() -> None:
        mine = waits[next(numbers)]
        with server.connect() as secure:
            ask(secure, calls[FLOOR])
            barrier.wait()
            while state["path"]:
                call, ends = calls[str(state["path"])], float(state["began"]) + SECONDS
                while (began := time.perf_counter()) < ends:
                    ask(secure, call)
                    mine.append(time.perf_counter() - began)
                barrier.wait()

    together(client, clients)
    return turns


def memory(reviews: int) -> None:
    body = BODIES["small Pod"]
    with serving(FakeApi()) as fake, tempfile.TemporaryDirectory() as folder:
        file = str(kubeconfig(Path(folder), fake.url))
        with running(file) as server:
            load(server, "/validate", body, 8, ROUNDS)
            without = server.memory()
        fake.objects[PODS] = {("default", f"w-{i}"): pod(f"w-{i}", f"gang-{i // 8}") for i in range(10_000)}
        with running(file) as server:
            load(server, "/validate", body, 8, ROUNDS)
            full = server.memory()
            print(
                f"memory: {full:.0f} MB with 10,000 members = {full / without:.2f} x {without:.0f} MB without (aim 1.5)"
            )
            marks = [full]
            for _ in range(4):
                load(server, "/validate", body, 8, reviews // 4)
                marks.append(server.memory())
            print(f"growth over {reviews} reviews: {' -> '.join(f'{mark:.1f}' for mark in marks)} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reviews", type=int, default=20_000)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--kubeconfig", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        run_server(given.serve, given.kubeconfig)
    handlers()
    over_tls()
    memory(given.reviews)


if __name__ == "__main__":
    main()
