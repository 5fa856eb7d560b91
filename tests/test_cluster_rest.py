"""Configurations, tokens, errors and streams, against a server on loopback."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fake_apiserver import PODS, FakeApi, kubeconfig, pod, serving, wait_for
from kubernetes.config import incluster_config

from webhook.cluster import rest
from webhook.cluster.rest import Api, Refused, Silent, Unreachable, connect
from webhook.errors import BadConfig

LIMIT = {"limit": "500"}


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with serving(FakeApi()) as started:
        yield started


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of whoever runs the tests is found, and no proxy."""
    for name in [*os.environ]:
        if name.lower().endswith("_proxy") or name in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def connected(fake: FakeApi, folder: Path, **user: str) -> Api:
    api = connect(kubeconfig(folder, fake.url, **user))
    assert api is not None
    return api


def test_no_configuration_at_all() -> None:
    assert connect() is None


def test_kubeconfig_that_scripts_use_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/dev/null")
    assert connect() is None


def test_pod_without_a_token_has_no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "none"))
    assert connect() is None


@pytest.mark.parametrize("where", ["given", "KUBECONFIG", "home"])
def test_kubeconfig_is_found(where: str, fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.tokens = {"secret"}
    file = kubeconfig(tmp_path, fake.url, token="secret")  # noqa: S106 - made up
    if where == "KUBECONFIG":
        monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}{os.pathsep}{file}")
    if where == "home":
        (tmp_path / "home" / ".kube").mkdir(parents=True)
        Path(file).rename(tmp_path / "home" / ".kube" / "config")
    api = connect(file if where == "given" else None)
    assert api is not None
    assert api.get(PODS, LIMIT)["items"] == []
    assert fake.asked[0].headers["User-Agent"].startswith("gangcheck/")
    api.close()


@pytest.mark.parametrize("text", ["", "{", "3", "clusters: 3", "{contexts: [{}], current-context: x}", None])
def test_kubeconfig_that_cannot_be_used(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "broken"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    why = "there is no such file" if text is None else "."
    with pytest.raises(BadConfig, match=rf"broken cannot be used: {why}"):
        connect(str(file))


def test_refusal_carries_status_message_and_retry(fake: FakeApi, tmp_path: Path) -> None:
    api = connected(fake, tmp_path)
    fake.refuse[PODS] = [(429, {"Retry-After": "7"}), (500, {"Retry-After": "soon"})]
    with pytest.raises(Refused, match="429 planned 429") as caught:
        api.get(PODS, LIMIT)
    assert (caught.value.status, caught.value.retry_after) == (429, 7)
    with pytest.raises(Refused, match="500") as caught:
        api.get(PODS, LIMIT)
    assert caught.value.retry_after == 0
    api.close()


def test_redirects_are_not_followed(fake: FakeApi, tmp_path: Path) -> None:
    fake.refuse[PODS] = [(302, {"Location": "http://127.0.0.1:1/elsewhere"})]
    api = connected(fake, tmp_path)
    with pytest.raises(Refused, match="302"):
        api.get(PODS, LIMIT)
    api.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with serving(FakeApi()) as gone:
        pass
    with pytest.raises(Unreachable):
        connected(gone, tmp_path).get(PODS, LIMIT)


def test_answer_that_is_no_object(fake: FakeApi, tmp_path: Path) -> None:
    api = connected(fake, tmp_path)
    fake.others["/odd"] = [1]  # type: ignore[assignment]
    with pytest.raises(Unreachable, match="no object"):
        api.get("/odd", {})
    api.close()


@pytest.mark.parametrize(
    "raw", ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\n{"]
)
def test_answers_cut_short(raw: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(raw.encode())

        thread = threading.Thread(target=once)
        thread.start()
        api = connect(kubeconfig(tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}"))
        assert api is not None
        with pytest.raises((Unreachable, Refused)):
            api.get("/x", {})
        thread.join()
        api.close()


def test_unknown_token_is_read_again(fake: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old", encoding="ascii")
    fake.tokens = {"old"}
    api = connected(fake, tmp_path, tokenFile=str(token))
    api.get(PODS, LIMIT)
    fake.tokens = {"new"}
    token.write_text("new", encoding="ascii")
    api.get(PODS, LIMIT)
    sent = [one.headers["authorization"] for one in fake.asked]
    assert sent == ["Bearer old", "Bearer old", "Bearer new"]
    api.close()


def test_token_that_stays_unknown_is_a_refusal(fake: FakeApi, tmp_path: Path) -> None:
    fake.tokens = {"other"}
    api = connected(fake, tmp_path, token="mine")  # noqa: S106 - made up
    with pytest.raises(Refused, match="401"):
        api.get(PODS, LIMIT)
    api.close()


def test_configuration_that_breaks_later_is_no_crash(fake: FakeApi, tmp_path: Path) -> None:
    api = connected(fake, tmp_path, token="mine")  # noqa: S106 - made up
    fake.tokens = {"other"}
    (tmp_path / "kubeconfig").write_text("{", encoding="ascii")
    with pytest.raises(Unreachable, match="cannot be used"):
        api.get(PODS, LIMIT)
    api.close()


def test_lines_of_a_watch_and_a_cut(fake: FakeApi, tmp_path: Path) -> None:
    api = connected(fake, tmp_path)
    fake.put(pod("a"))
    said: list[bytes] = []

    def listen() -> None:
        with pytest.raises(Unreachable), api.lines(PODS, {"watch": "true", "resourceVersion": "0"}) as lines:
            said.extend(line[:16] for line in lines)

    thread = threading.Thread(target=listen)
    thread.start()
    wait_for(lambda: len(fake.asked))
    wait_for(lambda: fake.watching[PODS])
    api.cut()
    thread.join(3)
    assert not thread.is_alive()
    api.close()


def test_silence_is_noticed(fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "WATCHING", (1, 0.1))
    fake.silent = True
    api = connected(fake, tmp_path)
    with (
        pytest.raises(Silent, match="silent for 0 s"),
        api.lines(PODS, {"watch": "true", "resourceVersion": "0"}) as lines,
    ):
        list(lines)
    api.close()


def certificate(folder: Path) -> ssl.SSLContext:
    """A server's context, its own certificate being the authority in ca.crt."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "apiserver")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.crt").write_bytes(made.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "key")
    return context


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """A server over TLS, and a Pod's own account for it: token and ca.crt in tmp_path."""
    with serving(FakeApi(tokens={"old"}), tls=certificate(tmp_path)) as fake:
        host, _, port = fake.url.removeprefix("https://").partition(":")
        (tmp_path / "token").write_text("old", encoding="ascii")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
        yield fake


def test_a_pods_own_account(account: FakeApi) -> None:
    api = connect()
    assert api is not None
    assert api.get(PODS, LIMIT)["items"] == []
    api.close()


def test_a_pods_token_is_read_again_after_a_minute(
    account: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = connect()
    assert api is not None
    (tmp_path / "token").write_text("new", encoding="ascii")
    api.get(PODS, LIMIT)
    later = SimpleNamespace(now=lambda: dt.datetime.now() + dt.timedelta(seconds=61))  # noqa: DTZ005 - as the package
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=later, timedelta=dt.timedelta))
    account.tokens = {"new"}
    api.get(PODS, LIMIT)
    sent = [one.headers["authorization"] for one in account.asked]
    assert [text.lower() for text in sent] == ["bearer old", "bearer new"]
    api.close()


def test_a_pods_token_that_is_refused_is_read_again(account: FakeApi, tmp_path: Path) -> None:
    api = connect()
    assert api is not None
    account.tokens = {"new"}
    (tmp_path / "token").write_text("new", encoding="ascii")
    assert api.get(PODS, LIMIT)["items"] == []
    (tmp_path / "token").unlink()
    account.tokens = {"newest"}
    with pytest.raises(Unreachable, match="ServiceAccount cannot be used"):
        api.get(PODS, LIMIT)
    api.close()


def test_stranger_with_another_certificate(account: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    certificate(tmp_path / "other")
    (tmp_path / "other" / "ca.crt").replace(tmp_path / "ca.crt")
    api = connect()
    assert api is not None
    with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        api.get(PODS, LIMIT)
    api.close()
