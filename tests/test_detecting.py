"""What the input shows of the stack, and how it is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from webhook import lint
from webhook.cli import gangcheck
from webhook.config import Config, read_stack
from webhook.installation.detecting import Shown, applied, detect
from webhook.model import Subject
from webhook.rules import all_rules
from webhook.stack import VENDORS, Stack

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: gpu, namespace: NAMESPACE}
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
        image: docker.io/projecthami/hami:v2.9.0
        command: [scheduler, --scheduler-name=gpu-scheduler, --force-overwrite-default-scheduler=false, --kube-qps=50]
        volumeMounts: [{name: devices, mountPath: /device-config.yaml}]
      volumes:
      - {name: config, configMap: {name: config}}
      - {name: devices, configMap: {name: devices}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config, namespace: NAMESPACE}
data:
  config.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: gpu-scheduler
      plugins:
        multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}
      pluginConfig:
      - {name: Coscheduling, args: {permitWaitingTimeSeconds: 20}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: devices, namespace: NAMESPACE}
data:
  device-config.yaml: |
    nvidia:
      resourceCountName: example.com/vgpu
      resourceMemoryName: nvidia.com/gpumem
      overwriteEnv: true
      gpuCorePolicy: force
      defaultMemory: 4000
      defaultCores: 10
      defaultGPUNum: 1
      memoryFactor: 1
    kunlun:
      resourceCountName: kunlunxin.com/xpu
      resourceVCountName: example.com/vxpu
"""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulerName: SCHEDULER
  containers:
  - name: main
    image: alpine:3.20
    resources: {limits: {example.com/vgpu: 1}}
"""


def subjects(tmp_path: Path, *texts: str, stack: Stack | None = None) -> tuple[Subject, ...]:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
    return lint.examine([str(tmp_path)], Config(stack=stack or Stack())).subjects


def shown(tmp_path: Path, *texts: str) -> dict[str, Shown]:
    return {each.name: each for each in detect(subjects(tmp_path, *texts))}


def test_a_rendered_release_shows_versions_names_and_limits(tmp_path: Path) -> None:
    found = shown(tmp_path, DEPLOYMENT)
    assert {name: each.value for name, each in found.items()} == {
        "hami": (2, 9, 0),
        "coscheduling": (0, 34, 7),
        "hami_scheduler": "gpu-scheduler",
        "coscheduling_schedulers": frozenset({"gpu-scheduler"}),
        "force_overwrite_default_scheduler": False,
        "kube_qps": 50.0,
        "permit_waiting_seconds": 20,
        "overwrite_env": True,
        "gpu_core_policy": "force",
        "default_memory": 4000,
        "default_cores": 10,
        "default_gpu_num": 1,
        "memory_factor": 1,
        "vendors.nvidia.count": ("example.com/vgpu",),
        "vendors.nvidia.memory": ("nvidia.com/gpumem",),
        "vendors.kunlun.count": ("kunlunxin.com/xpu", "example.com/vxpu"),
    }


def test_what_is_shown_is_taken(tmp_path: Path) -> None:
    stack = applied(Stack(), list(shown(tmp_path, DEPLOYMENT).values()))
    assert stack.hami == (2, 9, 0)
    assert stack.vendors["nvidia"].count == ("example.com/vgpu",)
    assert stack.vendors["nvidia"].priority == VENDORS["nvidia"].priority
    assert "example.com/vgpu" in stack.device_names
    assert "nvidia.com/gpu" not in stack.device_names
    assert stack.coscheduling_schedulers == {"gpu-scheduler", "scheduler-plugins-scheduler"}
    assert stack.kube_qps == 50


def test_what_is_declared_goes_first(tmp_path: Path) -> None:
    declared = read_stack(
        {"hami": "2.8", "hamiScheduler": "mine", "resources": {"nvidia": {"count": "nvidia.com/gpu"}}, "kubeQps": 7}
    )
    stack = applied(declared, list(shown(tmp_path, DEPLOYMENT).values()))
    assert stack.hami == (2, 8)
    assert stack.hami_scheduler == "mine"
    assert stack.vendors["nvidia"].count == ("nvidia.com/gpu",)
    assert stack.vendors["kunlun"].count == ("kunlunxin.com/xpu", "example.com/vxpu")
    assert stack.kube_qps == 7
    assert stack.permit_waiting_seconds == 20


def test_a_declared_value_that_is_the_default_goes_first_too(tmp_path: Path) -> None:
    declared = read_stack({"forceOverwriteDefaultScheduler": True, "coschedulingSchedulers": ["hami-scheduler"]})
    stack = applied(declared, list(shown(tmp_path, DEPLOYMENT).values()))
    assert stack.force_overwrite_default_scheduler
    assert stack.coscheduling_schedulers == {"hami-scheduler"}


def test_where_two_releases_differ_nothing_is_known(tmp_path: Path) -> None:
    other = DEPLOYMENT.replace("NAMESPACE", "two").replace("hami:v2.9.0", "hami:v2.10.0").replace("qps=50", "qps=20")
    found = shown(tmp_path, DEPLOYMENT.replace("NAMESPACE", "one"), other)
    assert not found["hami"].agreed
    assert [fact.value for fact in found["hami"].facts] == [(2, 9, 0), (2, 10, 0)]
    stack = applied(Stack(), list(found.values()))
    assert stack.hami is None
    assert stack.kube_qps is None
    assert stack.permit_waiting_seconds == 20


def test_two_releases_are_not_judged_by_each_other() -> None:
    """The lock's retry is unknown to 2.9 and fine in an image that does not say its version."""
    base = DEPLOYMENT.replace("--kube-qps=50", "--kube-qps=50, --node-lock-retry-timeout=10s")
    nameless = base.replace("NAMESPACE", "two").replace("hami:v2.9.0", "hami:latest")
    both = base.replace("NAMESPACE", "one") + "---\n" + nameless
    files = [("a.yaml", [both.encode()])]
    found = lint.lint(files, Config(), rules=all_rules()).findings
    assert [item.spot.span.line for item in found if item.finding.rule == "node-lock-flags"] == [16]


def test_values_show_what_they_set(tmp_path: Path) -> None:
    values = """\
schedulerName: gpu-scheduler
kunlunResourceVCountName: example.com/vxpu
scheduler:
  overwriteEnv: "true"
  admissionWebhook: {enabled: false}
  forceOverwriteDefaultScheduler: false
  kubeScheduler: {image: {repository: scheduler-plugins/kube-scheduler, tag: v0.34.7}}
  extender: {image: {tag: v2.10.0}, extraArgs: [--debug, -v=4]}
mockDevicePlugin: {enabled: false}
devices: {nvidia: {gpuCorePolicy: force}}
"""
    found = shown(tmp_path, values)
    assert {name: each.value for name, each in found.items()} == {
        "hami": (2, 10, 0),
        "coscheduling": (0, 34, 7),
        "hami_scheduler": "gpu-scheduler",
        "hami_webhook": False,
        "force_overwrite_default_scheduler": False,
        "mock_device_plugin": False,
        "overwrite_env": True,
        "gpu_core_policy": "force",
        "kube_qps": 5.0,
        "vendors.kunlun.count": ("kunlunxin.com/xpu", "example.com/vxpu"),
    }


@pytest.mark.parametrize("tag", ["v2.8.3", "latest"])
def test_overwrite_env_counts_only_where_the_chart_heeds_it(tmp_path: Path, tag: str) -> None:
    values = f"scheduler:\n  overwriteEnv: 'true'\n  extender: {{image: {{tag: {tag}}}}}\n"
    assert "overwrite_env" not in shown(tmp_path, values)


def test_values_that_are_silent_show_the_extenders_limit_alone(tmp_path: Path) -> None:
    found = shown(tmp_path, SILENT)
    assert {name: each.value for name, each in found.items()} == {"kube_qps": 5.0}
    assert found["kube_qps"].facts[0].source == "no extraArgs for HAMi's extender: client-go's default"


SILENT = "scheduler:\n  defaultSchedulerPolicy: {gpuSchedulerPolicy: binpack}\n"
VISIBLE = "scheduler: {extender: {extraArgs: [--debug, -v=4]}}\n"


@pytest.mark.parametrize(
    ("values", "qps"),
    [
        (VISIBLE, 5.0),
        ("scheduler: {extender: {extraArgs: [--debug, -v, '4', --kube-burst=20]}}\n", 5.0),
        ("scheduler: {extender: {extraArgs: [--debug, --kube-qps=100]}}\n", 100.0),
        ("scheduler: {extender: {extraArgs: [--debug, $(MORE)]}}\n", None),
        ("scheduler: {extender: {extraArgs: [--debug, '${MORE}']}}\n", None),
        ("scheduler: {extender: {extraArgs: [--debug, '{{ .Values.more }}']}}\n", None),
        ("scheduler: {extender: {extraArgs: [--debug, '--{{ .Values.flag }}=100']}}\n", None),
        ("scheduler: {extender: {extraArgs: [--debug, '--kube-qps=${QPS}']}}\n", None),
        ("scheduler: {extender: {extraArgs: [--debug, {a: 1}]}}\n", None),
        ("scheduler: {extender: {extraArgs: }}\n", None),
    ],
)
def test_the_extenders_limit_by_its_visible_flags(tmp_path: Path, values: str, qps: float | None) -> None:
    found = shown(tmp_path, values)
    assert (found["kube_qps"].value if "kube_qps" in found else None) == qps


def test_flags_that_are_hidden_leave_the_limit_unknown(tmp_path: Path) -> None:
    """Of a release of Flux with values from elsewhere, and of a rendered list with an item that is filled in."""
    flux = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: hami}
spec:
  chart: {spec: {chart: hami, version: 2.10.0}}
  VALUESFROM
  values: {scheduler: {extender: {image: {tag: v2.10.0}}}}
"""
    assert shown(tmp_path, flux.replace("  VALUESFROM\n", ""))["kube_qps"].value == 5.0
    elsewhere = "valuesFrom: [{kind: ConfigMap, name: more}]"
    assert "kube_qps" not in shown(tmp_path, flux.replace("VALUESFROM", elsewhere))
    assert shown(tmp_path, DEPLOYMENT.replace("--kube-qps=50", "--debug"))["kube_qps"].value == 5.0
    assert "kube_qps" not in shown(tmp_path, DEPLOYMENT.replace("--kube-qps=50", "$(MORE)"))


def test_silent_values_give_way_to_those_with_the_flag(tmp_path: Path) -> None:
    found = shown(tmp_path, SILENT, "scheduler: {extender: {extraArgs: [--debug, --kube-qps=100]}}\n")
    assert (found["kube_qps"].value, len(found["kube_qps"].facts)) == (100.0, 1)


GANG = """\
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: big}
spec: {minMember: 16}
---
apiVersion: batch/v1
kind: Job
metadata: {name: big}
spec:
  parallelism: 16
  completions: 16
  template:
    metadata: {labels: {scheduling.x-k8s.io/pod-group: big}}
    spec:
      schedulerName: hami-scheduler
      restartPolicy: Never
      containers:
      - name: c
        image: nvcr.io/nvidia/pytorch:25.08-py3
        resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4000}}
"""


@pytest.mark.parametrize(
    ("values", "declared", "severity"),
    [
        ("", {}, "info"),
        (VISIBLE, {}, "warning"),
        (SILENT, {}, "warning"),
        (VISIBLE.replace("-v=4", "$(MORE)"), {}, "info"),
        (VISIBLE.replace("-v=4", "--kube-qps=50"), {}, ""),
        (VISIBLE, {"kubeQps": 50}, ""),
    ],
)
def test_a_gang_beside_values_is_judged_by_their_limit(values: str, declared: dict[str, object], severity: str) -> None:
    files = [("gang.yaml", [GANG.encode()]), *([("values.yaml", [values.encode()])] if values else [])]
    found = lint.lint(files, Config(stack=read_stack(declared)), rules=all_rules()).findings
    told = [item.finding for item in found if item.finding.rule == "gang-too-big-for-one-node"]
    assert [str(finding.severity and finding.severity.name.lower()) for finding in told] == [severity] * bool(severity)
    assert all(("may have" in finding.message) is (severity == "info") for finding in told)


def test_a_vendor_with_more_names_of_one_kind_than_of_another(tmp_path: Path) -> None:
    """Chart 2.6.1 has six chips of Ascend with a memory each, and HAMi knows seven names of cores by now."""
    chips = "".join(f"      - {{resourceName: a.com/{n}, resourceMemoryName: a.com/{n}-memory}}\n" for n in "xy")
    config = DEPLOYMENT.replace("    kunlun:\n", f"    vnpus:\n{chips}    kunlun:\n")
    stack = applied(Stack(), list(shown(tmp_path, config).values()))
    assert stack.vendors["ascend"].count == ("a.com/x", "a.com/y")
    assert stack.meanings["a.com/y-memory"].family == "a.com/y"
    assert stack.meanings["huawei.com/Ascend910C-core"].vendor == "ascend"


def test_volcanos_device_configuration_is_none_of_hamis() -> None:
    config = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-vgpu-device-config, namespace: kube-system}
data:
  device-config.yaml: |-
    nvidia:
      resourceCountName: volcano.sh/vgpu-number
      resourceMemoryName: volcano.sh/vgpu-memory
      overwriteEnv: true
"""
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulerName: volcano
  containers:
  - {name: c, image: x, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 3000}}}
"""
    found = lint.lint([("c.yaml", [config.encode()]), ("p.yaml", [pod.encode()])], Config(), rules=all_rules())
    assert not [item.finding for item in found.findings if item.finding.place.ref.kind == "Pod"]


def test_a_mock_device_plugin_is_seen(tmp_path: Path) -> None:
    daemons = """\
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: mock}
spec:
  selector: {matchLabels: {app: m}}
  template:
    metadata: {labels: {app: m}}
    spec: {containers: [{name: m, image: "projecthami/mock-device-plugin:1.0.1"}]}
"""
    assert shown(tmp_path, DEPLOYMENT + daemons)["mock_device_plugin"].value is True


def rules_of(*texts: str, stack: Stack | None = None) -> set[str]:
    files = [(f"{number}.yaml", [text.encode()]) for number, text in enumerate(texts)]
    result = lint.lint(files, Config(stack=stack or Stack()), rules=all_rules())
    return {item.finding.rule for item in result.findings}


def test_rules_get_what_the_input_shows() -> None:
    pod = POD.replace("SCHEDULER", "gpu-scheduler")
    assert "musl-image" not in rules_of(pod)
    assert "musl-image" in rules_of(DEPLOYMENT, pod)
    declared = read_stack({"resources": {"nvidia": {"count": "nvidia.com/gpu"}}})
    assert "musl-image" not in rules_of(DEPLOYMENT, pod, stack=declared)


def explained(tmp_path: Path, *arguments: str, code: int = 0) -> str:
    (tmp_path / "all.yaml").write_text(DEPLOYMENT)
    result = CliRunner().invoke(gangcheck, ["explain", "stack", str(tmp_path), "--no-config", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def test_explain_stack_tells_where_each_value_is_from(tmp_path: Path) -> None:
    rows = {line.split()[0]: line for line in explained(tmp_path, "--stack", "kubeQps=7").splitlines()}
    assert rows["hami"].endswith("all.yaml:15: the tag of the image of vgpu-scheduler-extender")
    assert rows["resources.nvidia.count"].split()[1] == "example.com/vgpu"
    assert rows["resources.nvidia.count"].endswith("all.yaml:42: the names of resources")
    assert rows["kubeQps"].split()[1:3] == ["7", "declared"]
    assert "the input says 50 at " in rows["kubeQps"]
    assert rows["kubernetes"].split()[1:] == ["unknown", "nothing", "shows", "it"]
    assert rows["memoryFactor"].split()[1] == "1"
    assert rows["defaultNamespace"].split()[1:] == ["default", "default"]


def test_explain_stack_in_json(tmp_path: Path) -> None:
    page = json.loads(explained(tmp_path, "--format", "json"))
    assert page["version"] == 1
    rows = {row["setting"]: row for row in page["stack"]}
    (fact,) = rows["hami"]["facts"]
    assert rows["hami"]["value"] == "2.9.0"
    assert rows["hami"]["origin"] == "input"
    assert (fact["value"], fact["line"]) == ("2.9.0", 15)
    assert rows["coschedulingSchedulers"]["value"] == ["gpu-scheduler", "scheduler-plugins-scheduler"]
    assert rows["kubernetes"] == {"setting": "kubernetes", "value": None, "origin": "default", "facts": []}


def test_explain_stack_names_what_differs(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(DEPLOYMENT.replace("NAMESPACE", "two").replace("hami:v2.9.0", "hami:v2.10.0"))
    rows = {line.split()[0]: line for line in explained(tmp_path).splitlines()}
    assert rows["hami"].split()[1] == "unknown"
    assert "the input differs: 2.9.0 at " in rows["hami"]
    assert "2.10.0 at " in rows["hami"]
