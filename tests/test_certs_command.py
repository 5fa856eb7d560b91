"""`gangcheck certs` and the store below it, against an API server played over HTTP."""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fake_apiserver import FakeApi, kubeconfig, serving
from shelf import MUTATING, SECRET, VALIDATING, configuration, empty_secret

from certs.authority import Pair, issue_authority, issue_leaf
from certs.bundles import bundles
from certs.ring import Ring, read_secret
from certs.store import Away, Conflict, Denied
from webhook.cli import main
from webhook.cluster import Published, Where, connect
from webhook.managed import own_namespace

HOOKS = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    SECRET: "/api/v1/namespaces/gangcheck/secrets/gangcheck-ca",
    MUTATING: f"{HOOKS}/mutatingwebhookconfigurations/zz-gangcheck",
    VALIDATING: f"{HOOKS}/validatingwebhookconfigurations/gangcheck",
}
DAY = timedelta(days=1)

Call = Callable[..., tuple[object, str, str]]


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with serving(FakeApi()) as started:
        bodies = {
            SECRET: empty_secret(),
            MUTATING: configuration(MUTATING),
            VALIDATING: configuration(VALIDATING),
        }
        started.others = {PATHS[kind]: body for kind, body in bodies.items()}
        for number, body in enumerate(bodies.values()):
            body["metadata"]["resourceVersion"] = str(number)
        yield started


@pytest.fixture
def gangcheck(
    fake: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Call:
    for name in [*os.environ]:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, fake.url))

    def call(*args: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["gangcheck", "certs", *args])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return call


@pytest.fixture(params=[0, 1], ids=["all in one second", "a second from answer to answer"])
def paced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server's clock goes by its answers. Certificates count whole seconds, so what follows from which of two
    is older must not go by whether a second has ended between them."""
    start, answers = int(datetime.now(UTC).timestamp()), count()

    def date(handler: Any, _: float) -> str:  # noqa: ANN401 - the fake's own handler
        return formatdate(start + request.param * next(answers) + handler.fake.ahead, usegmt=True)

    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", date)


def ring(fake: FakeApi) -> Ring:
    return read_secret(fake.others[PATHS[SECRET]]).ring


def trusted(fake: FakeApi) -> list[list[str]]:
    found = (bundle for kind in (MUTATING, VALIDATING) for bundle in bundles(fake.others[PATHS[kind]]))
    return [[each.fingerprint for each in bundle.held] for bundle in found]


@contextmanager
def leaf_at_port(pair: Pair, folder: Path) -> Iterator[str]:
    """A server that shakes hands and hangs up."""
    file = folder / "leaf.pem"
    file.write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_shake_hands, args=(listener, context), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        try:
            context.wrap_socket(plain, server_side=True).close()
        except OSError:
            plain.close()


@pytest.mark.usefixtures("paced")
def test_issue_then_rotate(fake: FakeApi, gangcheck: Call) -> None:
    code, out, _ = gangcheck("status")
    assert code == 1
    assert "NOT WELL  no authority can sign: no replica with --certs managed has run" in out
    code, _, said = gangcheck("issue")
    assert code == 0
    [first] = ring(fake)
    assert "Secret gangcheck/gangcheck-ca was written" in said
    assert "ValidatingWebhookConfiguration gangcheck was written" in said
    assert trusted(fake) == [[first.fingerprint]] * 3
    assert gangcheck("issue") == (0, "", "nothing was to be done\n")
    assert gangcheck("status")[0] == 0

    code, _, said = gangcheck("rotate")
    assert code == 0
    assert "a new authority " in said
    first, second = ring(fake)
    assert trusted(fake) == [[first.fingerprint, second.fingerprint]] * 3
    code, _, said = gangcheck("rotate")
    assert (code, len(ring(fake))) == (0, 2)
    assert said == f"the authority {second.fingerprint[:12]} waits already and will sign soon; nothing was changed\n"
    code, out, _ = gangcheck("status")
    assert code == 0
    rows = out.splitlines()
    assert rows[0] == "Secret gangcheck/gangcheck-ca: 2 authorities (times are UTC)"
    assert [row.split(",")[0].split(";")[0] for row in rows[1:3]] == [
        f"  {first.fingerprint[:12]}  signs",
        f"  {second.fingerprint[:12]}  waits",
    ]
    assert rows[3:] == [
        "MutatingWebhookConfiguration zz-gangcheck: 1 caBundle",
        f"  all: {first.fingerprint[:12]}, {second.fingerprint[:12]}",
        "ValidatingWebhookConfiguration gangcheck: 2 caBundles",
        f"  all: {first.fingerprint[:12]}, {second.fingerprint[:12]}",
        "all is well",
    ]


def test_status_as_json_with_what_is_served(fake: FakeApi, gangcheck: Call, tmp_path: Path) -> None:
    gangcheck("issue")
    [authority] = ring(fake)
    good = issue_leaf(authority.pair, [], ["127.0.0.1"], 7 * DAY, datetime.now(UTC))
    with leaf_at_port(good, tmp_path) as url:
        code, out, _ = gangcheck("status", "--format", "json", "--url", url)
        assert json.loads(gangcheck("status", "--output", "json", "--url", url)[1]).keys() == json.loads(out).keys()
        shown = gangcheck("status", "--url", url)[1]
    said = json.loads(out)
    assert (code, said["version"], said["well"], said["troubles"]) == (0, 1, True, [])
    [one] = said["authorities"]
    assert (one["fingerprint"], one["standing"], one["hasKey"]) == (authority.fingerprint, "signs", True)
    assert one["trustedSince"] is not None
    assert [each["name"] for each in said["webhooks"]] == ["inject", "pods.enforce", "pods.warn"]
    assert said["webhooks"][0]["authorities"] == [authority.fingerprint]
    [served] = said["served"]
    assert (served["url"], served["authority"]) == (url, authority.fingerprint)
    assert f"{url}: serial {served['serial']}, signed by {authority.fingerprint[:12]}; made " in shown


def test_served_certificates_that_are_not_well(fake: FakeApi, gangcheck: Call, tmp_path: Path) -> None:
    gangcheck("issue")
    [authority] = ring(fake)
    now = datetime.now(UTC)
    stranger = issue_authority("somebody", DAY, now)
    for pair, fault in (
        (issue_leaf(stranger, ["a"], [], DAY, now), "is signed by an authority that not every caBundle holds"),
        (issue_leaf(authority.pair, ["a"], [], DAY, now - 1.5 * DAY), "its certificate expired at "),
        (issue_leaf(authority.pair, ["a"], [], DAY, now - 0.9 * DAY), " and was not renewed in time"),
    ):
        with leaf_at_port(pair, tmp_path) as url:
            code, out, _ = gangcheck("status", "--url", url)
        assert code == 1
        assert fault in out
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        code, out, _ = gangcheck("status", "--url", f"https://127.0.0.1:{closed.getsockname()[1]}")
    assert code == 1
    assert "no certificate could be had: [Errno 111] Connection refused" in out
    assert "wanted is https://HOST or https://HOST:PORT" in gangcheck("status", "--url", "localhost:8443")[1]


def change(fake: FakeApi, kind: str, body: dict[str, Any]) -> None:
    version = fake.others[PATHS[kind]]["metadata"]["resourceVersion"]
    fake.others[PATHS[kind]] = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def test_status_names_what_is_not_well(fake: FakeApi, gangcheck: Call) -> None:
    gangcheck("issue")
    healthy = dict(fake.others)
    change(fake, VALIDATING, configuration(VALIDATING))
    code, out, _ = gangcheck("status")
    assert code == 1
    assert "  all: nobody" in out
    lacking = "2 of 2 do not trust an authority that signs or has: pods.enforce"
    assert f"NOT WELL  ValidatingWebhookConfiguration gangcheck: {lacking}" in out

    fake.others = dict(healthy)
    del fake.others[PATHS[SECRET]]
    code, out, _ = gangcheck("status")
    assert code == 1
    assert "NOT WELL  Secret gangcheck/gangcheck-ca: it is not there; apply the manifests again" in out

    fake.others = {PATHS[SECRET]: healthy[PATHS[SECRET]]}
    code, out, _ = gangcheck("status")
    assert code == 1
    assert "NOT WELL  nothing is registered" in out

    fake.others = dict(healthy)
    fake.refuse = {PATHS[MUTATING]: [(403, {})], PATHS[SECRET]: [(403, {})]}
    code, out, _ = gangcheck("status")
    assert code == 1
    assert "NOT WELL  MutatingWebhookConfiguration zz-gangcheck: cannot be read: 403 planned 403" in out
    assert "NOT WELL  Secret gangcheck/gangcheck-ca: 403 planned 403" in out

    fake.refuse = {}
    fake.ahead = 300 * 86400
    code, out, _ = gangcheck("status")
    assert code == 1
    assert " and no next one waits: no replica rotates" in out


@pytest.mark.usefixtures("paced")
def test_status_of_a_rotation_at_its_end(fake: FakeApi, gangcheck: Call) -> None:
    """A replaced authority, one that goes, and one that only its certificate is left of; a bundle of somebody else."""
    gangcheck("issue")
    gangcheck("rotate")
    fake.ahead = 700
    gangcheck("issue")
    code, out, _ = gangcheck("status")
    assert code == 0
    assert "  replaced, trusted until " in out
    assert trusted(fake)[0] == [authority.fingerprint for authority in ring(fake)]
    fake.ahead = 15 * 86400
    foreign = issue_authority("somebody", DAY, datetime.now(UTC)).certificate
    change(fake, MUTATING, configuration(MUTATING, foreign, *(authority.certificate for authority in ring(fake))))
    fake.refuse = {PATHS[MUTATING]: [(0, {}), (0, {}), (403, {})]}
    assert gangcheck("issue")[0] == 1
    code, out, _ = gangcheck("status")
    assert code == 0
    assert "  dropped, is being taken out of the caBundles" in out
    assert ", somebody " in out
    assert gangcheck("issue")[0] == 0
    code, out, _ = gangcheck("status")
    assert (code, len(ring(fake))) == (0, 1)
    assert "(not ours)" in out


def test_no_cluster_and_no_api_server(gangcheck: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for command in ("status", "issue", "rotate"):
        monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, "http://127.0.0.1:1"))
        code, _, said = gangcheck(command)
        assert code == 4
        assert "Error: the API server cannot be asked: " in said
        monkeypatch.setenv("KUBECONFIG", "/dev/null")
        assert gangcheck(command)[0] == 2


def test_what_may_not_be_written_is_an_error(fake: FakeApi, gangcheck: Call) -> None:
    gangcheck("issue")
    change(fake, MUTATING, configuration(MUTATING))
    fake.others[PATHS[MUTATING]]["metadata"]["resourceVersion"] = "7"
    # GET is answered, PUT is not.
    fake.refuse = {PATHS[MUTATING]: [(0, {}), (0, {}), (403, {})]}
    code, _, said = gangcheck("issue")
    assert code == 1
    assert "writing MutatingWebhookConfiguration zz-gangcheck: 403 planned 403" in said


def test_names_are_settings(fake: FakeApi, gangcheck: Call, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("server: {namespace: ours, caSecret: our-ca}", encoding="utf-8")
    gangcheck("status", "--config", str(policy), "--validating-configuration", "theirs")
    paths = {one.path for one in fake.asked}
    assert paths == {
        "/api/v1/namespaces/ours/secrets/our-ca",
        PATHS[MUTATING],
        f"{HOOKS}/validatingwebhookconfigurations/theirs",
    }


def test_help_names_the_commands(gangcheck: Call) -> None:
    code, out, _ = gangcheck("--help")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["issue", "rotate", "status"]


# The store.


@pytest.fixture
def published(fake: FakeApi, tmp_path: Path) -> Published:
    api = connect(kubeconfig(tmp_path, fake.url))
    assert api is not None
    return Published(api, Where("gangcheck", "gangcheck-ca", "zz-gangcheck", "gangcheck"))


def test_what_is_read_and_by_whose_clock(fake: FakeApi, published: Published) -> None:
    fake.ahead = 86400
    before = datetime.now(UTC).replace(microsecond=0)  # HTTP tells whole seconds
    seen = published.read()
    assert seen.date is not None
    assert before <= seen.date - DAY <= datetime.now(UTC)
    assert str(seen.secret) == "Secret gangcheck/gangcheck-ca"
    assert [thing.name for thing in seen.configurations] == ["zz-gangcheck", "gangcheck"]
    assert [thing.body is None for thing in published.configurations()] == [False, False]
    fake.others.clear()
    seen = published.read()
    assert (seen.secret.body, seen.secret.fault, seen.date) == (None, "", None)


def test_writes_are_for_what_was_read(fake: FakeApi, published: Published) -> None:
    thing = published.read().secret
    published.write(thing._replace(body={**(thing.body or {}), "type": "Opaque"}))
    with pytest.raises(Conflict):
        published.write(thing)
    fake.refuse = {PATHS[SECRET]: [(403, {})]}
    with pytest.raises(Denied, match="403 planned 403"):
        published.write(published.configurations()[0]._replace(kind=SECRET))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_api_server_is_away(fake: FakeApi, published: Published, status: int) -> None:
    fake.refuse = {PATHS[MUTATING]: [(status, {})]}
    with pytest.raises(Away, match=str(status)):
        published.read()
    thing = published.read().secret
    fake.refuse = {PATHS[SECRET]: [(status, {})]}
    with pytest.raises(Denied, match=str(status)):  # the others can be written all the same
        published.write(thing)


def test_api_server_that_is_gone(tmp_path: Path) -> None:
    api = connect(kubeconfig(tmp_path, "http://127.0.0.1:1"))
    assert api is not None
    published = Published(api, Where("a", "b", "c", "d"))
    with pytest.raises(Away, match="refused"):
        published.read()


def test_connection_that_breaks_while_it_writes(fake: FakeApi, tmp_path: Path) -> None:
    with serving(FakeApi(others=dict(fake.others))) as going:
        api = connect(kubeconfig(tmp_path, going.url))
        assert api is not None
        published = Published(api, Where("gangcheck", "gangcheck-ca", "zz-gangcheck", "gangcheck"))
        thing = published.read().secret
    with pytest.raises(Away):
        published.write(thing)


def test_clock_that_makes_no_sense(fake: FakeApi, published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: "half past nine")
    fake.ahead = 0
    seen = published.read()
    assert (seen.date, seen.secret.fault) == (None, "")


def test_namespace_outside_of_a_pod() -> None:
    assert own_namespace() == "gangcheck"
