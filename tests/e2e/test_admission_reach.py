"""What reaches the server and what never does: the match conditions, on the API server that evaluates them."""

from collections.abc import Callable

import pytest
from apiserver import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    ControlPlane,
    Object,
    allow,
    apply_crd,
    as_user,
    create,
    delete,
    found,
    listed,
    made,
    named,
    patch,
    request,
    wait_for,
)
from components import SCHEDULER as SCHEDULER_USER
from gangs import bound
from objects import GROUP, SCHEDULER, container, member, pod, pod_group, template, workload
from server import Server

GPU = {"nvidia.com/gpu": "1"}

pytestmark = pytest.mark.usefixtures("gangcheck")


@pytest.fixture
def reviews(gangcheck: Server) -> Callable[[], int]:
    """How many reviews, and refusals of any kind, the server has counted."""
    return lambda: gangcheck.count("gangcheck_reviews") + gangcheck.count("gangcheck_refused")


def test_running_pods_never_reach_us(
    control: ControlPlane, namespace: str, gangcheck: Server, reviews: Callable[[], int]
) -> None:
    """What HAMi's extender and the scheduler write on a member, in the forms in which they write it."""
    (one,) = made(control, member(namespace, "w-0", "train", limits=GPU))
    wait_for(lambda: reviews() and gangcheck.reviews(namespace))
    before = reviews()
    made(control, pod_group(namespace, "train", minMember=1))
    assert wait_for(reviews) == before + 1
    bound(control, one)  # the scheduler's binding, its status before, and the group's own
    written = {
        "hami.io/vgpu-node": "gpu-a",
        "hami.io/vgpu-time": "1764000000",
        "hami.io/bind-phase": "allocating",
        "hami.io/vgpu-devices-allocated": "GPU-0,NVIDIA,3000,30:;",
    }
    changes: list[tuple[object, str, str]] = [
        ({"metadata": {"annotations": written}}, STRATEGIC, ""),
        ({"metadata": {"annotations": {"hami.io/bind-phase": "success"}}}, MERGE, ""),
        ([{"op": "add", "path": "/metadata/labels/seen", "value": "true"}], JSON_PATCH, ""),
        ({"status": {"phase": "Running"}}, STRATEGIC, "status"),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STRATEGIC, "status"),
        ({"metadata": {"finalizers": ["example.com/kept"]}}, MERGE, ""),
        ({"metadata": {"finalizers": None}}, MERGE, ""),
    ]
    for change, content_type, subresource in changes:
        assert patch(control, one, change, content_type=content_type, subresource=subresource).ok, change
    owned = named("v1", "Pod", "w-0", namespace)
    owned["metadata"]["annotations"] = {"kueue.x-k8s.io/note": "seen"}
    assert patch(control, owned, owned, content_type=APPLY, fieldManager="hami").ok
    grown = found(control, one)
    grown["spec"]["tolerations"].append({"key": "a", "operator": "Exists"})
    assert request(control, "PUT", f"/api/v1/namespaces/{namespace}/pods/w-0", grown).ok
    assert delete(control, one).ok
    assert reviews() == before + 1


SCHEDULER_NEEDS = [
    {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "patch"]},
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
]
"""What HAMi's extender and the PodGroup controller need beside the stock scheduler's rights."""


def test_what_the_schedulers_own_user_writes_never_reaches_us(
    control: ControlPlane, namespace: str, reviews: Callable[[], int]
) -> None:
    """A member of a gang from its first try to its binding, all by the account that kube-scheduler has."""
    allow(control, SCHEDULER_USER, SCHEDULER_NEEDS, namespace)
    user = as_user(control, SCHEDULER_USER)
    group, one = made(
        control,
        pod_group(namespace, "train", minMember=1),
        member(namespace, "w-0", "train", scheduler="nobody", limits=GPU),
    )
    before = reviews()
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    labelled = {"labels": {"hami.io/vgpu-node": "gpu-a"}, "annotations": {"hami.io/bind-phase": "allocating"}}
    binding = named("v1", "Binding", "w-0", namespace) | {"target": {"kind": "Node", "name": "gpu-a"}}
    answers = [
        patch(user, one, {"status": {"conditions": [waits]}}, content_type=STRATEGIC, subresource="status"),
        patch(user, one, {"status": {"nominatedNodeName": "gpu-b"}}, content_type=STRATEGIC, subresource="status"),
        patch(user, one, {"metadata": labelled}, content_type=STRATEGIC),
        patch(user, one, {"metadata": {"annotations": {"hami.io/bind-phase": "success"}}}),
        patch(user, one, {"metadata": {"annotations": {"hami.io/bind-phase": None}}}),
        request(user, "POST", f"/api/v1/namespaces/{namespace}/pods/w-0/binding", binding),
        patch(user, one, {"status": {"phase": "Running"}}, content_type=STRATEGIC, subresource="status"),
        patch(user, group, {"status": {"phase": "Scheduled", "running": 1}}, subresource="status"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 200, 201, 200, 200]
    assert reviews() == before


def test_binding_by_hand_never_reaches_us(control: ControlPlane, namespace: str, reviews: Callable[[], int]) -> None:
    (one,) = made(control, member(namespace, "w-0", "train", scheduler="nobody"))
    before = reviews()
    binding = named("v1", "Binding", "w-0", namespace) | {
        "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-a"}
    }
    path = f"/api/v1/namespaces/{namespace}/pods/w-0"
    assert request(control, "POST", f"{path}/binding", binding).ok
    ephemeral = found(control, one)
    ephemeral["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "busybox"}]
    assert request(control, "PUT", f"{path}/ephemeralcontainers", ephemeral).ok
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": one["metadata"]}
    assert request(control, "POST", f"{path}/eviction", eviction).ok
    assert reviews() == before


def test_change_of_the_gang_reaches_us(control: ControlPlane, namespace: str, reviews: Callable[[], int]) -> None:
    (one,) = made(control, member(namespace, "w-0", "train", scheduler="nobody"))
    for change in ({"labels": {GROUP: "other"}}, {"labels": {GROUP: None}}, {"annotations": {GROUP: "x"}}):
        before = reviews()
        patch(control, one, {"metadata": change})
        assert reviews() == before + 1, change


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_what_has_no_gpu_and_no_gang_never_reaches_us(
    control: ControlPlane, namespace: str, reviews: Callable[[], int], kind: str
) -> None:
    before = reviews()
    body = template(
        labels={"app.kubernetes.io/name": "web"}, annotations={"example.com/group": "a"}, limits={"cpu": "1"}
    )
    made(control, workload(kind, namespace, "web", body), pod(namespace, "one", limits={"memory": "1Gi"}))
    wait_for(lambda: len(listed(control, "v1", "Pod", namespace)) == 2)
    assert reviews() == before


@pytest.mark.parametrize(
    "parts",
    [
        {"limits": GPU},
        {"limits": {"nvidia.com/gpumem": "3000"}},
        {"limits": {"huawei.com/Ascend910B3": "1"}},
        {"labels": {GROUP: "train"}},
        {"annotations": {GROUP: "train"}},
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "train"}},
        {"annotations": {"scheduling.k8s.io/group-name": "train"}},
        {"annotations": {"hami.io/gpu-scheduler-policy": "binpack"}},
        {"initContainers": [container("first", limits=GPU)]},
    ],
)
def test_gpu_or_gang_reaches_both_entries(
    control: ControlPlane, namespace: str, gangcheck: Server, parts: Object
) -> None:
    create(control, pod(namespace, "a", **parts))
    assert wait_for(lambda: [review["entry"] for review in gangcheck.reviews(namespace)]) == ["mutate", "validate"]


def test_workloads_reach_us_once_for_what_their_author_changes(
    control: ControlPlane, namespace: str, gangcheck: Server
) -> None:
    body = template(labels={GROUP: "train"}, scheduler=SCHEDULER)
    (made_,) = made(control, workload("Deployment", namespace, "w", body, replicas=2))

    def of_deployment() -> list[Object]:
        return [review for review in gangcheck.reviews(namespace) if review["kind"] == "Deployment"]

    wait_for(lambda: found(control, made_)["status"].get("updatedReplicas") == 2)
    assert [review["operation"] for review in of_deployment()] == ["CREATE"]
    patch(control, made_, {"spec": {"replicas": 1}}, subresource="scale")
    wait_for(lambda: found(control, made_)["status"].get("replicas") == 1)
    assert len(of_deployment()) == 1
    patch(control, made_, {"spec": {"replicas": 3}})
    wait_for(lambda: found(control, made_)["status"].get("replicas") == 3)
    assert [review["operation"] for review in of_deployment()] == ["CREATE", "UPDATE"]


def test_excluded_namespaces_never_reach_us(control: ControlPlane, reviews: Callable[[], int]) -> None:
    before = reviews()
    account = named("v1", "ServiceAccount", "default", "kube-system")
    wait_for(lambda: found(control, account))
    assert create(control, pod("kube-system", "a", annotations={GROUP: "train"}, limits=GPU), dryRun="All").ok
    assert reviews() == before


JOB_SET = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "jobsets.jobset.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/jobset"},
    },
    "spec": {
        "group": "jobset.x-k8s.io",
        "names": {"kind": "JobSet", "listKind": "JobSetList", "plural": "jobsets", "singular": "jobset"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha2",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def test_kind_whose_definition_comes_later_is_judged(control: ControlPlane, namespace: str) -> None:
    """The webhooks were registered long before."""
    assert not listed_kinds(control, "jobset.x-k8s.io")
    body = template(annotations={GROUP: "train"}, limits=GPU)
    job = {"name": "workers", "replicas": 1, "template": {"spec": workload("Job", namespace, "w", body)["spec"]}}
    job_set = named("jobset.x-k8s.io/v1alpha2", "JobSet", "train", namespace) | {"spec": {"replicatedJobs": [job]}}
    apply_crd(control, JOB_SET)
    try:
        answer = wait_for(lambda: refused(control, job_set))
        assert 'webhook "operators.enforce.gangcheck.io" denied the request: pod-group-annotation: ' in answer
        assert "spec.replicatedJobs[0].template.spec.template.metadata.annotations" in answer
        body["metadata"]["annotations"] = {}
        made(control, job_set)
    finally:
        delete(control, JOB_SET)


def listed_kinds(control: ControlPlane, group: str) -> bool:
    return request(control, "GET", f"/apis/{group}").ok


def refused(control: ControlPlane, thing: Object) -> str:
    answer = create(control, thing, dryRun="All")
    return answer.message if answer.status == 403 else ""
