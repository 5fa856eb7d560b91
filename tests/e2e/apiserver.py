"""What the tests say to the API server: plain HTTPS, so that status, body and warnings are seen as they come."""

import http.client
import json
import os
import ssl
import subprocess
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Object = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

CLUSTER_SCOPED = {
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane, seen as one user."""

    url: str
    ca_file: Path
    token: str
    kubeconfig: Path
    kubectl: Path
    bin: Path
    folder: Path  # logs/, and what else the run keeps


class Answer(NamedTuple):
    status: int
    body: Object
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.status < http.client.BAD_REQUEST

    @property
    def message(self) -> str:
        """What the API server says of a refusal."""
        return str(self.body.get("message", ""))


def request(
    control: ControlPlane,
    method: str,
    path: str,
    body: object = None,
    *,
    content_type: str = "application/json",
    **query: str,
) -> Answer:
    """One call. `body` is sent as JSON, or as it is where it is text or bytes. `query` may hold dryRun="All"."""
    context = ssl.create_default_context(cafile=str(control.ca_file))
    # The certificate is the API server's own; newer Pythons find extensions missing in it.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    host = urllib.parse.urlsplit(control.url)
    connection = http.client.HTTPSConnection(str(host.hostname), host.port, context=context, timeout=30)
    data = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
    headers = {
        "Authorization": f"Bearer {control.token}",
        "Accept": "application/json",
        "Content-Type": content_type,
    }
    target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
    try:
        connection.request(method, target, data, headers)
        response = connection.getresponse()
        raw = response.read()
    finally:
        connection.close()
    warnings = tuple(_warning(value) for value in response.headers.get_all("Warning", []))
    return Answer(response.status, _decoded(raw), warnings)


def _decoded(raw: bytes) -> Object:
    try:
        body = json.loads(raw)
    except ValueError:
        return {"message": raw.decode(errors="replace")}
    return body if isinstance(body, dict) else {"value": body}


def _warning(header: str) -> str:
    """`299 - "text"` to text. http.client reads headers as Latin-1, the API server writes UTF-8."""
    quoted = header.encode("latin-1").decode("utf-8", "replace").partition(' - "')[2].removesuffix('"')
    return quoted.replace('\\"', '"').replace("\\\\", "\\")


def named(api_version: str, kind: str, name: str, namespace: str = "") -> Object:
    """An object to look up, change or delete, where there is no manifest at hand."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _plural(kind: str) -> str:
    small = kind.lower()
    if small.endswith("y"):
        return f"{small[:-1]}ies"
    return f"{small}es" if small.endswith("s") else f"{small}s"


def path_of(thing: Object, *, name: bool = True, subresource: str = "") -> str:
    """The path of an object, or of the collection that it belongs to."""
    version, kind, metadata = thing["apiVersion"], thing["kind"], thing["metadata"]
    parts = ["/apis" if "/" in version else "/api", version]
    if kind not in CLUSTER_SCOPED:
        parts += ["namespaces", metadata.get("namespace", "default")]
    parts.append(_plural(kind))
    parts += [metadata["name"]] if name else []
    parts += [subresource] if subresource else []
    return "/".join(parts)


def create(control: ControlPlane, thing: Object, *, subresource: str = "", **query: str) -> Answer:
    if subresource:
        return request(control, "POST", path_of(thing, subresource=subresource), thing, **query)
    return request(control, "POST", path_of(thing, name=False), thing, **query)


def get(control: ControlPlane, thing: Object, **query: str) -> Answer:
    return request(control, "GET", path_of(thing), **query)


def put(control: ControlPlane, thing: Object, **query: str) -> Answer:
    return request(control, "PUT", path_of(thing), thing, **query)


def patch(
    control: ControlPlane,
    thing: Object,
    change: object,
    *,
    content_type: str = MERGE,
    subresource: str = "",
    **query: str,
) -> Answer:
    path = path_of(thing, subresource=subresource)
    return request(control, "PATCH", path, change, content_type=content_type, **query)


def apply(control: ControlPlane, thing: Object, *, manager: str = "tests", **query: str) -> Answer:
    """Server-side apply."""
    return patch(control, thing, thing, content_type=APPLY, fieldManager=manager, **query)


def delete(control: ControlPlane, thing: Object, **query: str) -> Answer:
    """At once: without a kubelet a bound Pod would be Terminating for ever."""
    return request(control, "DELETE", path_of(thing), gracePeriodSeconds="0", **query)


def listed(control: ControlPlane, api_version: str, kind: str, namespace: str = "", **query: str) -> list[Object]:
    """All objects of a kind in the namespace. `query` may hold labelSelector=... ."""
    thing = named(api_version, kind, "", namespace)
    answer = request(control, "GET", path_of(thing, name=False), **query)
    assert answer.ok, answer
    # A list leaves these out of its items; with them an item can be handed to any function here.
    return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.body["items"]]


def made(control: ControlPlane, *things: Object, **query: str) -> list[Object]:
    """Creates all of them, and fails where the API server refuses one. Returns them as they are stored."""
    stored = []
    for thing in things:
        answer = create(control, thing, **query)
        assert answer.ok, f"{thing['kind']} {thing['metadata']}: {answer.status} {answer.message}"
        stored.append(answer.body)
    return stored


def wait_for(condition: Callable[[], T], timeout: float = 15.0, what: str = "", every: float = 0.05) -> T:
    """The first true answer of `condition`, asked until `timeout` seconds have gone."""
    ends = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < ends, f"{what or condition} not within {timeout} s, last answer: {answer!r}"
        time.sleep(every)
    return answer


def never(condition: Callable[[], object], seconds: float) -> None:
    """Fails if `condition` becomes true within so many seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        answer = condition()
        assert not answer, answer
        time.sleep(0.1)


def found(control: ControlPlane, thing: Object) -> Object:
    """The object as it is stored; empty where it is not there (yet)."""
    answer = get(control, thing)
    return answer.body if answer.ok else {}


def node_of(control: ControlPlane, pod: Object) -> str:
    """The Node that the Pod is bound to, or nothing."""
    return str(found(control, pod).get("spec", {}).get("nodeName", ""))


def why_pending(control: ControlPlane, pod: Object) -> str:
    """What the scheduler says of a Pod that it could not place, or nothing."""
    conditions = found(control, pod).get("status", {}).get("conditions", [])
    return "".join(c.get("message", "") for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False")


def events(control: ControlPlane, namespace: str, about: str = "") -> list[Object]:
    """The events of a namespace, or of the objects of one name in it."""
    query = {"fieldSelector": f"involvedObject.name={about}"} if about else {}
    return listed(control, "v1", "Event", namespace, **query)


def make_namespace(control: ControlPlane, prefix: str = "test", labels: dict[str, str] | None = None) -> str:
    """A new namespace in which Pods can be created: its ServiceAccount is there."""
    name = f"{prefix}-{uuid.uuid4().hex[:8]}"
    made(control, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
    account = named("v1", "ServiceAccount", "default", name)
    wait_for(lambda: get(control, account).ok, what=f"ServiceAccount default of {name}")
    return name


def remove_namespace(control: ControlPlane, name: str) -> None:
    """Controllers first, then the Pods that they would make anew; the rest is kube-controller-manager's."""
    for version, kind in (
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("batch/v1", "CronJob"),
        ("batch/v1", "Job"),
        ("v1", "Pod"),
    ):
        collection = path_of(named(version, kind, "", name), name=False)
        request(control, "DELETE", collection, gracePeriodSeconds="0", propagationPolicy="Background")
    delete(control, named("v1", "Namespace", name))


def make_node(control: ControlPlane, name: str, *, gpus: int = 0, labels: dict[str, str] | None = None) -> Object:
    """A Node that is ready and has no kubelet: Pods are bound to it and stay Pending."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "250"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {})},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
    return made(control, node)[0]


def apply_crd(control: ControlPlane, crd: Object) -> None:
    """Creates the CRD where it is not there, and waits until its objects can be made."""
    answer = create(control, crd)
    assert answer.ok or answer.status == http.client.CONFLICT, answer

    def established() -> bool:
        # Null, not absent, in the first milliseconds of a CRD.
        conditions = found(control, crd).get("status", {}).get("conditions") or []
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    wait_for(established, what=f"CRD {crd['metadata']['name']}")
    group, names = crd["spec"]["group"], crd["spec"]["names"]
    version = crd["spec"]["versions"][0]["name"]
    # The first request after a CRD was made blocks for some two seconds, or is not found.
    wait_for(lambda: request(control, "GET", f"/apis/{group}/{version}/{names['plural']}").ok, every=0.2)


def as_user(control: ControlPlane, name: str) -> ControlPlane:
    """The control plane as one of the users of controlplane.USERS sees it: no rights but those of `allow`."""
    kubeconfig = control.folder / "users" / name
    token = json.loads(kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]["token"]
    return replace(control, token=token, kubeconfig=kubeconfig)


def allow(control: ControlPlane, user: str, rules: Iterable[Object], namespace: str = "") -> None:
    """Gives the user these rights, in the namespace or everywhere."""
    prefix = "" if namespace else "Cluster"
    role = f"{user.replace(':', '-')}-{uuid.uuid4().hex[:6]}"
    group = "rbac.authorization.k8s.io"
    home = {"name": role} | ({"namespace": namespace} if namespace else {})
    about = {"apiVersion": f"{group}/v1", "metadata": home}
    binding = {
        "kind": f"{prefix}RoleBinding",
        "roleRef": {"apiGroup": group, "kind": f"{prefix}Role", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    made(control, about | {"kind": f"{prefix}Role", "rules": list(rules)}, about | binding)


def kubectl(
    control: ControlPlane, *arguments: str, stdin: str | None = None, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """kubectl as this user. The exit code is the caller's to judge."""
    home = control.folder / "home"
    environment = os.environ | {"KUBECONFIG": str(control.kubeconfig), "HOME": str(home)}
    return subprocess.run(
        [control.kubectl, *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def audited(control: ControlPlane) -> list[Object]:
    """What the API server's audit log holds of writes so far, webhooks' annotations included, oldest first."""
    text = (control.folder / "logs" / "audit.log").read_text(encoding="utf-8")
    whole, _, _ = text.rpartition("\n")  # the last line may be half written
    return [json.loads(line) for line in whole.splitlines()]
