"""What a review costs, as ratios within this run: `python tests/bench/serving.py [--reviews 100000]`.

Handlers are timed without HTTP, against json.loads of the same body. Over TLS with kept connections the same process
answers a constant at /floor: the same gunicorn, TLS and Flask, so what is above it is ours; and "gunicorn" is that
constant under gunicorn as it comes, without our worker. Then the worker's memory with and without 10,000 members in the
index, and its growth over many reviews. Clients run in this process, on the other core; machines differ, so read the
ratios.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fake_apiserver import PODS, FakeApi, kubeconfig, pod, serving
from flask import Flask
from load import SECONDS, TURNS, Entry, Running, Turn, load, measure, median_ratio
from plain import constant

from certs.authority import issue_authority, issue_leaf
from webhook.admission import decode, encode
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
CLIENTS = (1, 8, 32)
FLOOR = "/floor"


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
    print("handlers, without HTTP (aim: /validate of the small Pod 8 x json.loads; each ratio of neighbours in time)")
    doors = entries(Config(), all_rules())
    for name, body in BODIES.items():
        for path in ("/validate", "/mutate"):
            took = pairs_timed(partial(json.loads, body), partial(handle, body, doors[path]))
            ratio = statistics.median(ours / parsing for parsing, ours in took)
            p50, p99 = percentiles([ours for _, ours in took])
            print(
                f"  {name:16} {len(body) / 1000:5.1f} kB  {path:9}  {ratio:4.1f} x json.loads, "
                f"p50 {p50 * 1e6:6.0f} us, p99 {p99 * 1e6:6.0f} us"
            )


def handle(body: bytes, door: Callable[..., Any]) -> bytes:
    asked = decode(body)
    return dumps(encode(asked, door(asked)))


def pairs_timed(first: Callable[[], object], second: Callable[[], object]) -> list[tuple[float, float]]:
    """Seconds of each, one after the other, again and again: a machine's speed changes from second to second."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        first()
        between = time.perf_counter()
        second()
        took.append((between - began, time.perf_counter() - between))
    return took[ROUNDS // 10 :]


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


@contextmanager
def running(config_file: str = "") -> Iterator[Running]:
    """The server under test."""
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
            port, probes = (int(json.loads(told)[key].rpartition(":")[2]) for key in ("listen", "probes"))
            while not is_ready(probes):
                time.sleep(0.05)
            yield Running(process, port, ssl.create_default_context(cafile=str(ca)))
        finally:
            process.terminate()
            process.wait(20)


def is_ready(probes: int) -> bool:
    with socket.create_connection(("127.0.0.1", probes)) as plain:
        plain.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
        return b" 200 " in plain.recv(64)


@contextmanager
def as_it_comes() -> Iterator[Running]:
    """The same constant of Flask's under gunicorn's own threaded worker and TLS, with as many threads."""
    life, now = timedelta(days=1), datetime.now(UTC)
    authority = issue_authority("bench", life, now)
    leaf = issue_leaf(authority, (), ("127.0.0.1",), life, now)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        Path(folder, "ca.pem").write_bytes(authority.certificate)
        Path(folder, "leaf.pem").write_bytes(leaf.certificate + leaf.key)
        command = [sys.executable, "-m", "gunicorn", "--worker-class=gthread", "--threads=8", "--keep-alive=75"]
        command += ["--no-control-socket", f"--certfile={folder}/leaf.pem", f"--keyfile={folder}/leaf.pem"]
        command += [f"--bind=fd://{listener.fileno()}", f"--chdir={Path(__file__).parent}", "plain:app"]
        process = subprocess.Popen(command, pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)
        context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
        server = Running(process, listener.getsockname()[1], context)
        try:
            load(server, FLOOR, b"{}", 1, 1)  # which waits until it answers
            yield server
        finally:
            process.terminate()
            process.wait(20)


def over_tls() -> None:
    print("over TLS, small Pod, kept connections (aim: 85 % of the floor's throughput; at 32 clients p99 2 x its p99)")
    print(f"each the median of {TURNS} turns of {SECONDS:g} s, p50 and p99 over all of them")
    body = BODIES["small Pod"]
    with running() as server, as_it_comes() as plain:
        entries = [Entry(path, server, path) for path in (FLOOR, "/validate", "/mutate")]
        entries.append(Entry("gunicorn", plain, FLOOR))
        for entry in entries:
            load(entry.server, entry.path, body, 4, ROUNDS)
        for clients in CLIENTS:
            turns = measure(entries, body, clients)
            for name, taken in turns.items():
                print(f"  {clients:2} clients  {name:9} {compared(taken, turns[FLOOR])}")


def compared(taken: list[Turn], floor: list[Turn]) -> str:
    rate, own = (median_ratio(taken, floor, what) for what in ("rate", "own"))
    absolute, spent = (statistics.median(getattr(turn, what) for turn in taken) for what in ("rate", "own"))
    waits, least = (percentiles([wait for turn in each for wait in turn.waits]) for each in (taken, floor))
    return (
        f"{absolute:6.0f}/s = {rate:4.0%}  worker {spent * 1e6:4.0f} us = {1 / own:4.0%}  "
        f"p50 {waits[0] * 1e3:6.2f} ms = {waits[0] / least[0]:4.2f} x  "
        f"p99 {waits[1] * 1e3:6.2f} ms = {waits[1] / least[1]:4.2f} x"
    )


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
