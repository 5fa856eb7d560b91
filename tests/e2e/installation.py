"""The manifests on the real API server: what is applied, and the server beside it with its ServiceAccount's token.

There is no kubelet, so the Deployment's Pods never run; one process on loopback stands for them, with the same
arguments and the same rights.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apiserver
import yaml
from apiserver import JSON_PATCH, ControlPlane, Object, found, kubectl, listed, named, request, wait_for
from certificates import Pair
from controlplane import free_ports
from server import Server, await_ready

from webhook.model import NOTHING

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "gangcheck"
REGISTRATION = "admissionregistration.k8s.io/v1"
MUTATING = named(REGISTRATION, "MutatingWebhookConfiguration", "zz-gangcheck")
VALIDATING = named(REGISTRATION, "ValidatingWebhookConfiguration", "gangcheck")
STANDING = tuple(
    named(REGISTRATION, kind, "gangcheck-pod-group-annotation")
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")
)


def with_components(folder: Path, *components: str, overlay: str = "base", extra: Object | None = None) -> Path:
    """A kustomization in `folder` that puts components on the base or an overlay, as a user's own does."""
    folder.mkdir(exist_ok=True)
    told: Object = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / overlay, folder)],
        "components": [os.path.relpath(MANIFESTS / "components" / name, folder) for name in components],
    }
    if extra is not None:
        (folder / "extra.yaml").write_text(yaml.safe_dump(extra), encoding="utf-8")
        told["resources"].append("extra.yaml")
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(told), encoding="utf-8")
    return folder


def applied(control: ControlPlane, kustomization: Path, *options: str) -> list[str]:
    """`kubectl apply -k`; what it says of each object. Fails where the API server refuses or warns of anything."""
    done = kubectl(control, "apply", "-k", str(kustomization), *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def account(control: ControlPlane) -> ControlPlane:
    """The control plane as the ServiceAccount of the Deployment sees it."""
    return account_of(control, named("v1", "ServiceAccount", "gangcheck", NAMESPACE))


def account_of(control: ControlPlane, thing: Object) -> ControlPlane:
    """The control plane as a ServiceAccount sees it, with a token as Pods get them."""
    path = apiserver.path_of(thing, subresource="token")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = request(control, "POST", path, body)
    assert answer.ok, answer
    token = str(answer.body["status"]["token"])
    kubeconfig = control.folder / "users" / f"account-{thing['metadata']['name']}"
    text = control.kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text.replace(control.token, token), encoding="utf-8")
    return replace(control, token=token, kubeconfig=kubeconfig)


def arguments(control: ControlPlane, folder: Path, ports: Sequence[int], files: Mapping[str, str]) -> list[str]:
    """The arguments of the Deployment as it is stored, with loopback's addresses, and the policy of the ConfigMap.

    `files` are arguments that name a mounted file, and where it is here."""
    deployment = found(control, named("apps/v1", "Deployment", "gangcheck", NAMESPACE))
    policy = folder / "policy.yaml"
    config = found(control, named("v1", "ConfigMap", "gangcheck-policy", NAMESPACE))
    policy.write_text(config["data"]["policy.yaml"], encoding="utf-8")
    here = {
        "--listen=0.0.0.0:8443": f"--listen=127.0.0.1:{ports[0]}",
        "--probes=0.0.0.0:8080": f"--probes=127.0.0.1:{ports[1]}",
        "--config=/etc/gangcheck/policy.yaml": f"--config={policy}",
        **{told: f"{told.partition('=')[0]}={file}" for told, file in files.items()},
    }
    told = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert here.keys() <= set(told), told
    return [here.get(part, part) for part in told]


@contextmanager
def serving(
    control: ControlPlane,
    folder: Path,
    ports: Sequence[int] = (),
    *,
    ready: bool = True,
    files: Mapping[str, str] = NOTHING,
) -> Iterator[Server]:
    """What the Deployment runs, beside it; ready once its authority is in both configurations."""
    ports = ports or free_ports(2)
    own = account(control)
    log = control.folder / "logs" / f"gangcheck-{ports[0]}.log"
    command = [
        sys.executable,
        "-m",
        "webhook",
        *arguments(control, folder, ports, files),
        f"--kubeconfig={own.kubeconfig}",
    ]
    command += ["--drain-seconds=0", "--certs-poll-seconds=1"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    # Its certificate is nobody's file: it lives in memory.
    server = Server(f"https://127.0.0.1:{ports[0]}", ports[1], Pair(Path(), Path()), log, process)
    try:
        if ready:
            await_ready(server)
        yield server
    finally:
        server.stop()


def on_loopback(control: ControlPlane, folder: Path, url: str, overlay: str = "base", *components: str) -> Path:
    """An overlay as it is, but for where the server is: without a network there is no Service to call."""
    made = with_components(folder, *components, overlay=overlay)
    things = yaml.safe_load_all(kubectl(control, "kustomize", str(made)).stdout)
    told = yaml.safe_load((made / "kustomization.yaml").read_text(encoding="utf-8"))
    told["patches"] = [
        {"target": {"kind": thing["kind"], "name": thing["metadata"]["name"]}, "patch": json.dumps(_moved(thing, url))}
        for thing in things
        if thing["kind"] in {MUTATING["kind"], VALIDATING["kind"]}
    ]
    (made / "kustomization.yaml").write_text(yaml.safe_dump(told), encoding="utf-8")
    return made


def _moved(configuration: Object, url: str) -> list[Object]:
    steps: list[Object] = []
    for index, entry in enumerate(configuration["webhooks"]):
        at, path = f"/webhooks/{index}/clientConfig", entry["clientConfig"]["service"]["path"]
        steps += [{"op": "remove", "path": f"{at}/service"}, {"op": "add", "path": f"{at}/url", "value": url + path}]
    return steps


def bundles(control: ControlPlane) -> list[str]:
    """The caBundle of every entry of both configurations; empty where there is none."""
    entries = (entry for thing in (MUTATING, VALIDATING) for entry in found(control, thing)["webhooks"])
    return [entry["clientConfig"].get("caBundle", "") for entry in entries]


def trust(control: ControlPlane, bundle: str) -> None:
    """Puts an authority into every caBundle, as an injector does."""
    for thing in (MUTATING, VALIDATING):
        entries = found(control, thing)["webhooks"]
        steps = [
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
            for index in range(len(entries))
        ]
        assert apiserver.patch(control, thing, steps, content_type=JSON_PATCH).ok


def may(control: ControlPlane, user: str, verb: str, group: str, resource: str) -> bool:
    """Whether a user may do that in all namespaces."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": {"verb": verb, "group": group, "resource": resource}},
    }
    answer = request(control, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.ok, answer
    return bool(answer.body["status"]["allowed"])


def remove(control: ControlPlane) -> None:
    """All of it, whatever of it is there."""
    for thing in (MUTATING, VALIDATING, *STANDING):
        apiserver.delete(control, thing)
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        for thing in listed(
            control, "rbac.authorization.k8s.io/v1", kind, labelSelector="app.kubernetes.io/name=gangcheck"
        ):
            apiserver.delete(control, thing)
    for space in (NAMESPACE, "hami-system"):
        apiserver.remove_namespace(control, space)
    gone = [named("v1", "Namespace", space) for space in (NAMESPACE, "hami-system")]
    wait_for(lambda: not any(apiserver.get(control, each).ok for each in gone), 30, "the namespaces' end")


def fail_opens(control: ControlPlane) -> dict[str, int]:
    """How often each webhook was passed by, as the API server counts it."""
    text = str(request(control, "GET", "/metrics").body["message"])
    counts: dict[str, int] = {}
    for line in text.splitlines():
        if line.startswith("apiserver_admission_webhook_fail_open_count{"):
            labels, _, value = line.rpartition(" ")
            name = labels.split('name="')[1].split('"')[0]
            counts[name] = counts.get(name, 0) + int(float(value))
    return counts


def settled(server: Server, namespace: str) -> list[Object]:
    """The reviews of a namespace, once no more of them come: the log follows the answers."""
    time.sleep(0.3)
    return [dict(each) for each in server.reviews(namespace)]


def rules_of(control: ControlPlane, namespace: str) -> list[tuple[str, ...]]:
    """What this user may do in a namespace, a (verb, group/resource, name) each; those on URLs are left out."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer = request(control, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
    assert answer.ok, json.dumps(answer.body)
    assert not answer.body["status"]["incomplete"]
    return sorted(
        (verb, f"{group}/{resource}".lstrip("/"), name)
        for rule in answer.body["status"]["resourceRules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
    )
