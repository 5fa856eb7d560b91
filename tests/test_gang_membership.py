"""Gang membership on hand-made values: keys and their slips, installations of other versions, and when to be silent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import GPU, pod, podgroup, workload

from webhook import gangkeys
from webhook.model import GROUP_LABEL, Gang, Pod, Ref, Subject
from webhook.policy import Policy, evaluate
from webhook.rule import Finding, Severity
from webhook.rules import all_rules
from webhook.stack import OLD_GROUP_LABEL, Stack

RULES = {rule.name: rule for rule in all_rules()}


def told(rule: str, subject: Subject, stack: Stack | None = None) -> tuple[Finding, ...]:
    verdict = evaluate([subject], Policy((RULES[rule],)), stack or Stack())
    assert not verdict.failures
    return verdict.findings


def gang(*members: Pod, minimum: int | None = None, **known: Any) -> Gang:  # noqa: ANN401 - any of its fields
    group = None if minimum is None else podgroup("g", members=minimum)
    return Gang("default", "g", group, members)._replace(**known)


# --- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "scheduling.sigs.k8s.io/pod-group",
        "scheduling.k8s.io/pod-group",
        "scheduling.x-k8s.io/podgroup",
        "scheduling.x-k8s.io/PodGroup",
        "scheduling.x-k8s.io/pod-group-name",
        "scheduling.x-k8s.io/group",
        "scheduling.x-k8s.io/gang",
        "scheduling.x-k8s.io/pod-gorup",
        "scheduling.x-k8.io/pod-group",
        "scheduling.xk8s.io/pod-group",
        "schedulin.x-k8s.io/pod-group",
        "pod-group.scheduling.x-k8s.io",
        "pod-group.scheduling.x-k8s.io/name",
        "podgroup.scheduling.sigs.k8s.io",
    ],
)
def test_a_slip_of_the_pen_is_told(key: str) -> None:
    assert gangkeys.is_misspelt(key)


@pytest.mark.parametrize(
    "key",
    [
        GROUP_LABEL,
        OLD_GROUP_LABEL,
        gangkeys.FIRST_MIN_LABEL,
        "app",
        "pod-group",
        "pod-group-name",
        "example.com/pod-group",
        "app-group.scheduling.sigs.k8s.io",
        "appgroup.diktyo.x-k8s.io",
        "kueue.x-k8s.io/pod-group-name",
        "kueue.x-k8s.io/pod-group-total-count",
        "kueue.x-k8s.io/pod-group-fast-admission",
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/group-name",
        "scheduling.x-k8s.io/min-available",
        "scheduling.x-k8s.io/pod-group-min-member",
        "gang.scheduling.koordinator.sh/name",
        "gang.scheduling.koordinator.sh/groups",
        "godel.bytedance.com/pod-group-name",
        "yunikorn.apache.org/task-group-name",
        "ray.io/group",
        "jobset.sigs.k8s.io/group-name",
        "leaderworkerset.sigs.k8s.io/group-index",
        "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority",
        "scheduling.x-k8s.io/elastic-quota",
    ],
)
def test_a_key_of_its_own_is_no_slip(key: str) -> None:
    assert not gangkeys.is_misspelt(key)


@given(st.sampled_from([GROUP_LABEL, OLD_GROUP_LABEL]), st.data())
def test_one_letter_too_few_names_the_group_all_the_same(key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(key) - 1))
    assert gangkeys.names_group(key[:at] + key[at + 1 :])


@given(st.text())
def test_any_text_may_be_asked_for(text: str) -> None:
    gangkeys.names_group(text)
    assert gangkeys.can_match(text) <= gangkeys.is_label_value(text)


def test_owners_of_pod_groups_are_named() -> None:
    assert gangkeys.owner_of("scheduling.volcano.sh") == "Volcano"
    assert gangkeys.owner_of("example.com") == ""


# --- installations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "key", "spoken"),
    [
        (None, OLD_GROUP_LABEL, True),
        ((0, 34, 7), OLD_GROUP_LABEL, True),
        ((0, 24, 9), OLD_GROUP_LABEL, False),
        ((0, 24, 9), gangkeys.FIRST_NAME_LABEL, True),
        ((0, 18, 9), gangkeys.FIRST_NAME_LABEL, False),
        ((0, 24, 9), "scheduling.sigs.k8s.io/pod-group", True),
    ],
)
def test_an_old_key_is_right_for_its_own_release(version: tuple[int, ...] | None, key: str, *, spoken: bool) -> None:
    found = told("pod-group-old-key", pod(labels={key: "g"}), Stack(coscheduling=version))
    assert bool(found) is spoken
    if version and version < gangkeys.X_K8S_SINCE and found:
        assert OLD_GROUP_LABEL in found[0].fix


def test_the_old_api_group_is_right_before_the_rename() -> None:
    old = podgroup("g", api="scheduling.sigs.k8s.io/v1alpha1")
    stray = gang(strays=(pod(labels={OLD_GROUP_LABEL: "g"}),), foreign=(old,))
    assert told("pod-group-foreign", stray)
    assert not told("pod-group-foreign", stray, Stack(coscheduling=(0, 24)))


def test_a_pod_group_of_nobody_known_is_named_by_its_api() -> None:
    odd = podgroup("g", api="example.com/v1")
    (found,) = told("pod-group-foreign", gang(pod(group="g"), foreign=(odd,)))
    assert "is of example.com/v1" in found.message


@pytest.mark.parametrize(("native", "severity"), [(None, Severity.INFO), (False, Severity.WARNING), (True, None)])
def test_the_native_field_counts_where_the_scheduler_reads_it(native: bool | None, severity: Severity | None) -> None:  # noqa: FBT001
    field = ("spec", "schedulingGroup", "podGroupName")
    member = pod(scheduler="hami-scheduler")._replace(native="n", native_path=field)
    found = told("native-gang-ignored", member, Stack(native_gang=native))
    assert [item.severity for item in found] == ([severity] if severity else [])


def test_the_native_field_is_not_coscheduling_s_business_elsewhere() -> None:
    member = pod()._replace(native="n", native_path=("spec", "schedulingGroup", "podGroupName"))
    assert not told("native-gang-ignored", member)
    assert not told("native-gang-ignored", member._replace(scheduler="volcano"))


def test_a_pod_in_both_ways_keeps_its_native_pod_group() -> None:
    native = podgroup("g", api="scheduling.k8s.io/v1alpha2")
    member = pod(group="g")._replace(native="g", native_path=("spec", "schedulingGroup", "podGroupName"))
    assert not told("pod-group-foreign", gang(member, foreign=(native,)))
    assert told("pod-group-foreign", gang(pod(group="g"), foreign=(native,)))


# --- the PodGroup that is not there --------------------------------------------------------------------------------


def test_a_missing_pod_group_is_a_warning_only_where_nothing_else_exists() -> None:
    member = pod(group="g", limits=GPU)
    assert [item.severity for item in told("pod-group-not-found", gang(member))] == [Severity.INFO]
    assert [item.severity for item in told("pod-group-not-found", gang(member, whole=True))] == [Severity.WARNING]


def test_a_namespace_that_nobody_wrote_makes_it_a_guess() -> None:
    there = podgroup("g", namespace="team-b")
    (found,) = told("pod-group-not-found", gang(pod(group="g"), namesakes=(there,)))
    assert found.confidence == "low"
    mine = gang(pod(group="g", namespace="team-a"), namesakes=(there,))._replace(namespace="team-a")
    (found,) = told("pod-group-not-found", mine)
    assert found.confidence == "high"


@pytest.mark.parametrize("name", ["My_Group", "{{workflow.name}}", "x" * 64])
def test_a_name_that_cannot_match_is_not_looked_up(name: str) -> None:
    assert not told("pod-group-not-found", gang(pod(group=name), whole=True)._replace(name=name))


@pytest.mark.parametrize(
    ("api", "kind", "labels", "operators", "silent"),
    [
        ("kubeflow.org/v1", "PyTorchJob", {}, {}, False),
        ("kubeflow.org/v1", "PyTorchJob", {}, {"training-operator": ""}, True),
        ("kubeflow.org/v2beta1", "MPIJob", {}, {"training-operator": ""}, False),
        ("kubeflow.org/v2beta1", "MPIJob", {}, {"mpi-operator": "hami-scheduler"}, True),
        ("ray.io/v1", "RayCluster", {}, {}, False),
        ("ray.io/v1", "RayCluster", {gangkeys.RAY_GANG_LABEL: ""}, {}, True),
        ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", {}, {"trainer": ""}, True),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", {}, {}, False),
        ("batch/v1", "Job", {}, {"mpi-operator": ""}, False),
    ],
)
def test_an_operator_that_makes_the_pod_group_is_known(
    api: str, kind: str, labels: dict[str, str], operators: dict[str, str], *, silent: bool
) -> None:
    member = pod(group="g")._replace(ref=Ref(api, kind, "default", "job"))
    found = told("pod-group-not-found", gang(member, workloads=(workload(member, labels),)), Stack(operators=operators))
    assert not found if silent else found


def test_spark_s_batch_scheduler_brings_a_pod_group() -> None:
    member = pod(group="g")._replace(ref=Ref("sparkoperator.k8s.io/v1beta2", "SparkApplication", "default", "etl"))
    batch = workload(member)._replace(body={"spec": {"batchScheduler": "kube-scheduler"}})
    assert not told("pod-group-not-found", gang(member, workloads=(batch,)))


def test_a_pod_group_is_unused_though_other_namespaces_have_the_name() -> None:
    """Only where Pods that wait elsewhere for want of it are told of by another rule, nothing is said here."""
    there = pod(group="g", namespace="b")
    assert not told("pod-group-unused", gang(minimum=2, elsewhere=(there,)))
    assert told("pod-group-unused", gang(minimum=2, elsewhere=(there._replace(finished=True),)))
    assert told("pod-group-unused", gang(minimum=2, elsewhere=(there._replace(scheduler="volcano"),)))


# --- one gang, one scheduler ---------------------------------------------------------------------------------------

LAUNCHER = pod("launcher", "g")
WORKER = pod("w-0", "g", limits=GPU)


@pytest.mark.parametrize(
    ("stack", "severity"),
    [
        (Stack(), Severity.ERROR),
        (Stack(coscheduling=(0, 34)), Severity.ERROR),
        (Stack(coscheduling=(0, 30)), Severity.WARNING),
        (Stack(injects_scheduler=True), None),
        (Stack(hami_webhook=False), None),
    ],
)
def test_a_launcher_without_a_gpu_splits_the_gang(stack: Stack, severity: Severity | None) -> None:
    found = told("gang-split-over-schedulers", gang(LAUNCHER, WORKER, minimum=2), stack)
    assert [item.severity for item in found] == ([severity] if severity else [])


def test_hami_under_a_name_that_nobody_declared_is_one_scheduler() -> None:
    """A GPU Pod without a schedulerName goes to HAMi, whatever HAMi's name is here."""
    house = pod("w-1", "g", scheduler="house-hami", limits=GPU)
    assert not told("gang-split-over-schedulers", gang(WORKER, house, minimum=2))
    (found,) = told("gang-split-over-schedulers", gang(WORKER, house, LAUNCHER, minimum=3))
    assert found.place.ref.name == "launcher"
    assert "house-hami" in found.fix
    named = WORKER._replace(scheduler="hami-scheduler")
    assert told("gang-split-over-schedulers", gang(named, house, minimum=2))


def test_without_hami_s_webhook_a_gpu_pod_stays_where_it_is() -> None:
    named = pod("w-1", "g", scheduler="hami-scheduler", limits=GPU)
    (found,) = told("gang-split-over-schedulers", gang(WORKER, named, minimum=2), Stack(hami_webhook=False))
    assert "asks for no GPU" not in found.message


def test_a_scheduler_that_is_yet_to_be_filled_in_is_unknown() -> None:
    later = pod("w-1", "g", scheduler="${SCHEDULER}", limits=GPU)
    assert not told("gang-split-over-schedulers", gang(WORKER, later, minimum=2))


@pytest.mark.parametrize(
    ("operators", "severity"), [({}, Severity.WARNING), ({"mpi-operator": "hami-scheduler"}, None)]
)
def test_an_operator_may_write_the_scheduler_itself(operators: dict[str, str], severity: Severity | None) -> None:
    ref = Ref("kubeflow.org/v2beta1", "MPIJob", "default", "horovod")
    launcher, worker = LAUNCHER._replace(ref=ref), WORKER._replace(ref=ref)
    mpi = gang(launcher, worker, workloads=(workload(launcher)._replace(pods=(launcher, worker)),))
    found = told("gang-split-over-schedulers", mpi, Stack(operators=operators))
    assert [item.severity for item in found] == ([severity] if severity else [])


# --- other systems -------------------------------------------------------------------------------------------------


def test_a_list_of_task_groups_is_no_name_to_copy() -> None:
    member = pod(scheduler="hami-scheduler", annotations={"yunikorn.apache.org/task-groups": '[{"name": "w"}]'})
    (found,) = told("foreign-gang-key", member)
    assert "task-groups" not in found.fix
    assert GROUP_LABEL in found.fix


def test_an_old_key_beside_a_foreign_one_is_one_finding() -> None:
    member = pod(scheduler="hami-scheduler", labels={OLD_GROUP_LABEL: "g"}, annotations={"pod-group-name": "g"})
    assert told("pod-group-old-key", member)
    assert not told("foreign-gang-key", member)
