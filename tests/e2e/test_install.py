"""What `kubectl apply -k` makes of the manifests on a real API server, and that it suffices and grants no more."""

import base64
import copy
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apiserver
import installation
import operators
import pytest
import yaml
from apiserver import ControlPlane, Object, create, events, found, get, kubectl, listed, made, named, wait_for
from certificates import self_signed
from controlplane import free_ports
from installation import MANIFESTS, NAMESPACE, VALIDATING, applied, bundles, on_loopback, with_components
from objects import GROUP, SCHEDULER, pod, template, workload
from server import Server, scheduler_of

pytestmark = pytest.mark.e2e_slow  # the manifests are built and applied again and again

HERE = Path(__file__).parent
BASE = MANIFESTS / "base"
OVERLAYS = sorted(path.parent for path in MANIFESTS.glob("overlays/*/kustomization.yaml"))
COMPONENTS = sorted(path.parent.name for path in MANIFESTS.glob("components/*/kustomization.yaml"))
GPU = {"nvidia.com/gpu": "1"}
ADDRESS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "gangcheck-control-plane",
        "annotations": {"config.kubernetes.io/local-config": "true"},
    },
    "data": {"cidr": "192.0.2.0/28"},
}


@pytest.fixture(scope="module")
def installed(control: ControlPlane) -> Iterator[list[str]]:
    """The base, applied as the README says; gone after the module. Yields what kubectl said."""
    installation.remove(control)
    try:
        yield applied(control, BASE, "--server-side")
    finally:
        installation.remove(control)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installation")


@pytest.fixture(scope="module")
def running(control: ControlPlane, installed: list[str], home: Path) -> Iterator[Server]:
    """The base with a server that answers, called on loopback."""
    assert installed
    ports = free_ports(2)
    applied(control, on_loopback(control, home / "base", f"https://127.0.0.1:{ports[0]}"), "--server-side")
    with installation.serving(control, home, ports) as server:
        wait_for(partial(_denies, control), what="the webhooks' effect")
        yield server


def _denies(control: ControlPlane, namespace: str = "default") -> bool:
    return not create(control, pod(namespace, "probe", annotations={GROUP: "g"}), dryRun="All").ok


def objects(text: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(text) if each]


def built(control: ControlPlane, folder: Path) -> str:
    done = kubectl(control, "kustomize", str(folder))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


# Applying.


def test_base_is_applied_whole(control: ControlPlane, installed: list[str]) -> None:
    things = objects(built(control, BASE))
    assert len(things) == 18
    assert len(installed) == len(things)
    assert all(line.endswith(" serverside-applied") for line in installed)
    assert all(get(control, thing).ok for thing in things)


@pytest.mark.usefixtures("installed", "crds")
@pytest.mark.parametrize("folder", [BASE, *OVERLAYS], ids=lambda path: path.name)
def test_overlay_is_one_that_the_api_server_takes(control: ControlPlane, folder: Path) -> None:
    said = applied(control, folder, "--server-side", "--dry-run=server", "--validate=strict")
    assert len(said) == len(objects(built(control, folder)))


@pytest.mark.usefixtures("installed", "crds")
@pytest.mark.parametrize("component", COMPONENTS)
def test_component_is_one_that_the_api_server_takes(control: ControlPlane, tmp_path: Path, component: str) -> None:
    extra = ADDRESS if component == "networkpolicy-narrow" else None
    folder = with_components(tmp_path / "own", component, extra=extra)
    said = applied(control, folder, "--server-side", "--dry-run=server", "--validate=strict")
    assert len(said) == len(objects(built(control, folder)))


@pytest.mark.usefixtures("installed", "crds")
@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_all_components_go_with_every_overlay(control: ControlPlane, tmp_path: Path, overlay: Path) -> None:
    folder = with_components(tmp_path / "own", *COMPONENTS, overlay=f"overlays/{overlay.name}", extra=ADDRESS)
    applied(control, folder, "--server-side", "--dry-run=server", "--validate=strict")


@pytest.fixture(scope="module")
def crds(control: ControlPlane) -> Iterator[None]:
    """Those of cert-manager and of Prometheus' operator, and HAMi's namespace."""
    things = objects((HERE / "crds.yaml").read_text(encoding="utf-8"))
    for thing in things:
        apiserver.apply_crd(control, thing)
    create(control, named("v1", "Namespace", "hami-system"))
    yield
    for thing in things:
        apiserver.delete(control, thing)


def test_narrow_network_without_an_address_is_no_build(control: ControlPlane, tmp_path: Path) -> None:
    done = kubectl(control, "kustomize", str(with_components(tmp_path / "own", "networkpolicy-narrow")))
    assert done.returncode != 0
    assert "gangcheck-control-plane" in done.stderr


def test_narrow_network_has_the_address_and_nothing_else(control: ControlPlane, tmp_path: Path) -> None:
    folder = with_components(tmp_path / "own", "networkpolicy-narrow", extra=ADDRESS)
    things = objects(built(control, folder))
    (policy,) = (each for each in things if each["kind"] == "NetworkPolicy")
    assert policy["spec"]["ingress"] == [
        {"from": [{"ipBlock": {"cidr": "192.0.2.0/28"}}], "ports": [{"port": 8443, "protocol": "TCP"}]}
    ]
    assert "gangcheck-control-plane" not in {each["metadata"]["name"] for each in things}


@pytest.mark.parametrize("folder", [BASE, *OVERLAYS], ids=lambda path: path.name)
def test_our_own_linter_has_nothing_to_say_of_what_is_built(control: ControlPlane, folder: Path) -> None:
    """With --whole too: what is absent from an installation is absent then."""
    text = built(control, folder)
    command = [sys.executable, "-m", "webhook", "lint", "--no-config", "--verbose", "--fail-on", "info"]
    for options in (["-"], ["--whole", "-"]):
        done = subprocess.run([*command, *options], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


# The Pods.


@pytest.mark.usefixtures("installed")
def test_pods_pass_pod_security_and_are_placed(control: ControlPlane) -> None:
    """The namespace enforces `restricted`; what it refuses never comes."""
    pods = wait_for(lambda: own if len(own := listed(control, "v1", "Pod", NAMESPACE)) == 3 else None)
    for each in pods or ():
        wait_for(partial(apiserver.node_of, control, each))
    assert not [event for event in events(control, NAMESPACE) if event["reason"] == "FailedCreate"]


@pytest.mark.usefixtures("installed")
def test_pod_security_refuses_what_the_manifest_does_not_ask_for(control: ControlPlane) -> None:
    """The label is in force: the test above would pass without it."""
    done = create(control, pod(NAMESPACE, "plain"), dryRun="All")
    assert done.status == 403
    assert "restricted" in done.message


# Rights.


def shown(rules: list[tuple[str, ...]]) -> list[str]:
    return [" ".join(rule).rstrip() for rule in rules]


@pytest.mark.usefixtures("installed")
def test_rights_are_those_of_the_table_and_no_more(control: ControlPlane) -> None:
    """What every ServiceAccount may do is left out; the rest is rights.txt, in our namespace and in any other."""
    create(control, named("v1", "ServiceAccount", "nobody", NAMESPACE))
    own = installation.account(control)
    nobody = apiserver.named("v1", "ServiceAccount", "nobody", NAMESPACE)
    everybody = set(installation.rules_of(installation.account_of(control, nobody), NAMESPACE))
    table = [
        line for line in (HERE / "rights.txt").read_text(encoding="utf-8").splitlines() if line[:1] not in {"", "#"}
    ]
    everywhere = shown([rule for rule in installation.rules_of(own, "default") if rule not in everybody])
    at_home = shown([rule for rule in installation.rules_of(own, NAMESPACE) if rule not in everybody])
    assert everywhere == sorted(line for line in table if not line.startswith(f"{NAMESPACE}: "))
    assert sorted(set(at_home) - set(everywhere)) == sorted(
        line.removeprefix(f"{NAMESPACE}: ") for line in table if line.startswith(f"{NAMESPACE}: ")
    )


@pytest.mark.usefixtures("installed")
def test_what_is_not_in_the_table_is_forbidden(control: ControlPlane) -> None:
    own = installation.account(control)
    secret = named("v1", "Secret", "gangcheck-ca", NAMESPACE)
    assert get(own, secret).ok
    refused = [
        get(own, named("v1", "Secret", "other", NAMESPACE)),
        apiserver.request(own, "GET", f"/api/v1/namespaces/{NAMESPACE}/secrets"),
        apiserver.request(own, "GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
        apiserver.delete(own, secret),
        apiserver.delete(own, VALIDATING),
        create(own, pod(NAMESPACE, "probe"), dryRun="All"),
        create(own, {**named("v1", "Secret", "mine", NAMESPACE)}, dryRun="All"),
    ]
    assert [answer.status for answer in refused] == [403] * len(refused)


# What was applied works.


def test_server_fills_in_its_authority_everywhere(control: ControlPlane, running: Server) -> None:
    assert running.is_ready()
    assert len(set(bundles(control))) == 1
    assert all(bundles(control))
    assert found(control, named("v1", "Secret", "gangcheck-ca", NAMESPACE))["data"]


def test_admission_works_with_what_was_applied(control: ControlPlane, running: Server, namespace: str) -> None:
    wrong = create(control, pod(namespace, "wrong", annotations={GROUP: "g"}))
    assert wrong.status == 403
    assert wrong.message.startswith(
        'admission webhook "pods.enforce.gangcheck.io" denied the request: pod-group-annotation'
    )
    right = create(control, pod(namespace, "right", limits=GPU))
    assert (right.status, scheduler_of(right)) == (201, SCHEDULER)
    assert "gangcheck.io/injected" in right.body["metadata"]["annotations"]
    assert [review["verdict"] for review in installation.settled(running, namespace)] == [
        "allowed",
        "denied",
        "patched",
        "allowed",
    ]


def test_owner_hears_of_its_pods_by_events(control: ControlPlane, running: Server, namespace: str) -> None:
    """Every right on the way: the Pod's ReplicaSet is looked up, its Deployment found, and the Event written there."""
    body = template(labels={GROUP: "train"}, limits=GPU, scheduler=SCHEDULER)
    body["spec"]["containers"][0]["image"] = "python:3.12-alpine"
    made(control, workload("Deployment", namespace, "train", body, replicas=1))

    def heard() -> list[Object]:
        return [event for event in events(control, namespace, "train") if event["reason"] == "MuslImage"]

    (event,) = wait_for(heard)
    assert event["involvedObject"]["kind"] == "Deployment"
    assert "forbidden" not in running.log.read_text(encoding="utf-8")


def test_base_applied_again_leaves_certificates_alone(control: ControlPlane, running: Server, home: Path) -> None:
    """An upgrade: no entry is ever without its caBundle, and the Secret keeps what is in it."""
    assert running.is_ready()
    before, secret = bundles(control), found(control, named("v1", "Secret", "gangcheck-ca", NAMESPACE))["data"]
    applied(control, home / "base", "--server-side")
    assert bundles(control) == before
    assert found(control, named("v1", "Secret", "gangcheck-ca", NAMESPACE))["data"] == secret
    assert _denies(control)


def pods_in_modes(control: ControlPlane) -> Iterator[tuple[str, str]]:
    """A namespace of each mode."""
    for mode in ("", "enforce", "warn", "off", "strict"):
        labels = {"gangcheck.io/mode": mode} if mode else {}
        yield mode, apiserver.make_namespace(control, f"mode-{mode or 'none'}", labels)


@pytest.fixture
def modes(control: ControlPlane) -> Iterator[dict[str, str]]:
    made_ = dict(pods_in_modes(control))
    yield made_
    for name in made_.values():
        apiserver.remove_namespace(control, name)


Overlaid = Callable[..., None]


@pytest.fixture
def overlaid(control: ControlPlane, running: Server, home: Path) -> Iterator[Overlaid]:
    """Switches the installation over to another overlay, and back to the base after the test."""

    def switch(overlay: str, *components: str) -> None:
        folder = on_loopback(control, home / overlay.rpartition("/")[2], running.url, overlay, *components)
        applied(control, folder, "--server-side")
        if running.process.poll() is None:
            wait_for(lambda: all(bundles(control)), what="the caBundles")
            time.sleep(0.3)

    yield switch
    switch("base")


def test_warn_only_denies_nowhere(
    control: ControlPlane, running: Server, overlaid: Overlaid, modes: dict[str, str]
) -> None:
    overlaid("overlays/warn-only")
    for mode, namespace in modes.items():
        answer = create(control, pod(namespace, "wrong", annotations={GROUP: "g"}))
        assert answer.status == 201
        warned = any(text.startswith("pod-group-annotation: ") for text in answer.warnings)
        assert warned == (mode != "off"), mode
        entries = [review["entry"] for review in installation.settled(running, namespace)]
        assert entries == ([] if mode == "off" else ["mutate", "validate/warn"])


def test_strict_asks_once_and_denies(
    control: ControlPlane, running: Server, overlaid: Overlaid, modes: dict[str, str]
) -> None:
    overlaid("overlays/strict")
    for mode, namespace in modes.items():
        answer = create(control, pod(namespace, "wrong", annotations={GROUP: "g"}))
        assert answer.status == (201 if mode in {"warn", "off"} else 403)
        counts = [review["entry"] for review in installation.settled(running, namespace)]
        assert len(counts) == (0 if mode == "off" else 2)


@pytest.mark.parametrize("overlay", ["warn-only", "strict"])
def test_overlays_registration_is_what_the_command_prints(control: ControlPlane, overlay: str) -> None:
    """What is built, and not only the file of the patch: a patch that kustomize ignores changes nothing."""
    command = [sys.executable, "-m", "webhook", "registration", "--regime", overlay]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wanted = {each["kind"]: each["webhooks"] for each in objects(printed)}
    got = objects(built(control, MANIFESTS / "overlays" / overlay))
    assert {each["kind"]: each["webhooks"] for each in got if each["kind"] in wanted} == wanted


# What holds while the server is away. These end the server: they come last, and each has its own.


@contextmanager
def alone(control: ControlPlane, folder: Path, overlay: str, *components: str) -> Iterator[Server]:
    """An installation of its own with a server that the test may kill."""
    installation.remove(control)
    ports = free_ports(2)
    try:
        applied(control, on_loopback(control, folder / "own", f"https://127.0.0.1:{ports[0]}", overlay, *components))
        with installation.serving(control, folder, ports) as server:
            wait_for(partial(_denies, control), what="the webhooks' effect")
            yield server
    finally:
        installation.remove(control)


@pytest.mark.e2e_slow
def test_annotation_mistake_is_refused_while_the_server_is_away(
    control: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with alone(control, tmp_path, "base", "admission-policy") as server:
        server.kill()
        wrong = pod(namespace, "wrong", annotations={GROUP: "llama"}, limits=GPU)
        answer = wait_for(lambda: given if not (given := create(control, wrong, dryRun="All")).ok else None)
        assert answer is not None
        assert answer.status == 403
        assert "ValidatingAdmissionPolicy 'gangcheck-pod-group-annotation'" in answer.message
        assert f"move it to the labels there: {GROUP}: llama; gangcheck explain pod-group-annotation" in answer.message
        body = template(annotations={GROUP: "llama"}, limits=GPU)
        for kind in ("Deployment", "StatefulSet", "Job"):
            refused = create(control, workload(kind, namespace, "wrong", copy.deepcopy(body)), dryRun="All")
            assert refused.status == 403
            assert f"the Pod template of this {kind} names its gang llama" in refused.message
        daily = {"schedule": "@daily", "jobTemplate": {"spec": workload("Job", namespace, "w", body)["spec"]}}
        cron = {**named("batch/v1", "CronJob", "wrong", namespace), "spec": daily}
        assert "the Pod template of this CronJob names its gang" in create(control, cron, dryRun="All").message
        assert create(control, pod(namespace, "right", labels={GROUP: "llama"}, limits=GPU)).ok
        for mode in ("warn", "off"):
            change = {"metadata": {"labels": {"gangcheck.io/mode": mode}}}
            apiserver.patch(control, named("v1", "Namespace", namespace), change)
            wait_for(lambda: create(control, wrong, dryRun="All").ok, what=f"mode {mode}")
        # The alert's metric: these calls were let through without a verdict.
        counts = installation.fail_opens(control)
        assert counts["pods.enforce.gangcheck.io"] >= 1
        assert counts["inject.gangcheck.io"] >= 1


@pytest.mark.e2e_slow
def test_policy_takes_updates_as_the_server_does(control: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """Its expressions, evaluated by the API server itself, on what the linter's tests cannot send it: an update."""
    with alone(control, tmp_path, "base", "admission-policy") as server:
        server.kill()
        (old,) = made(control, pod(namespace, "old", labels={"app": "x"}))
        wait_for(lambda: not create(control, pod(namespace, "p", annotations={GROUP: "x"}), dryRun="All").ok)
        mistaken = {"metadata": {"annotations": {GROUP: "llama"}}}
        assert apiserver.patch(control, old, mistaken).status == 403
        both = {"metadata": {"annotations": {GROUP: "llama"}, "labels": {GROUP: "llama"}}}
        assert apiserver.patch(control, old, both).ok
        # The label goes, the annotation stays: it was no mistake before, and is one now.
        assert apiserver.patch(control, old, {"metadata": {"labels": {GROUP: None}}}).status == 403
        assert apiserver.patch(control, old, {"metadata": {"labels": {"app": "y"}}}).ok
        body = template(labels={GROUP: "llama"}, limits=GPU)
        (deployment,) = made(control, workload("Deployment", namespace, "train", body, replicas=1))
        wrong = {"spec": {"template": {"metadata": {"annotations": {GROUP: "other"}}}}}
        assert apiserver.patch(control, deployment, wrong).status == 403
        assert apiserver.patch(control, deployment, {"spec": {"replicas": 2}}).ok


@pytest.mark.e2e_slow
def test_policy_lets_old_mistakes_live(control: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """A Deployment that was there before: it can be scaled and given an image, as with the server."""
    body = template(annotations={GROUP: "llama"}, limits=GPU)
    (old,) = made(control, workload("Deployment", namespace, "old", body, replicas=1))
    with alone(control, tmp_path, "base", "admission-policy") as server:
        server.kill()
        wait_for(lambda: not create(control, pod(namespace, "p", annotations={GROUP: "x"}), dryRun="All").ok)
        assert apiserver.patch(control, old, {"spec": {"replicas": 3}}).ok
        assert apiserver.patch(control, old, {"metadata": {"labels": {"team": "a"}}}).ok
        assert apiserver.patch(control, old, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}).ok


@pytest.mark.e2e_slow
def test_strict_namespace_is_closed_until_the_break_glass(
    control: ControlPlane, modes: dict[str, str], tmp_path: Path
) -> None:
    with alone(control, tmp_path, "overlays/strict") as server:
        right = {mode: pod(name, "right", limits=GPU) for mode, name in modes.items()}
        assert all(create(control, each, dryRun="All").ok for each in right.values())
        server.kill()
        answers = {mode: create(control, each, dryRun="All") for mode, each in right.items()}
        assert {mode for mode, answer in answers.items() if not answer.ok} == {"strict"}
        assert 'failed calling webhook "pods.strict.gangcheck.io"' in answers["strict"].message
        assert create(control, pod(modes["strict"], "plain"), dryRun="All").ok
        glass = "mutatingwebhookconfiguration/zz-gangcheck validatingwebhookconfiguration/gangcheck"
        assert kubectl(control, "delete", *glass.split()).returncode == 0
        wait_for(lambda: create(control, right["strict"], dryRun="All").ok, what="the broken glass")


@pytest.mark.e2e_slow
def test_uninstalling_leaves_nothing_behind(control: ControlPlane, tmp_path: Path) -> None:
    with alone(control, tmp_path, "base") as server:
        server.stop()
        done = kubectl(control, "delete", "--wait=false", "-k", str(tmp_path / "own"))
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert not any(get(control, each).ok for each in (installation.MUTATING, VALIDATING))
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            assert not listed(
                control, "rbac.authorization.k8s.io/v1", kind, labelSelector="app.kubernetes.io/name=gangcheck"
            )
        assert found(control, named("v1", "Namespace", NAMESPACE)).get("metadata", {}).get("deletionTimestamp")


@pytest.mark.e2e_slow
def test_without_any_right_the_server_says_what_it_lacks(control: ControlPlane, tmp_path: Path) -> None:
    """The rights are needed, too: without the ClusterRole of the configurations it never becomes ready."""
    installation.remove(control)
    ports = free_ports(2)
    try:
        applied(control, on_loopback(control, tmp_path / "own", f"https://127.0.0.1:{ports[0]}"))
        lacking = named("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "gangcheck-registration")
        assert apiserver.delete(control, lacking).ok
        with installation.serving(control, tmp_path, ports, ready=False) as server:
            wait_for(lambda: "forbidden" in server.log.read_text(encoding="utf-8"), 20, "a line that says so")
            assert not server.is_ready()
    finally:
        installation.remove(control)


@pytest.mark.e2e_slow
@pytest.mark.usefixtures("crds")
def test_certificates_of_somebody_else_are_served_and_left_alone(
    control: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The overlay cert-manager, with cert-manager played: a pair in the files that are mounted, and its authority in
    the caBundles. The server has no right to write any of it."""
    installation.remove(control)
    create(control, named("v1", "Namespace", "hami-system"))
    ports, pair = free_ports(2), self_signed(tmp_path, "tls")
    try:
        overlay = on_loopback(control, tmp_path / "own", f"https://127.0.0.1:{ports[0]}", "overlays/cert-manager")
        applied(control, overlay)
        assert not found(control, named("v1", "Secret", "gangcheck-ca", NAMESPACE))
        files = {"--tls-cert=/tls/tls.crt": str(pair.certificate), "--tls-key=/tls/tls.key": str(pair.key)}
        with installation.serving(control, tmp_path, ports, files=files) as server:
            assert set(bundles(control)) == {""}
            injected = base64.b64encode(pair.certificate.read_bytes()).decode()
            installation.trust(control, injected)
            wait_for(partial(_denies, control), what="the webhooks' effect")
            assert not create(control, pod(namespace, "wrong", annotations={GROUP: "g"})).ok
            time.sleep(2.5)  # two looks of the server at the configurations
            assert set(bundles(control)) == {injected}
            assert server.is_ready()
            assert "forbidden" not in server.log.read_text(encoding="utf-8")
        rights = installation.rules_of(installation.account(control), NAMESPACE)
        assert not [rule for rule in rights if "secrets" in rule[1] or rule[0] == "update"]
    finally:
        installation.remove(control)


@pytest.mark.e2e_slow
def test_cert_managers_own_schemas_take_the_overlay(control: ControlPlane) -> None:
    """Here in full; the CRDs of the tests above have the fields that are used, and no others."""
    installation.remove(control)
    things = []
    try:
        things = [operators.install(control, kind) for kind in ("Certificate", "Issuer")]
        applied(control, MANIFESTS / "overlays" / "cert-manager", "--server-side", "--validate=strict")
    finally:
        for thing in things:
            apiserver.delete(control, thing)
        installation.remove(control)


@pytest.mark.e2e_slow
def test_components_give_the_rights_that_they_are_for(control: ControlPlane, tmp_path: Path) -> None:
    """HAMi's scheduler may read PodGroups, under either usual name; we may look at HAMi, and only there."""
    installation.remove(control)
    wait_for(lambda: create(control, named("v1", "Namespace", "hami-system")).ok, 30)
    try:
        applied(control, with_components(tmp_path / "own", "podgroup-access", "stack-detection"))
        for space in ("hami-system", "kube-system"):
            user = f"system:serviceaccount:{space}:hami-scheduler"
            may = {verb: installation.may(control, user, verb, "scheduling.x-k8s.io", "podgroups") for verb in VERBS}
            assert may == {verb: verb in {"get", "list", "watch"} for verb in VERBS}
        own = installation.account(control)
        elsewhere = set(installation.rules_of(own, "default"))
        there = [rule for rule in installation.rules_of(own, "hami-system") if rule not in elsewhere]
        assert shown(there) == ["get configmaps", "list apps/deployments"]
    finally:
        installation.remove(control)


HAMI = """
apiVersion: v1
kind: ConfigMap
metadata: {name: hami-scheduler-device, namespace: hami-system}
data:
  device-config.yaml: |
    nvidia:
      resourceCountName: nvidia.com/vgpu
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hami-scheduler, namespace: hami-system, labels: {app.kubernetes.io/version: 2.8.3}}
spec:
  replicas: 0
  selector: {matchLabels: {app: hami-scheduler}}
  template:
    metadata: {labels: {app: hami-scheduler}}
    spec:
      volumes: [{name: device-config, configMap: {name: hami-scheduler-device}}]
      containers:
        - name: vgpu-scheduler-extender
          image: projecthami/hami:v2.8.3
          command: [scheduler, --scheduler-name=hami-scheduler, --device-config-file=/device-config.yaml]
          volumeMounts: [{name: device-config, mountPath: /device-config.yaml, subPath: device-config.yaml}]
"""


@pytest.mark.e2e_slow
def test_stack_is_read_off_hami_with_the_components_rights(control: ControlPlane, tmp_path: Path) -> None:
    installation.remove(control)
    wait_for(lambda: create(control, named("v1", "Namespace", "hami-system")).ok, 30)
    ports = free_ports(2)
    try:
        made(control, *objects(HAMI))
        url = f"https://127.0.0.1:{ports[0]}"
        applied(control, on_loopback(control, tmp_path / "own", url, "base", "stack-detection"))
        with installation.serving(control, tmp_path, ports) as server:
            lines = [json.loads(line) for line in server.log.read_text(encoding="utf-8").splitlines()]
            (line,) = (each for each in lines if each.get("event") == "stack")
        assert (line["level"], "2.8.3" in str(line["taken"]), "nvidia.com/vgpu" in str(line["taken"])) == (
            "info",
            True,
            True,
        )
    finally:
        installation.remove(control)


VERBS = ("get", "list", "watch", "create", "update", "delete")
