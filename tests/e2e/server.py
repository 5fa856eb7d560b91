"""The real `gangcheck serve` as a process on loopback, and its webhooks registered with the API server by URL."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver import Answer, ControlPlane, allow, as_user, create, delete, made, wait_for
from certificates import Pair, self_signed
from controlplane import free_ports, tail
from objects import GROUP, pod
from prometheus_client.parser import text_string_to_metric_families

from webhook.registration import Configuration, Options, Reach, configurations
from webhook.stack import Stack

USER = "gangcheck"
NEEDED = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    {"apiGroups": ["apps"], "resources": ["replicasets", "deployments", "statefulsets"], "verbs": ["get"]},
    {"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"], "verbs": ["get"]},
)
"""What the server's account may do, and no more: the index, Events, and whose an object is."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `log` holds its stderr, a JSON object a line."""

    url: str
    probes: int
    pair: Pair
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def ask(self, path: str) -> tuple[int, str]:
        """The status and text of a probe; 0 where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.probes, timeout=2)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.ask("/readyz")[0] == http.client.OK

    def count(self, name: str, **labels: str) -> int:
        """A counter's value, summed over the labels that are not given: count("gangcheck_reviews", kind="Pod")."""
        status, text = self.ask("/metrics")
        assert status == http.client.OK, status
        return sum(
            int(sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"{name}_total" and labels.items() <= sample.labels.items()
        )

    def reviews(self, namespace: str) -> list[dict[str, Any]]:
        """What the log says of reviews in a namespace, oldest first. Lines follow the answers by some milliseconds,
        so the log is read until it has come to rest."""
        text = ""
        while (now := self.log.read_text(encoding="utf-8")) != text:
            text = now
            time.sleep(0.15)
        lines = (json.loads(line) for line in text.splitlines() if line[:1] == "{")
        return [line for line in lines if line.get("event") == "review" and line.get("namespace") == namespace]

    def stop(self, how: signal.Signals = signal.SIGTERM, timeout: float = 20) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        """At once, its worker too: the two are a process group of their own."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It hangs: connections are taken by the kernel, and nobody answers."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)


def prepare(control: ControlPlane) -> ControlPlane:
    """The control plane as the server's own account sees it, with its rights. Once for a control plane."""
    allow(control, USER, NEEDED)
    return as_user(control, USER)


@contextmanager
def serving(
    control: ControlPlane,
    folder: Path,
    *options: str,
    ports: Sequence[int] = (),
    pair: Pair | None = None,
    ready: bool = True,
) -> Iterator[Server]:
    """A server that is ready, with a certificate from files; `control` is its account. Ended by its pid."""
    port, probes = ports or free_ports(2)
    pair = pair or self_signed(folder, f"serving-{port}")
    log = control.folder / "logs" / f"gangcheck-{port}.log"
    command = [sys.executable, "-m", "webhook", "serve"]
    command += ["--listen", f"127.0.0.1:{port}", "--probes", f"127.0.0.1:{probes}"]
    command += [
        "--tls-cert",
        str(pair.certificate),
        "--tls-key",
        str(pair.key),
        "--kubeconfig",
        str(control.kubeconfig),
    ]
    if "--drain-seconds" not in options:
        command += ["--drain-seconds", "0"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    server = Server(f"https://127.0.0.1:{port}", probes, pair, log, process)
    try:
        if ready:
            await_ready(server)
        yield server
    finally:
        server.stop()


def await_ready(server: Server, timeout: float = 30) -> None:
    ends = time.monotonic() + timeout
    while not server.is_ready():
        code = server.process.poll()
        if code is not None or time.monotonic() > ends:
            said = f"ended with {code}" if code is not None else f"is not ready: {server.ask('/readyz')}"
            raise AssertionError(f"gangcheck serve {said}\n{tail(server.log)}")
        time.sleep(0.05)


def registration(server: Server, **options: Any) -> tuple[Configuration, Configuration]:  # noqa: ANN401 - see Options
    """Both configurations of the product, with this server's URL. `options` are fields of Options."""
    reach = Reach(url=server.url, ca=server.pair.certificate.read_bytes())
    return configurations(Stack(injects_scheduler=True), Options(reach=reach, **options))


@contextmanager
def registered(control: ControlPlane, *both: Mapping[str, Any]) -> Iterator[None]:
    """The webhooks are effective inside, and gone behind."""
    things = [dict(each) for each in both]
    try:
        made(control, *things)
        wait_for(lambda: _denies(control) and _injects(control), what="both webhooks' effect", every=0.02)
        yield
    finally:
        for thing in things:
            delete(control, thing)
        wait_for(lambda: not _denies(control) and not _injects(control), what="the webhooks' end", every=0.02)


def _denies(control: ControlPlane) -> bool:
    wrong = pod("default", "probe", annotations={GROUP: "probe"})
    return not create(control, wrong, dryRun="All").ok


def _injects(control: ControlPlane) -> bool:
    answer = create(control, pod("default", "probe", limits={"nvidia.com/gpu": "1"}), dryRun="All")
    return "gangcheck.io/injected" in answer.body.get("metadata", {}).get("annotations", {})


def scheduler_of(answer: Answer) -> str:
    return str(answer.body.get("spec", {}).get("schedulerName", ""))
