"""The stand works, and the facts that rules state hold on it."""

from functools import partial
from typing import Any

import pytest
from apiserver import (
    ControlPlane,
    allow,
    as_user,
    audited,
    create,
    events,
    get,
    kubectl,
    listed,
    made,
    named,
    never,
    node_of,
    patch,
    request,
    wait_for,
    why_pending,
)
from components import ARGUMENTS, COSCHEDULING, QUEUE_SORT
from controlplane import NotStarted, scheduler
from gangs import bound, told, woken
from hooks import Hook
from objects import GROUP, container, member, pod, pod_group, template, workload

SHORT = "current pods number: {}, minMember of group: {}"


def test_versions_are_the_pinned_ones(control: ControlPlane) -> None:
    assert request(control, "GET", "/version").body["gitVersion"] == "v1.35.4"
    assert '"gitVersion": "v1.35.4"' in kubectl(control, "version", "--output=json").stdout


def test_ordinary_pod_is_placed_by_the_default_scheduler(control: ControlPlane, namespace: str) -> None:
    (stored,) = made(control, pod(namespace, "a"))
    assert stored["spec"]["schedulerName"] == "default-scheduler"
    bound(control, stored)


def test_healthy_gang_is_bound(control: ControlPlane, namespace: str) -> None:
    pods = [member(namespace, f"w-{n}", "g", limits={"nvidia.com/gpu": "1"}) for n in range(3)]
    made(control, pod_group(namespace, "g", minMember=3), *pods)
    bound(control, *pods)


def test_group_as_annotation_starts_alone(control: ControlPlane, namespace: str) -> None:
    lonely = pod(namespace, "w-0", annotations={GROUP: "g"}, scheduler="hami-scheduler")
    made(control, pod_group(namespace, "g", minMember=3), lonely)
    bound(control, lonely)


def test_one_member_short_waits_and_says_so(control: ControlPlane, namespace: str) -> None:
    pods = [member(namespace, f"w-{n}", "g") for n in range(3)]
    made(control, pod_group(namespace, "g", minMember=3), *pods[:2])
    told(control, pods[1], f"pre-filter pod w-1 cannot find enough sibling pods, {SHORT.format(2, 3)}")
    warned = wait_for(lambda: {event["reason"] for event in events(control, namespace, "w-1")})
    assert warned == {"FailedScheduling"}
    made(control, pods[2])
    bound(control, *pods)


def test_without_min_member_members_start_alone(control: ControlPlane, namespace: str) -> None:
    lonely = member(namespace, "w-0", "g")
    made(control, pod_group(namespace, "g"), lonely)
    bound(control, lonely)


def test_pod_group_that_is_not_there(control: ControlPlane, namespace: str) -> None:
    lonely = member(namespace, "w-0", "g")
    made(control, lonely)
    assert wait_for(partial(why_pending, control, lonely)).startswith("0/1 nodes are available: 1 PodGroup not found.")


def test_ordered_stateful_set_never_gets_past_its_first_pod(control: ControlPlane, namespace: str) -> None:
    body = template(labels={GROUP: "g"}, scheduler="hami-scheduler")
    made(control, pod_group(namespace, "g", minMember=3), workload("StatefulSet", namespace, "w", body, replicas=3))
    told(control, member(namespace, "w-0", "g"), SHORT.format(1, 3))
    never(lambda: len(listed(control, "v1", "Pod", namespace)) > 1, 1)


def test_parallel_stateful_set_is_bound(control: ControlPlane, namespace: str) -> None:
    body = template(labels={GROUP: "g"}, scheduler="hami-scheduler")
    sets = workload("StatefulSet", namespace, "w", body, replicas=3, podManagementPolicy="Parallel")
    made(control, pod_group(namespace, "g", minMember=3), sets)
    bound(control, *(member(namespace, f"w-{n}", "g") for n in range(3)))


def test_gang_over_two_schedulers_never_gathers(control: ControlPlane, namespace: str) -> None:
    launcher = member(namespace, "launcher", "g", scheduler="default-scheduler")
    workers = [member(namespace, f"w-{n}", "g", limits={"nvidia.com/gpu": "1"}) for n in range(2)]
    made(control, pod_group(namespace, "g", minMember=3, scheduleTimeoutSeconds=1), launcher, *workers)
    bound(control, launcher)

    def said() -> bool:
        texts = [why_pending(control, worker) for worker in workers]
        return any("rejected due to timeout after waiting 1s at plugin Coscheduling" in text for text in texts)

    woken(control, namespace, "g", said)
    assert not any(node_of(control, worker) for worker in workers)


def test_gpumem_in_min_resources_is_a_gap(control: ControlPlane, namespace: str) -> None:
    group = pod_group(namespace, "g", minMember=1, minResources={"nvidia.com/gpumem": "3000"})
    lonely = member(namespace, "w-0", "g", limits={"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"})
    made(control, group, lonely)
    told(control, lonely, "resource gap: map[nvidia.com/gpumem:")


@pytest.mark.parametrize(
    ("written", "stored"), [("3000", "3k"), ("16384", "16384"), ("2048Mi", "2Gi"), ("1.0", "1"), ("1.5Gi", "1536Mi")]
)
def test_quantities_become_canonical(control: ControlPlane, namespace: str, written: str, stored: str) -> None:
    asked = pod(namespace, "a", limits={"nvidia.com/gpu": "1", "nvidia.com/gpumem": written})
    (seen,) = made(control, asked, dryRun="All")
    resources = seen["spec"]["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpumem"] == stored
    assert resources["requests"] == resources["limits"]


@pytest.mark.parametrize(
    ("minimum", "said"),
    [(0, "should be greater than or equal to 1"), (2.5, "must be of type integer"), ("3", "must be of type integer")],
)
def test_min_member_is_validated(control: ControlPlane, namespace: str, minimum: object, said: str) -> None:
    answer = create(control, pod_group(namespace, "g", minMember=minimum))
    assert (answer.status, said in answer.message) == (422, True)


def test_unknown_field_of_a_pod_group_is_only_warned_of(control: ControlPlane, namespace: str) -> None:
    answer = create(control, pod_group(namespace, "g", minAvailable=3))
    assert answer.ok
    assert answer.warnings == ('unknown field "spec.minAvailable"',)
    assert answer.body["spec"] == {}


@pytest.mark.parametrize("how", [["apply"], ["apply", "--server-side"], ["create"]])
def test_kubectl_makes_objects(control: ControlPlane, namespace: str, how: list[str]) -> None:
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: {namespace}}}\n"
    done = kubectl(control, *how, "--filename=-", stdin=manifest)
    assert (done.returncode, done.stderr) == (0, "")
    assert get(control, named("v1", "ConfigMap", "c", namespace)).ok


def test_users_have_the_rights_they_are_given(control: ControlPlane, namespace: str) -> None:
    alice = as_user(control, "alice")
    mine = pod(namespace, "a")
    assert create(alice, mine).status == 403
    allow(control, "alice", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}], namespace)
    wait_for(lambda: create(alice, mine, dryRun="All").ok)
    assert create(alice, mine | {"metadata": {"name": "a", "namespace": "default"}}).status == 403
    assert "forbidden" in kubectl(alice, "get", "pods").stderr


def test_writes_are_in_the_audit_log(control: ControlPlane, namespace: str) -> None:
    made(control, named("v1", "ConfigMap", "c", namespace))
    wait_for(lambda: any(e.get("objectRef", {}).get("namespace") == namespace for e in audited(control)))


@pytest.mark.usefixtures("hami_webhook")
@pytest.mark.parametrize("api_count", ["nvidia.com/gpu", "nvidia.com/gpumem"])
def test_hami_takes_gpu_pods_to_its_scheduler(control: ControlPlane, namespace: str, api_count: str) -> None:
    (stored,) = made(control, pod(namespace, "a", limits={api_count: "1"}))
    assert stored["spec"]["schedulerName"] == "hami-scheduler"
    cores = {"nvidia.com/gpucores": "100"} if api_count == "nvidia.com/gpu" else {}
    assert stored["spec"]["containers"][0]["resources"]["limits"] == {api_count: "1", "nvidia.com/gpu": "1"} | cores
    bound(control, stored)


@pytest.mark.usefixtures("hami_webhook")
def test_hami_leaves_gang_members_without_gpu(control: ControlPlane, namespace: str) -> None:
    (stored,) = made(control, member(namespace, "launcher", "g", scheduler=""))
    assert stored["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.usefixtures("hami_webhook")
def test_hami_appends_the_priority(control: ControlPlane, namespace: str) -> None:
    limits = {"nvidia.com/gpu": "1", "nvidia.com/priority": "1"}
    twice = container(limits=limits, env={"CUDA_TASK_PRIORITY": "0"})
    answer = create(control, pod(namespace, "a", containers=[twice]))
    env = answer.body["spec"]["containers"][0]["env"]
    assert [(entry["name"], entry["value"]) for entry in env] == [
        ("CUDA_TASK_PRIORITY", "0"),
        ("CUDA_TASK_PRIORITY", "1"),
    ]
    assert 'hides previous definition of "CUDA_TASK_PRIORITY"' in answer.warnings[0]


@pytest.mark.usefixtures("hami_webhook")
@pytest.mark.parametrize(
    ("parts", "status", "said"),
    [
        ({"nodeName": "gpu-a"}, 403, "pod has node assigned"),
        ({"privileged": True}, 403, "container main is privileged"),
        ({"percentage": "150"}, 500, "invalid nvidia.com/gpumem-percentage value 150 in container main"),
    ],
)
def test_hami_denies(control: ControlPlane, namespace: str, parts: dict[str, str], status: int, said: str) -> None:
    limits = {"nvidia.com/gpu": "1"}
    if "percentage" in parts:
        limits["nvidia.com/gpumem-percentage"] = parts["percentage"]
    main = container(limits=limits) | {"securityContext": {"privileged": bool(parts.get("privileged"))}}
    spec = {"nodeName": parts["nodeName"]} if "nodeName" in parts else {}
    answer = create(control, pod(namespace, "a", containers=[main], **spec))
    assert answer.status == status
    assert f'admission webhook "vgpu.hami.io" denied the request: {said}' in answer.message


def test_hami_sees_what_the_api_server_completed(control: ControlPlane, namespace: str, hami_webhook: Hook) -> None:
    made(control, pod(namespace, "a", limits={"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}))
    ignored = pod(namespace, "b", labels={"hami.io/webhook": "ignore"}, limits={"nvidia.com/gpu": "1"})
    (stored,) = made(control, ignored)
    assert stored["spec"]["schedulerName"] == "default-scheduler"
    (review,) = hami_webhook.reviews
    assert review["apiVersion"] == "admission.k8s.io/v1beta1"
    assert review["request"]["object"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpumem"] == "3k"


BY_QUEUE_SORT: dict[str, Any] = {"plugins": {"queueSort": QUEUE_SORT}}
BY_MULTI_POINT: dict[str, Any] = {
    "plugins": {"multiPoint": {"enabled": [COSCHEDULING], "disabled": [{"name": "PrioritySort"}]}}
}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (BY_MULTI_POINT, {}, "different queue sort plugins for profile"),
        (BY_MULTI_POINT, BY_QUEUE_SORT, "must be the same for all profiles"),
        (BY_QUEUE_SORT | {"pluginConfig": [ARGUMENTS]}, BY_QUEUE_SORT, "queueSort must be the same for all profiles"),
        ({"plugins": {"multiPoint": {"enabled": [COSCHEDULING]}}}, None, "only one queue sort plugin required"),
    ],
)
def test_queue_sorts_that_do_not_start(
    control: ControlPlane, one: dict[str, Any], other: dict[str, Any] | None, said: str
) -> None:
    profiles = [one | {"schedulerName": "one"}]
    if other is not None:
        profiles.append(other | {"schedulerName": "other"})
    with pytest.raises(NotStarted, match=said), scheduler(control, "refused", tuple(profiles)):
        pass


def test_second_scheduler_beside_the_first(control: ControlPlane, namespace: str) -> None:
    waiting = pod(namespace, "a", scheduler="second")
    made(control, waiting)
    with scheduler(control, "second", ({"schedulerName": "second"},)):
        bound(control, waiting)


def test_pods_can_be_made_to_run(control: ControlPlane, namespace: str) -> None:
    body = template()
    made(control, workload("Job", namespace, "j", body, completions=1))
    (only,) = wait_for(lambda: listed(control, "v1", "Pod", namespace))
    bound(control, only)
    patch(control, only, {"status": {"phase": "Succeeded"}}, subresource="status")
    job = named("batch/v1", "Job", "j", namespace)
    wait_for(lambda: get(control, job).body["status"].get("succeeded") == 1)
