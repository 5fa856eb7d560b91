"""What the parts of an installation are put together to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as File
from typing import TypeVar

import pytest

from webhook import lint
from webhook.gather import gather
from webhook.installation.processes import image_name, image_tag, version_of
from webhook.kinds.parts import _SURE, PARTS
from webhook.manifest import cut, read, written
from webhook.model import Access, Malformed, Place, Release, SchedulerConfig, Subject
from webhook.parse import parse
from webhook.stack import Stack

CASES = File(__file__).parent / "cases"
S = TypeVar("S")

SCHEDULER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hami-scheduler
  namespace: NAMESPACE
  labels: {helm.sh/chart: hami-2.10.0, app.kubernetes.io/instance: gpu}
spec:
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec:
      serviceAccountName: gpu-scheduler
      containers:
      - name: kube-scheduler
        image: registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7
        command: [kube-scheduler, --config, /config/config.yaml, -v=4]
        volumeMounts: [{name: config, mountPath: /config}]
      - name: vgpu-scheduler-extender
        image: example.com/mirror/hami:v2.9.0@sha256:0123456789abcdef
        command: [scheduler]
        args: [--http_bind=0.0.0.0:443, --kube-qps, "20", --kube-qps=$(QPS)]
        volumeMounts: [{name: devices, mountPath: /device-config.yaml, subPath: device-config.yaml}]
      volumes:
      - {name: config, configMap: {name: scheduler}}
      - {name: devices, configMap: {name: devices}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler, namespace: NAMESPACE}
data:
  config.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: NAMESPACE-scheduler
  other.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
---
apiVersion: v1
kind: ConfigMap
metadata: {name: devices, namespace: NAMESPACE}
data:
  device-config.yaml: |
    nvidia: {resourceCountName: NAMESPACE.com/gpu}
"""

EXTENDER = """\
  - urlPrefix: https://127.0.0.1:443
    managedResources: [{name: nvidia.com/gpumem, ignoredByScheduler: true}]
"""


def subjects(*files: tuple[str, str], whole: bool = False) -> list[Subject]:
    """What a run over these (folder, text) has, with what is gathered."""
    known: list[Subject] = []
    names: list[str] = []
    for folder, text in files:
        for chunk in cut([text.encode()]):
            for document in read(chunk):
                made = parse(
                    document.data,
                    len(names),
                    Stack(),
                    written=lambda path, document=document: written(document, path),  # type: ignore[misc]
                )
                known.extend(made.subjects)
                names.append(f"{folder}/all.yaml")
    return [*known, *gather(known, files=names, whole=whole)]


def only(kind: type[S], found: Sequence[Subject]) -> S:
    (one,) = several(kind, found)
    return one


def several(kind: type[S], found: Sequence[Subject]) -> list[S]:
    return [each for each in found if type(each) is kind]


def test_a_deployment_and_the_config_maps_that_it_mounts_are_one_release() -> None:
    text = SCHEDULER.replace("NAMESPACE", "one") + "---\n" + SCHEDULER.replace("NAMESPACE", "two")
    found = subjects(("", text))
    first, second = several(Release, found)
    assert (first.namespace, second.namespace) == ("one", "two")
    assert first.name == "gpu"
    assert first.config is not None
    assert first.config.path == ("data", "config.yaml")
    assert first.config.profiles == ((0, {"schedulerName": "one-scheduler"}),)
    assert second.devices is not None
    assert second.devices.body == {"nvidia": {"resourceCountName": "two.com/gpu"}}
    readers = [config.process for config in several(SchedulerConfig, found)]
    assert [process is not None for process in readers] == [True, False, True, False]


def test_versions_come_from_the_image_and_from_the_chart_label() -> None:
    release = only(Release, subjects(("", SCHEDULER)))
    assert release.version is not None
    assert release.version.value == (2, 9, 0)
    assert release.version.place.path[-2:] == (1, "image")
    assert release.chart is not None
    assert release.chart.value == (2, 10, 0)
    assert release.chart.place.path == ("metadata", "labels", "helm.sh/chart")


def test_flags_have_values_and_places() -> None:
    release = only(Release, subjects(("", SCHEDULER)))
    assert release.scheduler is not None
    assert release.extender is not None
    config = release.scheduler.argument("config")
    assert config is not None
    assert (config.value, config.path[-2:], config.value_path[-2:]) == (
        "/config/config.yaml",
        ("command", 1),
        ("command", 2),
    )
    rate = release.extender.argument("kube_qps")
    assert rate is not None
    assert (rate.value, rate.known, rate.path[-2:]) == ("$(QPS)", False, ("args", 3))
    assert release.extender.argument("kube-burst") is None
    assert not release.extender.open


def test_a_shell_line_is_read_as_far_as_it_is_plain() -> None:
    line = "command: [sh, -c, 'sleep 1; exec kube-scheduler --config=/config/config.yaml $EXTRA']"
    text = SCHEDULER.replace("command: [kube-scheduler, --config, /config/config.yaml, -v=4]", line)
    scheduler = only(Release, subjects(("", text))).scheduler
    assert scheduler is not None
    assert scheduler.program == "kube-scheduler"
    assert scheduler.open
    assert scheduler.argument("config") is not None


def test_a_config_map_of_another_name_is_not_joined() -> None:
    release, lonely = several(Release, subjects(("", SCHEDULER.replace("name: devices, n", "name: others, n"))))
    assert release.devices is None
    assert lonely.devices is not None


def test_an_excerpt_without_volumes_reads_the_only_configuration() -> None:
    text = (CASES / "R171-default-client-limit.yaml").read_text()
    found = subjects(("", text))
    assert only(Release, found).config == only(SchedulerConfig, found)
    assert only(SchedulerConfig, found).process is not None
    twice = subjects(("dev", text), ("prod", text))
    assert all(release.config is not None for release in several(Release, twice))
    scattered = subjects(("dev", text.split("---")[0]), ("prod", text.split("---")[0]), ("app", text.split("---")[1]))
    assert [release.config is None for release in several(Release, scattered)] == [True, False, False]


def test_one_installation_rendered_into_several_files_of_a_folder() -> None:
    text = SCHEDULER.replace("NAMESPACE", "gpu")
    other = text.replace("gpu-scheduler\n  other", "else-scheduler\n  other")
    assert other != text
    first, second = several(Release, subjects(("same/a", text), ("same/b", other)))
    for release, name in ((first, "gpu-scheduler"), (second, "else-scheduler")):
        assert release.config is not None
        assert dict(release.config.profiles)[0]["schedulerName"] == name


def test_a_whole_installation_says_so() -> None:
    assert only(Release, subjects(("", SCHEDULER), whole=True)).whole
    assert not only(Release, subjects(("", SCHEDULER))).whole


def test_text_that_is_no_yaml_is_told_where_it_stands() -> None:
    text = SCHEDULER.replace("    - schedulerName: N", "    - {schedulerName: N")
    malformed = only(Malformed, subjects(("", text)))
    assert malformed.place.path == ("data", "config.yaml")
    assert "config.yaml: line 5 of the text" in malformed.message


VALUES = "resourceName: nvidia.com/vgpu\nscheduler:\n  overwriteEnv: 'true'\n  extender: {image: {tag: v2.9.0}}\n"


def test_values_of_a_file() -> None:
    release = only(Release, subjects(("", VALUES)))
    assert release.values is not None
    assert release.values.get("scheduler", "overwriteEnv") == "true"
    assert release.values.place("scheduler", "overwriteEnv").path == ("scheduler", "overwriteEnv")
    assert release.version is not None
    assert release.version.value == (2, 9, 0)
    assert release.chart is None


def test_values_that_a_chart_around_it_passes_on() -> None:
    text = "hami:\n" + "".join(f"  {line}\n" for line in VALUES.splitlines()) + "postgres: {}\n"
    release = only(Release, subjects(("", text)))
    assert release.values is not None
    assert release.values.ref.prefix == ("hami",)
    assert release.values.text("resourceName") == "nvidia.com/vgpu"


@pytest.mark.parametrize(
    "text",
    [
        "scheduler: {extender: {}}\nworker: {}\nbeat: {}\n",
        "resourceName: nvidia.com/gpu\nschedulerName: hami-scheduler\n",
        "scheduler: {image: x, leaderElect: true}\ncontroller: {}\nplugins: {}\n",
        "apiVersion: v1\nresourceMem: nvidia.com/gpumem\n",
        "- devicePlugin: {libPath: /x}\n",
        "hami: {enabled: true}\n",
    ],
)
def test_values_of_other_charts_are_left_alone(text: str) -> None:
    assert several(Release, subjects(("", text))) == []


def test_values_in_a_helm_release_of_flux() -> None:
    text = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: hami, namespace: flux-system}
spec:
  targetNamespace: kube-system
  chart: {spec: {chart: hami, version: 2.10.0}}
  valuesFrom: [{kind: ConfigMap, name: more}]
  values: {schedulerName: gpu-scheduler}
"""
    release = only(Release, subjects(("", text)))
    assert (release.name, release.namespace) == ("kube-system-hami", "kube-system")
    assert release.chart is not None
    assert release.chart.value == (2, 10, 0)
    assert release.version == release.chart
    assert release.values is not None
    assert release.values.partial
    assert release.values.place("schedulerName").path == ("spec", "values", "schedulerName")
    assert several(Release, subjects(("", text.replace("chart: hami", "chart: nginx")))) == []
    ranged = only(Release, subjects(("", text.replace("2.10.0", "2.x"))))
    assert ranged.chart is None


ARGO = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: hami, namespace: argocd}
spec:
  destination: {namespace: gpu}
  sources:
  - {repoURL: https://example.com, path: apps}
  - chart: hami
    targetRevision: 2.9.0
    helm:
      parameters:
      - {name: scheduler.extender.image.tag, value: v2.8.3}
      - {name: devicePlugin.deviceSplitCount, value: "5"}
      - {name: scheduler.overwriteEnv, value: "true", forceString: true}
      - {name: 'devicePlugin.nvidiaNodeSelector.example\\.com/gpu', value: "on"}
      values: |
        schedulerName: gpu-scheduler
        scheduler:
          extender:
            image:
              tag: v2.9.0
            extraArgs: [--debug]
"""


def test_values_in_an_application_set_of_argo_cd() -> None:
    head, _, spec = ARGO.partition("spec:\n")
    indented = "".join(f"    {line}\n" for line in spec.splitlines())
    text = f"{head.replace('kind: Application', 'kind: ApplicationSet')}spec:\n  template:\n    spec:\n{indented}"
    release = only(Release, subjects(("", text)))
    assert release.namespace == "gpu"
    assert release.values is not None
    helm = ("spec", "template", "spec", "sources", 1, "helm")
    assert release.values.place("schedulerName").path == (*helm, "values", "schedulerName")


def test_values_in_an_application_of_argo_cd() -> None:
    release = only(Release, subjects(("", ARGO)))
    assert release.namespace == "gpu"
    assert release.version is not None
    assert release.version.value == (2, 8, 3)
    values = release.values
    assert values is not None
    helm = ("spec", "sources", 1, "helm")
    assert values.place("scheduler", "extender", "image", "tag").path == (*helm, "parameters", 0, "value")
    assert values.get("devicePlugin", "deviceSplitCount") == 5
    assert values.get("scheduler", "overwriteEnv") == "true"
    assert values.get("devicePlugin", "nvidiaNodeSelector", "example.com/gpu") == "on"
    place = values.place("scheduler", "extender", "extraArgs", 0)
    assert place.path == (*helm, "values", "scheduler", "extender", "extraArgs", 0)
    leaves = dict(values.leaves())
    assert leaves["scheduler", "extender", "image", "tag"] == "v2.8.3"
    assert leaves["schedulerName",] == "gpu-scheduler"


def test_a_values_object_wins_over_values() -> None:
    text = ARGO.replace("      values: |", "      valuesObject: {schedulerName: other}\n      values: |")
    values = only(Release, subjects(("", text))).values
    assert values is not None
    assert values.text("schedulerName") == "other"
    assert values.get("scheduler", "extender", "extraArgs") is None


def test_values_in_a_helm_chart_of_k3s() -> None:
    text = """
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: gpu, namespace: kube-system}
spec:
  chart: https://example.com/charts/hami-2.10.0.tgz
  version: 2.10.0
  targetNamespace: hami-system
  set:
    scheduler.extender.image.tag: v2.9.0
  valuesContent: |
    schedulerName: gpu-scheduler
    scheduler: {extender: {image: {tag: v2.8.3}}}
"""
    release = only(Release, subjects(("", text)))
    assert (release.name, release.namespace) == ("gpu", "hami-system")
    assert release.version is not None
    assert release.version.value == (2, 9, 0)
    assert release.version.place.path == ("spec", "set", "scheduler.extender.image.tag")
    assert release.chart is not None
    assert release.chart.value == (2, 10, 0)
    assert release.values is not None
    assert release.values.place("schedulerName").path == ("spec", "valuesContent", "schedulerName")
    assert several(Release, subjects(("", text.replace("hami-2.10.0", "nginx-1.0")))) == []
    assert only(Malformed, subjects(("", text.replace("schedulerName:", "{schedulerName:")))).place.path[-1] == (
        "valuesContent"
    )


def test_a_lone_configuration_with_hamis_extender_is_a_release() -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
    assert only(Release, subjects(("", config + EXTENDER))).config is not None
    assert several(Release, subjects(("", config.replace("extenders:", "profiles: []")))) == []
    other = EXTENDER.replace("nvidia.com/gpumem", "nvidia.com/gpu").replace("127.0.0.1", "other.example.com")
    assert several(Release, subjects(("", config + other))) == []


RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader, labels: {gangs: "true"}}
rules:
- {apiGroups: [scheduling.x-k8s.io], resources: [podgroups], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: gpu-scheduler, namespace: gpu}
"""


def access(rights: str) -> Access:
    return only(Access, subjects(("", SCHEDULER.replace("NAMESPACE", "gpu")), ("", rights)))


def reads(rights: str) -> bool:
    return all(access(rights).allows("scheduling.x-k8s.io", "podgroups", verb) for verb in ("get", "list", "watch"))


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("", "", True),
        ("name: gpu-scheduler, namespace: gpu", "name: gpu-scheduler, namespace: other", False),
        ("name: gpu-scheduler, namespace: gpu", "name: scheduler, namespace: gpu", False),
        (
            "kind: ServiceAccount, name: gpu-scheduler, namespace: gpu",
            "kind: Group, name: 'system:serviceaccounts'",
            True,
        ),
        (
            "kind: ServiceAccount, name: gpu-scheduler, namespace: gpu",
            "kind: Group, name: 'system:serviceaccounts:gpu'",
            True,
        ),
        (
            "kind: ServiceAccount, name: gpu-scheduler, namespace: gpu",
            "kind: Group, name: 'system:serviceaccounts:other'",
            False,
        ),
        (
            "kind: ServiceAccount, name: gpu-scheduler, namespace: gpu",
            "kind: User, name: 'system:serviceaccount:gpu:gpu-scheduler'",
            True,
        ),
        ("[get, list, watch]", "[get]", False),
        ("[get, list, watch]", "['*']", True),
        ("[podgroups]", "['*']", True),
        ("[podgroups]", "[podgroups/status]", False),
        ("[podgroups], v", "[podgroups], resourceNames: [train], v", False),
        ("[scheduling.x-k8s.io]", "['']", False),
        (
            "kind: ClusterRoleBinding\nmetadata: {name: reader}",
            "kind: RoleBinding\nmetadata: {name: r, namespace: gpu}",
            False,
        ),
        ("kind: ClusterRole, name: reader", "kind: ClusterRole, name: cluster-admin", True),
        ("kind: ClusterRole, name: reader", "kind: ClusterRole, name: 'system:kube-scheduler'", False),
    ],
)
def test_rights(old: str, new: str, *, allowed: bool) -> None:
    assert old in RIGHTS
    assert reads(RIGHTS.replace(old, new)) is allowed


def test_aggregated_rights() -> None:
    aggregate = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all}
aggregationRule:
  clusterRoleSelectors:
  - SELECTOR
rules: []
"""
    bound = RIGHTS.replace("kind: ClusterRole, name: reader", "kind: ClusterRole, name: all")
    assert reads(bound + aggregate.replace("SELECTOR", 'matchLabels: {gangs: "true"}'))
    assert reads(bound + aggregate.replace("SELECTOR", "matchExpressions: [{key: gangs, operator: Exists}]"))
    assert not reads(bound + aggregate.replace("SELECTOR", 'matchLabels: {gangs: "false"}'))


def test_a_role_that_is_not_in_the_input_is_unknown() -> None:
    found = access(RIGHTS.replace("kind: ClusterRole, name: reader", "kind: ClusterRole, name: elsewhere"))
    assert [(grant.known, grant.role) for grant in found.grants] == [(False, None)]
    assert access(RIGHTS.replace("namespace: gpu", "namespace: x")).others != ()


def test_the_controller_of_podgroups_has_an_access_too() -> None:
    found = only(Access, subjects(("", (CASES / "R066-controller-without-status.yaml").read_text())))
    assert (found.namespace, found.name) == ("scheduler-plugins", "scheduler-plugins-controller")
    assert found.allows("scheduling.x-k8s.io", "podgroups", "patch")
    assert not found.allows("scheduling.x-k8s.io", "podgroups/status", "patch")


@pytest.mark.parametrize(
    ("image", "name", "tag"),
    [
        ("docker.io/projecthami/hami:v2.9.0", "hami", "v2.9.0"),
        ("localhost:5000/hami", "hami", ""),
        ("example.com:443/a/hami:v2@sha256:00", "hami", "v2"),
    ],
)
def test_names_and_tags_of_images(image: str, name: str, tag: str) -> None:
    assert (image_name(image), image_tag(image)) == (name, tag)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v2.9.0", (2, 9, 0)),
        ("2.10", (2, 10)),
        ("v1.34.1-arm64", (1, 34, 1)),
        ("v2.10.0-rc1", None),
        ("latest", None),
        ("v2", None),
        ("v1.2.3.4", None),
        ("", None),
    ],
)
def test_versions(text: str, version: tuple[int, ...] | None) -> None:
    assert version_of(text) == version


def test_every_part_and_every_values_file_is_read() -> None:
    """`lint` reads only documents that hold one of its words."""

    def is_read(text: str) -> bool:
        return any(word in text.encode() for word in lint.WORDS)

    for around, keys in _SURE.items():
        for key in keys:
            assert is_read(f"{around}: {key}"), key
    for group, kinds in PARTS.items():
        for kind in kinds - {"ConfigMap", "Application", "ApplicationSet", "CustomResourceDefinition", "HelmChart"}:
            assert is_read(f"{group}/v1 {kind}") or lint.RIGHTS in group.encode(), kind
    assert is_read("podgroups.scheduling.x-k8s.io")
    assert is_read("chart: hami")


def test_places_of_values_that_are_absent_are_the_nearest_that_is_written() -> None:
    values = only(Release, subjects(("", ARGO))).values
    assert values is not None
    place = values.place("scheduler", "extender", "image", "registry")
    assert isinstance(place, Place)
    assert place.path[:4] == ("spec", "sources", 1, "helm")
