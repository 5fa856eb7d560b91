"""What the rules about webhook configurations say of the API server holds on the real one."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import Answer, ControlPlane, create, delete, made, named, wait_for
from certificates import self_signed
from objects import pod

from webhook import lint
from webhook.config import Config
from webhook.rules import all_rules

pytestmark = pytest.mark.e2e_slow  # configurations are tried one by one

FIXTURES = Path(__file__).parents[1] / "rules"
KINDS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
REFUSING = {"webhook-field-missing", "malformed", "boolean-where-string"}
ASKED = "example.com/asked"


def configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every webhook configuration of the fixtures, with its file."""
    for path in sorted(FIXTURES.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if "ebhookConfiguration" in text and "${" not in text:
            bodies = (body for body in yaml.load_all(text, Loader=yaml.CSafeLoader) if body)
            yield from ((path.name, body) for body in bodies if body.get("kind") in KINDS)


def refused_by_the_linter(body: dict[str, Any]) -> bool:
    """Whether a rule says that the API server refuses the object; a caBundle that is no base64 is one such."""
    text = yaml.safe_dump(body)
    result = lint.lint([("a.yaml", [text.encode()])], Config(), rules=all_rules())
    return any(item.finding.rule in REFUSING or "is no base64" in item.finding.message for item in result.findings)


def test_what_the_rules_say_is_refused_is_refused_and_nothing_else(control: ControlPlane) -> None:
    found = list(configurations())
    verdicts = [(file, body, create(control, body, dryRun="All")) for file, body in found]
    # A patch and what is no business of ours are complete or not as it comes.
    ours = [item for item in verdicts if item[1]["metadata"]["name"] not in {"vgpu-patched", "certificates"}]
    wrong = [
        (file, body["metadata"]["name"], answer.message)
        for file, body, answer in ours
        if refused_by_the_linter(body) is answer.ok
    ]
    assert wrong == []
    assert sum(not answer.ok for *_, answer in ours) >= 3
    assert sum(answer.ok for *_, answer in ours) >= 30


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "pods", "three segments"),
        ("admissionReviewVersions", ["v2"], "must include at least one of v1, v1beta1"),
        ("admissionReviewVersions", [], "must specify one of v1, v1beta1"),
        ("sideEffects", "Some", "Unsupported value"),
        ("sideEffects", None, "must specify one of None, NoneOnDryRun"),
        ("failurePolicy", "fail", "Unsupported value"),
        ("matchPolicy", "exact", "Unsupported value"),
        ("reinvocationPolicy", "Always", "Unsupported value"),
        ("timeoutSeconds", 31, "between 1 and 30"),
        ("clientConfig", {}, "exactly one of url or service is required"),
        ("clientConfig", {"service": {"name": "a"}}, "webhooks[0].clientConfig.service"),
    ],
)
def test_a_field_is_refused_in_these_words(control: ControlPlane, field: str, value: object, said: str) -> None:
    body = configuration("field", {"url": "https://127.0.0.1:1/"})
    body["webhooks"][0] |= {field: value}
    assert refused_by_the_linter(body)
    answer = create(control, body, dryRun="All")
    assert not answer.ok
    assert said in answer.message


def configuration(name: str, client: dict[str, Any]) -> dict[str, Any]:
    """A webhook that fails closed, for Pods with the label alone."""
    hook = {
        "name": f"{name}.policy.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 2,
        "objectSelector": {"matchLabels": {ASKED: name}},
        "clientConfig": client,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    return {**named("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name), "webhooks": [hook]}


@contextmanager
def refusal(control: ControlPlane, name: str, client: dict[str, Any]) -> Iterator[str]:
    """What the API server says to a Pod whose webhook cannot be called."""

    def asked() -> Answer:
        return create(control, pod("default", "asked", labels={ASKED: name}), dryRun="All")

    body = configuration(name, client)
    made(control, body)
    try:
        wait_for(lambda: not asked().ok, what="the webhook's first failure", every=0.02)
        yield asked().message
    finally:
        delete(control, body)


def test_a_port_that_the_service_does_not_offer(control: ControlPlane, namespace: str) -> None:
    service = {**named("v1", "Service", "policy", namespace), "spec": {"ports": [{"port": 443}]}}
    made(control, service)
    client = {"service": {"name": "policy", "namespace": namespace, "port": 8443}}
    with refusal(control, "port", client) as said:
        assert 'no service port 8443 found for service "policy"' in said


def test_a_service_that_is_not_there(control: ControlPlane, namespace: str) -> None:
    with refusal(control, "gone", {"service": {"name": "gone", "namespace": namespace}}) as said:
        assert 'service "gone" not found' in said


def test_a_ca_bundle_that_is_no_certificate(control: ControlPlane) -> None:
    with refusal(control, "bundle", {"url": "https://127.0.0.1:1/", "caBundle": "Q0E="}) as said:
        assert "unable to load root certificates" in said


def test_a_ca_bundle_that_has_expired_and_one_that_is_absent(control: ControlPlane, tmp_path: Path) -> None:
    """The API server's own port stands for a webhook: what it says of the certificate comes before all else."""
    expired = self_signed(tmp_path, "expired", days=-1).certificate.read_bytes()
    bundle = {"caBundle": base64.b64encode(expired).decode()}
    for name, more in (("expired", bundle), ("absent", {})):
        with refusal(control, name, {"url": control.url, **more}) as said:
            assert "x509: " in said


@pytest.mark.parametrize(("policy", "admitted"), [("Fail", False), (None, False), ("Ignore", True)])
def test_kube_system_is_spared_by_ignore_alone(control: ControlPlane, policy: str | None, *, admitted: bool) -> None:
    """Nothing listens there. Fail is what is taken where nothing is written."""
    name = f"system-{str(policy).lower()}"
    body = configuration(name, {"url": "https://127.0.0.1:1/"})
    body["webhooks"][0]["failurePolicy"] = policy
    made(control, body)
    try:
        others = configuration("beacon", {"url": "https://127.0.0.1:1/"})
        with refusal(control, others["metadata"]["name"], others["webhooks"][0]["clientConfig"]):
            answer = create(control, pod("kube-system", "asked", labels={ASKED: name}), dryRun="All")
        assert answer.ok is admitted
        assert admitted or "failed calling webhook" in answer.message
    finally:
        delete(control, body)


def test_a_runtime_class_that_is_not_there(control: ControlPlane, namespace: str) -> None:
    answer = create(control, pod(namespace, "a", runtimeClassName="nvidia"))
    assert answer.status == 403
    assert 'pod rejected: RuntimeClass "nvidia" not found' in answer.message


def test_the_api_server_takes_nearly_any_image(control: ControlPlane, namespace: str) -> None:
    """So nothing but the kubelet tells of a bad one, and the Pod has been placed by then."""
    lines = (FIXTURES.parent / "references.tsv").read_text(encoding="utf-8").splitlines()
    rows = [(verdict, json.loads(written)) for verdict, written in (line.split("\t") for line in lines)]
    refused = [image for verdict, image in rows if verdict == "refused" and image == image.strip()][::8]
    for number, image in enumerate(refused):
        body = pod(namespace, f"a-{number}")
        body["spec"]["containers"][0]["image"] = image
        assert create(control, body, dryRun="All").ok, image
    assert len(refused) > 10
