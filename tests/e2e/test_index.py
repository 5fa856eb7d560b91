"""The gang index and the Events writer against a real API server, with no more rights than they need."""

import base64
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import apiserver
import controlplane
import pytest
from apiserver import ControlPlane, allow, as_user, create, delete, events, found, listed, made, named, patch, wait_for
from kubernetes.config import incluster_config
from objects import GROUP, SCHEDULER, member, pod, pod_group, template, workload
from server import Server, prepare, serving

from webhook.cluster import Api, Index, connect, start_index, start_notices
from webhook.review import Known, Notice

CORE, GANGS = "", "scheduling.x-k8s.io"


def rights(group: str, resource: str, *verbs: str) -> dict[str, list[str]]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


INDEX_NEEDS = [rights(CORE, "pods", "list", "watch"), rights(GANGS, "podgroups", "list", "watch")]
EVENTS_NEED = [rights(CORE, "events", "create"), rights("apps", "replicasets", "get")]


@contextlib.contextmanager
def api_of(control: ControlPlane) -> Iterator[Api]:
    api = connect(str(control.kubeconfig))
    assert api is not None
    yield api
    api.close()


@contextlib.contextmanager
def indexed(control: ControlPlane) -> Iterator[Index]:
    with api_of(control) as api:
        index = start_index(api)
        try:
            yield index
        finally:
            index.stop()


@pytest.fixture(scope="module")
def account(control: ControlPlane) -> ControlPlane:
    """A user with the rights that the index needs, and no others."""
    allow(control, "carol", INDEX_NEEDS)
    return as_user(control, "carol")


@pytest.fixture(scope="module")
def index(account: ControlPlane) -> Iterator[Index]:
    with indexed(account) as started:
        wait_for(started.synced, what="the first sync")
        yield started


def counts(index: Index, namespace: str, group: str, members: int, quorum: int | None = None) -> Callable[[], bool]:
    """A condition: the index knows so many members, and a PodGroup with that minMember or none."""

    def holds() -> bool:
        known = index.look_up(namespace, group)
        return known is not None and (known.members, known.group and known.group.min_member) == (members, quorum)

    return holds


def test_counts_follow_creates_and_deletes(control: ControlPlane, namespace: str, index: Index) -> None:
    pods = [member(namespace, f"w-{n}", "g") for n in range(3)]
    made(control, *pods, pod(namespace, "stranger"))
    wait_for(counts(index, namespace, "g", 3))
    delete(control, pods[0])
    wait_for(counts(index, namespace, "g", 2))
    assert index.look_up(namespace, "none") == Known(0, None, quiet=index.look_up(namespace, "g").quiet)  # type: ignore[union-attr]


def test_pods_that_have_ended_do_not_count(control: ControlPlane, namespace: str, index: Index) -> None:
    pods = [member(namespace, f"w-{n}", "g", scheduler="nobody") for n in range(4)]
    made(control, *pods)
    wait_for(counts(index, namespace, "g", 4))
    patch(control, pods[0], {"status": {"phase": "Running"}}, subresource="status")
    for ended, phase in ((pods[0], "Succeeded"), (pods[1], "Failed")):
        patch(control, ended, {"status": {"phase": phase}}, subresource="status")
    wait_for(counts(index, namespace, "g", 2))


def test_label_that_changes_moves_the_member(control: ControlPlane, namespace: str, index: Index) -> None:
    one = member(namespace, "w-0", "g", scheduler="nobody")
    made(control, one)
    wait_for(counts(index, namespace, "g", 1))
    patch(control, one, {"metadata": {"labels": {GROUP: "h"}}})
    wait_for(counts(index, namespace, "h", 1))
    wait_for(counts(index, namespace, "g", 0))
    patch(control, one, {"metadata": {"labels": {GROUP: None}}})
    wait_for(counts(index, namespace, "h", 0))


def test_members_of_controllers_count(control: ControlPlane, namespace: str, index: Index) -> None:
    made(control, workload("Job", namespace, "j", template(labels={GROUP: "g"}), parallelism=5, completions=5))
    wait_for(counts(index, namespace, "g", 5))


def test_pod_groups_are_followed_whole(control: ControlPlane, namespace: str, index: Index) -> None:
    group = pod_group(namespace, "g", minMember=3, scheduleTimeoutSeconds=30, minResources={"cpu": "4"})
    made(control, group)
    wait_for(counts(index, namespace, "g", 0, 3))
    known = index.look_up(namespace, "g")
    assert known is not None
    assert known.group is not None
    assert not known.quiet
    assert (known.group.timeout, known.group.min_resources) == (30, {"cpu": "4"})
    assert (known.group.ref.namespace, known.group.is_coscheduling) == (namespace, True)
    patch(control, group, {"spec": {"minMember": 5}})
    wait_for(counts(index, namespace, "g", 0, 5))
    delete(control, group)
    wait_for(counts(index, namespace, "g", 0))


def test_a_namespace_becomes_quiet(control: ControlPlane, namespace: str, index: Index) -> None:
    made(control, pod_group(namespace, "g", minMember=3))
    wait_for(counts(index, namespace, "g", 0, 3))
    began = time.monotonic()

    def quiet() -> bool:
        known = index.look_up(namespace, "other")
        return known is not None and known.quiet

    assert not quiet()
    wait_for(quiet)
    assert time.monotonic() - began > 4


def test_many_pages(control: ControlPlane, namespace: str, account: ControlPlane) -> None:
    pods = [member(namespace, f"w-{n}", f"g-{n % 7}", scheduler="nobody") for n in range(520)]
    made(control, *pods)
    with indexed(account) as fresh:
        wait_for(fresh.synced)
        for n in range(7):
            assert counts(fresh, namespace, f"g-{n}", len(range(n, 520, 7)))()


@pytest.mark.parametrize("lacking", range(4))
def test_each_right_is_needed(control: ControlPlane, lacking: int) -> None:
    """list and watch on pods and podgroups: without any one of them the index is not in sync, or ages."""
    name = ("list pods", "watch pods", "list podgroups", "watch podgroups")[lacking]
    verb, resource = name.split()
    user = f"system:serviceaccount:default:lacking-{lacking}"
    given = [
        rights(one["apiGroups"][0], what, *(v for v in one["verbs"] if (v, what) != (verb, resource)))
        for one in INDEX_NEEDS
        for what in one["resources"]
    ]
    allow(control, user, given)
    with indexed(service_account(control, f"lacking-{lacking}")) as index:
        wait_for(lambda: index.counts().get("losses", 0) >= 2, what=f"failures without {name}")
        assert index.synced() == (verb == "watch")


def service_account(control: ControlPlane, name: str) -> ControlPlane:
    """The control plane as a ServiceAccount of the namespace default sees it, with a token as Pods get them."""
    create(control, named("v1", "ServiceAccount", name, "default"))
    token = token_of(control, name)
    kubeconfig = control.folder / "users" / f"sa-{name}"
    text = control.kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text.replace(control.token, token), encoding="utf-8")
    return replace(control, token=token, kubeconfig=kubeconfig)


def token_of(control: ControlPlane, name: str) -> str:
    path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    answer = apiserver.request(control, "POST", path, body)
    assert answer.ok, answer
    return str(answer.body["status"]["token"])


def test_a_pods_own_account(
    control: ControlPlane, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(control, named("v1", "ServiceAccount", "gangcheck", "default"))
    allow(control, "system:serviceaccount:default:gangcheck", INDEX_NEEDS)
    (tmp_path / "token").write_text(token_of(control, "gangcheck"), encoding="ascii")
    host, _, port = control.url.removeprefix("https://").partition(":")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(control.ca_file))
    made(control, member(namespace, "w-0", "g", scheduler="nobody"))
    api = connect()
    assert api is not None
    index = start_index(api)
    try:
        wait_for(counts(index, namespace, "g", 1))
    finally:
        index.stop()
        api.close()


def test_event_is_written_on_the_deployment(control: ControlPlane, namespace: str) -> None:
    allow(control, "dave", EVENTS_NEED)
    body = template(labels={GROUP: "g"}, scheduler=SCHEDULER)
    made(control, workload("Deployment", namespace, "train", body, replicas=1))
    (replica_set,) = wait_for(lambda: listed(control, "apps/v1", "ReplicaSet", namespace))
    meta = replica_set["metadata"]
    said = Notice("apps/v1", "ReplicaSet", namespace, meta["name"], meta["uid"], "GangCheck", "musl-image: use glibc")
    with api_of(as_user(control, "dave")) as api:
        one, two = start_notices(api), start_notices(api)
        one([said, said])
        two([said])

        def written() -> list[apiserver.Object]:
            return [event for event in events(control, namespace, "train") if event["reason"] == "GangCheck"]

        (event,) = wait_for(written)
        wait_for(lambda: two.counts().get("written", 0) + two.counts().get("repeated", 0) == 1)
        assert len(written()) == 1
        one.stop()
        two.stop()
    deployment = found(control, named("apps/v1", "Deployment", "train", namespace))
    assert event["involvedObject"]["uid"] == deployment["metadata"]["uid"]
    assert (event["type"], event["message"]) == ("Warning", "musl-image: use glibc")
    shown = apiserver.kubectl(control, "describe", "deployment", "train", "-n", namespace)
    assert "musl-image: use glibc" in shown.stdout


def test_without_the_right_to_write_events_nothing_breaks(control: ControlPlane, namespace: str) -> None:
    notice = Notice("apps/v1", "ReplicaSet", namespace, "x", "u", "GangCheck", "m")
    with api_of(as_user(control, "bob")) as api:
        notices = start_notices(api)
        notices([notice])
        wait_for(lambda: notices.counts().get("failed") == 1)
        notices.stop()


@contextlib.contextmanager
def _again(control: ControlPlane, command: list[str], log: Path) -> Iterator[None]:
    """The API server with the same command line, ready."""
    with log.open("ab") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_for(partial(_ready, control), 60, "the API server after its restart")
        yield
    finally:
        child.kill()  # asked kindly, it would wait for the watches of the scheduler and the controllers
        child.wait()


def _ready(control: ControlPlane) -> bool:
    try:
        return apiserver.request(control, "GET", "/readyz").ok
    except OSError:
        return False


def _command(control: ControlPlane) -> list[str]:
    """The API server's command line, to start it again."""
    text = Path(f"/proc/{controlplane.pid(control, 'kube-apiserver')}/cmdline").read_bytes()
    return [part.decode() for part in text.split(b"\0") if part]


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    """Whether it runs: a child that has ended stays a zombie until its parent looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.e2e_slow  # an API server is started twice
def test_api_server_that_restarts_and_one_that_hangs(binaries: Path) -> None:
    """A control plane of its own: the other tests need theirs."""
    with controlplane.running(binaries) as control:
        namespace = apiserver.make_namespace(control)
        pods = [member(namespace, f"w-{n}", "g", scheduler="nobody") for n in range(4)]
        made(control, *pods, pod_group(namespace, "g", minMember=4))
        server = controlplane.pid(control, "kube-apiserver")
        command = _command(control)
        with indexed(control) as index:
            wait_for(counts(index, namespace, "g", 4, 4))
            os.kill(server, signal.SIGSTOP)
            time.sleep(1)
            assert counts(index, namespace, "g", 4, 4)()  # a look-up asks nobody
            os.kill(server, signal.SIGCONT)
            delete(control, pods[0])
            wait_for(counts(index, namespace, "g", 3, 4))
            lists = index.counts()["lists"]
            _kill(server)
            wait_for(lambda: index.counts().get("losses", 0) >= 2)
            assert counts(index, namespace, "g", 3, 4)()
            with _again(control, command, control.folder / "logs" / "kube-apiserver-again.log"):
                delete(control, pods[1])
                made(control, pod_group(namespace, "h", minMember=2))
                wait_for(counts(index, namespace, "g", 2, 4), 60)
                wait_for(counts(index, namespace, "h", 0, 2), 60)
                assert index.counts()["lists"] - lists <= 4
                index.stop()


def _etcd(control: ControlPlane, path: str, body: apiserver.Object) -> apiserver.Object:
    """One call to etcd's JSON gateway."""
    line = Path(f"/proc/{controlplane.pid(control, 'etcd')}/cmdline").read_bytes().decode().split("\0")
    (url,) = (part.partition("=")[2] for part in line if part.startswith("--listen-client-urls="))
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    assert answer.status == http.client.OK, text
    return dict(json.loads(text))


def _compact(control: ControlPlane) -> None:
    """etcd forgets all of its history up to now."""
    revision = _etcd(control, "/v3/kv/range", {"key": base64.b64encode(b"/").decode()})["header"]["revision"]
    _etcd(control, "/v3/kv/compaction", {"revision": revision, "physical": True})


def _version(control: ControlPlane, path: str) -> str:
    """The place in the history that a list of the resource would give now."""
    return str(apiserver.request(control, "GET", path, limit="1").body["metadata"]["resourceVersion"])


def _is_gone(control: ControlPlane, path: str, version: str) -> bool:
    """Whether a watch from that place is answered with 410."""
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "1"}
    answer = apiserver.request(control, "GET", path, **query)
    return http.client.GONE in {answer.status, answer.body.get("code"), answer.body.get("object", {}).get("code")}


def _told(server: Server, thing: apiserver.Object) -> list[str]:
    """The warnings of the server itself on a new Pod, asked as the API server would."""
    meta = thing["metadata"]
    asked = {
        "uid": "u",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "object": thing,
    }
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked})
    context = ssl.create_default_context(cafile=str(server.pair.certificate))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=10)
    try:
        connection.request("POST", "/validate?timeout=3s", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == http.client.OK
        return list(json.loads(answer.read())["response"].get("warnings", []))
    finally:
        connection.close()


PLACES = ("/api/v1/pods", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups")


@pytest.mark.e2e_slow
def test_server_whose_place_in_the_history_is_gone(binaries: Path, tmp_path: Path) -> None:
    """While it hangs, the API server is restarted and etcd compacted, and the gang changes: the watches are refused
    with 410, everything is listed again, and the index is right."""
    with controlplane.running(binaries) as control:
        namespace = apiserver.make_namespace(control)
        pods = [member(namespace, f"w-{n}", "g", scheduler="nobody") for n in range(3)]
        made(control, *pods, pod_group(namespace, "g", minMember=6))
        command = _command(control)
        with serving(prepare(control), tmp_path) as server:
            next_one = member(namespace, "next", "g", scheduler="nobody")
            wait_for(lambda: "has 4 of 6 members" in "".join(_told(server, next_one)))
            with server.paused(), contextlib.ExitStack() as stack:
                places = [_version(control, path) for path in PLACES]
                made(control, named("v1", "ConfigMap", "later", namespace))  # no watch of ours hears of it
                _kill(controlplane.pid(control, "kube-apiserver"))
                stack.enter_context(_again(control, command, control.folder / "logs" / "kube-apiserver-again.log"))
                delete(control, pods[0])
                delete(control, pods[1])
                made(control, *(member(namespace, f"v-{n}", "g", scheduler="nobody") for n in range(3)))
                made(control, pod_group(namespace, "h", minMember=2))
                patch(control, pod_group(namespace, "g"), {"spec": {"minMember": 7}})
                _compact(control)
                assert all(_is_gone(control, *place) for place in zip(PLACES, places, strict=True))
                kept = stack.pop_all()
            with kept:
                wait_for(lambda: _index_size(server) == 6, 60, "4 Pods and 2 PodGroups")
                wait_for(lambda: "has 5 of 7 members" in "".join(_told(server, next_one)))
                lists = [line for line in _lines(server) if " listed" in line]
                assert len(lists) >= 4, lists
                server.stop()


def _index_size(server: Server) -> int:
    text = server.ask("/metrics")[1]
    return int(
        float(next(line.split()[1] for line in text.splitlines() if line.startswith("gangcheck_index_objects ")))
    )


def _lines(server: Server) -> list[str]:
    return server.log.read_text(encoding="utf-8").splitlines()
