"""Two replicas keep their certificates while everything rotates, and no call of the API server fails.

The clock is sped up by settings: a leaf lives for 20 s, an authority for 90 s. The replicas are real processes behind
a forwarder on loopback that stands for the Service; nobody but they touches the Secret and the caBundles.
"""

import base64
import contextlib
import hashlib
import itertools
import json
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from apiserver import ControlPlane, Object, allow, create, delete, found, kubectl, made, named, request, wait_for
from certificates import Pair
from controlplane import free_ports
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from objects import GROUP, SCHEDULER, pod
from prometheus_client.parser import text_string_to_metric_families
from server import NEEDED, USER, Server, await_ready, scheduler_of

from webhook.registration import Options, Reach, configurations
from webhook.stack import Stack

LEAF, AUTHORITY, PROPAGATION = 20, 90, 4
LIVES = ("--leaf-seconds", str(LEAF), "--ca-seconds", str(AUTHORITY), "--propagation-seconds", str(PROPAGATION))
GPU = {"nvidia.com/gpu": "1"}
USED = ("inject.gangcheck.io", "pods.enforce.gangcheck.io", "pods.warn.gangcheck.io")
LEAST = 1000
CLIENTS = 4

IN_MEMORY = Pair(Path("/nowhere"), Path("/nowhere"))


class Forwarder:
    """A Service, played: each new connection goes to the next replica, as kube-proxy spreads them."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._next = itertools.cycle(ports)
        self.taken: Counter[int] = Counter()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="forwarder", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            port = next(self._next)
            self.taken[port] += 1
            threading.Thread(target=_pass_on, args=(client, port), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # a blocked accept() does not notice a close
        self._listener.close()


def _pass_on(client: socket.socket, port: int) -> None:
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as replica:
        replica.settimeout(None)
        sinks = {client: replica, replica: client}
        while sinks:
            for source in select.select(list(sinks), [], [])[0]:
                data = source.recv(65536)
                if data:
                    sinks[source].sendall(data)
                else:
                    sinks.pop(source).shutdown(socket.SHUT_WR)


@contextmanager
def replica(control: ControlPlane, namespace: str, *options: str) -> Iterator[Server]:
    """`gangcheck serve --certs managed` as a process, not yet ready. Ended by its pid."""
    port, probes = free_ports(2)
    log = control.folder / "logs" / f"gangcheck-{port}.log"
    command = [sys.executable, "-m", "webhook", "serve", "--certs", "managed", "--namespace", namespace]
    command += ["--listen", f"127.0.0.1:{port}", "--probes", f"127.0.0.1:{probes}"]
    command += ["--kubeconfig", str(control.kubeconfig), "--certs-poll-seconds", "1", "--drain-seconds", "0"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *LIVES, *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    started = Server(f"https://127.0.0.1:{port}", probes, IN_MEMORY, log, process)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def home(control: ControlPlane) -> Iterator[str]:
    """A namespace with an empty Secret, and the rights that the manifests give, no more."""
    name = f"certs-{time.time_ns():x}"[:20]
    made(control, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    made(control, empty(name))
    allow(control, USER, NEEDED)
    secret = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["gangcheck-ca"]}
    hooks = {"apiGroups": ["admissionregistration.k8s.io"], "verbs": ["get", "update"]}
    mutating = {"resources": ["mutatingwebhookconfigurations"], "resourceNames": ["zz-gangcheck"]}
    validating = {"resources": ["validatingwebhookconfigurations"], "resourceNames": ["gangcheck"]}
    allow(control, USER, [{**secret, "verbs": ["get", "update"]}], name)
    allow(control, USER, [{**hooks, **mutating}, {**hooks, **validating}])
    yield name
    delete(control, named("v1", "Namespace", name))


def empty(namespace: str) -> Object:
    return {**named("v1", "Secret", "gangcheck-ca", namespace), "type": "Opaque"}


@contextmanager
def registered(control: ControlPlane, url: str) -> Iterator[tuple[Object, Object]]:
    """Both configurations, as shipped: without a caBundle, and with failurePolicy Ignore."""
    both = configurations(Stack(), Options(reach=Reach(url=url)))
    assert "caBundle" not in json.dumps(both)
    try:
        made(control, *both)
        yield both
    finally:
        for each in both:
            delete(control, each)


Installed = tuple[list[Server], Forwarder, tuple[Object, Object]]


@contextmanager
def installed(control: ControlPlane, account: ControlPlane, home: str) -> Iterator[Installed]:
    """Two replicas behind the forwarder, ready, and nothing done by anybody else."""
    with ExitStack() as stack:
        replicas = [stack.enter_context(replica(account, home)) for _ in range(2)]
        forwarder = Forwarder([each.port for each in replicas])
        stack.callback(forwarder.close)
        both = stack.enter_context(registered(control, f"https://127.0.0.1:{forwarder.port}"))
        for each in replicas:
            await_ready(each)
        wait_for(lambda: acts(control), what="both webhooks' effect", every=0.02)
        yield replicas, forwarder, both


def acts(control: ControlPlane) -> bool:
    wrong = create(control, pod("default", "probe", annotations={GROUP: "g"}, limits=GPU), dryRun="All")
    return (
        wrong.status == 403
        and scheduler_of(create(control, pod("default", "probe", limits=GPU), dryRun="All")) == SCHEDULER
    )


def bundles(control: ControlPlane, both: Sequence[Object]) -> list[str]:
    """Every caBundle of both configurations, PEM."""
    hooks = [hook for each in both for hook in found(control, each).get("webhooks", [])]
    return [base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode() for hook in hooks]


def calls(control: ControlPlane) -> tuple[Counter[str], Counter[str]]:
    """What the API server counts: calls by webhook, and those that failed and let the object through."""
    text = str(request(control, "GET", "/metrics").body["message"])
    requests: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "apiserver_admission_webhook_request_total":
                requests[sample.labels["name"]] += int(sample.value)
            elif sample.name == "apiserver_admission_webhook_fail_open_count_total":
                failed[sample.labels["name"]] += int(sample.value)
    return requests, failed


@dataclass(slots=True)
class Seen:
    """What came of the calls, and what the probes saw: serials of leaves, authorities in caBundles, handshakes."""

    answers: Counter[str] = field(default_factory=Counter)
    serials: set[int] = field(default_factory=set)
    issuers: set[str] = field(default_factory=set)
    trusted: dict[str, None] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    most: int = 0
    faults: list[str] = field(default_factory=list)


def client(control: ControlPlane, warns: str, number: int, seen: Seen, over: threading.Event) -> None:
    """Creates Pods on dry run; each must be refused, warned of, or injected by us."""
    while not over.is_set():
        refused = create(control, pod("default", f"a-{number}", annotations={GROUP: "g"}, limits=GPU), dryRun="All")
        seen.answers["refused" if refused.status == 403 else f"failed: {refused.status} {refused.message}"] += 1
        injected = create(control, pod("default", f"b-{number}", limits=GPU), dryRun="All")
        good = injected.ok and scheduler_of(injected) == SCHEDULER
        seen.answers["injected" if good else f"failed: {injected.status} {injected.message}"] += 1
        warned = create(control, pod(warns, f"c-{number}", annotations={GROUP: "g"}, limits=GPU), dryRun="All")
        good = warned.ok and any("pod-group-annotation" in warning for warning in warned.warnings)
        seen.answers["warned" if good else f"failed: {warned.status} {warned.message} {warned.warnings}"] += 1
        time.sleep(0.01)


def probe(
    control: ControlPlane, both: Sequence[Object], replicas: Sequence[Server], seen: Seen, over: threading.Event
) -> None:
    """New connections, several a second, by a client that trusts one caBundle at a time and checks everything."""
    for turn in itertools.count():
        if over.wait(0.2):
            return
        texts = bundles(control, both)
        sets = [{hashlib.sha256(der).hexdigest() for der in _each(text)} for text in texts]
        for fingerprint in sorted(set().union(*sets)):
            seen.trusted[fingerprint] = None
        seen.gone |= seen.trusted.keys() - set().union(*sets)
        seen.most = max(seen.most, *map(len, sets))
        context = ssl.create_default_context(cadata=texts[turn % len(texts)])
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        for each in replicas:
            try:
                with (
                    socket.create_connection(("127.0.0.1", each.port), 5) as plain,
                    context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
                ):
                    leaf = x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"")
            except OSError as error:
                seen.faults.append(f"{each.port}: {error}")
                continue
            seen.serials.add(leaf.serial_number)
            seen.issuers.add(leaf.issuer.rfc4514_string())


def _each(text: str) -> Iterator[bytes]:
    for certificate in x509.load_pem_x509_certificates(text.encode()):
        yield certificate.public_bytes(Encoding.DER)


def status(control: ControlPlane, home: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webhook", "certs", "status", "--kubeconfig", str(control.kubeconfig)]
    lives = ("--namespace", home, *LIVES)
    return subprocess.run([*command, *lives, *options], capture_output=True, text=True, check=False, timeout=60)


@contextmanager
def warned_namespace(control: ControlPlane) -> Iterator[str]:
    """A namespace of mode warn, whose Pods go by entries of their own."""
    name = f"warn-{time.time_ns():x}"[:20]
    labels = {"gangcheck.io/mode": "warn"}
    made(control, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    account = named("v1", "ServiceAccount", "default", name)
    wait_for(lambda: found(control, account), what="the namespace's ServiceAccount")
    yield name
    delete(control, named("v1", "Namespace", name))


@pytest.mark.e2e_slow
def test_leaf_and_authority_rotate_and_no_call_fails(
    control: ControlPlane, server_account: ControlPlane, home: str
) -> None:
    """Until the second authority signs and the first is gone from every caBundle."""
    seen, over = Seen(), threading.Event()
    with (
        warned_namespace(control) as warns,
        installed(control, server_account, home) as (replicas, forwarder, both),
        ExitStack() as stack,
    ):
        before, failed_before = calls(control)
        threads = [threading.Thread(target=client, args=(control, warns, n, seen, over)) for n in range(CLIENTS)]
        threads.append(threading.Thread(target=probe, args=(control, both, replicas, seen, over)))
        for thread in threads:
            thread.start()
        stack.callback(join, threads)
        stack.callback(over.set)
        wait_for(lambda: seen.most == 2, AUTHORITY, what="the next authority in a caBundle", every=0.5)
        overlap = status(control, home, *(part for each in replicas for part in ("--url", each.url)))
        wait_for(lambda: len(seen.issuers) >= 2 and seen.gone, 2 * AUTHORITY, what="a whole rotation", every=0.5)
        wait_for(lambda: min(seen.answers[each] for each in ("refused", "injected", "warned")) >= LEAST, 300, every=0.5)
        over.set()
        join(threads)
        after, failed_after = calls(control)
        end = status(control, home, "--format", "json")
        said = [line for each in replicas for line in lines(each) if line["event"] != "review"]
    made_calls = {name: after[name] - before[name] for name in USED}
    sys.stdout.write(
        f"calls {made_calls}, connections {dict(forwarder.taken)}, leaves {len(seen.serials)}, "
        f"authorities that signed {len(seen.issuers)}, that were trusted {len(seen.trusted)}\n{overlap.stdout}"
    )
    assert seen.answers.keys() == {"refused", "injected", "warned"}, seen.answers
    assert seen.faults == []
    assert failed_after - failed_before == Counter()
    assert min(made_calls.values()) >= LEAST
    assert min(forwarder.taken[each.port] for each in replicas) > 0
    assert len(seen.serials) >= 3 * len(replicas)
    assert len(seen.issuers) >= 2
    assert overlap.returncode == 0, overlap.stdout
    assert "gangcheck-ca: 2 authorities" in overlap.stdout
    trusts = [line for line in overlap.stdout.splitlines() if line.startswith("  all: ")]
    assert [line.count(", ") for line in trusts] == [1, 1], overlap.stdout
    assert overlap.stdout.count("signed by") == len(replicas)
    assert (end.returncode, json.loads(end.stdout)["troubles"]) == (0, []), end.stdout
    assert [line for line in said if line["level"] in {"warning", "error"}] == []


@pytest.mark.e2e_slow
def test_commands_and_what_goes_missing(control: ControlPlane, server_account: ControlPlane, home: str) -> None:
    """The first authority by hand, a replica that serves by it, and what somebody empties or deletes."""
    assert status(server_account, home).returncode == 1
    with registered(control, "https://127.0.0.1:1") as both:
        done = certs(server_account, home, "issue")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        [first] = set(bundles(control, both))
        assert status(server_account, home).returncode == 0
        with replica(server_account, home) as one:
            await_ready(one)
            assert len(ssl.get_server_certificate(("127.0.0.1", one.port))) > 0
            overwrite(control, "")
            wait_for(lambda: set(bundles(control, both)) == {first}, what="the caBundle put back")
            assert any("1 of 12 do not trust us; our authority is put back" in told(line) for line in lines(one))
            wait_for(lambda: any("gangcheck: well again" in told(line) for line in lines(one)))
            foreign = control.ca_file.read_text(encoding="utf-8").strip()
            overwrite(control, foreign)
            merged = f"{foreign}\n{first}"
            wait_for(lambda: set(bundles(control, both)) == {first, merged}, what="the caBundle merged")
            assert any("1 of 12 do not trust us, last written by kubectl-patch" in told(line) for line in lines(one))
            secret = empty(home)
            before = found(control, secret)["data"]
            delete(control, secret)
            wait_for(lambda: any("gangcheck-ca: it is not there" in told(line) for line in lines(one)))
            assert one.is_ready()
            made(control, secret)
            wait_for(lambda: found(control, secret).get("data"), what="the Secret filled again")
            assert keys(found(control, secret)["data"]) == keys(before)
            done = certs(server_account, home, "rotate")
            assert done.returncode == 0, done.stderr
            most = foreign.count("BEGIN") + 2
            wait_for(lambda: sorted(text.count("BEGIN") for text in bundles(control, both)) == [2] * 12 + [most])
            assert one.is_ready()
    delete(control, empty(home))
    made(control, empty(home))


def overwrite(control: ControlPlane, text: str) -> None:
    """Gives the first entry of the validating configuration another caBundle, as a person would."""
    value = base64.b64encode(text.encode()).decode()
    change = json.dumps([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": value}])
    done = kubectl(control, "patch", "validatingwebhookconfiguration", "gangcheck", "--type=json", "-p", change)
    assert done.returncode == 0, done.stderr


def certs(control: ControlPlane, home: str, what: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webhook", "certs", what, "--kubeconfig", str(control.kubeconfig)]
    lives = ("--namespace", home, *LIVES)
    return subprocess.run([*command, *lives], capture_output=True, text=True, check=False, timeout=60)


def told(line: Object) -> str:
    return str(line.get("message", ""))


def keys(data: Object) -> list[str]:
    return [each["key"] for each in json.loads(base64.b64decode(data["authorities.json"]))["authorities"]]


def join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join(30)


def lines(replica_: Server) -> list[Object]:
    return [json.loads(line) for line in replica_.log.read_text(encoding="utf-8").splitlines() if line[:1] == "{"]
