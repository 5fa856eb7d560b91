"""The manifests say what the code says: registrations, ports, metrics, rights. `UPDATE_MANIFESTS=1` writes those made.

What the API server makes of them is asked in tests/e2e/test_manifests.py.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from asked import answer, request

from webhook import __version__
from webhook.admission_policy import admission_policy
from webhook.config import Config, read_config
from webhook.gather import gather
from webhook.kinds import TABLE, is_left_alone
from webhook.metrics import described, metrics, watch_authority, watch_index, watch_requests
from webhook.model import Gang
from webhook.parse import parse
from webhook.registration import Configuration, Options, configurations
from webhook.review import Enforcement
from webhook.rules import all_rules
from webhook.stack import Stack

ROOT = Path(__file__).parents[1]
MANIFESTS = ROOT / "manifests"
BASE, COMPONENTS, OVERLAYS = (MANIFESTS / name for name in ("base", "components", "overlays"))

Object = dict[str, Any]


def documents(path: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each is not None]


def the(path: Path) -> Object:
    """The one object of a file."""
    (found,) = documents(path)
    return dict(found)


def webhooks(path: Path) -> list[Object]:
    """The webhooks of a configuration, or of the patch that gives a configuration others."""
    (found,) = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return list(found[0]["value"] if isinstance(found, list) else found["webhooks"])


def kustomizations() -> list[Path]:
    return sorted(path.parent for path in MANIFESTS.glob("*/**/kustomization.yaml"))


PATCHES = {OVERLAYS / name / "validatingwebhookconfiguration.yaml" for name in ("warn-only", "strict")}
"""Files that are lists of operations and no objects."""


def objects() -> list[Path]:
    """Every manifest but the kustomizations, the patches and the examples."""
    found = {path for root in (BASE, COMPONENTS, OVERLAYS) for path in root.rglob("*.yaml")}
    return sorted(path for path in found - PATCHES if path.name != "kustomization.yaml")


def policy() -> Config:
    text = the(BASE / "configmap-policy.yaml")["data"]["policy.yaml"]
    return read_config(text, "policy.yaml", [rule.name for rule in all_rules()])


# Generated files.

HEADER = "# Made by `gangcheck registration{}`; tests/test_manifests.py holds it equal.\n"


class Dumper(yaml.SafeDumper):
    """Lists stand inside their key, as in the manifests that people write."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002 - PyYAML's
        del indentless
        super().increase_indent(flow, False)


def made(command: str, thing: Configuration, *, replaces: bool = False) -> str:
    """The text of a generated file. `replaces`: it is a patch that puts these webhooks in the place of the base's."""
    body = [{"op": "replace", "path": "/webhooks", "value": thing["webhooks"]}] if replaces else thing
    return HEADER.format(command) + yaml.dump(body, Dumper=Dumper, sort_keys=False, width=110)


def generated() -> dict[Path, str]:
    config = policy()
    stack, enforcement = config.stack, config.enforcement or Enforcement()
    mutating, validating = configurations(stack)
    warns = configurations(stack, Options(regime="warn-only"))[1]
    strict = configurations(stack, Options(regime="strict"))[1]
    standing, binding = admission_policy(stack, Options(), enforcement)
    return {
        BASE / "mutatingwebhookconfiguration.yaml": made("", mutating),
        BASE / "validatingwebhookconfiguration.yaml": made("", validating),
        OVERLAYS / "warn-only" / "validatingwebhookconfiguration.yaml": made(
            " --regime warn-only", warns, replaces=True
        ),
        OVERLAYS / "strict" / "validatingwebhookconfiguration.yaml": made(" --regime strict", strict, replaces=True),
        COMPONENTS / "admission-policy" / "validatingadmissionpolicy.yaml": made(" --admission-policy", standing),
        COMPONENTS / "admission-policy" / "validatingadmissionpolicybinding.yaml": made(" --admission-policy", binding),
    }


@pytest.mark.parametrize("path", sorted(generated()), ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_what_is_generated_is_what_the_command_prints(path: Path) -> None:
    text = generated()[path]
    if os.environ.get("UPDATE_MANIFESTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("path", sorted(generated()), ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_the_command_in_a_generated_files_header_prints_it(path: Path, tmp_path: Path) -> None:
    """The command line, with the policy of the ConfigMap, and not only the functions beneath it."""
    policy_file = tmp_path / "policy.yaml"
    policy_file.write_text(the(BASE / "configmap-policy.yaml")["data"]["policy.yaml"], encoding="utf-8")
    words = re.findall(r"`gangcheck ([^`]*)`", path.read_text(encoding="utf-8"))[0].split()
    command = [sys.executable, "-m", "webhook", *words, "--config", str(policy_file)]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    things = list(yaml.safe_load_all(printed))
    if path in PATCHES:
        assert webhooks(path) in [thing["webhooks"] for thing in things]
    else:
        assert the(path) in things


def deployment() -> Object:
    return the(BASE / "deployment.yaml")


def container() -> Object:
    (found,) = deployment()["spec"]["template"]["spec"]["containers"]
    return dict(found)


def settings(*arguments: str, config: Path | None = None) -> Object:
    """What holds for a server that is started so."""
    command = [sys.executable, "-m", "webhook", *arguments, "--print-config"]
    if config:
        command = [part if not part.startswith("--config=") else f"--config={config}" for part in command]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    return dict(yaml.safe_load(printed))


# Policies and command lines.

POLICIES = sorted(path for path in objects() if path.name == "configmap-policy.yaml")


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: str(path.parent.relative_to(MANIFESTS)))
def test_a_policy_is_one_that_the_server_takes(path: Path) -> None:
    """And an overlay's is the base's but for what the overlay is about."""
    (text,) = the(path)["data"].values()
    names = [rule.name for rule in all_rules()]
    config = read_config(text, "policy.yaml", names)
    if path.parent.name == "hami-lt-2.9":
        assert config.stack.hami is not None
        assert config.stack.hami < (2, 9)
    assert config._replace(stack=replace(config.stack, hami=None)) == policy()


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """The server's arguments in the base, in overlays that replace them, and in components that add to them."""
    base = container()["args"]
    yield "base", base
    for path in objects():
        thing = the(path)
        if thing["kind"] == "Deployment" and path.parent != BASE:
            for each in thing["spec"]["template"]["spec"].get("containers", ()):
                yield str(path.parent.relative_to(MANIFESTS)), each["args"]
    for folder in kustomizations():
        for patch in the(folder / "kustomization.yaml").get("patches", ()):
            for step in yaml.safe_load(patch.get("patch", "[]")):
                yield str(folder.relative_to(MANIFESTS)), [*base, step["value"]]


@pytest.mark.parametrize("arguments", [each for _, each in command_lines()], ids=[name for name, _ in command_lines()])
def test_a_command_line_is_one_that_the_server_takes(arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(the(BASE / "configmap-policy.yaml")["data"]["policy.yaml"], encoding="utf-8")
    assert settings(*arguments, config=file)["server"]


# Form.


@pytest.mark.parametrize("path", objects(), ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_one_object_a_file_named_after_its_kind(path: Path) -> None:
    thing = the(path)
    assert path.stem.split("-")[0] == thing["kind"].lower()
    assert thing["metadata"]["name"]


@pytest.mark.parametrize("folder", kustomizations(), ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_a_kustomization_names_all_that_lies_beside_it(folder: Path) -> None:
    told = the(folder / "kustomization.yaml")
    files = {*told.get("resources", ()), *(each["path"] for each in told.get("patches", ()) if "path" in each)}
    beside = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in files if name.endswith(".yaml")} == beside


# What the Deployment says and what the server does.


@pytest.fixture
def shipped(tmp_path: Path) -> Object:
    """The settings of the server as the Deployment starts it, with the ConfigMap's policy."""
    file = tmp_path / "policy.yaml"
    file.write_text(the(BASE / "configmap-policy.yaml")["data"]["policy.yaml"], encoding="utf-8")
    return settings(*container()["args"], config=file)


def test_ports_are_those_that_the_server_listens_on(shipped: Object) -> None:
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    assert ports == {"https": 8443, "http": 8080}
    assert shipped["server"]["listen"] == f"0.0.0.0:{ports['https']}"
    assert shipped["server"]["probes"] == f"0.0.0.0:{ports['http']}"
    (port,) = the(BASE / "service.yaml")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, "https")


def test_the_server_knows_that_our_mutator_is_registered(shipped: Object) -> None:
    assert shipped["stack"]["injectsScheduler"] is True


def test_the_grace_period_is_longer_than_all_that_comes_before_the_end(shipped: Object) -> None:
    spec = deployment()["spec"]["template"]["spec"]
    waits = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    server = shipped["server"]
    assert spec["terminationGracePeriodSeconds"] >= waits + server["drainSeconds"] + server["graceSeconds"] + 5


def test_the_service_forgets_a_replica_before_it_is_told_to_end(shipped: Object) -> None:
    """preStop runs first and Endpoints are changed meanwhile; readiness then fails within the drain, twice over."""
    probe = container()["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] * 2 <= shipped["server"]["drainSeconds"]


def test_the_certificates_are_the_servers_own(shipped: Object) -> None:
    server = shipped["server"]
    assert server["certs"] == "managed"
    assert server["caSecret"] == the(BASE / "secret-ca.yaml")["metadata"]["name"]
    assert server["service"] == the(BASE / "service.yaml")["metadata"]["name"]
    names = [the(BASE / f"{kind}webhookconfiguration.yaml")["metadata"]["name"] for kind in ("mutating", "validating")]
    assert [server["mutatingConfiguration"], server["validatingConfiguration"]] == names


def test_the_secret_is_shipped_empty() -> None:
    assert set(the(BASE / "secret-ca.yaml")) == {"apiVersion", "kind", "metadata", "type"}


def test_the_image_is_this_version() -> None:
    assert container()["image"] == f"gangcheck:{__version__}"


def test_the_pod_is_restricted_and_its_root_is_read_only() -> None:
    """Pod Security Admission says so too, in the end-to-end tests; a read-only root is beyond what it asks."""
    own = container()["securityContext"]
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    pod = deployment()["spec"]["template"]["spec"]["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] > 0
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {mount["mountPath"] for mount in container()["volumeMounts"]} == {"/etc/gangcheck", "/tmp"}  # noqa: S108
    levels = the(BASE / "namespace.yaml")["metadata"]["labels"]
    assert {levels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")} == {"restricted"}


def test_selectors_find_the_pods_and_nothing_else() -> None:
    labels = deployment()["spec"]["template"]["metadata"]["labels"]
    assert deployment()["spec"]["selector"]["matchLabels"] == labels
    assert the(BASE / "service.yaml")["spec"]["selector"] == labels
    assert the(BASE / "poddisruptionbudget.yaml")["spec"]["selector"]["matchLabels"] == labels
    assert the(BASE / "networkpolicy.yaml")["spec"]["podSelector"]["matchLabels"] == labels


def test_a_rollout_and_a_drain_leave_replicas_in_service() -> None:
    spec = deployment()["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    budget = the(BASE / "poddisruptionbudget.yaml")["spec"]
    assert budget["maxUnavailable"] < spec["replicas"]
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_our_own_namespace_never_asks_us() -> None:
    own = the(BASE / "namespace.yaml")["metadata"]["name"]
    for kind in ("mutating", "validating"):
        for entry in the(BASE / f"{kind}webhookconfiguration.yaml")["webhooks"]:
            assert own in entry["namespaceSelector"]["matchExpressions"][0]["values"]
            assert entry["clientConfig"]["service"]["namespace"] == own


# Rights.

NO_OWNERS = {"podtemplates", "workflowtemplates", "trainingruntimes", "clusterworkflowtemplates"}
NO_OWNERS |= {"clustertrainingruntimes"}
"""Kinds that make no Pods, nor anything that does."""


def rules(name: str) -> dict[tuple[str, str], list[str]]:
    """(group, resource) to verbs."""
    found = {}
    for rule in the(BASE / f"clusterrole-{name}.yaml")["rules"]:
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            assert (group, resource) not in found
            found[group, resource] = rule["verbs"]
    return found


def test_owners_are_looked_up_in_every_kind_that_we_know() -> None:
    known = {
        (group, f"{kind.lower()}s")
        for group, kinds in TABLE.items()
        if not is_left_alone(group) and group != "extensions"
        for kind in kinds
    }
    wanted = {key for key in known if key[1] not in NO_OWNERS}
    given = {key: verbs for key, verbs in rules("events").items() if key != ("", "events")}
    assert given == {key: ["get"] for key in wanted}


def roles() -> Iterator[Object]:
    for path in objects():
        thing = the(path)
        if thing["kind"] in {"Role", "ClusterRole"}:
            yield thing


def test_no_role_has_a_wildcard_or_writes_what_it_does_not_name() -> None:
    for role in roles():
        for rule in role.get("rules", ()):  # a patch that deletes one has none
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            changes = set(rule["verbs"]) - {"get", "list", "watch"}
            assert not changes or rule.get("resourceNames") or (rule["resources"], changes) == (["events"], {"create"})


def test_every_binding_gives_its_role_to_our_account() -> None:
    account = the(BASE / "serviceaccount.yaml")["metadata"]
    names = {(role["kind"], role["metadata"]["name"]) for role in roles()}
    for path in BASE.glob("*binding-*.yaml"):
        binding = the(path)
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in names
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        ]


# The overlays' registrations.


def selects(selector: Configuration, labels: dict[str, str]) -> bool:
    return all(
        (labels.get(each["key"]) in each["values"]) is (each["operator"] == "In")
        for each in selector.get("matchExpressions", ())
    )


MODES = (None, "enforce", "warn", "off", "strict", "Strict", "")
FILES = sorted(path for path in generated() if path.name == "validatingwebhookconfiguration.yaml")


def called(entries: list[Object], mode: str | None, group: str, resource: str, operation: str) -> list[Object]:
    labels = {"kubernetes.io/metadata.name": "team-a", **({} if mode is None else {"gangcheck.io/mode": mode})}
    return [
        entry
        for entry in entries
        if selects(entry["namespaceSelector"], labels)
        and any(
            group in rule["apiGroups"] and resource in rule["resources"] and operation in rule["operations"]
            for rule in entry["rules"]
        )
    ]


def asked(entries: list[Object]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, operation)
        for entry in entries
        for rule in entry["rules"]
        for group, resource, operation in itertools.product(rule["apiGroups"], rule["resources"], rule["operations"])
    }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.parent.relative_to(MANIFESTS)))
def test_no_object_goes_through_two_entries(path: Path, mode: str | None) -> None:
    entries = webhooks(path)
    counts = {what: len(called(entries, mode, *what)) for what in asked(entries)}
    assert set(counts.values()) == {0 if mode == "off" else 1}


@pytest.mark.parametrize("mode", MODES)
def test_warn_only_denies_nothing_whatever_a_namespace_says(mode: str | None) -> None:
    entries = webhooks(OVERLAYS / "warn-only" / "validatingwebhookconfiguration.yaml")
    for what in asked(entries):
        for entry in called(entries, mode, *what):
            assert (entry["clientConfig"]["service"]["path"], entry["failurePolicy"]) == ("/validate/warn", "Ignore")


@pytest.mark.parametrize("mode", MODES)
def test_strict_fails_closed_where_a_namespace_wants_it_and_nowhere_else(mode: str | None) -> None:
    entries = webhooks(OVERLAYS / "strict" / "validatingwebhookconfiguration.yaml")
    policies = {entry["failurePolicy"] for what in asked(entries) for entry in called(entries, mode, *what)}
    assert policies == (set() if mode == "off" else {"Fail"} if mode == "strict" else {"Ignore"})
    mutating = webhooks(BASE / "mutatingwebhookconfiguration.yaml")
    assert {entry["failurePolicy"] for entry in mutating} == {"Ignore"}


# Alerts.

FOREIGN = {"apiserver_admission_webhook_fail_open_count", "up"}
"""Metrics that are not ours: the API server's own, which an end-to-end test looks for, and Prometheus'."""


def alerts() -> dict[str, Object]:
    (group,) = the(COMPONENTS / "monitoring" / "prometheusrule.yaml")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def selected(expression: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The metrics that an expression reads, with the labels that it wants of each to have a value."""
    for name, labels in re.findall(r"\b([a-z_]+)(?:\{([^}]*)\}|(?=\[)|(?= [<>])|\))", expression):
        if "_" in name or name == "up":
            yield name, dict(re.findall(r'(\w+)="([^"]*)"', labels))


@pytest.mark.parametrize("name", sorted(alerts()))
def test_an_alert_is_promql(name: str) -> None:
    promql.parse(alerts()[name]["expr"])
    assert alerts()[name]["annotations"].keys() == {"summary", "description"}


@pytest.mark.parametrize("name", sorted(alerts()))
def test_an_alert_reads_metrics_and_labels_that_there_are(name: str) -> None:
    made = metrics()
    watch_requests(made, lambda: 0)
    watch_index(made, lambda: 0, lambda: 0.0)
    watch_authority(made, lambda: 0.0)
    known = {row.name: set(row.labels) for row in described(made)}
    found = list(selected(alerts()[name]["expr"]))
    assert found
    for metric, labels in found:
        assert metric in known or metric in FOREIGN, metric
        assert metric in FOREIGN or labels.keys() <= known[metric], metric


def test_what_is_selected_is_seen() -> None:
    """The reading above, on an expression of each shape."""
    expression = (
        'sum by (pod) (rate(a_total{x="1", y=~"z"}[5m])) > 5 and b_seconds < 0 or absent(up{job="j"}) or min(c_d)'
    )
    assert list(selected(expression)) == [("a_total", {"x": "1"}), ("b_seconds", {}), ("up", {"job": "j"}), ("c_d", {})]


def test_the_certificate_is_missed_in_the_last_third_of_its_life(shipped: Object) -> None:
    hours = int(re.findall(r"< (\d+) \* 3600", alerts()["GangcheckCertificateNotRenewed"]["expr"])[0])
    assert hours * 3 * 3600 == shipped["server"]["leafSeconds"]
    days = int(re.findall(r"< (\d+) \* 86400", alerts()["GangcheckAuthorityNotRenewed"]["expr"])[0])
    assert 0 < days * 86400 < shipped["server"]["caSeconds"] / 3
    ours = the(OVERLAYS / "cert-manager" / "certificate-serving.yaml")["spec"]
    assert (ours["duration"], ours["renewBefore"]) == (f"{hours * 3}h", f"{hours}h")


def test_every_webhook_is_watched_for_failing_open() -> None:
    pattern = re.findall(r'name=~"([^"]+)"', alerts()["GangcheckFailingOpen"]["expr"])[0]
    files = [*FILES, BASE / "mutatingwebhookconfiguration.yaml"]
    names = [entry["name"] for path in files for entry in webhooks(path)]
    assert all(re.fullmatch(pattern, name) for name in names)


def test_prometheus_finds_the_metrics() -> None:
    service = the(COMPONENTS / "monitoring" / "service-metrics.yaml")
    monitor = the(COMPONENTS / "monitoring" / "servicemonitor.yaml")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert not monitor["selector"]["matchLabels"].items() <= {"app.kubernetes.io/name": "gangcheck"}.items()
    assert [each["port"] for each in monitor["endpoints"]] == [port["name"] for port in service["spec"]["ports"]]
    assert service["spec"]["selector"] == deployment()["spec"]["template"]["metadata"]["labels"]
    (down,) = {labels["job"] for _, labels in selected(alerts()["GangcheckDown"]["expr"])}
    assert down == service["metadata"]["name"]  # a ServiceMonitor's job is its Service, where it names no jobLabel


# cert-manager.


def test_the_certificate_names_the_service_and_lies_where_the_server_reads_it() -> None:
    folder = OVERLAYS / "cert-manager"
    serving = the(folder / "certificate-serving.yaml")
    metadata = the(BASE / "service.yaml")["metadata"]
    assert f"{metadata['name']}.{metadata['namespace']}.svc" in serving["spec"]["dnsNames"]
    patch = the(folder / "deployment.yaml")["spec"]["template"]["spec"]
    (volume,) = patch["volumes"]
    assert volume["secret"]["secretName"] == serving["spec"]["secretName"]
    (mount,) = patch["containers"][0]["volumeMounts"]
    assert "subPath" not in mount
    arguments = patch["containers"][0]["args"]
    assert {f"--tls-cert={mount['mountPath']}/tls.crt", f"--tls-key={mount['mountPath']}/tls.key"} <= set(arguments)
    assert [each for each in container()["args"] if each not in arguments] == ["--certs=managed"]
    for kind in ("mutating", "validating"):
        annotations = the(folder / f"{kind}webhookconfiguration.yaml")["metadata"]["annotations"]
        source = f"{serving['metadata']['namespace']}/{serving['metadata']['name']}"
        assert annotations == {"cert-manager.io/inject-ca-from": source}


# The linter on our own.


@lru_cache(maxsize=1)
def lint() -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "webhook", "lint", "--no-config", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    return run


@pytest.mark.parametrize("folder", ["base", "components", "overlays"])
def test_our_own_linter_has_nothing_to_say(folder: str) -> None:
    done = lint()("--verbose", "--fail-on", "info", f"manifests/{folder}")
    assert done.returncode == 0, done.stdout


EXAMPLES = sorted((MANIFESTS / "examples").glob("gang-of-*.yaml"))
KINDS = {"Pod", "Job", "StatefulSet", "JobSet", "PyTorchJob", "MPIJob", "RayCluster"}


def test_there_is_a_good_gang_of_every_common_kind() -> None:
    made_of = {thing["kind"] for path in EXAMPLES for thing in documents(path)}
    assert made_of == KINDS | {"PodGroup", "Service"}


@pytest.mark.parametrize("path", [*EXAMPLES, MANIFESTS / "examples" / "mended-gang.yaml"], ids=lambda path: path.stem)
def test_a_good_gang_is_clean_under_every_rule(path: Path) -> None:
    done = lint()("--verbose", "--fail-on", "info", str(path))
    assert done.returncode == 0, done.stdout
    shared = lint()("--verbose", "--fail-on", "info", "--stack", "hami=2.10", "--stack", "coscheduling=0.34", str(path))
    assert shared.returncode == 0, shared.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_good_gang_has_exactly_its_quorum(path: Path) -> None:
    things = documents(path)
    parsed = [parse(thing, index, Stack(), written=str) for index, thing in enumerate(things)]
    subjects = [subject for each in parsed for subject in each.subjects]
    (gang,) = (each for each in gather(subjects) if isinstance(each, Gang))
    assert gang.group is not None
    assert gang.group.min_member == sum(pod.count.least for pod in gang.members)
    assert {(pod.count.least, pod.scheduler) for pod in gang.members} == {
        (pod.count.most, "hami-scheduler") for pod in gang.members
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_good_gang_is_admitted_without_a_word(path: Path) -> None:
    for thing in documents(path):
        given = answer(request(thing, namespace=thing["metadata"]["namespace"]))
        assert (given.allowed, given.warnings, given.failed) == (True, (), ())
