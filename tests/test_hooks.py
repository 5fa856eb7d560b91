"""Webhook configurations: what they are called for, what is around them, and what the rules make of it."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import jsonpatch
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import lint
from webhook.config import Config
from webhook.hookrules import concerns_pods, pod_operations, takes
from webhook.images.faults import fault
from webhook.images.references import reference
from webhook.model import Authorities, Hook, HookRule, Requirement, pointer
from webhook.parse.authorities import authorities, not_after
from webhook.parse.placeholders import templated
from webhook.registration import Options, configurations
from webhook.result import Result
from webhook.rule import Finding
from webhook.rules import all_rules
from webhook.selectors import NAMESPACE_NAME, opts_in, selects, selects_namespace
from webhook.stack import Stack

HERE = Path(__file__).parent
RULES = tuple(rule for rule in all_rules() if rule.name.startswith(("webhook-", "certificate-")))
LABELS = {"a": "1", "b": ""}


def check(*files: tuple[str, str], whole: bool = False, now: int = 0, every: bool = False) -> Result:
    config = Config(whole=whole, now=now)
    result = lint.lint([(name, [text.encode()]) for name, text in files], config, rules=RULES, every=every)
    assert not result.failures
    return result


def said(result: Result) -> list[str]:
    return [f"{item.finding.rule}: {item.finding.message}" for item in result.findings]


def rules_of(result: Result) -> list[str]:
    return [item.finding.rule for item in result.findings]


# What a webhook is called for.


def hook_rule(groups: str, resources: str, operations: str = "CREATE", scope: str = "*") -> HookRule:
    """Of texts with commas; `core` is the core group."""
    named, done, wanted = (_split(text) for text in (groups, operations, resources))
    return HookRule(named, done, wanted, scope, ("webhooks", 0, "rules", 0))


def _split(text: str) -> tuple[str, ...]:
    return tuple("" if item == "core" else item for item in text.split(","))


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        (hook_rule("core", "pods"), True),
        (hook_rule("core", "pods/status"), True),
        (hook_rule("*", "*"), True),
        (hook_rule("core", "*/status"), True),
        (hook_rule("apps", "deployments"), True),
        (hook_rule("jobset.x-k8s.io", "jobsets"), True),
        (hook_rule("scheduling.x-k8s.io", "podgroups"), True),
        (hook_rule("*", "jobs"), True),
        (hook_rule("core", "secrets"), False),
        (hook_rule("cert-manager.io", "*"), False),
        (hook_rule("apps", "pods"), False),
        (hook_rule("*", "*", scope="Cluster"), False),
        (hook_rule("core", "${RESOURCE}"), False),
    ],
)
def test_rules_that_are_about_pods(rule: HookRule, answer: bool) -> None:  # noqa: FBT001 - a table
    assert concerns_pods(rule) is answer


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("*", "pods", "pods/status"),
        ("*/*", "pods", "a"),
        ("*/*", "pods/status", "b"),
        ("pods", "pods", "pods/status"),
        ("pods/*", "pods/status", "jobs/status"),
        ("*/status", "pods/status", "pods"),
        ("pods/status", "pods/status", "pods/exec"),
    ],
)
def test_patterns_of_resources(pattern: str, taken: str, left: str) -> None:
    assert takes(hook_rule("core", pattern), "", taken)
    assert not takes(hook_rule("core", pattern), "apps", taken)
    assert left in "ab" or not takes(hook_rule("core", pattern), "", left)


def test_operations_on_pods_themselves() -> None:
    def operations(*rules: HookRule) -> set[str]:
        return set(pod_operations(Hook("a", ("webhooks", 0), {}, rules)))

    assert operations(hook_rule("core", "pods", "CREATE"), hook_rule("*", "*", "UPDATE")) == {"CREATE", "UPDATE"}
    assert operations(hook_rule("core", "pods/exec", "CONNECT"), hook_rule("apps", "*")) == set()
    assert operations(hook_rule("core", "pods", "*")) == {"CREATE", "UPDATE", "DELETE", "CONNECT"}


# Selectors.


def requirement(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values, ())


@pytest.mark.parametrize(
    ("operator", "values", "there", "absent"),
    [
        ("In", ("1",), True, False),
        ("In", ("2",), False, False),
        ("NotIn", ("1",), False, True),
        ("NotIn", ("2",), True, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
        ("Like", ("1",), None, None),
    ],
)
def test_operators(operator: str, values: tuple[str, ...], there: bool | None, absent: bool | None) -> None:  # noqa: FBT001 - a table
    assert selects([requirement("a", operator, *values)], LABELS, sealed=True) is there
    assert selects([requirement("a", operator, *values)], LABELS, sealed=False) is there
    assert selects([requirement("c", operator, *values)], LABELS, sealed=True) is absent
    assert selects([requirement("c", operator, *values)], LABELS, sealed=False) is None


def test_all_lines_of_a_selector_must_fit() -> None:
    assert selects([], LABELS, sealed=False) is True
    fits, fails, unknown = (requirement(key, "In", "1") for key in ("a", "b", "c"))
    assert selects([fits, fails, unknown], LABELS, sealed=False) is False
    assert selects([fits, unknown], LABELS, sealed=False) is None
    assert opts_in([requirement("a", "NotIn", "1"), requirement("a", "Exists")])
    assert not opts_in([requirement("a", "NotIn", "1"), requirement("a", "DoesNotExist")])


def test_a_namespace_is_known_by_its_name_and_more_of_it_where_it_is_given() -> None:
    named = [requirement(NAMESPACE_NAME, "NotIn", "kube-system")]
    own = [requirement("policy", "NotIn", "off")]
    assert selects_namespace(named, "kube-system", {}) is False
    assert selects_namespace(named, "team-a", {}) is True
    assert selects_namespace(own, "team-a", {}) is None
    assert selects_namespace(own, "team-a", {"team-a": {}}) is True
    assert selects_namespace(own, "team-a", {"team-a": {"policy": "off"}}) is False


# The caBundle.

KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(end: dt.datetime, name: str = "policy") -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, KEY.public_key(), x509.random_serial_number())
    return builder.not_valid_before(dt.datetime(1951, 1, 1)).not_valid_after(end).sign(KEY, hashes.SHA256())  # noqa: DTZ001 - UTC


def bundle(*ends: dt.datetime) -> str:
    pem = b"# ours\n" + b"".join(certificate(end).public_bytes(Encoding.PEM) for end in ends)
    return base64.b64encode(pem).decode()


TIMES = st.datetimes(dt.datetime(1951, 1, 2), dt.datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001 - UTC


@settings(max_examples=60, deadline=None)
@given(TIMES, st.text(min_size=1, max_size=15))
def test_the_end_of_any_certificate_is_read(end: dt.datetime, name: str) -> None:
    """Up to 2049 it is written with two digits for the year, from then on with four."""
    der = certificate(end, name).public_bytes(Encoding.DER)
    assert not_after(der) == int(end.replace(microsecond=0, tzinfo=dt.UTC).timestamp())


DER = certificate(dt.datetime(2030, 1, 1)).public_bytes(Encoding.DER)  # noqa: DTZ001 - UTC


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80) | st.integers(0, len(DER)).map(lambda size: DER[:size]))
def test_what_is_no_certificate_is_told_so(der: bytes) -> None:
    """Cut before its last byte it is none: its length says more."""
    if der != DER:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            not_after(der)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(DER) - 1), st.integers(0, 255))
def test_a_damaged_certificate_ends_well(at: int, byte: int) -> None:
    try:
        not_after(DER[:at] + bytes([byte]) + DER[at + 1 :])
    except ValueError:
        return


def test_a_bundle_lasts_as_long_as_its_last_certificate() -> None:
    early, late = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2031, 5, 6, tzinfo=dt.UTC)
    assert authorities(bundle(late, early)) == Authorities(expires=int(late.timestamp()))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("Cg==", None),
        ("Q0E=", Authorities("holds no certificate in PEM")),
        ("-----BEGIN CERTIFICATE-----", Authorities("is no base64")),
        ("Q0E", Authorities("is no base64")),
        ("é", Authorities("is no base64")),
        (
            base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").decode(),
            Authorities("holds no certificate that can be read"),
        ),
        (
            base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n").decode(),
            Authorities("holds no certificate in PEM"),
        ),
    ],
)
def test_bundles_that_hold_nothing(text: str, found: Authorities | None) -> None:
    assert authorities(text) == found


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: base64.b64encode(data).decode()))
def test_any_text_of_a_bundle_ends_well(text: str) -> None:
    authorities(text)


# The rules, with what is around a configuration.

Object = dict[str, Any]


def hook(name: str = "pods", **fields: object) -> Object:
    return {
        "name": f"{name}.policy.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "timeoutSeconds": 2,
        "clientConfig": {"service": {"name": "policy", "namespace": "gpu"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        **fields,
    }


def configuration(*hooks: Object, name: str = "policy", kind: str = "Mutating", **annotations: str) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name, "annotations": annotations or {"cert-manager.io/inject-ca-from": "gpu/policy"}},
        "webhooks": list(hooks),
    }


def service(namespace: str = "gpu", name: str = "policy", port: int = 443) -> Object:
    spec = {"selector": {"app": name}, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def text(*bodies: Object) -> str:
    return "---\n".join(yaml.safe_dump(body) for body in bodies)


def with_bundle(bundle: str) -> Object:
    client = {"service": {"name": "policy", "namespace": "gpu"}, "caBundle": bundle}
    return configuration(hook(clientConfig=client), **{"example.com/note": "by hand"})


def test_a_bundle_has_expired_by_the_time_of_the_run_alone() -> None:
    end = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    manifest = text(with_bundle(bundle(end)))
    for now, told in ((0, 0), (int(end.timestamp()) - 1, 0), (int(end.timestamp()) + 1, 1)):
        assert len(said(check(("a.yaml", manifest), now=now))) == told
    found = said(check(("a.yaml", manifest), now=int(end.timestamp()) + 1))
    assert "has a caBundle that expired on 2026-03-01" in found[0]


def test_one_cause_is_one_finding() -> None:
    bare = configuration(hook("a"), hook("b"), hook("c"), **{"example.com/note": "none"})
    (found,) = check(("a.yaml", text(bare))).findings
    assert found.finding.rule == "webhook-ca-missing"
    assert [note.label for note in found.notes] == [f"webhook {each}.policy.example.com too" for each in "bc"]


def test_our_own_webhooks_have_their_bundle_from_our_own_server() -> None:
    ours = configuration({**hook(), "name": "inject.gangcheck.io"}, **{"example.com/note": "none"})
    assert said(check(("a.yaml", text(ours)))) == []


def test_the_service_may_stand_in_another_file_and_is_read_only_where_it_is_wanted() -> None:
    wrong = configuration(hook(clientConfig={"service": {"name": "policy", "namespace": "gpu", "port": 8443}}))
    files = [("b/service.yaml", text(service())), ("a/hooks.yaml", text(wrong))]
    for order in (files, files[::-1]):
        assert rules_of(check(*order)) == ["webhook-service-mismatch"]
    assert said(check(files[0])) == []


def test_a_service_of_several_folders_is_enough_once() -> None:
    wrong = configuration(hook(clientConfig={"service": {"name": "policy", "namespace": "gpu", "port": 8443}}))
    files = [("a/hooks.yaml", text(wrong)), ("a/s.yaml", text(service())), ("b/s.yaml", text(service(port=8443)))]
    assert said(check(*files)) == []


def test_a_namesake_in_another_folder_is_another_cluster_s() -> None:
    files = [("prod/hooks.yaml", text(configuration(hook()))), ("dev/service.yaml", text(service("gpu-dev")))]
    assert said(check(*files)) == []
    assert rules_of(check(*files, whole=True)) == ["webhook-service-mismatch"]
    together = [("hooks.yaml", files[0][1]), ("service.yaml", files[1][1])]
    assert rules_of(check(*together)) == ["webhook-service-mismatch"]


def test_that_there_is_no_service_is_told_of_a_whole_installation_only() -> None:
    manifest = ("a.yaml", text(configuration(hook())))
    assert said(check(manifest)) == []
    (found,) = said(check(manifest, whole=True))
    assert found == (
        "webhook-service-mismatch: webhook pods.policy.example.com calls Service/policy in namespace gpu, which is "
        "not there"
    )


def test_a_patch_may_ask_an_injector_for_the_bundle() -> None:
    hook = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: v}\n"
    whole = f"""{hook}webhooks:
- name: v.example.com
  clientConfig: {{service: {{name: s, namespace: hooks}}}}
  rules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
"""
    patch = hook.replace("{name: v}", "{name: v, annotations: {cert-manager.io/inject-ca-from: $(NS)/$(NAME)}}")
    assert rules_of(check(("webhook/manifests.yaml", whole))) == ["webhook-ca-missing"]
    assert rules_of(check(("webhook/manifests.yaml", whole), ("default/patch.yaml", patch))) == []


def test_a_certificate_of_another_folder_is_another_release_s() -> None:
    def release(number: int, namespace: str) -> tuple[str, str]:
        return (
            f"v{number}/all.yaml",
            f"""apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: v, annotations: {{cert-manager.io/inject-ca-from: a/serving}}}}
webhooks:
- name: v.example.com
  clientConfig: {{service: {{name: s, namespace: {namespace}}}}}
  rules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{name: serving, namespace: a}}
spec: {{secretName: s, issuerRef: {{name: i}}, dnsNames: [s.{namespace}.svc]}}
""",
        )

    assert rules_of(check(release(1, "a"), release(2, "b"))) == []


def test_what_controller_gen_writes_is_a_draft() -> None:
    """Kustomize completes it: kueue's selector and cert-manager's annotation come so."""
    client = {"service": {"name": "webhook-service", "namespace": "system", "path": "/mutate--v1-pod"}}
    bare = configuration(hook("mpod", failurePolicy="Fail", clientConfig=client), **{"example.com/note": "none"})
    assert said(check(("webhook/manifests.yaml", text(bare)), whole=True)) == []


def test_timeouts_of_one_folder_are_added_up() -> None:
    slow = [
        ("a", configuration(hook("a", timeoutSeconds=20), name="a")),
        ("b", configuration(hook("b", timeoutSeconds=20), name="b")),
    ]
    apart = [(f"{name}/hooks.yaml", text(body)) for name, body in slow]
    assert said(check(*apart)) == []
    assert "webhook-long-timeout" in rules_of(check(*apart, whole=True))
    assert rules_of(check(*((f"{name}.yaml", text(body)) for name, body in slow))) == ["webhook-long-timeout"]


def test_one_configuration_that_is_there_twice_is_one() -> None:
    slow = text(configuration(hook("a", timeoutSeconds=20)))
    assert said(check(("a.yaml", slow), ("b.yaml", slow))) == []


def test_exactly_the_patience_of_the_api_server_is_enough() -> None:
    def chain(last: int) -> tuple[str, str]:
        checks = configuration(hook("c", timeoutSeconds=last), name="checks", kind="Validating")
        return "a.yaml", text(configuration(hook("a", timeoutSeconds=30)), checks)

    assert said(check(chain(4))) == []
    assert rules_of(check(chain(5))) == ["webhook-long-timeout"]


@pytest.mark.parametrize("values", [["off"], [False]])
def test_off_in_a_selector_is_text_or_a_mistake_of_yaml(values: list[object]) -> None:
    lines = [{"key": "policy", "operator": "NotIn", "values": values}]
    body = configuration(hook(namespaceSelector={"matchExpressions": lines}))
    result = lint.lint([("a.yaml", [text(body).encode()])], Config(), rules=all_rules())
    assert [item.finding.rule for item in result.findings] == ([] if values == ["off"] else ["boolean-where-string"])


BODIES = [
    configuration(hook(failurePolicy="Fail")),
    configuration(hook(clientConfig={"service": {"name": "policy", "namespace": "gpu", "port": 8443}}), name="port"),
    configuration(hook(failurePolicy="Fail", namespaceSelector={"matchLabels": {"name": "gpu"}}), name="labels"),
    configuration(hook(), **{"example.com/note": "none"}),
    service(),
    service(port=8443),
    service("other"),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "labels": {"name": "kube-system"}}},
    {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "policy", "namespace": "gpu"},
        "spec": {"secretName": "tls", "dnsNames": ["policy"]},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "policy"},
        "rules": [
            {
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["mutatingwebhookconfigurations"],
                "verbs": ["update"],
            }
        ],
    },
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "unrelated"}},
]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(range(len(BODIES))), unique=True, max_size=8), st.booleans(), st.booleans())
def test_what_is_around_is_read_wherever_it_stands(chosen: list[int], split: bool, whole: bool) -> None:  # noqa: FBT001 - drawn
    """Reading only what a configuration leans on, in whatever order it comes, changes no finding."""
    bodies = [BODIES[index] for index in chosen]
    files = (
        [(f"{index}.yaml", text(body)) for index, body in enumerate(bodies)] if split else [("a.yaml", text(*bodies))]
    )
    told = sorted(said(check(*files, whole=whole)))
    assert told == sorted(said(check(*files, whole=whole, every=True)))
    assert told == sorted(said(check(*files[::-1], whole=whole)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_shape_of_a_configuration_ends_well(data: st.DataObject) -> None:
    """Any one field may hold anything."""
    body = configuration(
        hook(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]})
    )
    holder, key = data.draw(st.sampled_from(list(fields(body))))
    holder[key] = data.draw(st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just([]) | st.just({}))
    result = lint.lint([("a.json", [json.dumps(body).encode()])], Config(now=1), rules=all_rules())
    assert not result.failures


def fields(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - any part of an object
    """Every place in an object that a value can be put at."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(steps):
        yield value, key
        yield from fields(part)


# Image references.

RECORDED = [line.split("\t") for line in (HERE / "references.tsv").read_text(encoding="utf-8").splitlines()]
"""What ParseNormalizedNamed of github.com/distribution/reference v0.6.0, which the kubelet asks, said of each."""

STANDING_IN = (
    "REGISTRY/app:1",
    "gcr.io/PROJECT_ID/app",
    "app:TAG",
    "ko://example.com/cmd",
    "...",
    "nginx:…",
    "//app:image",
)


@pytest.mark.parametrize(("verdict", "written"), RECORDED)
def test_references_are_told_as_the_kubelet_tells_them(verdict: str, written: str) -> None:
    image = json.loads(written)
    if verdict == "ok":
        assert fault(image) == ""
    else:
        assert fault(image) or reference(image) is None


def test_nearly_all_that_is_refused_is_told() -> None:
    refused = [json.loads(written) for verdict, written in RECORDED if verdict == "refused"]
    assert sum(not fault(image) for image in refused) <= len(refused) // 20  # what may stand for something else


@pytest.mark.parametrize("image", STANDING_IN)
def test_what_stands_in_for_an_image_is_left_alone(image: str) -> None:
    assert fault(image) == ""


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_what_can_be_taken_apart_has_no_fault(image: str) -> None:
    """The two readings of one grammar agree, but for digests, which this one holds to their length."""
    if reference(image) and "@" not in image:
        assert fault(image) == ""


def test_a_stack_is_not_asked_for_by_these_rules() -> None:
    """They say the same of every installation."""
    known: Mapping[str, object] = {"hami": (2, 10), "kubernetes": (1, 34)}
    bodies = text(*BODIES)
    plain = lint.lint([("a.yaml", [bodies.encode()])], Config(), rules=RULES)
    told = lint.lint([("a.yaml", [bodies.encode()])], Config(stack=Stack(**known)), rules=RULES)  # type: ignore[arg-type]
    assert said(plain) == said(told)


@pytest.mark.parametrize(("verdict", "written"), RECORDED)
def test_the_rule_says_what_the_grammar_says(verdict: str, written: str) -> None:
    """It has a short cut for what is plainly right."""
    image = json.loads(written)
    container = {"name": "main", "image": image}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    result = lint.lint(
        [("a.json", [json.dumps(body).encode()])], Config(select=("image-tag-invalid",)), rules=all_rules()
    )
    assert bool(result.findings) is (bool(fault(image)) and not templated(image))
    assert verdict == "refused" or not result.findings


def edited(body: Object, finding: Finding) -> Object:
    """An object with a finding's cure made."""
    steps = [
        {
            "op": edit.operation,
            "path": pointer(edit.place.path),
            **({} if edit.value is None else {"value": edit.value}),
        }
        for edit in finding.edits
    ]
    mended: Object = jsonpatch.apply_patch(body, steps)
    return mended


@pytest.mark.parametrize(
    ("rule", "bodies"),
    [
        ("webhook-reinvoked", [configuration({**hook(reinvocationPolicy="IfNeeded"), "name": "vgpu.hami.io"})]),
        (
            "webhook-namespace-label",
            [
                configuration(
                    hook(
                        namespaceSelector={
                            "matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["kube-system"]}]
                        }
                    )
                )
            ],
        ),
        ("certificate-names", [configuration(hook()), BODIES[8]]),
    ],
)
def test_cures_mend(rule: str, bodies: list[Object]) -> None:
    (found,) = check(("a.yaml", text(*bodies))).findings
    assert found.finding.rule == rule
    assert found.finding.edits
    place = found.finding.place.ref
    mended = [edited(body, found.finding) if body["kind"] == place.kind else body for body in bodies]
    assert said(check(("a.yaml", text(*mended)))) == []


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
@pytest.mark.parametrize("whole", [False, True])
def test_our_own_registration_is_clean(policy: Literal["Ignore", "Fail"], *, whole: bool) -> None:
    ours = configurations(Stack(), Options(failure_policy=policy))
    beside = [service("gangcheck", "gangcheck")]
    assert said(check(("a.yaml", text(*ours, *beside)), whole=whole, now=1)) == []
