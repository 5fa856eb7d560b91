"""`gangcheck serve` and `gangcheck registration` up to the point where a server would start."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml

from webhook import service
from webhook.admission import judge
from webhook.cli import main
from webhook.config import Config, read_config
from webhook.config_text import config_text
from webhook.doors import entries, limit
from webhook.errors import BadConfig
from webhook.metrics import metrics
from webhook.review import Answer, Enforcement, Request, VgpuEnv
from webhook.rule import Severity
from webhook.rules import all_rules
from webhook.serve_command import serve
from webhook.service import Server, host_of, port_of
from webhook.stack import Stack

SCHEMA: dict[str, Any] = json.loads(resources.files("webhook").joinpath("config.schema.json").read_text("utf-8"))
RULES = [rule.name for rule in all_rules()]
SERVER = {
    "listen": "[::1]:8443",
    "probes": "0.0.0.0:9090",
    "tlsCert": "/tls/tls.crt",
    "tlsKey": "/tls/tls.key",
    "tlsNames": ["gangcheck.gangcheck.svc", "10.0.0.1"],
    "caOut": "ca.pem",
    "threads": 4,
    "maxInFlight": 50,
    "drainSeconds": 5,
    "graceSeconds": 6,
    "keepaliveSeconds": 100,
    "index": True,
    "kubeconfig": "kube.yaml",
    "detectStack": True,
    "hamiNamespace": "kube-system",
    "certs": "external",
    "namespace": "ours",
    "service": "it",
    "clusterDomain": "cluster.test",
    "caSecret": "our-ca",
    "mutatingConfiguration": "zz-ours",
    "validatingConfiguration": "ours",
    "leafSeconds": 3600,
    "caSeconds": 86400,
    "propagationSeconds": 60,
    "certsPollSeconds": 5,
}
ADMISSION = {"ownedPods": "warn", "suppressionsLiftDenials": True, "events": False}
INJECT = {"taskPriority": 0, "coreUtilizationPolicy": "force", "hideGPUs": True, "stripMinResources": True}
FULL = {"server": SERVER, "admission": ADMISSION, "inject": INJECT}

Call = Callable[..., object]


@pytest.fixture
def gangcheck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> object:
        monkeypatch.setattr(sys, "argv", ["gangcheck", *args])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code

    return call


def read(content: object) -> Config:
    return read_config(json.dumps(content), "policy.yaml", RULES)


def test_everything_that_can_be_said_to_the_server() -> None:
    config = read(FULL)
    assert config.server == Server(
        "[::1]:8443",
        "0.0.0.0:9090",
        "/tls/tls.crt",
        "/tls/tls.key",
        ("gangcheck.gangcheck.svc", "10.0.0.1"),
        "ca.pem",
        4,
        50,
        5,
        6,
        100,
        True,
        "kube.yaml",
        True,
        "kube-system",
        "external",
        "ours",
        "it",
        "cluster.test",
        "our-ca",
        "zz-ours",
        "ours",
        3600,
        86400,
        60,
        5,
    )
    assert config.enforcement == Enforcement("warn", True, False)
    assert config.env == VgpuEnv(0, "force", True, True)
    assert (host_of("[::1]:8443"), port_of("[::1]:8443"), host_of("x.test:1")) == ("::1", 8443, "x.test")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"server": {"tlsCert": "a"}}, "tlsCert: tlsKey is missing; a certificate and its key come together"),
        ({"server": {"tlsKey": "a"}}, "tlsKey: tlsCert is missing; a certificate and its key come together"),
        ({"server": {"listen": "8443"}}, "listen: wanted is ADDRESS:PORT (0.0.0.0:8443 or [::]:8443), and this is"),
        ({"server": {"probes": "0.0.0.0:70000"}}, "probes: wanted is ADDRESS:PORT"),
        ({"server": {"threads": True}}, "threads: wanted is a whole number from 1 to 64, and this is true"),
        ({"server": {"tlsNames": []}}, "tlsNames: wanted is at least one name or address"),
        ({"server": {"certs": "own"}}, "certs: wanted is one of embedded, managed, external, and this is 'own'"),
        ({"server": {"caSecret": "A b"}}, "caSecret: wanted is a name in lower case (a-z, 0-9, - and .), and this is"),
        ({"server": {"leafSeconds": 5}}, "leafSeconds: wanted is a whole number from 10 to 7776000, and this is 5"),
        ({"server": {"thread": 4}}, "unknown key 'thread'; did you mean 'threads'?"),
        ({"admission": {"ownedPods": "allow"}}, "ownedPods: wanted is one of deny, warn, and this is 'allow'"),
        ({"inject": {"taskPriority": True}}, "taskPriority: wanted is one of 0, 1, and this is true"),
        ({"inject": {"coreUtilizationPolicy": "x"}}, "wanted is one of '', default, force, disable, and this is 'x'"),
    ],
)
def test_what_is_wrong_is_said(content: object, says: str) -> None:
    with pytest.raises(BadConfig) as error:
        read(content)
    assert says in str(error.value)


def test_schema_and_tables_know_the_same_keys() -> None:
    for part, table in (("server", service.SERVER), ("admission", service.ADMISSION), ("inject", service.INJECT)):
        assert set(SCHEMA["$defs"][part]["properties"]) == set(table)
    assert {field for field, _ in service.SERVER.values()} == set(Server.__dataclass_fields__)
    assert {field for field, _ in service.ADMISSION.values()} == set(Enforcement.__dataclass_fields__)
    assert {field for field, _ in service.INJECT.values()} == set(VgpuEnv.__dataclass_fields__)


def variants() -> Iterator[object]:
    strange: tuple[object, ...] = ("x", "", 1, 0, -1, 1.5, True, None, [], ["x"], [1], {}, "a:1", "force")
    for part, content in FULL.items():
        yield from ({**FULL, part: value} for value in strange)
        for key in content:
            yield from ({**FULL, part: {**content, key: value}} for value in strange)


def test_schema_and_reader_agree() -> None:
    schema = jsonschema.Draft202012Validator(SCHEMA)
    for content in (FULL, *variants()):
        try:
            read(content)
            accepted = True
        except BadConfig:
            accepted = False
        assert accepted == schema.is_valid(content), content


def test_every_key_has_a_flag_and_every_flag_says_its_key() -> None:
    keys = {
        f"{section}.{key}"
        for section, table in (("server", service.SERVER), ("admission", service.ADMISSION), ("inject", service.INJECT))
        for key in table
    }
    options = [item for item in serve.params if isinstance(item, click.Option) and "__" in str(item.name)]
    assert {str(option.name).replace("__", ".") for option in options} == keys
    assert all(f"[{str(option.name).replace('__', '.')}]" in str(option.help) for option in options)


def test_what_holds_can_be_read_again(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    policy = {
        **FULL,
        "select": ["pod-group-*"],
        "ignore": ["pod-group-empty"],
        "severities": {"musl-image": "error"},
        "perPath": [{"paths": ["a"], "ignore": ["musl-image"]}],
        "exclude": ["vendor"],
        "stack": {
            "hami": "2.10",
            "resources": {"nvidia": {"count": "example.com/gpu", "cores": []}},
            "operators": {"kuberay": True, "mpi-operator": "gpu"},
            "images": {"registry.local/*": "musl"},
            "foreignSchedulers": [],
            "injectsScheduler": False,
        },
    }
    Path("policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    assert gangcheck("serve", "--config", "policy.yaml", "--print-config") == 0
    shown = capsys.readouterr().out
    assert read_config(shown, "shown", RULES) == read(policy)
    assert gangcheck("serve", "--print-config") == 0
    bare = read_config(capsys.readouterr().out, "shown", RULES)
    stack = Stack(injects_scheduler=True)
    assert bare == Config(stack=stack, server=Server(), enforcement=Enforcement(), env=VgpuEnv())
    assert yaml.safe_load(config_text(Config()))["server"]["listen"] == "127.0.0.1:8443"


def test_flags_go_before_the_file(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text(json.dumps({**FULL, "ignore": ["musl-image"]}), encoding="utf-8")
    args = ["--no-index", "--threads", "2", "--owned-pods", "deny", "--task-priority", "1", "--stack", "hami=2.9"]
    args += ["--tls-name", "a", "--tls-name", "b", "--ignore", "pod-group-empty,static-image", "--events"]
    assert gangcheck("serve", "--config", "policy.yaml", "--print-config", *args) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["server"] == {**SERVER, "index": False, "threads": 2, "tlsNames": ["a", "b"]}
    assert shown["admission"] == {**ADMISSION, "ownedPods": "deny", "events": True}
    assert shown["inject"] == {**INJECT, "taskPriority": 1}
    assert shown["ignore"] == ["musl-image", "pod-group-empty", "static-image"]
    assert shown["stack"]["hami"] == "2.9"
    assert gangcheck("serve", "--config", "policy.yaml", "--print-config", "--select", "pod-group-*") == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["select"], "ignore" in shown) == (["pod-group-*"], False)


@pytest.mark.parametrize(
    ("policy", "args", "injects"),
    [
        ("", (), True),
        ('stack: {hami: "2.10"}', (), True),
        ("# nothing", (), True),
        ("stack: {injectsScheduler: false}", (), False),
        ("stack: {injectsScheduler: false}", ("--stack", "injectsScheduler=true"), True),
        ("", ("--stack", "injectsScheduler=false"), False),
        ("", ("--stack", "hami=2.10"), True),
    ],
)
def test_the_server_is_its_own_mutator_unless_told_otherwise(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], policy: str, args: tuple[str, ...], *, injects: bool
) -> None:
    Path("policy.yaml").write_text(policy, encoding="utf-8")
    named = ("--config", "policy.yaml") if policy else ()
    assert gangcheck("serve", "--print-config", *named, *args) == 0
    assert yaml.safe_load(capsys.readouterr().out)["stack"]["injectsScheduler"] is injects


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--threads", "400"], "server.threads: wanted is a whole number from 1 to 64, and this is 400"),
        (["--tls-cert", "a"], "a certificate and its key come together: --tls-cert and --tls-key"),
        (["--certs", "external"], "server.certs: external certificates are files; name them by --tls-cert and"),
        (["--certs", "managed", "--tls-cert", "a", "--tls-key", "b"], "managed certificates are the server's own;"),
        (["--leaf-seconds", "604800", "--ca-seconds", "604800"], "server.caSeconds: wanted is 1816200 or more, three"),
        (["--certs", "managed", "--leaf-seconds", "20"], "server.certsPollSeconds: wanted is 3 or less"),
        (["--select", "musl-imag"], "there is no rule 'musl-imag'; did you mean 'musl-image'?"),
        (["--stack", "hami"], "--stack 'hami' is no KEY=VALUE"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_used(gangcheck: Call, capsys: pytest.CaptureFixture[str], args: list[str], says: str) -> None:
    assert gangcheck("serve", "--print-config", *args) == 2
    assert says in capsys.readouterr().err


def test_there_is_no_cluster_to_ask(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/dev/null")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert gangcheck("serve", "--index") == 2
    assert "there is no cluster to ask; name a kubeconfig" in capsys.readouterr().err
    assert gangcheck("serve", "--no-index", "--certs", "managed") == 2
    assert "server.certs: managed certificates live in a cluster, and there is no cluster" in capsys.readouterr().err


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"


def test_registration(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ca.pem").write_text(CERTIFICATE, encoding="ascii")
    url = "https://127.0.0.1:8443"
    args = ["--url", url, "--ca-file", "ca.pem", "--failure-policy", "Fail", "--exclude-namespace", "gpu"]
    assert gangcheck("registration", *args) == 0
    mutating, validating = yaml.safe_load_all(capsys.readouterr().out)
    assert (mutating["kind"], validating["kind"]) == ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    assert mutating["webhooks"][0]["clientConfig"] == {
        "url": f"{url}/mutate",
        "caBundle": b64encode(CERTIFICATE.encode()).decode(),
    }
    assert {hook["failurePolicy"] for hook in validating["webhooks"]} == {"Fail", "Ignore"}
    assert gangcheck("registration", "--namespace", "ours", "--service", "it", "--port", "9443") == 0
    mutating, _ = yaml.safe_load_all(capsys.readouterr().out)
    assert mutating["webhooks"][0]["clientConfig"]["service"] == {
        "namespace": "ours",
        "name": "it",
        "path": "/mutate",
        "port": 9443,
    }


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://192.0.2.10:8443", "does not begin with https://"),
        ("192.0.2.10:8443", "does not begin with https://"),
        ("https:///mutate", "names no host"),
        ("https://me:secret@192.0.2.10", "has a user in it"),
        ("https://192.0.2.10?warn=1", "has a query in it"),
        ("https://192.0.2.10/#mutate", "has a fragment in it"),
    ],
)
def test_registration_takes_a_url_that_the_api_server_takes(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], url: str, why: str
) -> None:
    assert gangcheck("registration", "--url", url) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"Error: --url: wanted is https://HOST[:PORT][/PATH], and {url!r} {why}\n")


@pytest.mark.parametrize("url", ["HTTPS://a", "https://[2001:db8::1]:8443/hooks/", "https://a/?", "https://a/#"])
def test_what_the_api_server_takes_is_registered(gangcheck: Call, url: str) -> None:
    assert gangcheck("registration", "--url", url) == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--kubeconfig", "gone"], 1),
        (["--kubeconfig", "gone", "--listen", "127.0.0.1:8443"], 1),
        (["--kubeconfig", "gone", "--listen", "0.0.0.0:8443"], 0),
        (["--kubeconfig", "gone", "--listen", "127.0.0.1:9443"], 0),
        (["--index"], 0),
    ],
)
def test_a_server_that_no_api_server_can_call_says_so(
    gangcheck: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, args: list[str], told: int
) -> None:
    """It goes on: what ends it here is the kubeconfig."""
    monkeypatch.setenv("KUBECONFIG", "/dev/null")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert gangcheck("serve", *args) == 2
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert [(line["event"], line["level"]) for line in lines] == [("loopback only", "warning")] * told
    assert all("--listen 0.0.0.0:8443" in line["message"] for line in lines)


def test_registration_takes_certificates_and_no_key(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    url = ("--url", "https://127.0.0.1:8443")
    assert gangcheck("registration", *url) == 0
    assert "without --ca-file the API server trusts https://127.0.0.1:8443 only by" in capsys.readouterr().err
    Path("both.pem").write_text(f"{CERTIFICATE}-----BEGIN PRIVATE KEY-----\n", encoding="ascii")
    assert gangcheck("registration", *url, "--ca-file", "both.pem") == 2
    assert "both.pem: a private key is in this file" in capsys.readouterr().err
    Path("none.pem").write_text("kind: Pod\n", encoding="ascii")
    assert gangcheck("registration", *url, "--ca-file", "none.pem") == 2
    assert "none.pem: no PEM certificate is in this file" in capsys.readouterr().err


def pod_review(**changes: Any) -> Request:  # noqa: ANN401 - any of Request's fields
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "w-0", "annotations": {"scheduling.x-k8s.io/pod-group": "gang"}},
        "spec": {"containers": [{"name": "main", "image": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
    }
    given = {"uid": "u", "review": "admission.k8s.io/v1", "operation": "CREATE", "group": "", "version": "v1"}
    return Request(**{**given, "kind": "Pod", "resource": "pods", "namespace": "a", "object": body, **changes})


def test_entries_answer_as_the_policy_says() -> None:
    doors = entries(Config(), all_rules())
    assert not doors["/validate"](pod_review()).allowed
    warned = doors["/validate/warn"](pod_review())
    assert (warned.allowed, bool(warned.warnings)) == (True, True)
    assert doors["/mutate"](pod_review()).patch
    off = entries(Config(ignore=("pod-group-annotation",), severities={"pod-group-*": Severity.INFO}), all_rules())
    assert off["/validate"](pod_review()).allowed


def test_a_rule_that_has_no_time_left_is_named_and_nothing_else_is_lost() -> None:
    limit(-1)
    try:
        late = entries(Config(), all_rules())["/validate"](pod_review())
    finally:
        limit(3600)
    assert late.allowed
    assert "pod-group-annotation" in late.failed


def test_a_pure_answer_needs_no_server() -> None:
    answer: Answer = judge(pod_review(), all_rules(), Stack(), Enforcement())
    assert not answer.allowed
    assert metrics(RULES).registry is not metrics(RULES).registry
