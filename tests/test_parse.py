"""One document to subjects: what is read, what is refused, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.manifest import Chunk, read, written
from webhook.model import (
    GROUP_LABEL,
    Malformed,
    Path,
    Pod,
    PodGroup,
    RepeatedKey,
    Scaler,
    StrangeKind,
    Subject,
    Workload,
    WrongScalar,
    dig,
)
from webhook.parse import Parsed, parse, templated
from webhook.parse.schema import OBJECTS
from webhook.parse.shapes import Shape, faults
from webhook.stack import Stack

STACK = Stack()


def parsed(text: str, namespace: str = "") -> Parsed:
    (document,) = read(Chunk(text.encode(), 1))
    return parse(
        document.data,
        0,
        STACK,
        written=lambda path: written(document, path),
        duplicates=[(twice.path, twice.first.line, twice.second.line) for twice in document.duplicates],
        namespace=namespace,
    )


def the_pod(text: str) -> Pod:
    (pod,) = (subject for subject in parsed(text).subjects if isinstance(subject, Pod))
    return pod


def the_group(text: str) -> PodGroup:
    (group,) = (subject for subject in parsed(text).subjects if isinstance(subject, PodGroup))
    return group


def wrong(text: str) -> list[tuple[str, str]]:
    """The path and the message of every field that Kubernetes could not decode."""
    found = [subject for subject in parsed(text).subjects if isinstance(subject, Malformed)]
    return [(".".join(map(str, each.place.path)), each.message) for each in found]


def pod_text(spec: str = "", metadata: str = "", rest: str = "") -> str:
    containers = "" if "containers:" in spec else "containers: [{name: main, image: x}],"
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: a, {metadata}}}, spec: {{{containers} {spec}}}, {rest}}}"


def test_a_pod_as_written() -> None:
    pod = the_pod(
        pod_text(
            "schedulerName: s, priorityClassName: p, nodeName: node-1, schedulingGates: [{name: g}], containers:"
            " [{name: main, image: i, env: [{name: A, value: b}, {name: C}, {name: D, valueFrom: {}}],"
            " resources: {limits: {cpu: 1}, requests: {cpu: 500m}}}],"
            " initContainers: [{name: i, image: x}, {name: s, image: x, restartPolicy: Always}],"
            " ephemeralContainers: [{name: e, image: x}]",
            f"namespace: ml, labels: {{{GROUP_LABEL}: g1}}, annotations: {{a: b}}",
        )
    )
    assert (pod.ref.kind, pod.ref.namespace, pod.ref.name, str(pod)) == ("Pod", "ml", "a", "Pod/a")
    assert (pod.group, pod.annotations) == ("g1", {"a": "b"})
    assert (pod.scheduler, pod.priority_class, pod.node_name, pod.gates) == ("s", "p", "node-1", ("g",))
    assert [(each.name, each.role) for each in pod.containers] == [
        ("i", "init"), ("s", "sidecar"), ("main", "app"), ("e", "ephemeral"),
    ]  # fmt: skip
    main = pod.containers[2]
    assert main.path == ("spec", "containers", 0)
    assert (main.limits, main.requests) == ({"cpu": 1}, {"cpu": "500m"})
    assert [(each.name, each.value, each.path[-1]) for each in main.env] == [
        ("A", "b", 0),
        ("C", "", 1),
        ("D", None, 2),
    ]
    assert (pod.count.least, pod.count.most, pod.live, pod.finished) == (1, 1, False, False)


def test_namespaces() -> None:
    text = pod_text()
    assert the_pod(text).ref.namespace == "default"
    assert parsed(text, namespace="team").refs[0].namespace == "team"


NATIVE = [
    ("schedulingGroup: {podGroupName: n1}", "n1", ("spec", "schedulingGroup", "podGroupName")),
    ("workloadRef: {name: w, podGroup: p}", "p", ("spec", "workloadRef", "podGroup")),
    ("workloadRef: {name: w}", "w", ("spec", "workloadRef", "name")),
    ("workloadRef: 3", "", ()),
    ("", "", ()),
]


@pytest.mark.parametrize(("spec", "name", "path"), NATIVE)
def test_native_groups(spec: str, name: str, path: Path) -> None:
    pod = the_pod(pod_text(spec))
    assert (pod.native, pod.native_path) == (name, path)


LIVE = [
    ("", "uid: 1-2", "", True),
    ("", "resourceVersion: '7'", "", True),
    ("", "", "status: {phase: Running}", True),
    ("nodeName: node-1", "", "status: {phase: Pending}", True),
    ("nodeName: node-1", "", "", False),
    ("nodeName: node-1", "", "status: {}", False),
    ("", "creationTimestamp: null", "status: {}", False),
    ("", "", "status: {phase: Pending}", False),
    ("", "", "status: {phase: {odd: 1}}", False),
]


@pytest.mark.parametrize(("spec", "metadata", "rest", "live"), LIVE)
def test_a_dump_of_a_running_pod_is_told_from_a_manifest(spec: str, metadata: str, rest: str, live: bool) -> None:  # noqa: FBT001
    assert the_pod(pod_text(spec, metadata, rest)).live == live


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_no_member_any_more(phase: str) -> None:
    pod = the_pod(pod_text(rest=f"status: {{phase: {phase}}}"))
    assert pod.finished
    assert (pod.count.least, pod.count.most) == (0, 0)


OWNERS = [
    ("[{kind: Job, controller: true}]", "Job", "Job"),
    ("[{kind: A}, {kind: B, controller: true}]", "B", "B"),
    ("[{kind: RayCluster}]", "", "RayCluster"),
    ("[3]", "", ""),
    ("none", "", ""),
]


@pytest.mark.parametrize(("owners", "of_pod", "of_group"), OWNERS)
def test_owners(owners: str, of_pod: str, of_group: str) -> None:
    assert the_pod(pod_text("", f"ownerReferences: {owners}")).owner == of_pod
    group = f"{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {{ownerReferences: {owners}}}}}"
    assert the_group(group).made_by == of_group


def test_what_servers_write_beside_the_manifest_is_not_read() -> None:
    applied = 'kubectl.kubernetes.io/last-applied-configuration: \'{"metadata": {"labels": {"a": 1}}}\''
    text = pod_text("", f"annotations: {{{applied}}}, managedFields: [{{fieldsV1: {{a: 1}}}}]", "status: {a: [1]}")
    (only,) = parsed(text).subjects
    assert isinstance(only, Pod)


def test_a_workload_comes_before_its_pods() -> None:
    text = (
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {a: b}, annotations: {c: d}}, spec: {"
        "parallelism: 2, template: {metadata: {labels: {e: f}}, spec: {containers: [{name: main, image: x}]}}}}"
    )
    workload, pod = parsed(text).subjects
    assert isinstance(workload, Workload)
    assert (workload.labels, workload.annotations, workload.pods) == ({"a": "b"}, {"c": "d"}, (pod,))
    assert isinstance(pod, Pod)
    assert (pod.labels, pod.count.most, pod.is_template) == ({"e": "f"}, 2, True)
    assert pod.containers[0].path == ("spec", "template", "spec", "containers", 0)


GROUPS = [
    ("{minMember: 3, scheduleTimeoutSeconds: 10, minResources: {cpu: 1}}", 3, 10, False, 0),
    ("{}", None, None, False, 0),
    ("null", None, None, False, 0),
    ("{minMember: null}", None, None, False, 0),
    ("{minMember: '${N}'}", None, None, True, 0),
    ("'{{ spec }}'", None, None, True, 0),
    ("{minMember: '3'}", 3, None, False, 1),
    ("{minMember: 3.0}", 3, None, False, 0),
    ("{minMember: 2.5}", None, None, True, 1),
    ("{minMember: many}", None, None, True, 1),
    ("{minMember: 0}", 0, None, False, 0),
    ("{minResources: {cpu: 1.5}}", None, None, False, 1),
    ("{minResources: {cpu: 2.0, gpu: -1, memory: '1.5'}}", None, None, False, 0),
    ("{minResources: {cpu: abc}}", None, None, False, 1),
    ("{minResources: {cpu: '1 '}}", None, None, False, 1),
    ("{minResources: 3}", None, None, False, 1),
]


@pytest.mark.parametrize(("spec", "minimum", "timeout", "unknown", "errors"), GROUPS)
def test_pod_groups(spec: str, minimum: int | None, timeout: int | None, unknown: bool, errors: int) -> None:  # noqa: FBT001
    text = f"{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {{name: g}}, spec: {spec}}}"
    group = the_group(text)
    assert (group.min_member, group.timeout, group.templated) == (minimum, timeout, unknown)
    assert len(wrong(text)) == errors
    assert group.is_coscheduling


def test_pod_groups_of_other_systems_are_not_judged() -> None:
    text = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {minMember: '2'}}"
    assert not the_group(text).is_coscheduling
    assert not wrong(text)


REFUSED = [
    ("containers: null", "spec.containers", "has no spec.containers"),
    ("containers: []", "spec.containers", "an empty list"),
    ("containers: {}", "spec.containers", "an empty mapping"),
    ("containers: {name: main}", "spec.containers", "a mapping"),
    ("containers: [main]", "spec.containers.0", "the text 'main'"),
    ("containers: [null]", "spec.containers.0", "has no spec.containers[0]"),
    ("containers: [{image: x}]", "spec.containers.0.name", "has no spec.containers[0].name"),
    ("containers: [{name: '', image: x}]", "spec.containers.0.name", "is empty"),
    ("initContainers: {}", "spec.initContainers", "an empty mapping"),
    ("containers: [{name: a, env: {A: b}}]", "spec.containers.0.env", "a mapping"),
    ("containers: [{name: a, env: [{value: b}]}]", "spec.containers.0.env.0.name", "has no"),
    ("containers: [{name: a, env: [{name: A, value: [b]}]}]", "spec.containers.0.env.0.value", "a list"),
    ("containers: [{name: a, env: [A]}]", "spec.containers.0.env.0", "the text 'A'"),
    ("containers: [{name: a, command: python}]", "spec.containers.0.command", "the text 'python'"),
    ("containers: [{name: a, resources: 3}]", "spec.containers.0.resources", "is 3"),
    ("containers: [{name: a, resources: {limits: [1]}}]", "spec.containers.0.resources.limits", "a list"),
    ("containers: [{name: a, resources: {limits: {a.b/c: x}}}]", "spec.containers.0.resources.limits.a.b/c", "[a.b/c]"),
    ("containers: [{name: a, resources: {limits: {cpu: true}}}]", "spec.containers.0.resources.limits.cpu", "is true"),
    ("containers: [{name: a, resources: {limits: {cpu: 4 c}}}]", "spec.containers.0.resources.limits.cpu", "'4 c'"),
    ("containers: [{name: a, resources: {limits: {cpu: .inf}}}]", "spec.containers.0.resources.limits.cpu", "is inf"),
    ("nodeSelector: [a]", "spec.nodeSelector", "a list"),
    ("hostNetwork: 'true'", "spec.hostNetwork", "the text 'true'"),
    (f"schedulerName: [{'x' * 90}]", "spec.schedulerName", "a list"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "path", "said"), REFUSED)
def test_what_the_api_server_refuses_in_a_pod(spec: str, path: str, said: str) -> None:
    ((where, message),) = wrong(pod_text(spec))
    assert where == path
    assert message.startswith("Pod/a")
    assert said in message
    assert len(message) < 200


BARE = [
    ("spec: null", "spec"),
    ("spec: {}", "spec.containers"),
    ("spec: []", "spec"),
    ("spec: {volumes: []}", "spec.containers"),
    ("x: 1", "spec"),
]


@pytest.mark.parametrize(("whole", "path"), BARE)
def test_a_pod_needs_a_spec_with_containers(whole: str, path: str) -> None:
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, {whole}}}"
    ((where, _),) = wrong(text)
    assert where == path
    assert the_pod(text).containers == ()


TAKEN = [
    "containers: [{name: a, env: null, resources: null, command: null, args: [null]}]",
    "containers: [{name: a, resources: {limits: {cpu: null, a: 1e9, b: '+1', c: 1., d: .5, e: 12E6, f: 1Ei, g: 5n}}}]",
    "containers: [{name: a, resources: {limits: {cpu: '{{ cpu }}', memory: '<memory>'}}}]",
    "initContainers: null, nodeSelector: null, tolerations: null",
    "initContainers: []",
    "hostNetwork: '${HOST}'",
    "nodeSelector: '{{ selector }}'",
]


@pytest.mark.parametrize("spec", TAKEN)
def test_what_the_api_server_takes_or_may_yet_become_right(spec: str) -> None:
    assert not wrong(pod_text(spec))


JOBS = [
    ("v1", "JAXJob"),
    ("v1", "MPIJob"),
    ("v2beta1", "MPIJob"),
    ("v1", "PaddleJob"),
    ("v1", "PyTorchJob"),
    ("v1", "TFJob"),
    ("v1", "XGBoostJob"),
]
POLICIES = [
    ("3", ""),
    ("{suspend: 'true'}", "suspend"),
    ("{managedBy: [a]}", "managedBy"),
    ("{schedulingPolicy: [8]}", "schedulingPolicy"),
    ("{schedulingPolicy: {minAvailable: '8'}}", "schedulingPolicy.minAvailable"),
    ("{schedulingPolicy: {minAvailable: 1.5}}", "schedulingPolicy.minAvailable"),
    ("{schedulingPolicy: {scheduleTimeoutSeconds: 60s}}", "schedulingPolicy.scheduleTimeoutSeconds"),
    ("{schedulingPolicy: {queue: {}}}", "schedulingPolicy.queue"),
    ("{schedulingPolicy: {priorityClass: [low]}}", "schedulingPolicy.priorityClass"),
    ("{schedulingPolicy: {minResources: 8}}", "schedulingPolicy.minResources"),
    ("{schedulingPolicy: {minResources: {cpu: 0.5}}}", "schedulingPolicy.minResources.cpu"),
    ("{schedulingPolicy: {minResources: {cpu: 16GB}}}", "schedulingPolicy.minResources.cpu"),
]


def job_text(version: str, kind: str, policy: str) -> str:
    return f"{{apiVersion: kubeflow.org/{version}, kind: {kind}, metadata: {{name: a}}, spec: {{runPolicy: {policy}}}}}"


@pytest.mark.parametrize(("version", "kind"), JOBS)
@pytest.mark.parametrize(("policy", "path"), POLICIES)
def test_what_the_api_server_refuses_in_a_training_job_s_run_policy(
    version: str, kind: str, policy: str, path: str
) -> None:
    ((where, _),) = wrong(job_text(version, kind, policy))
    assert where == f"spec.runPolicy.{path}".rstrip(".")


@pytest.mark.parametrize("policy", ["managedBy: 1", "schedulingPolicy: {queue: 7}", "schedulingPolicy: {queue: on}"])
def test_a_run_policy_s_texts_want_quotes(policy: str) -> None:
    found = parsed(job_text("v1", "PyTorchJob", f"{{{policy}}}")).subjects
    assert [type(subject) for subject in found if isinstance(subject, WrongScalar | Malformed)] == [WrongScalar]


@pytest.mark.parametrize(("version", "kind"), JOBS)
@pytest.mark.parametrize(
    "policy",
    [
        "null",
        "{suspend: null, managedBy: null, schedulingPolicy: null, cleanPodPolicy: None, acme: [1]}",
        "{schedulingPolicy: {minAvailable: null, minResources: null, queue: null, priorityClass: null, acme: [1]}}",
        "{schedulingPolicy: {minAvailable: 8, scheduleTimeoutSeconds: 0, minResources: {cpu: 4, memory: 16Gi}}}",
        "{suspend: true, managedBy: kueue.x-k8s.io/multikueue, schedulingPolicy: {minAvailable: '{{ n }}'}}",
    ],
)
def test_what_the_api_server_takes_in_a_training_job_s_run_policy(version: str, kind: str, policy: str) -> None:
    assert not wrong(job_text(version, kind, policy))


FIXES = [
    ("replicas: '3'", "write replicas: 3 without quotes"),
    ("replicas: x", "make replicas a whole number, 0 or more"),
    ("replicas: -1", "make replicas a whole number, 0 or more"),
    ("replicas: 99999999999", "make replicas a whole number, 0 or more"),
    ("template: {spec: {hostNetwork: 'True'}}", "write hostNetwork: true without quotes"),
    ("template: {spec: null}", "add spec, a mapping"),
    ("template: {spec: {containers: [{image: x}]}}", "add name"),
    ("template: {spec: {containers: [x]}}", "make this item a mapping, or remove it"),
    (
        "template: {spec: {containers: [{name: a, resources: {limits: {cpu: x}}}]}}",
        "write a number with a unit of Kubernetes for cpu, such as 4, 500m or 16Gi",
    ),
    (
        "template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 16GB}}}]}}",
        "write a whole number for nvidia.com/gpumem, without a unit",
    ),
]


@pytest.mark.parametrize(("spec", "fix"), FIXES)
def test_every_refusal_has_a_cure(spec: str, fix: str) -> None:
    text = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}, spec: {{{spec}}}}}"
    (found,) = (subject for subject in parsed(text).subjects if isinstance(subject, Malformed))
    assert found.fix == fix


@pytest.mark.parametrize("spec", ["", "replicas: 5", "template: {metadata: {labels: {a: b}}}", "template: {spec: {}}"])
def test_a_patch_of_a_workload_is_not_refused_for_what_it_leaves_out(spec: str) -> None:
    assert not wrong(f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}, spec: {{{spec}}}}}")


VALUE: Path = ("spec", "containers", 0, "env", 0, "value")
SCALARS = [
    ("", "labels: {a: on}", ("metadata", "labels", "a"), "on", True),
    ("", "labels: {a: 20260901}", ("metadata", "labels", "a"), "20260901", 20260901),
    ("", "labels: {a: 1e3}", ("metadata", "labels", "a"), "1e3", 1000.0),
    ("", "annotations: {a: 0x1F}", ("metadata", "annotations", "a"), "0x1F", 31),
    ("", "namespace: 12", ("metadata", "namespace"), "12", 12),
    ("schedulerName: no", "", ("spec", "schedulerName"), "no", False),
    ("priorityClassName: 7", "", ("spec", "priorityClassName"), "7", 7),
    ("nodeSelector: {gpu: true}", "", ("spec", "nodeSelector", "gpu"), "true", True),
    ("tolerations: [{value: yes}]", "", ("spec", "tolerations", 0, "value"), "yes", True),
    ("containers: [{name: 1}]", "", ("spec", "containers", 0, "name"), "1", 1),
    ("containers: [{name: a, image: 1.5}]", "", ("spec", "containers", 0, "image"), "1.5", 1.5),
    ("containers: [{name: a, args: [a, 3]}]", "", ("spec", "containers", 0, "args", 1), "3", 3),
    ("containers: [{name: a, env: [{name: A, value: 1.10}]}]", "", VALUE, "1.10", 1.1),
]


@pytest.mark.parametrize(("spec", "metadata", "path", "text", "value"), SCALARS)
def test_no_text_where_text_is_wanted(spec: str, metadata: str, path: Path, text: str, value: object) -> None:
    found = parsed(pod_text(spec, metadata)).subjects
    (scalar,) = (subject for subject in found if isinstance(subject, WrongScalar))
    assert (scalar.place.path, scalar.written, scalar.value) == (path, text, value)
    assert not any(isinstance(subject, Malformed) for subject in found)


def test_other_rules_go_on_with_the_text_as_written() -> None:
    env = "containers: [{name: 1, image: 1.5, env: [{name: A, value: off}, {name: 3, value: x}]}]"
    pod = the_pod(
        pod_text(f"schedulerName: no, {env}", f"namespace: 007, labels: {{{GROUP_LABEL}: 20260901, empty: , b: c}}")
    )
    assert pod.labels == {GROUP_LABEL: "20260901", "empty": "", "b": "c"}
    assert pod.ref.namespace == "007"
    assert pod.scheduler == "no"
    (container,) = pod.containers
    assert (container.name, container.image) == ("1", "1.5")
    assert [(each.name, each.value) for each in container.env] == [("A", "off")]
    text = (
        "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: 20260901}, spec: {minMember: 1}}"
    )
    assert the_group(text).ref.name == "20260901"
    scalar = parsed(text).subjects[0]
    assert isinstance(scalar, WrongScalar)
    assert scalar.place.ref == the_group(text).ref


def test_a_null_label_is_empty_text() -> None:
    pod = the_pod(pod_text("", f"labels: {{{GROUP_LABEL}: }}"))
    assert pod.labels == {GROUP_LABEL: ""}
    assert len(parsed(pod_text("", "labels: {a: null}")).subjects) == 1


LISTED = """
apiVersion: v1
kind: {kind}
items:
- {head}
  metadata: {{name: a, labels: {{a: on}}}}
  spec: {{containers: [{{name: main, image: x}}]}}
- 3
- {{apiVersion: v1, kind: Secret}}
"""


@pytest.mark.parametrize(("kind", "head"), [("List", "{apiVersion: v1, kind: Pod}"), ("PodList", "{}")])
def test_lists(kind: str, head: str) -> None:
    text = LISTED.format(kind=kind, head="apiVersion: v1\n  kind: Pod" if kind == "List" else "x: 1")
    found = parsed(text)
    scalar, pod = found.subjects
    assert isinstance(scalar, WrongScalar)
    assert (scalar.written, scalar.place.path) == ("on", ("metadata", "labels", "a"))
    assert isinstance(pod, Pod)
    assert pod.ref.prefix == ("items", 0)
    assert (found.objects, found.refs) == (2, (pod.ref,))


def test_a_list_in_a_list_and_a_list_without_kind() -> None:
    inner = f"{{apiVersion: v1, kind: List, items: [{pod_text()}]}}"
    found = parsed(f"[{{apiVersion: v1, kind: List, items: [{inner}]}}, {pod_text()}]")
    assert [ref.prefix for ref in found.refs] == [(0, "items", 0, "items", 0), (1,)]


def test_lists_end_somewhere() -> None:
    body: dict[str, Any] = yaml.safe_load(pod_text())
    for _ in range(30):
        body = {"apiVersion": "v1", "kind": "List", "items": [body]}
    assert parse(body, 0, STACK, written=str).refs == ()
    assert parse({"apiVersion": "v1", "kind": "List", "items": None}, 0, STACK, written=str) == Parsed()


def test_a_kind_that_only_sounds_like_a_list() -> None:
    template = "{metadata: {labels: {a: 1}}, spec: {containers: [{name: a, image: x}]}}"
    text = f"{{apiVersion: example.com/v1, kind: AllowList, spec: {{deep: [{{x: {template}}}]}}}}"
    workload, pod = parsed(text).subjects
    assert isinstance(workload, Workload)
    assert isinstance(pod, Pod)
    assert pod.count.most is None
    assert pod.labels == {"a": ""}, "a number in a resource that we do not know is not judged"


def test_objects_inside_an_app_wrapper() -> None:
    text = (
        "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: w}, spec: {components:"
        f" [{{template: {pod_text()}}}]}}}}"
    )
    workload, pod = parsed(text).subjects
    assert isinstance(workload, Workload)
    assert isinstance(pod, Pod)
    assert pod.ref.prefix == ("spec", "components", 0, "template")


def test_spark_pods_get_the_labels_of_the_application() -> None:
    text = (
        "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: s, labels: {a: x, b: c}},"
        " spec: {driver: {labels: {a: z}, schedulerName: s1}, executor: {instances: '3'}}}"
    )
    refused, _, driver, executor = parsed(text).subjects
    assert isinstance(refused, Malformed)
    assert isinstance(driver, Pod)
    assert isinstance(executor, Pod)
    assert (driver.labels, executor.labels) == ({"a": "z", "b": "c"}, {"a": "x", "b": "c"})
    assert (driver.scheduler, driver.containers, driver.role) == ("s1", (), "driver")


def test_argo_steps() -> None:
    text = (
        "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {generateName: w-}, spec: {schedulerName: s1,"
        " podMetadata: {labels: {a: b}}, templates: [{name: one, container: {image: x}, sidecars: [{name: s}]},"
        " {name: two, schedulerName: s2, containerSet: {containers: [{name: c}, 3]}, script: 3}]}}"
    )
    _, one, two = parsed(text).subjects
    assert isinstance(one, Pod)
    assert isinstance(two, Pod)
    assert (one.scheduler, two.scheduler) == ("s1", "s2")
    assert one.labels == {"a": "b"}
    assert [each.role for each in one.containers] == ["app", "sidecar"]
    assert one.containers[0].path == ("spec", "templates", 0, "container")
    assert [each.name for each in two.containers] == ["c"]


KUSTOMIZATIONS = [
    "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, resources: [a.yaml]}",
    "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component}",
    "{kind: Kustomization}",
]


@pytest.mark.parametrize("text", KUSTOMIZATIONS)
def test_kustomizations_are_named_and_left_out(text: str) -> None:
    assert parsed(text) == Parsed(skipped="kustomization")


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {path: a}}",
        "{apiVersion: v1, kind: ConfigMap, data: {a: 'kind: Pod'}}",
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {tasks: []}}",
        "{apiVersion: example.com/v1, kind: Thing}",
        "{apiVersion: apps/v1, kind: Podlet}",
        "{apiVersion: v1, kind: Config}",
        "{apiVersion: v2, name: chart}",
        "{kind: Pod}",
        "{apiVersion: v1, kind: {a: b}}",
        "{apiVersion: '', kind: Pod}",
        "[3, null]",
        "text",
    ],
)
def test_what_is_no_business_of_ours(text: str) -> None:
    assert parsed(text).subjects == ()
    assert parsed(text).refs == ()


def test_a_kind_that_is_a_slip_of_the_pen() -> None:
    template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}"
    strange, workload, pod = parsed(
        f"{{apiVersion: apps/v1, kind: Deploymnet, spec: {{template: {template}}}}}"
    ).subjects
    assert isinstance(strange, StrangeKind)
    assert strange.near == ("Deployment",)
    assert isinstance(workload, Workload)
    assert isinstance(pod, Pod)
    lower, *_ = parsed(
        f"{{apiVersion: batch/v1, kind: cronjob, spec: {{jobTemplate: {{spec: {{template: {template}}}}}}}}}"
    ).subjects
    assert isinstance(lower, StrangeKind)
    assert lower.near == ("CronJob",)
    (alone,) = parsed("{apiVersion: batch/v1, kind: CronJobs}").subjects
    assert isinstance(alone, StrangeKind)
    assert parsed("{apiVersion: v1, kind: Servcie}").subjects == ()  # no business of ours


def test_keys_given_twice_belong_to_the_object_around_them() -> None:
    text = f"{{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: Service, a: 1, a: 2}}, {pod_text()}]}}"
    *_, repeated = parsed(text).subjects
    assert isinstance(repeated, RepeatedKey)
    assert (repeated.place.ref.kind, repeated.place.path, repeated.place.at) == ("Service", ("a",), "key")
    assert parsed("{a: 1, a: 2}").subjects == ()


TEMPLATED = [
    "{{ x }}",
    "a-{{x}}",
    "{% if %}",
    "${X}",
    "$X",
    "<NAME>",
    "<<x>>",
    "__NAME__",
    "@NAME@",
    "%NAME%",
    "((name))",
]


@pytest.mark.parametrize("text", TEMPLATED)
def test_placeholders(text: str) -> None:
    assert templated(text)


@pytest.mark.parametrize("value", ["3", "a < b", "100%", "a@b", "__", "", 3, None, ["{{"]])
def test_no_placeholders(value: object) -> None:
    assert not templated(value)


NAMES = (
    "apiVersion kind metadata spec name namespace labels annotations containers initContainers env value resources"
    " limits cpu template replicas items selector matchLabels status phase ownerReferences schedulingGates"
    " schedulingGroup workloadRef minMember minResources nodeSelector tolerations args image parallelism data"
)
KEYS = st.sampled_from(NAMES.split())
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats()
    | st.sampled_from(["", "a", "1", "1Gi", "x y", "${X}", "v1", "apps/v1", "Pod", "PodList", "List", "Running"])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=30
)
HEADS = st.sampled_from(
    [("v1", "Pod"), ("apps/v1", "Deployment"), ("batch/v1", "Job"), ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
     ("v1", "List"), ("v1", "PodList"), ("ray.io/v1", "RayCluster"), ("example.com/v1", "X"), ("apps/v1", "Deploymnet"),
     ("sparkoperator.k8s.io/v1beta2", "SparkApplication"), ("argoproj.io/v1alpha1", "Workflow"),
     ("workload.codeflare.dev/v1beta2", "AppWrapper"), ("jobset.x-k8s.io/v1alpha2", "JobSet")]
)  # fmt: skip
CONTAINERS = st.fixed_dictionaries(
    {}, optional={"name": VALUES, "image": VALUES, "env": VALUES, "resources": VALUES, "args": VALUES}
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "containers": st.lists(CONTAINERS, max_size=2) | VALUES,
        "template": st.fixed_dictionaries({}, optional={"metadata": VALUES, "spec": VALUES}),
        "replicas": VALUES,
        "schedulingGates": VALUES,
        "nodeSelector": VALUES,
        "minMember": VALUES,
    },
)
OBJECTS_LIKE = st.builds(
    lambda head, rest, spec: {"apiVersion": head[0], "kind": head[1], **rest, "spec": spec},
    HEADS,
    st.fixed_dictionaries({}, optional={"metadata": VALUES, "status": VALUES, "items": VALUES}),
    SPECS | VALUES,
)


@settings(max_examples=400, deadline=None)
@given(OBJECTS_LIKE | VALUES | st.lists(OBJECTS_LIKE, max_size=2))
def test_no_document_is_too_odd_and_every_place_is_in_it(data: object) -> None:
    found = parse(data, 0, STACK, written=repr, duplicates=[(("spec", "a"), 1, 2), ((), 1, 2)])
    assert len(found.refs) <= found.objects
    for subject in found.subjects:
        check_place(subject, data)
        check_texts(subject)


def check_place(subject: Subject, data: object) -> None:
    """Every reported path is in the document, or what it should stand in is."""
    if isinstance(subject, WrongScalar):
        path = (*subject.place.ref.prefix, *subject.place.path)
        assert dig(data, *path) is subject.value or dig(data, *path) == subject.value
    if isinstance(subject, Malformed):
        path = (*subject.place.ref.prefix, *subject.place.path)
        assert dig(data, *path) is not None or dig(data, *path[:-1]) is not None
        assert len(subject.message) <= 200
        assert subject.fix


def check_texts(subject: Subject) -> None:
    if isinstance(subject, Pod | Workload | PodGroup):
        for text in (*subject.labels.values(), *subject.annotations.values()):
            assert type(text) is str
    if isinstance(subject, Pod):
        for container in subject.containers:
            assert all(entry.value is None or type(entry.value) is str for entry in container.env)


def thorough(value: object, shape: Shape) -> bool:
    """Whether a value is sound, asked of each of its parts alone."""
    if shape.parts is None:
        return shape.sound(value)
    if type(value) not in shape.types:
        return False
    parts = list(shape.parts(value))
    if not parts:
        return shape.sound(value)
    return all(inner.nullable if part is None else thorough(part, inner) for _, part, inner in parts)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(OBJECTS)), st.fixed_dictionaries({}, optional={"metadata": VALUES, "spec": SPECS}))
def test_the_fast_check_and_the_thorough_one_agree(kind: tuple[str, str], body: dict[str, Any]) -> None:
    shape = OBJECTS[kind]
    found = list(faults(body, shape))
    assert (not found) == thorough(body, shape)
    if shape.sound(body):
        assert not found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            """{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler,
            spec: {scaleTargetRef: {kind: StatefulSet, name: a}, minReplicas: 2, maxReplicas: 8}}""",
            ("StatefulSet", "a", 2, 8),
        ),
        (
            "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nspec: {scaleTargetRef: {name: a}}",
            ("Deployment", "a", 1, None),
        ),
        (
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec: {scaleTargetRef: {name: a}}",
            ("Deployment", "a", 0, 100),
        ),
        (
            """{apiVersion: keda.sh/v1alpha1, kind: ScaledObject,
            spec: {scaleTargetRef: {name: a}, minReplicaCount: $(N), maxReplicaCount: '8'}}""",
            ("Deployment", "a", 0, None),
        ),
    ],
)
def test_autoscalers_say_what_they_scale(text: str, told: tuple[str, str, int, int | None]) -> None:
    (found,) = parsed(text).subjects
    assert isinstance(found, Scaler)
    assert found[1:] == told


def test_an_autoscaler_without_a_target_is_none() -> None:
    assert parsed("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec: {}").subjects == ()
    assert parsed("apiVersion: example.com/v1\nkind: ScaledObject\nspec: {scaleTargetRef: {name: a}}").subjects == ()
