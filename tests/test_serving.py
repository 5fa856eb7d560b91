"""The server as it runs: real gunicorn, real TLS on loopback, a process of its own that is ended by its pid."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Self

import pytest
import yaml
from fake_apiserver import PODS, FakeApi, kubeconfig, pod, serving
from prometheus_client.parser import text_string_to_metric_families

from certs.authority import Pair, issue_authority, issue_leaf
from webhook.service import Server
from webhook.serving import _gunicorn
from webhook.serving.worker import _is_over

ROOT = Path(__file__).parents[1]
REVIEWS = ROOT / "tests" / "reviews"


@dataclass(frozen=True, slots=True)
class Running:
    """A server that serves. `log` holds its stderr; `client` trusts its certificate and no other."""

    process: subprocess.Popen[bytes]
    port: int
    probes: int
    client: ssl.SSLContext
    log: Path

    def open(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=self.client)

    def dial(self) -> socket.socket:
        """A plain TCP connection to the TLS port."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def post(self, path: str, body: bytes, content_type: str = "application/json") -> tuple[int, Any]:
        connection = self.open()
        try:
            return send(connection, path, body, content_type)
        finally:
            connection.close()

    def ask(self, path: str) -> tuple[int, str]:
        """A probe's status and text; 0 where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.probes, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def metric(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.ask("/metrics")[1])
        samples = (sample for family in families for sample in family.samples if sample.name == f"gangcheck_{name}")
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


def send(
    connection: http.client.HTTPSConnection, path: str, body: bytes, content_type: str = "application/json"
) -> tuple[int, Any]:
    """The status and the verdict, or the text where there is none."""
    connection.request("POST", path, body, {"Content-Type": content_type})
    response = connection.getresponse()
    data = response.read()
    is_verdict = response.status == http.client.OK
    return response.status, json.loads(data)["response"] if is_verdict else data.decode()


def until(holds: Callable[[], bool], seconds: float = 15) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it did not come true in time"
        time.sleep(0.02)


@contextmanager
def running(
    folder: Path, *options: str, ca: bytes = b"", ready: bool = True, stderr: IO[bytes] | None = None
) -> Iterator[Running]:
    """A server with these options, on free ports; with a pair of its own unless `ca` has signed one. What is written
    to `stderr`, where given, somebody has to bring to log.jsonl."""
    ca_out, log = folder / "ca.pem", folder / "log.jsonl"
    command = [sys.executable, "-m", "webhook", "serve", "--no-index", "--drain-seconds", "1"]
    command += ["--listen", "127.0.0.1:0", "--probes", "127.0.0.1:0"]
    own = [] if ca else ["--ca-out", str(ca_out)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *own, *options], stdin=subprocess.DEVNULL, stderr=stderr or output, cwd=ROOT
        )
    try:
        until(lambda: b'"serving"' in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text("utf-8")
        [told] = [line for line in map(json.loads, log.read_text("utf-8").splitlines()) if line["event"] == "serving"]
        port, probes = (int(told[key].rpartition(":")[2]) for key in ("listen", "probes"))
        trusted = ca or ca_out.read_bytes()
        server = Running(process, port, probes, ssl.create_default_context(cadata=trusted.decode()), log)
        until(lambda: not ready or server.ask("/readyz")[0] == http.client.OK)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server"), "--threads", "4") as started:
        yield started


def review(name: str) -> bytes:
    """A recorded review as JSON; names are the beginnings of files in tests/reviews."""
    [file] = REVIEWS.glob(f"{name}-*.yaml")
    return json.dumps(yaml.safe_load(file.read_text("utf-8"))).encode()


def small() -> bytes:
    return review("R134")


def large(size: int) -> bytes:
    """A review of a Pod that is padded to about `size` bytes."""
    data = json.loads(small())
    data["request"]["object"]["metadata"]["annotations"] = {f"note-{i}": "x" * 900 for i in range(size // 910)}
    return json.dumps(data).encode()


def test_a_verdict_a_patch_and_a_warning(server: Running) -> None:
    status, denied = server.post("/validate?timeout=3s", review("R136"))
    assert (status, denied["allowed"]) == (200, False)
    assert "pod-group-annotation" in denied["status"]["message"]
    status, patched = server.post("/mutate?timeout=2s", small())
    assert (status, patched["allowed"], patched["patchType"]) == (200, True, "JSONPatch")
    status, warned = server.post("/validate/warn?timeout=3s", review("R136"))
    assert (status, warned["allowed"]) == (200, True)
    assert warned["warnings"]


def test_the_log_has_a_line_for_each_review(server: Running) -> None:
    before = len(server.lines())
    server.post("/validate", review("R136"))
    # Lines are written behind the answers: one of an earlier test may still come.
    until(lambda: any(line.get("verdict") == "denied" for line in server.lines()[before:]))
    [line, *_] = [line for line in server.lines()[before:] if line.get("verdict") == "denied"]
    assert (line["event"], line["kind"]) == ("review", "Pod")
    assert "pod-group-annotation" in line["rules"]
    assert set(line) == {
        *("time", "event", "level", "entry", "uid", "operation", "kind", "namespace", "name", "verdict", "rules", "ms")
    }


def test_what_is_no_verdict(server: Running) -> None:
    assert server.post("/validate", b"nonsense")[0] == 400
    assert server.post("/validate", b'{"kind": "Pod"}')[0] == 400
    assert server.post("/validate", small(), "text/plain")[0] == 415
    assert server.post("/nowhere", small())[0] == 404
    connection = server.open()
    connection.request("GET", "/validate")
    assert connection.getresponse().status == 405
    connection.close()


@pytest.mark.parametrize("megabytes", [8, 10])
def test_a_body_too_large_is_read_to_its_end_and_refused(server: Running, megabytes: int) -> None:
    status, text = server.post("/validate", b"x" * (megabytes << 20))
    assert (status, "at most" in text) == (413, True)


def test_a_body_within_the_limit_is_judged(server: Running) -> None:
    assert server.post("/validate", large(3 << 20))[0] == 200


def test_a_body_in_chunks_is_refused_and_its_connection_closed(server: Running) -> None:
    connection = server.open()
    connection.request("POST", "/validate", iter([small()]), {"Content-Type": "application/json"}, encode_chunked=True)
    response = connection.getresponse()
    assert (response.status, response.headers["Connection"]) == (411, "close")
    connection.close()


def test_a_head_that_is_none(server: Running) -> None:
    endless = b"POST /validate HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 3900) for i in range(18))
    for head, status in (
        (b"x" * 70_000, b"431"),
        (endless, b"431"),  # no field of it is too long
        (b"POST /" + b"x" * 600 + b" HTTP/1.1\r\n\r\n", b"414"),
    ):
        with server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") as secure:
            secure.sendall(head)
            assert secure.recv(4096).startswith(b"HTTP/1.1 " + status)


def test_a_connection_is_kept(server: Running) -> None:
    connection = server.open()
    assert send(connection, "/validate", small())[0] == 200
    first = connection.sock
    assert send(connection, "/validate", small())[0] == 200
    assert connection.sock is first
    connection.close()
    # The API server keeps idle connections for 90 s: it must be the one that closes.
    assert _gunicorn(Server(), 3)["keepalive"] == 120


def test_requests_one_behind_the_other_are_both_answered(server: Running) -> None:
    body = small()
    head = (
        f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") as secure:
        secure.sendall((head.encode() + body) * 2)
        answers = b""
        while answers.count(b'"allowed":true') < 2:
            answers += secure.recv(65536)


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def head_of(length: int | str, *fields: str) -> bytes:
    lines = (
        "POST /validate HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *fields,
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def test_who_waits_for_the_word_to_go_on_gets_it_once(server: Running) -> None:
    """curl asks for it before a body of more than a megabyte; the connection is kept."""
    body = small()
    with server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") as secure:
        for _ in range(2):
            secure.sendall(head_of(len(body), "Expect: 100-continue"))
            assert secure.recv(65536) == CONTINUE
            secure.sendall(body)
            answer = b""
            while b'"allowed":true' not in answer:
                answer += secure.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"Connection: keep-alive" in answer


@pytest.mark.parametrize(
    ("length", "fields", "status"),
    [(8 << 20, ["Expect: 100-continue"], b"413"), (9, ["Expect: more"], b"417"), ("9" * 30, [], b"413")],
)
def test_a_body_that_is_refused_unseen(server: Running, length: int | str, fields: list[str], status: bytes) -> None:
    with server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") as secure:
        secure.sendall(head_of(length, *fields))
        if not fields:
            secure.sendall(b"x" * (33 << 20))  # of a body without a word to go on, 32 MiB are read before the answer
        assert secure.recv(4096).startswith(b"HTTP/1.1 " + status)


def test_tls_is_1_2_or_later_and_speaks_no_http2(server: Running) -> None:
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.set_alpn_protocols(["h2", "http/1.1"])
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with client.wrap_socket(server.dial()) as secure:
        assert secure.version() == "TLSv1.2"
        assert secure.selected_alpn_protocol() == "http/1.1"
    with server.dial() as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"HTTP" not in plain.recv(4096)


def test_who_stalls_blocks_nobody_and_is_cut(server: Running) -> None:
    """Twice as many of each as there are threads: in a handshake, in silence, and in bodies."""
    body = small()
    heads = (head_of(len(body)), head_of(len(body), "Expect: 100-continue"), head_of(f"{len(body):020}"))
    stalled = [server.dial() for _ in range(16)]
    for plain in stalled[:8]:
        plain.sendall(b"\x16\x03\x01")
    halves = [server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") for _ in range(24)]
    for secure, head in zip(halves, heads * 8, strict=True):
        secure.sendall(head + body[:100])
    idle = server.open()
    idle.connect()
    began = time.monotonic()
    for _ in range(20):
        assert server.post("/validate", body)[0] == 200
    assert time.monotonic() - began < 3
    for sock in (*stalled, *halves):
        sock.settimeout(10)
        assert _is_closed(sock)
        sock.close()
    assert server.metric("connections_cut_total", phase="handshake") == 16
    assert server.metric("connections_cut_total", phase="request") == 24
    assert send(idle, "/validate", body)[0] == 200  # an idle connection is no stalled one
    idle.close()


def _is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1024) in {b"", CONTINUE} and sock.recv(1) == b""
    except (ConnectionError, ssl.SSLError):
        return True


def deaf(server: Running) -> ssl.SSLSocket:
    """A client that has room for little of an answer."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    plain.settimeout(20)
    plain.connect(("127.0.0.1", server.port))
    return server.client.wrap_socket(plain, server_hostname="127.0.0.1")


def test_who_does_not_read_blocks_nobody_and_is_cut(tmp_path: Path) -> None:
    """One that asks without end and reads nothing, before one thread."""
    body = review("R136")
    asked = (head_of(len(body)) + body) * 20

    with running(tmp_path, "--threads", "1") as server:

        def ask() -> None:
            with suppress(OSError), deaf(server) as secure:
                while True:
                    secure.sendall(asked)

        client = threading.Thread(target=ask)
        client.start()
        ends = time.monotonic() + 60
        while not server.metric("connections_cut_total", phase="answer"):
            began = time.monotonic()
            assert server.post("/validate", small())[0] == 200
            assert began < ends
            assert time.monotonic() - began < 3  # it would hold the thread for 5 s
        client.join(30)
        until(lambda: server.metric("in_flight") == 0)


def test_answers_that_are_read_late_are_all_there(server: Running) -> None:
    """They fill the buffers of both sides: the rest waits in the server until the client reads."""
    body, count = review("R136"), 4000
    with deaf(server) as secure:
        sender = threading.Thread(target=secure.sendall, args=((head_of(len(body)) + body) * count,))
        before = server.metric("reviews_total")
        sender.start()
        seen = -1.0
        while seen < (seen := server.metric("reviews_total") - before) or not seen:
            time.sleep(0.3)  # nothing more is answered: nobody reads
        reader = secure.makefile("rb")
        for _ in range(count):
            assert reader.readline() == b"HTTP/1.1 200 OK\r\n"
            length = int(http.client.parse_headers(reader)["Content-Length"])
            assert json.loads(reader.read(length))["response"]["allowed"] is False
        sender.join(10)
    assert server.metric("reviews_total") - before == count


def test_probes(server: Running) -> None:
    assert server.ask("/healthz") == (200, "ok\n")
    assert server.ask("/readyz") == (200, "listener: ok\ncertificate: ok\nnot draining: ok\n")
    assert server.ask("/elsewhere")[0] == 404
    server.post("/validate", review("R136"))
    assert server.metric("reviews_total", entry="validate", verdict="denied", kind="Pod", operation="CREATE") >= 1
    assert server.metric("findings_total", rule="pod-group-annotation") >= 1
    assert server.metric("certificate_expiry_timestamp_seconds") > time.time()


def test_too_much_at_once_is_told_to_come_back(tmp_path: Path) -> None:
    with running(tmp_path, "--threads", "1", "--max-in-flight", "2") as server:
        body = large(1 << 20)
        seen: list[tuple[int, str | None, bytes]] = []

        def ask() -> None:
            connection = server.open()
            connection.request("POST", "/validate", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            seen.append((response.status, response.headers["Retry-After"], response.read()))
            connection.close()

        _all_at_once(ask, 16)
        busy = [item for item in seen if item[0] == 503]
        assert {item[0] for item in seen} == {200, 503}
        assert all(after == "1" and b"allowed" not in text for _, after, text in busy)
        assert server.metric("overload_total") == len(busy)
        assert server.post("/validate", small())[0] == 200


def _all_at_once(work: Callable[[], None], clients: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


class Load:
    """Clients that ask without pause on kept connections, and count what comes. A connection that the server has
    said it will close is opened anew."""

    def __init__(self, server: Running, clients: int = 4) -> None:
        self.server = server
        self.answers = 0
        self.faults: list[str] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        until(lambda: self.answers > 20)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(15)

    def _ask(self) -> None:
        connection, body = self.server.open(), small()
        while not self._over.is_set():
            try:
                status, answer = send(connection, "/validate?timeout=3s", body)
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))
                connection.close()
                continue
            self.answers += 1
            if status != http.client.OK or not answer["allowed"]:
                self.faults.append(f"{status} {answer}")
        connection.close()


def test_sigterm_loses_no_review(tmp_path: Path) -> None:
    """As in a cluster: the endpoint is taken away while the server drains, some time after SIGTERM."""
    with running(tmp_path, "--drain-seconds", "2") as server, Load(server) as load:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.ask("/readyz")[0] == 503)
        assert "not draining: no" in server.ask("/readyz")[1]
        assert server.ask("/healthz")[0] == 200
        connection = server.open()
        connection.request("POST", "/validate", small(), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert (response.status, response.headers["Connection"]) == (200, "close")
        connection.close()
        before = load.answers
        time.sleep(1)
        assert load.answers > before
        load.__exit__()
        assert load.faults == []
        assert server.process.wait(10) == 0
        assert [line["event"] for line in server.lines() if line["event"] != "review"] == ["serving", "draining"]
        assert [line["index"] for line in server.lines() if line["event"] == "serving"] == [False]


def test_a_stopping_server_finishes_and_closes_its_ears(tmp_path: Path) -> None:
    with running(tmp_path, "--drain-seconds", "0") as server, Load(server) as load:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
        load.__exit__()
        # Nothing but refused connections: whatever was taken was answered.
        assert {fault.partition("(")[0] for fault in load.faults} <= {"ConnectionRefusedError"}
        assert server.ask("/readyz")[0] == 0


def test_a_second_sigterm_ends_the_wait(tmp_path: Path) -> None:
    with running(tmp_path, "--drain-seconds", "60") as server:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.ask("/readyz")[0] == 503)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0


@pytest.mark.parametrize("hurry", [signal.SIGINT, signal.SIGQUIT])
def test_what_was_answered_is_logged_however_it_ends(tmp_path: Path, hurry: signal.Signals) -> None:
    """Reviews that take long stand in line, and are answered while the process ends."""
    answers: list[int] = []
    body = large(6 << 20)
    with running(tmp_path, "--threads", "1") as server:

        def ask() -> None:
            with suppress(OSError, http.client.HTTPException):
                answers.append(server.post("/validate", body)[0])

        clients = [threading.Thread(target=ask) for _ in range(8)]
        for client in clients:
            client.start()
        until(lambda: server.metric("in_flight") >= 4 or len(answers) > 4)
        server.process.send_signal(hurry)
        assert server.process.wait(10) == 0
        for client in clients:
            client.join(10)
        assert set(answers) == {200}
        assert len([line for line in server.lines() if line["event"] == "review"]) >= len(answers)


def test_who_does_not_read_the_log_holds_up_no_review(tmp_path: Path) -> None:
    """A pipe has room for some 200 lines."""
    with (
        (tmp_path / "log.jsonl").open("wb") as log,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log) as reader,
        running(tmp_path, stderr=reader.stdin) as server,
    ):
        reader.send_signal(signal.SIGSTOP)
        try:
            connection = server.open()
            for _ in range(600):
                assert send(connection, "/validate", small())[0] == 200
            connection.close()
            assert server.metric("reviews_total") == 600
        finally:
            reader.send_signal(signal.SIGCONT)
        until(lambda: [line["event"] for line in server.lines()].count("review") == 600)
        assert not any(line["event"] == "lines lost" for line in server.lines())


def test_who_waits_to_be_accepted_holds_up_no_review(tmp_path: Path) -> None:
    """The worker is out of files."""
    with running(tmp_path) as server, ExitStack() as clients:
        kept = server.open()
        assert send(kept, "/validate", small())[0] == 200
        [worker] = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("ascii").split()
        most = len(list(Path(f"/proc/{worker}/fd").iterdir())) + 10
        resource.prlimit(int(worker), resource.RLIMIT_NOFILE, (most, most))
        for _ in range(40):
            clients.enter_context(server.dial())
        until(lambda: any("cannot accept" in str(line.get("message")) for line in server.lines()))
        began = time.monotonic()
        for _ in range(40):
            assert send(kept, "/validate", small())[0] == 200
        assert time.monotonic() - began < 3  # with a pause before each, it takes longer than 4
        kept.close()
        clients.close()
        assert server.post("/validate", small())[0] == 200


def test_sighup_loses_no_review(tmp_path: Path) -> None:
    """A new worker takes over; the old one goes when it has answered what it had."""
    with running(tmp_path) as server, Load(server) as load:
        [old] = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("ascii").split()
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len([line for line in server.lines() if line["event"] == "serving"]) == 2)
        until(lambda: not Path(f"/proc/{old}").exists())
        load.__exit__()
        assert load.faults == []


def test_a_worker_that_dies_is_made_anew(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        pid = server.process.pid
        [worker] = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        os.kill(int(worker), signal.SIGKILL)
        until(lambda: len([line for line in server.lines() if line["event"] == "serving"]) == 2)
        until(lambda: server.ask("/readyz")[0] == 200)
        assert server.post("/validate", small())[0] == 200


def test_an_index_that_was_never_filled_is_no_readiness(tmp_path: Path) -> None:
    with serving(FakeApi()) as fake:
        fake.objects[PODS] = {("default", "w-0"): pod("w-0", "gang")}
        fake.refuse[PODS] = [(500, {})] * 3
        asks = "--index", "--kubeconfig", str(kubeconfig(tmp_path, fake.url))
        with running(tmp_path, *asks, ready=False) as server:
            until(lambda: server.ask("/readyz")[0] == 503 and "index: no" in server.ask("/readyz")[1])
            assert server.metric("index_age_seconds") == -1
            assert server.post("/validate", review("R136"))[1]["allowed"] is False
            until(lambda: server.ask("/readyz")[0] == 200, 30)
            assert server.metric("index_objects") == 1
            assert 0 <= server.metric("index_age_seconds") < 90


NOW = datetime.now(UTC)
DAY = timedelta(days=1)
AUTHORITY = issue_authority("test", 30 * DAY, NOW)


def leaf() -> Pair:
    return issue_leaf(AUTHORITY, ["localhost"], ["127.0.0.1"], DAY, NOW)


def write(folder: Path, pair: Pair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


def shown(server: Running) -> str:
    """The certificate that a new connection is shown, PEM."""
    with server.client.wrap_socket(server.dial(), server_hostname="127.0.0.1") as secure:
        return ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True) or b"")


def test_certificates_are_exchanged_under_load_and_a_bad_pair_is_never_used(tmp_path: Path) -> None:
    first, second, third = leaf(), leaf(), leaf()
    write(tmp_path, first)
    files = "--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")
    with running(tmp_path, *files, ca=AUTHORITY.certificate) as server, Load(server) as load:
        assert shown(server) == first.certificate.decode()
        write(tmp_path, second)
        until(lambda: shown(server) == second.certificate.decode())
        (tmp_path / "tls.crt").write_bytes(third.certificate)
        until(lambda: any(line["event"] == "certificate refused" for line in server.lines()))
        assert shown(server) == second.certificate.decode()
        (tmp_path / "tls.crt").unlink()
        until(lambda: any("No such file" in str(line.get("error")) for line in server.lines()))
        assert shown(server) == second.certificate.decode()
        assert server.ask("/readyz")[0] == 200
        write(tmp_path, third)
        until(lambda: shown(server) == third.certificate.decode())
        load.__exit__()
        assert load.faults == []
        assert server.metric("certificate_reload_failures_total") >= 2
        refused = [line["error"] for line in server.lines() if line["event"] == "certificate refused"]
        assert "the key is not the certificate's" in refused


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tls-cert", "nowhere.crt", "--tls-key", "nowhere.key"), "nowhere.crt: No such file or directory"),
        (("--tls-cert", "README.md", "--tls-key", "README.md"), "the certificate cannot be used"),
        (("--listen", "127.0.0.1:{taken}"), "cannot listen on 127.0.0.1:"),
        (("--ca-out", "nowhere/ca.pem"), "server.caOut: cannot write nowhere/ca.pem: No such file or directory"),
        (("--kubeconfig", "nowhere.yaml", "--index"), "nowhere.yaml"),
    ],
)
def test_what_does_not_start_says_why(options: tuple[str, ...], says: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [option.format(taken=taken.getsockname()[1]) for option in options]
        index = [] if "--index" in given else ["--no-index"]
        command = [sys.executable, "-m", "webhook", "serve", "--listen", "127.0.0.1:0", "--probes", "127.0.0.1:0"]
        ended = subprocess.run([*command, *index, *given], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert ended.stderr.startswith("Error: ")


def test_an_expired_certificate_is_not_taken(tmp_path: Path) -> None:
    old = NOW - 10 * DAY
    write(tmp_path, issue_leaf(issue_authority("old", 30 * DAY, old), ["localhost"], [], DAY, old))
    files = "--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")
    command = [sys.executable, "-m", "webhook", "serve", "--no-index", "--listen", "127.0.0.1:0", *files]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (ended.returncode, "it expired at" in ended.stderr) == (2, True)


class Endless(socket.socket):
    """A client that goes on sending, as fast as one can read."""

    def recv(self, bufsize: int, flags: int = 0) -> bytes:  # noqa: ARG002 - socket's own signature
        return b"x" * bufsize


def test_who_goes_on_sending_to_a_closing_connection_does_not_hold_up_the_main_loop() -> None:
    with Endless() as sock:
        assert not _is_over((sock, 2.0), 1.0)
        assert _is_over((sock, 2.0), 3.0)


def test_settings_of_gunicorn() -> None:
    settings: Mapping[str, object] = _gunicorn(Server(threads=6, grace_seconds=7), 3)
    assert (settings["workers"], settings["threads"], settings["graceful_timeout"]) == (1, 6, 7)
    assert settings["bind"] == "fd://3"
