"""`gangcheck serve --certs managed` as a process, and `external`, against an API server played over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from fake_apiserver import FakeApi, kubeconfig, serving
from prometheus_client.parser import text_string_to_metric_families
from shelf import MUTATING, SECRET, VALIDATING, configuration, empty_secret

from certs.authority import issue_authority, issue_leaf
from certs.bundles import bundles
from certs.ring import read_secret

ROOT = Path(__file__).parents[1]
HOOKS = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    SECRET: "/api/v1/namespaces/ours/secrets/gangcheck-ca",
    MUTATING: f"{HOOKS}/mutatingwebhookconfigurations/zz-gangcheck",
    VALIDATING: f"{HOOKS}/validatingwebhookconfigurations/gangcheck",
}
DAY = timedelta(days=1)


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with serving(FakeApi()) as started:
        put(started, SECRET, empty_secret())
        put(started, MUTATING, configuration(MUTATING))
        put(started, VALIDATING, configuration(VALIDATING))
        yield started


def put(fake: FakeApi, kind: str, body: dict[str, Any]) -> None:
    with fake.changed:
        fake.version += 1
        version = {"resourceVersion": str(fake.version)}
        fake.others[PATHS[kind]] = {**body, "metadata": {**body["metadata"], **version}}


@dataclass(frozen=True, slots=True)
class Running:
    process: subprocess.Popen[bytes]
    log: Path
    port: int
    probes: int

    def ask(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.probes, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        families = text_string_to_metric_families(self.ask("/metrics")[1])
        return sum(each.value for family in families for each in family.samples if each.name == f"gangcheck_{name}")

    def messages(self) -> list[str]:
        lines = map(json.loads, self.log.read_text("utf-8").splitlines())
        return [str(line["message"]) for line in lines if line["event"] == "message"]


@contextmanager
def running(folder: Path, fake: FakeApi, *options: str) -> Iterator[Running]:
    log = folder / "log.jsonl"
    command = [sys.executable, "-m", "webhook", "serve", "--kubeconfig", kubeconfig(folder, fake.url)]
    command += ["--listen", "127.0.0.1:0", "--probes", "127.0.0.1:0", "--drain-seconds", "0", *options]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=output, cwd=ROOT)
    try:
        until(lambda: b'"serving"' in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text("utf-8")
        [told] = [line for line in map(json.loads, log.read_text("utf-8").splitlines()) if line["event"] == "serving"]
        yield Running(process, log, *(int(told[key].rpartition(":")[2]) for key in ("listen", "probes")))
    finally:
        process.terminate()
        process.wait(30)


MANAGED = ("--no-index", "--certs", "managed", "--namespace", "ours", "--certs-poll-seconds", "1")


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it did not come true in time"
        time.sleep(0.02)


def trusted(fake: FakeApi, kind: str) -> str:
    """The first caBundle of a configuration, PEM."""
    client = fake.others[PATHS[kind]]["webhooks"][0]["clientConfig"]
    return base64.b64decode(client.get("caBundle", "")).decode()


def shown(server: Running, bundle: str, name: str = "gangcheck.ours.svc") -> x509.Certificate:
    """The leaf that the API server would be shown, checked as it would."""
    context = ssl.create_default_context(cadata=bundle)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        return x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"")


def denied(server: Running, bundle: str) -> bool:
    """Whether a review gets its verdict."""
    [file] = (ROOT / "tests" / "reviews").glob("R136-*.yaml")
    review = json.dumps(yaml.safe_load(file.read_text("utf-8")))
    context = ssl.create_default_context(cadata=bundle)
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    try:
        connection.request("POST", "/validate?timeout=3s", review, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())["response"]["allowed"] is False
    finally:
        connection.close()


def test_managed_server_makes_itself_trusted(fake: FakeApi, tmp_path: Path) -> None:
    with running(tmp_path, fake, *MANAGED, "--tls-name", "127.0.0.1") as server:
        until(lambda: server.ask("/readyz")[0] == http.client.OK)
        bundle = trusted(fake, MUTATING)
        assert bundle == trusted(fake, VALIDATING)
        leaf = shown(server, bundle)
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [
            "gangcheck",
            "gangcheck.ours",
            "gangcheck.ours.svc",
            "gangcheck.ours.svc.cluster.local",
        ]
        assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
        assert denied(server, bundle)
        [authority] = read_secret(fake.others[PATHS[SECRET]]).ring
        assert server.metric("certificate_expiry_timestamp_seconds") == leaf.not_valid_after_utc.timestamp()
        assert server.metric("ca_expiry_timestamp_seconds") == authority.expires.timestamp()
        assert server.metric("ca_bundle_losses_total") == 0
        assert "trusted: ok\n" in server.ask("/readyz")[1]

        put(fake, VALIDATING, configuration(VALIDATING))
        put(fake, SECRET, empty_secret())
        until(lambda: trusted(fake, VALIDATING) == bundle)
        until(lambda: [each.key for each in read_secret(fake.others[PATHS[SECRET]]).ring] == [authority.key])
        until(lambda: server.metric("ca_bundle_losses_total") == 1)
        assert shown(server, bundle) == leaf
    assert server.process.returncode == 0


def test_managed_server_waits_for_the_api_server(fake: FakeApi, tmp_path: Path) -> None:
    """Alive, not ready, and without a certificate: who calls is hung up on, and told nothing wrong."""
    fake.refuse = {PATHS[SECRET]: [(503, {})] * 1000}
    with running(tmp_path, fake, *MANAGED) as server:
        until(lambda: any("API server: 503" in line for line in server.messages()))
        status, text = server.ask("/readyz")
        assert status == http.client.SERVICE_UNAVAILABLE
        assert "certificate: no\n" in text
        assert "trusted: no\n" in text
        assert server.ask("/healthz")[0] == http.client.OK
        with pytest.raises(OSError, match=r"EOF|reset"):
            ssl.get_server_certificate(("127.0.0.1", server.port), timeout=5)
        fake.refuse = {}
        until(lambda: server.ask("/readyz")[0] == http.client.OK)
        assert denied(server, trusted(fake, MUTATING))
    assert sum("API server: 503" in line for line in server.messages()) == 1


def test_managed_server_beside_an_index(fake: FakeApi, tmp_path: Path) -> None:
    options = [option for option in MANAGED if option != "--no-index"]
    with running(tmp_path, fake, *options) as server:
        until(lambda: server.ask("/readyz")[0] == http.client.OK)
        assert "index: ok\n" in server.ask("/readyz")[1]


def test_leaf_is_renewed_while_it_serves(fake: FakeApi, tmp_path: Path) -> None:
    lives = ("--leaf-seconds", "10", "--ca-seconds", "60", "--propagation-seconds", "1")
    with running(tmp_path, fake, *MANAGED, *lives) as server:
        until(lambda: server.ask("/readyz")[0] == http.client.OK)
        bundle = trusted(fake, MUTATING)
        first = shown(server, bundle)
        until(lambda: shown(server, bundle) != first)
        assert denied(server, bundle)
    events = [json.loads(line) for line in server.log.read_text("utf-8").splitlines()]
    assert [line for line in events if line["level"] in {"warning", "error"}] == []


def test_external_certificate_is_left_alone(fake: FakeApi, tmp_path: Path) -> None:
    """It is served as it is, nothing is written, and that nobody trusts it is said."""
    now = datetime.now(UTC)
    authority, other = issue_authority("cert-manager", DAY, now), issue_authority("another", DAY, now)
    pair = issue_leaf(authority, ["localhost"], ["127.0.0.1"], DAY, now)
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (tmp_path / name).write_bytes(content)
    put(fake, MUTATING, configuration(MUTATING, authority.certificate))
    put(fake, VALIDATING, configuration(VALIDATING, other.certificate))
    files = ("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key"))
    with running(tmp_path, fake, "--certs", "external", "--namespace", "ours", *files) as server:
        until(lambda: server.ask("/readyz")[0] == http.client.OK)
        assert denied(server, authority.certificate.decode())
        until(server.messages)
        until(lambda: any("does not trust" in line for line in server.messages()))
    assert (
        "ValidatingWebhookConfiguration gangcheck: caBundle does not trust the certificate that is served: "
        "pods.enforce, pods.warn"
    ) in server.messages()
    assert not [line for line in server.messages() if "Mutating" in line]
    assert {one.method for one in fake.asked} == {"GET"}
    assert not fake.asks(PATHS[SECRET])
    [held] = bundles(fake.others[PATHS[MUTATING]])
    assert len(held.held) == 1
