"""Every error about a vGPU request denies, on a Pod and on a workload, and the same object passes once it is mended.

What the API server refuses before any webhook is asked is shown by its own words; a kind that it has no schema for, an
operator's, then brings the same template to us. The rules are asked for: one without a row here fails by its name.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from apiserver import Answer, ControlPlane, apply_crd, create, delete, make_namespace, named, remove_namespace, wait_for
from objects import Object, container, template, workload
from server import registered, registration, serving

from webhook.model import Pod
from webhook.rule import Severity
from webhook.rules import all_rules

pytestmark = pytest.mark.e2e_slow  # every rule, on every kind

CARD = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4000"}
ALLOCATED = "hami.io/vgpu-devices-allocated"


class Row(NamedTuple):
    """A template with a rule's mistake, and the same one mended. `hami` is the version that the server is told.

    `refusal` are the API server's words where it refuses such a Pod itself.
    """

    rule: str
    wrong: Object
    mended: Object
    hami: str = "2.10"
    refusal: str = ""


def asking(**limits: str) -> Object:
    """A template whose container asks for a card, with these limits over the usual ones (`gpumem="16Gi"`)."""
    return template(limits=CARD | {f"nvidia.com/{name.replace('_', '-')}": amount for name, amount in limits.items()})


def only(**limits: str) -> Object:
    return template(limits={f"nvidia.com/{name.replace('_', '-')}": amount for name, amount in limits.items()})


def holding(env: dict[str, str] | None = None, **parts: Any) -> Object:  # noqa: ANN401 - any field of a container
    return template(containers=[container(limits=CARD, env=env) | parts])


def mounting(path: str, part: str = "x") -> Object:
    body = holding(volumeMounts=[{"name": "files", "mountPath": path, "subPath": part}])
    body["spec"]["volumes"] = [{"name": "files", "emptyDir": {}}]
    return body


def beside(**parts: Any) -> Object:  # noqa: ANN401 - as above
    return template(containers=[container(limits=CARD), container("agent") | parts])


ROWS = (
    Row("gpu-memory-unit", asking(gpumem="16Gi"), asking(gpumem="16384")),
    Row("gpu-memory-unit", asking(gpumem="2048Mi"), asking(gpumem="2048")),
    Row("gpu-memory-percentage", only(gpu="1", gpumem_percentage="150"), only(gpu="1", gpumem_percentage="50")),
    Row("gpu-memory-percentage", only(gpu="1", gpumem_percentage="0"), only(gpu="1", gpumem_percentage="50"), "2.9"),
    Row("gpu-count-invalid", asking(gpu="1500m"), asking(gpu="1"), refusal="must be an integer"),
    Row("gpu-count-invalid", asking(gpu="-1"), asking(gpu="1"), refusal="must be greater than or equal to 0"),
    Row(
        "gpu-count-invalid",
        template(containers=[container() | {"resources": {"requests": {"nvidia.com/gpu": "1"}}}]),
        only(gpu="1"),
        refusal="Limit must be set for non overcommitable resources",
    ),
    Row(
        "gpu-count-invalid",
        template(
            containers=[
                container() | {"resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}}
            ]
        ),
        only(gpu="2"),
        refusal="must be equal to nvidia.com/gpu limit of 2",
    ),
    Row(
        "gpu-two-vendors",
        template(containers=[container(limits=CARD), container("dcu", limits={"hygon.com/dcunum": "1"})]),
        template(containers=[container(limits=CARD), container("dcu")]),
        "2.9",
    ),
    Row(
        "gpu-request-as-annotation",
        template(annotations={"nvidia.com/gpumem": "8000"}, limits={"nvidia.com/gpu": "1"}),
        asking(gpumem="8000"),
    ),
    Row("gpu-request-as-annotation", template(annotations={"nvidia.com/gpu": "1"}), only(gpu="1")),
    Row("gpu-priority-invalid", asking(priority="5"), asking(priority="1"), "2.9"),
    Row("gpu-priority-invalid", holding({"CUDA_TASK_PRIORITY": "high"}), holding({"CUDA_TASK_PRIORITY": "1"}), "2.9"),
    Row("gpu-privileged", beside(securityContext={"privileged": True}), beside(securityContext={"privileged": False})),
    Row("gpu-privileged", holding(securityContext={"privileged": True}), holding()),
    Row(
        "gpu-node-name",
        template(limits=CARD, nodeName="gpu-a"),
        template(limits=CARD, nodeSelector={"kubernetes.io/hostname": "gpu-a"}),
    ),
    Row("isolation-env", holding({"CUDA_DEVICE_MEMORY_LIMIT_0": "40000m"}), holding()),
    Row("isolation-env", holding({"CUDA_DEVICE_SM_LIMIT": "0"}), holding({"CUDA_VISIBLE_DEVICES": "0"})),
    Row("isolation-env", holding({"CUDA_REDIRECT": "/opt/libcuda.so"}), holding()),
    Row("isolation-mount", mounting("/etc/ld.so.preload"), mounting("/etc/ld.so.conf.d/a.conf")),
    Row("isolation-mount", mounting("/overrideEnv"), mounting("/data/overrideEnv")),
    Row(
        "scheduler-owned-annotation",
        template(annotations={ALLOCATED: "GPU-1,NVIDIA,4000,0:;"}, limits=CARD),
        template(annotations={"hami.io/gpu-scheduler-policy": "binpack"}, limits=CARD),
    ),
    Row(
        "scheduler-owned-annotation",
        template(labels={"hami.io/vgpu-node": "gpu-a"}, annotations={"hami.io/bind-phase": "success"}, limits=CARD),
        template(limits=CARD),
    ),
)


def test_every_rule_that_may_deny_has_a_row() -> None:
    """The rules about a Pod that belong to no other family: gangs, images."""
    demanded = {
        rule.name
        for rule in all_rules()
        if rule.severity is Severity.ERROR
        and not rule.lint_only
        and Pod in rule.subjects
        and not rule.name.startswith(("pod-group-", "image-"))
    }
    assert demanded == {row.rule for row in ROWS}


@pytest.fixture(scope="module")
def tell(
    control: ControlPlane, server_account: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], None]]:
    """Sees to it that a server runs that is told this version of HAMi: on it depends what is an error."""
    running, told = ExitStack(), [""]

    def tell(hami: str) -> None:
        if told != [hami]:
            running.close()
            options = ("--stack", f"hami={hami}")
            started = running.enter_context(serving(server_account, tmp_path_factory.mktemp("server"), *options))
            running.enter_context(registered(control, *registration(started)))
            told[:] = [hami]

    with running:
        yield tell


@pytest.fixture(scope="module")
def namespace(control: ControlPlane) -> Iterator[str]:
    """One for all: nothing is stored in it."""
    name = make_namespace(control)
    yield name
    remove_namespace(control, name)


@pytest.fixture(scope="module")
def jobs(control: ControlPlane) -> Iterator[None]:
    """An operator's kind: of the templates in it the API server knows nothing."""
    apply_crd(control, PYTORCH_JOB)
    yield
    delete(control, PYTORCH_JOB)
    wait_for(lambda: create(control, job("default", template()), dryRun="All").status == 404)


PYTORCH_JOB = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pytorchjobs.kubeflow.org"},
    "spec": {
        "group": "kubeflow.org",
        "names": {"kind": "PyTorchJob", "listKind": "PyTorchJobList", "plural": "pytorchjobs"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def pod(namespace: str, body: Object) -> Object:
    made = copy.deepcopy(body)
    made["metadata"] |= {"name": "a", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def deployment(namespace: str, body: Object) -> Object:
    return workload("Deployment", namespace, "a", copy.deepcopy(body), replicas=1)


def job(namespace: str, body: Object) -> Object:
    worker = {"replicas": 1, "template": copy.deepcopy(body)}
    return named("kubeflow.org/v1", "PyTorchJob", "a", namespace) | {
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}}
    }


def tried(control: ControlPlane, thing: Object) -> Answer:
    return create(control, thing, dryRun="All")


def denied(answer: Answer, rule: str, entry: str) -> None:
    """By our webhook, for this one mistake."""
    start = f'admission webhook "{entry}.enforce.gangcheck.io" denied the request: {rule}: '
    assert (answer.status, answer.message[: len(start)]) == (403, start), answer
    assert answer.message.endswith(f"gangcheck explain {rule}"), answer.message


def passes(answer: Answer, row: Row) -> None:
    assert answer.ok, answer
    assert not [text for text in answer.warnings if text.startswith(f"{row.rule}:")], answer.warnings


def names(row: Row) -> str:
    return f"{row.rule}-{ROWS.index(row)}"


OURS = sorted((row for row in ROWS if not row.refusal), key=lambda row: row.hami)
THEIRS = [row for row in ROWS if row.refusal]


@pytest.mark.parametrize("row", OURS, ids=names)
def test_a_pod_is_denied_and_passes_once_mended(
    control: ControlPlane, namespace: str, tell: Callable[[str], None], row: Row
) -> None:
    tell(row.hami)
    denied(tried(control, pod(namespace, row.wrong)), row.rule, "pods")
    passes(tried(control, pod(namespace, row.mended)), row)


@pytest.mark.parametrize("row", OURS, ids=names)
def test_a_workload_is_denied_and_passes_once_mended(
    control: ControlPlane, namespace: str, tell: Callable[[str], None], row: Row
) -> None:
    tell(row.hami)
    denied(tried(control, deployment(namespace, row.wrong)), row.rule, "workloads")
    passes(tried(control, deployment(namespace, row.mended)), row)


@pytest.mark.parametrize("row", THEIRS, ids=names)
@pytest.mark.usefixtures("jobs")
def test_what_the_api_server_refuses_we_deny_where_it_does_not_look(
    control: ControlPlane, namespace: str, tell: Callable[[str], None], row: Row
) -> None:
    tell(row.hami)
    for thing in (pod(namespace, row.wrong), deployment(namespace, row.wrong)):
        answer = tried(control, thing)
        assert answer.status == 422, answer
        assert row.refusal in answer.message
        assert "gangcheck" not in answer.message
    denied(tried(control, job(namespace, row.wrong)), row.rule, "operators")
    for make in (pod, deployment, job):
        passes(tried(control, make(namespace, row.mended)), row)
