"""The stack of a server that looks at its cluster's HAMi at the start."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_apiserver import FakeApi, kubeconfig, serving

from webhook.assembly import _cluster
from webhook.cluster import Api, connect
from webhook.config import read_stack
from webhook.detected import detected
from webhook.service import Server
from webhook.stack import Stack

DEPLOYMENTS = "/apis/apps/v1/namespaces/hami-system/deployments"
CONFIG_MAPS = "/api/v1/namespaces/hami-system/configmaps"

HAMI: dict[str, Any] = yaml.safe_load(
    """
metadata: {name: hami-scheduler, namespace: hami-system, uid: u, resourceVersion: "7"}
spec:
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec:
      containers:
      - name: kube-scheduler
        image: registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7
        command: [kube-scheduler, --config=/config/config.yaml]
        volumeMounts: [{name: config, mountPath: /config}]
      - name: vgpu-scheduler-extender
        image: docker.io/projecthami/hami:v2.10.0
        command: [scheduler, --scheduler-name=gpu-scheduler, --kube-qps=50]
        volumeMounts: [{name: devices, mountPath: /device-config.yaml}]
      volumes:
      - {name: config, configMap: {name: config}}
      - {name: devices, configMap: {name: devices}}
      - {name: gone, configMap: {name: gone}}
"""
)
OTHER: dict[str, Any] = {
    "metadata": {"name": "other", "namespace": "hami-system"},
    "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx"}], "volumes": []}}},
}
CONFIG = {
    "metadata": {"name": "config", "namespace": "hami-system"},
    "data": {
        "config.yaml": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: gpu-scheduler
  plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}
  pluginConfig: [{name: Coscheduling, args: {permitWaitingTimeSeconds: 20}}]
"""
    },
}
DEVICES = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "devices", "namespace": "hami-system"},
    "data": {"device-config.yaml": "nvidia: {resourceCountName: example.com/vgpu, overwriteEnv: true}"},
}


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with serving(FakeApi()) as server:
        server.others.update(
            {
                DEPLOYMENTS: deployments(OTHER, HAMI),
                f"{CONFIG_MAPS}/config": CONFIG,
                f"{CONFIG_MAPS}/devices": DEVICES,
            }
        )
        yield server


@pytest.fixture
def api(fake: FakeApi, tmp_path: Path) -> Iterator[Api]:
    found = connect(kubeconfig(tmp_path, fake.url))
    assert found is not None
    yield found
    found.close()


def deployments(*items: Mapping[str, Any]) -> dict[str, Any]:
    """As the API server lists them: what an item is stands at the list alone."""
    return {"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {}, "items": list(items)}


def seen(api: Api | None, stack: Stack | None = None) -> tuple[Stack, Mapping[str, Any]]:
    """The stack, and the one line of the log."""
    lines: list[Mapping[str, Any]] = []
    found = detected(stack or Stack(injects_scheduler=True), api, "hami-system", lines.append)
    (line,) = lines
    assert line["event"] == "stack"
    assert line["namespace"] == "hami-system"
    return found, line


def test_what_hami_shows_is_taken_and_said(api: Api, fake: FakeApi) -> None:
    stack, line = seen(api)
    assert stack.hami == (2, 10, 0)
    assert stack.coscheduling == (0, 34, 7)
    assert stack.hami_scheduler == "gpu-scheduler"
    assert "gpu-scheduler" in stack.coscheduling_schedulers
    assert stack.vendors["nvidia"].count == ("example.com/vgpu",)
    assert stack.overwrite_env is True
    assert stack.permit_waiting_seconds == 20
    assert stack.kube_qps == 50
    assert stack.injects_scheduler
    assert line["level"] == "info"
    assert line["from"] == ["Deployment/hami-scheduler"]
    assert line["taken"]["hami"] == "2.10.0"
    assert line["taken"]["resources.nvidia.count"] == "example.com/vgpu"
    assert "kubernetes" not in line["taken"]
    assert "differs" not in line
    paths = [asked.path for asked in fake.asked]
    assert paths == [DEPLOYMENTS, f"{CONFIG_MAPS}/config", f"{CONFIG_MAPS}/devices", f"{CONFIG_MAPS}/gone"]


def test_what_is_declared_stays(api: Api) -> None:
    declared = read_stack({"hami": "2.9", "resources": {"nvidia": {"count": "nvidia.com/gpu"}}})
    stack, line = seen(api, declared)
    assert stack.hami == (2, 9)
    assert stack.vendors["nvidia"].count == ("nvidia.com/gpu",)
    assert stack.hami_scheduler == "gpu-scheduler"
    assert not {"hami", "resources.nvidia.count"} & set(line["taken"])


def test_two_releases_that_differ_leave_it_unknown(api: Api, fake: FakeApi) -> None:
    older = copy.deepcopy(HAMI)
    older["metadata"]["name"] = "older"
    older["spec"]["template"]["spec"]["containers"][1]["image"] = "docker.io/projecthami/hami:v2.8.3"
    fake.others[DEPLOYMENTS] = deployments(HAMI, older)
    stack, line = seen(api)
    assert stack.hami is None
    assert stack.hami_scheduler == "gpu-scheduler"
    assert line["differs"] == {"hami": "2.10.0 or 2.8.3"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({DEPLOYMENTS: deployments(OTHER)}, "no Deployment there runs HAMi's extender"),
        ({DEPLOYMENTS: deployments()}, "no Deployment there runs HAMi's extender"),
        ({DEPLOYMENTS: {"kind": "Status"}}, "no Deployment there runs HAMi's extender"),
    ],
)
def test_a_namespace_without_hami(api: Api, fake: FakeApi, change: dict[str, Any], says: str) -> None:
    fake.others.update(change)
    stack, line = seen(api)
    assert stack == Stack(injects_scheduler=True)
    assert (line["level"], line["error"]) == ("warning", says)
    assert "the stack is what is declared" in line["message"]


def test_without_the_right_to_read_the_server_starts(api: Api, fake: FakeApi) -> None:
    fake.refuse[DEPLOYMENTS] = [(403, {})]
    stack, line = seen(api)
    assert stack == Stack(injects_scheduler=True)
    assert line["level"] == "warning"
    assert line["error"].startswith("403")


def test_without_the_right_to_read_a_config_map_nothing_is_taken(api: Api, fake: FakeApi) -> None:
    fake.refuse[f"{CONFIG_MAPS}/devices"] = [(403, {})]
    stack, line = seen(api)
    assert stack == Stack(injects_scheduler=True)
    assert line["error"].startswith("403")


def test_without_a_cluster_the_server_starts(tmp_path: Path) -> None:
    stack, line = seen(None)
    assert stack == Stack(injects_scheduler=True)
    assert line["error"] == "there is no cluster to ask"
    away = connect(kubeconfig(tmp_path, "http://127.0.0.1:9"))
    assert seen(away)[1]["level"] == "warning"


def test_what_nobody_expects_keeps_no_server_from_starting(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    def raises(*_: object) -> None:
        raise KeyError("strange")

    monkeypatch.setattr("webhook.detected.see", raises)
    stack, line = seen(api)
    assert stack == Stack(injects_scheduler=True)
    assert (line["level"], line["error"].split()[0]) == ("error", "KeyError")


def test_a_server_that_detects_asks_the_cluster_without_an_index_too(fake: FakeApi, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, fake.url)
    assert _cluster(Server(index=False, kubeconfig=file)) is None
    found = _cluster(Server(index=False, kubeconfig=file, detect_stack=True))
    assert found is not None
    found.close()
