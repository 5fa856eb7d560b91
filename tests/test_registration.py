"""Both webhook configurations are what the API server takes, and their conditions are true of all that rules judge.

Conditions are evaluated with a real CEL; on a real API server the end-to-end tests register them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import celpy
import pytest
import yaml
from celpy.adapter import json_to_cel
from fixture import config_of
from generated import pods
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from webhook.gangkeys import SYSTEM_NAMES, names_group
from webhook.gather import gather
from webhook.inject import operations
from webhook.kinds import TABLE
from webhook.model import GROUP_LABEL, Gang, Pod, PodGroup, Subject, Workload, dig
from webhook.parse import parse
from webhook.policy import Policy, evaluate
from webhook.registration import Configuration, Options, Reach, configurations
from webhook.review import VgpuEnv
from webhook.rules import all_rules
from webhook.stack import VENDORS, Stack

RULES = Path(__file__).parent / "rules"
STACK = Stack()
MUTATING, VALIDATING = configurations(STACK)

Object = dict[str, Any]


def entries(*found: Configuration) -> list[Configuration]:
    return [entry for each in found for entry in each["webhooks"]]


def named(name: str, configuration: Configuration = VALIDATING) -> Configuration:
    return next(entry for entry in configuration["webhooks"] if entry["name"] == f"{name}.gangcheck.io")


# What the API server holds a configuration against (pkg/apis/admissionregistration/validation/validation.go).

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
QUALIFIED = re.compile(rf"({LABEL}(\.{LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
OPTIONS = (
    Options(),
    Options(reach=Reach(url="https://127.0.0.1:8443/", ca=b"-----BEGIN")),
    Options(reach=Reach(namespace="ops", service="gang", port=8443), excluded=(), failure_policy="Fail", events=False),
    Options(regime="warn-only"),
    Options(regime="strict"),
    Options(repairs=True),
)
ALL = [found for options in OPTIONS for found in configurations(STACK, options)]


@pytest.mark.parametrize("configuration", ALL)
def test_a_configuration_is_one_that_the_api_server_takes(configuration: Configuration) -> None:
    names = [entry["name"] for entry in configuration["webhooks"]]
    assert len(set(names)) == len(names)
    assert re.fullmatch(LABEL, configuration["metadata"]["name"])
    for entry in configuration["webhooks"]:
        assert re.fullmatch(rf"{LABEL}(\.{LABEL}){{2,}}", entry["name"])
        assert entry["admissionReviewVersions"] == ["v1"]
        assert entry["failurePolicy"] in {"Ignore", "Fail"}
        assert entry["sideEffects"] in {"None", "NoneOnDryRun"}
        assert entry["matchPolicy"] == "Equivalent"
        assert 1 <= entry["timeoutSeconds"] <= 30
        _takes_client(entry["clientConfig"])
        _takes_conditions(entry["matchConditions"])
        for rule in entry["rules"]:
            _takes_rule(rule)
        for selector in (entry["namespaceSelector"], entry["objectSelector"]):
            _takes_selector(selector)
    assert json.loads(json.dumps(configuration)) == configuration


def _takes_client(config: Configuration) -> None:
    assert ("url" in config) != ("service" in config)
    if "url" in config:
        assert re.fullmatch(r"https://[^/?#@]+(/[^/?#@]+)+", config["url"])
    else:
        assert re.fullmatch(r"(/[^/?#]+)+", config["service"]["path"])
        assert 1 <= config["service"]["port"] <= 65535
    assert "caBundle" not in config or base64.b64decode(config["caBundle"], validate=True)


def _takes_conditions(conditions: list[Configuration]) -> None:
    names = [condition["name"] for condition in conditions]
    assert 1 <= len(conditions) <= 64
    assert len(set(names)) == len(names)
    for condition in conditions:
        assert QUALIFIED.fullmatch(condition["name"])
        assert program(condition["expression"])


def _takes_rule(rule: Configuration) -> None:
    assert set(rule) == {"apiGroups", "apiVersions", "operations", "resources", "scope"}
    assert rule["scope"] == "Namespaced"
    assert set(rule["operations"]) <= {"CREATE", "UPDATE"}
    assert rule["operations"]
    assert len(rule["apiVersions"]) == 1
    assert all(re.fullmatch(r"[a-z]+", resource) for resource in rule["resources"])


def _takes_selector(selector: Configuration) -> None:
    for expression in selector.get("matchExpressions", ()):
        assert set(expression) == {"key", "operator", "values"}
        assert expression["operator"] in {"In", "NotIn"}
        assert expression["values"]
        assert QUALIFIED.fullmatch(expression["key"])


# What DESIGN decided.


def test_the_mutating_webhook_comes_after_hamis_and_takes_new_pods() -> None:
    (entry,) = MUTATING["webhooks"]
    assert MUTATING["metadata"]["name"] > "hami-webhook"
    assert [rule["resources"] for rule in entry["rules"]] == [["pods"]]
    assert [rule["operations"] for rule in entry["rules"]] == [["CREATE"]]
    assert (entry["failurePolicy"], entry["sideEffects"], entry["timeoutSeconds"]) == ("Ignore", "None", 2)
    assert entry["reinvocationPolicy"] == "IfNeeded"
    assert entry["clientConfig"]["service"]["path"] == "/mutate"
    assert entry["matchConditions"] == named("pods.enforce")["matchConditions"]


def test_every_family_is_validated_in_either_mode() -> None:
    names = [entry["name"].split(".") for entry in VALIDATING["webhooks"]]
    families = ["pods", "gang-changes", "workloads", "cronjobs", "podgroups", "operators"]
    assert names == [[family, mode, "gangcheck", "io"] for mode in ("enforce", "warn") for family in families]
    for family in families:
        enforce, warn = named(f"{family}.enforce"), named(f"{family}.warn")
        assert enforce["clientConfig"]["service"]["path"] == "/validate"
        assert warn["clientConfig"]["service"]["path"] == "/validate/warn"
        assert enforce["rules"] == warn["rules"]
        assert enforce["matchConditions"] == warn["matchConditions"]
        assert enforce["timeoutSeconds"] == warn["timeoutSeconds"] == 3
        assert enforce["failurePolicy"] == warn["failurePolicy"] == "Ignore"
        assert enforce["sideEffects"] == warn["sideEffects"] == "NoneOnDryRun"


def test_a_crd_may_be_absent_or_come_in_any_version() -> None:
    groups = {rule["apiGroups"][0]: rule["apiVersions"] for entry in entries(VALIDATING) for rule in entry["rules"]}
    built_in = {group for group, versions in groups.items() if versions == ["v1"]}
    assert built_in == {"", "apps", "batch"}
    assert all(versions == ["*"] for group, versions in groups.items() if group not in built_in)


def test_options() -> None:
    options = OPTIONS[2]
    mutating, validating = configurations(STACK, options)
    assert {entry["failurePolicy"] for entry in entries(mutating)} == {"Ignore"}
    policies = {entry["clientConfig"]["service"]["path"]: entry["failurePolicy"] for entry in entries(validating)}
    assert policies == {"/validate": "Fail", "/validate/warn": "Ignore"}
    assert {entry["sideEffects"] for entry in entries(mutating, validating)} == {"None"}
    service = {"namespace": "ops", "name": "gang", "path": "/mutate", "port": 8443}
    assert entries(mutating)[0]["clientConfig"] == {"service": service}
    seconds = configurations(STACK, Options(mutate_seconds=1, validate_seconds=9))
    assert [{entry["timeoutSeconds"] for entry in entries(each)} for each in seconds] == [{1}, {9}]


def test_a_url_in_place_of_a_service() -> None:
    mutating, validating = configurations(STACK, OPTIONS[1])
    bundle = base64.b64encode(b"-----BEGIN").decode()
    urls = [entry["clientConfig"] for entry in entries(mutating, validating)]
    assert {each["caBundle"] for each in urls} == {bundle}
    assert {each["url"].removeprefix("https://127.0.0.1:8443") for each in urls} == {
        "/mutate",
        "/validate",
        "/validate/warn",
    }


# Namespaces.


def selects(selector: Configuration, labels: dict[str, str]) -> bool:
    return all(
        (labels.get(each["key"]) in each["values"]) is (each["operator"] == "In")
        for each in selector.get("matchExpressions", ())
    )


@pytest.mark.parametrize(
    ("mode", "paths"),
    [
        (None, {"/mutate", "/validate"}),
        ("enforce", {"/mutate", "/validate"}),
        ("something", {"/mutate", "/validate"}),
        ("warn", {"/mutate", "/validate/warn"}),
        ("off", set()),
    ],
)
def test_a_namespaces_mode_picks_the_entries(mode: str | None, paths: set[str]) -> None:
    labels = {"kubernetes.io/metadata.name": "team-a", **({"gangcheck.io/mode": mode} if mode else {})}
    called = [each for each in entries(MUTATING, VALIDATING) if selects(each["namespaceSelector"], labels)]
    assert {each["clientConfig"]["service"]["path"] for each in called} == paths


@pytest.mark.parametrize("name", ["kube-system", "kube-public", "kube-node-lease", "gangcheck", "hami-system"])
def test_a_namespace_that_is_excluded_never_reaches_us(name: str) -> None:
    labels = {"kubernetes.io/metadata.name": name}
    assert not any(selects(each["namespaceSelector"], labels) for each in entries(MUTATING, VALIDATING))


def test_ours_is_excluded_by_its_own_name() -> None:
    for options, excluded in ((OPTIONS[1], set()), (OPTIONS[2], {"ops"})):
        entry = entries(*configurations(STACK, options))[0]
        (names,) = (
            each["values"]
            for each in entry["namespaceSelector"]["matchExpressions"]
            if each["operator"] == "NotIn" and each["key"] == "kubernetes.io/metadata.name"
        )
        assert set(names) - {"kube-system", "kube-public", "kube-node-lease", "hami-system"} == excluded


def test_hamis_opt_out_keeps_the_mutating_webhook_away_and_silences_nothing() -> None:
    (entry,) = MUTATING["webhooks"]
    for selector in (entry["namespaceSelector"], entry["objectSelector"]):
        assert not selects(selector, {"hami.io/webhook": "ignore"})
        assert selects(selector, {"hami.io/webhook": "x"})
        assert selects(selector, {})
    assert all(selects(each["objectSelector"], {"hami.io/webhook": "ignore"}) for each in entries(VALIDATING))


# Conditions.


@lru_cache(maxsize=64)
def program(expression: str) -> Any:  # noqa: ANN401 - CEL has no types in Python
    environment = celpy.Environment()
    return environment.program(environment.compile(expression))


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - as JSON
    """What the API server makes of null: an absent field, an empty text in labels and annotations."""
    if isinstance(value, dict):
        texts = {"labels", "annotations"}
        return {
            key: {name: text if text is not None else "" for name, text in inner.items()}
            if key in texts and isinstance(inner, dict)
            else without_nulls(inner)
            for key, inner in value.items()
            if inner is not None
        }
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def meets(entry: Configuration, new: Object, old: Object | None = None) -> bool:
    """Whether an entry's conditions are all true. On CREATE the API server has null for the old object and looks no
    further than the operation; this CEL evaluates both sides, and a mapping keeps it from failing there."""
    given = {
        "object": json_to_cel(without_nulls(new)),
        "oldObject": json_to_cel(without_nulls(old or {"metadata": {}})),
        "request": json_to_cel({"operation": "UPDATE" if old else "CREATE"}),
    }
    return all(bool(program(each["expression"]).evaluate(given)) for each in entry["matchConditions"])


def takes(entry: Configuration, body: Object, operation: str) -> bool:
    group = body["apiVersion"].rpartition("/")[0]
    plural = f"{body['kind'].lower()}s"
    return any(
        rule["apiGroups"] == [group] and plural in rule["resources"] and operation in rule["operations"]
        for rule in entry["rules"]
    )


def reaches(body: Object, old: Object | None = None, configuration: Configuration = VALIDATING) -> bool:
    """Whether the API server would call us in a namespace without a mode."""
    operation = "UPDATE" if old else "CREATE"
    called = [each for each in entries(configuration) if takes(each, body, operation)]
    return any(meets(each, body, old) for each in called)


def pod(**parts: Any) -> Object:  # noqa: ANN401 - any part of a Pod
    metadata = {key: value for key, value in parts.items() if key in {"labels", "annotations"}}
    spec = {key: value for key, value in parts.items() if key not in metadata}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "w-0", **metadata},
        "spec": {"containers": [{"name": "main"}], **spec},
    }


def deployment(body: Object, **metadata: object) -> Object:
    template = {"metadata": body["metadata"], "spec": body["spec"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def cron_job(body: Object, **metadata: object) -> Object:
    template = {"metadata": body["metadata"], "spec": body["spec"]}
    job = {"metadata": metadata, "spec": {"template": template}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {}, "spec": {"jobTemplate": job}}


def limits(name: str, half: str = "limits") -> list[Object]:
    return [{"name": "side"}, {"name": "main", "resources": {half: {"cpu": "1", name: "1"}}}]


OURS = [
    *(pod(containers=limits(name)) for names in VENDORS.values() for name in (*names.devices, *names.annotated)),
    pod(initContainers=limits("nvidia.com/gpu")),
    pod(containers=limits("nvidia.com/gpu", "requests")),
    pod(containers=limits("nvidia.com/mig-1g.5gb")),
    *(pod(labels={"app": "x", key: "g"}) for key in (GROUP_LABEL, *SYSTEM_NAMES)),
    *(pod(annotations={"app": "x", key: "g"}) for key in (GROUP_LABEL, *SYSTEM_NAMES)),
    pod(annotations={"hami.io/vgpu-node": "n"}),
    pod(labels={"hami.io/vgpu-node": "n"}),
    pod(schedulingGroup={"podGroupName": "g"}),
    pod(workloadRef={"name": "g"}),
]
NOT_OURS = [
    pod(),
    pod(containers=limits("memory")),
    pod(containers=limits("example.com/nvidia.com")),
    pod(containers=[{"name": "main", "resources": {}}], initContainers=[]),
    pod(labels={"app.kubernetes.io/name": "x", "pod-template-hash": "x", "kueue.x-k8s.io/queue-name": "x"}),
    pod(labels={"leaderworkerset.sigs.k8s.io/group-index": "0", "jobset.sigs.k8s.io/restart-attempt": "0"}),
    pod(annotations={"batch.kubernetes.io/cronjob-scheduled-timestamp": "x", "prometheus.io/scrape": "true"}),
    pod(annotations={"kubectl.kubernetes.io/restartedAt": "x", "gangcheck.io/injected": "schedulerName"}),
]


@pytest.mark.parametrize("made", [lambda body: body, deployment, cron_job])
def test_gpus_and_gangs_reach_us_and_nothing_else_does(made: Callable[[Object], Object]) -> None:
    assert [reaches(made(body)) for body in OURS] == [True] * len(OURS)
    assert [reaches(made(body)) for body in NOT_OURS] == [False] * len(NOT_OURS)


def test_the_mutating_webhook_meets_what_the_validating_one_does() -> None:
    assert all(reaches(body, configuration=MUTATING) for body in OURS)
    assert not any(reaches(body, configuration=MUTATING) for body in NOT_OURS)


def test_a_label_above_the_template_counts() -> None:
    labels = {GROUP_LABEL: "g"}
    assert reaches(deployment(pod(), labels=labels))
    assert reaches(deployment(pod(), annotations=labels))
    assert reaches(cron_job(pod(), labels=labels))
    assert reaches({**cron_job(pod()), "metadata": {"labels": labels}})


def test_sparse_objects_make_no_condition_fail() -> None:
    bare: list[Object] = [
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"template": {}}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {}, "spec": {"jobTemplate": {"spec": {}}}},
    ]
    assert [reaches(body) for body in bare] == [False] * len(bare)


def test_a_renamed_resource_is_looked_for_by_its_domain() -> None:
    nvidia = type(VENDORS["nvidia"])(("example.com/gpu",))
    _, validating = configurations(Stack(vendors={"nvidia": nvidia}))
    assert reaches(pod(containers=limits("example.com/gpu")), configuration=validating)
    assert not reaches(pod(containers=limits("nvidia.com/gpu")), configuration=validating)
    assert not reaches(pod(containers=limits("exampleXcom/gpu")), configuration=validating)


GANG = {GROUP_LABEL: "g"}


@pytest.mark.parametrize(
    ("before", "after", "called"),
    [
        ({}, {"labels": GANG}, True),
        ({"labels": GANG}, {}, True),
        ({"labels": GANG}, {"labels": {GROUP_LABEL: "h"}}, True),
        ({"labels": {"app": "x"}}, {"labels": {"app": "x", GROUP_LABEL: ""}}, True),
        ({}, {"annotations": GANG}, True),
        ({"labels": GANG}, {"annotations": GANG}, True),
        ({"labels": GANG}, {"labels": {**GANG, "hami.io/vgpu-node": "n"}}, False),
        ({"labels": GANG}, {"labels": GANG, "annotations": {"hami.io/bind-phase": "success"}}, False),
        ({}, {"containers": limits("nvidia.com/gpu")}, False),
        ({}, {}, False),
    ],
)
def test_an_update_of_a_pod_reaches_us_where_it_changes_gangs(before: Object, after: Object, *, called: bool) -> None:
    assert reaches(pod(**after), pod(**before)) is called


@pytest.mark.parametrize("kind", ["Deployment", "PodGroup", "PyTorchJob"])
def test_an_update_reaches_us_where_it_changes_what_its_author_writes(kind: str) -> None:
    api = {"Deployment": "apps/v1", "PodGroup": "scheduling.x-k8s.io/v1alpha1", "PyTorchJob": "kubeflow.org/v1"}[kind]
    body: Object = {**deployment(pod(labels=GANG)), "apiVersion": api, "kind": kind}
    assert not reaches(body, body)
    assert not reaches({**body, "status": {"x": 1}}, body)
    assert reaches({**body, "spec": {**body["spec"], "replicas": 2}}, body)
    assert reaches({**body, "metadata": {"labels": {"a": "b"}}}, body)
    assert reaches({**body, "metadata": {"annotations": {"a": "b"}}}, body)
    del body["spec"]
    assert not reaches(body, body) or kind == "Deployment"


def test_every_kind_of_the_table_is_registered_but_those_that_nothing_could_exempt() -> None:
    absent = {
        (group, kind)
        for group, kinds in TABLE.items()
        for kind in kinds
        if not any(
            takes(each, {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind}, "CREATE")
            for each in entries(VALIDATING)
        )
    }
    extensions = {("extensions", kind) for kind in TABLE["extensions"]}  # not served since Kubernetes 1.22
    volcano = {(group, kind) for group in TABLE if group.endswith(".volcano.sh") for kind in TABLE[group]}
    assert absent == extensions | volcano | {
        ("", "PodTemplate"),
        ("argoproj.io", "ClusterWorkflowTemplate"),
        ("serving.knative.dev", "Revision"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }


KEYS = [
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.x-k8s.io/pod-group-name",
    "scheduling.sigs.k8s.io/pod-group",
    "scheduling.k8s.io/pod-group",
    "pod-group.scheduling.x-k8s.io",
    "pod-group.scheduling.x-k8s.io/name",
]
LETTERS = st.sampled_from("abcdegiklnoprstuxDG0189-._/")


@st.composite
def slips(draw: st.DrawFn) -> str:
    """A group key with up to two slips of the pen."""
    key = draw(st.sampled_from(KEYS))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(key) - 1))
        key = key[:at] + draw(st.just("") | LETTERS) + key[at + draw(st.integers(0, 1)) :]
    return key


@settings(max_examples=1000, deadline=None)
@given(slips())
def test_a_misspelt_group_key_reaches_us(key: str) -> None:
    assume(names_group(key))
    assert keys_pattern().search(key)


@settings(max_examples=20, deadline=None)
@given(slips())
def test_a_misspelt_group_key_reaches_us_through_cel(key: str) -> None:
    assume(names_group(key))
    assert reaches(pod(labels={key: "g"}))


def keys_pattern() -> re.Pattern[str]:
    """The pattern of keys in the Pods' condition, which means the same to Python and to RE2."""
    expression = named("pods.enforce")["matchConditions"][0]["expression"]
    found = re.search(r"key\.matches\('(.*?)'\)", expression)
    assert found
    return re.compile(found[1])


# Every object of the bad fixtures that a rule speaks of at admission.

AT_ADMISSION = frozenset({Pod, Workload, PodGroup, Gang})
SPEAKING = tuple(rule for rule in all_rules() if not rule.lint_only and AT_ADMISSION & set(rule.subjects))


def judged(path: Path) -> Iterator[tuple[Object, str, Stack]]:
    """The objects of a fixture on which a rule speaks that can speak at admission, and its name."""
    text = path.read_text(encoding="utf-8")
    stack = config_of(text).stack
    documents = [body for body in yaml.safe_load_all(text) if body]
    subjects: list[Subject] = []
    for index, body in enumerate(documents):
        subjects.extend(parse(body, index, stack, written=lambda _: "").subjects)
    seen = [subject for subject in (*subjects, *gather(subjects)) if type(subject) in AT_ADMISSION]
    for finding in evaluate(seen, Policy(SPEAKING), stack).findings:
        body = dig(documents[finding.place.ref.document], *finding.place.ref.prefix)
        assert isinstance(body, dict)
        yield body, finding.rule, stack


def is_registered(body: Object) -> bool:
    return any(takes(each, body, "CREATE") for each in entries(VALIDATING))


@pytest.mark.parametrize("path", sorted(RULES.glob("*.bad.yaml")), ids=lambda path: str(path.name.split(".")[0]))
def test_what_a_rule_speaks_of_reaches_us(path: Path) -> None:
    for body, rule, stack in judged(path):
        if is_registered(body):
            assert reaches(body, configuration=configurations(stack)[1]), (rule, body["kind"])


def test_kinds_that_rules_speak_of_are_registered() -> None:
    found = {
        (body["apiVersion"].rpartition("/")[0], body["kind"])
        for path in RULES.glob("*.bad.yaml")
        for body, _, _ in judged(path)
        if not is_registered(body)
    }
    # PodGroups of other systems are theirs to check; cluster-wide kinds no namespace could exempt.
    assert {kind for _, kind in found} <= {"PodGroup", "ClusterTrainingRuntime", "ClusterWorkflowTemplate"}
    assert ("scheduling.x-k8s.io", "PodGroup") not in found


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ({"minMember": 2, "minResources": {"cpu": "8", "nvidia.com/gpumem": "6k"}}, True),
        ({"minMember": 2, "minResources": {"huawei.com/Ascend910B3-memory": "6k"}}, True),
        ({"minMember": 2, "minResources": {"nvidia.com/gpu": "4"}}, False),
        ({"minMember": 2, "minResources": {}}, False),
        ({"minMember": 2}, False),
        (None, False),
    ],
)
def test_a_podgroup_that_has_something_to_mend_reaches_the_mutating_webhook(
    spec: Object | None, *, reached: bool
) -> None:
    body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g1"}}
    if spec is not None:
        body["spec"] = spec
    assert reaches(body, configuration=configurations(STACK, Options(repairs=True))[0]) is reached
    assert not reaches(body, configuration=MUTATING)


@settings(max_examples=60, deadline=None)
@given(pods())
def test_what_is_completed_reaches_the_mutating_webhook(body: Object) -> None:
    if operations(body, STACK, VgpuEnv()):
        assert reaches(body, configuration=MUTATING)
