"""Gang size and life on hand-made values: what a manifest cannot show, and where a rule must stay silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from made import GPU, pod, podgroup, replace, workload

from webhook import lint
from webhook.config import Config
from webhook.model import GROUP_LABEL, UNKNOWN, Container, Count, Gang, Pod, PodGroup, Ref, Stage, Subject, Workload
from webhook.policy import Policy, evaluate
from webhook.roster import at_least, at_most, holders, quorum, roll
from webhook.rule import Finding, Severity
from webhook.rules import all_rules
from webhook.stack import Stack

RULES = {rule.name: rule for rule in all_rules()}


def told(rule: str, subject: Subject, stack: Stack | None = None) -> tuple[Finding, ...]:
    verdict = evaluate([subject], Policy((RULES[rule],)), stack or Stack())
    assert not verdict.failures
    return verdict.findings


def template(name: str, count: Count, kind: str = "Job", *, limits: Mapping[str, object] | None = None) -> Pod:
    """The Pod template of a workload, a member of gang g."""
    ref = Ref("batch/v1", kind, "default", name)
    container = Container("c", "acme/train:1", "app", ("spec", "template", "spec", "containers", 0), limits or {})
    where = ("spec", "template")
    return Pod(ref, (*where, "metadata"), (*where, "spec"), {GROUP_LABEL: "g"}, containers=(container,), count=count)


def gang(*members: Pod, wanted: int | None = 4, group: PodGroup | None = None, **known: Any) -> Gang:  # noqa: ANN401 - any of its fields
    made = group or (None if wanted is None else podgroup("g", members=wanted))
    return replace(Gang("default", "g", made, members), **known)


def two(number: int) -> Count:
    return Count(number, number, ("spec", "parallelism"))


# --- the roster ----------------------------------------------------------------------------------------------------


def test_one_unknown_number_makes_the_sum_unknown() -> None:
    assert at_most([template("a", two(2)), template("b", two(3))]) == 5
    assert at_most([template("a", two(2)), template("b", UNKNOWN)]) is None
    assert at_least([template("a", two(2)), template("b", UNKNOWN)]) == 2


def test_a_roll_names_four_and_counts_the_rest() -> None:
    assert roll([template("a", two(2)), pod("w-0")]) == "Job/a 2, Pod/w-0"
    assert roll([pod(f"w-{number}") for number in range(6)]) == "Pod/w-0, Pod/w-1, Pod/w-2, Pod/w-3 and 2 more"


def test_members_go_by_the_object_they_stand_in() -> None:
    first, second = template("a", two(1)), template("a", two(2))
    assert next(holders([first, template("b", two(1)), second])) == (first, second)


@pytest.mark.parametrize(
    ("group", "number"),
    [
        (None, None),
        (podgroup("g", members=4), 4),
        (podgroup("g", members=1), None),
        (podgroup("g", members=0), None),
        (replace(podgroup("g"), min_member=None), None),
        (replace(podgroup("g", members=4), made_by="MPIJob"), None),
    ],
)
def test_a_quorum_is_what_somebody_wrote_and_what_holds_back(group: PodGroup | None, number: int | None) -> None:
    assert quorum(Gang("default", "g", group)) == number


# --- below-min-member ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "known", "words"),
    [
        ([template("a", two(2))], {}, "Job/a can never reach minMember 4 of gang g by itself: it has 2 Pods at once"),
        ([template("a", two(0))], {}, "it has no Pod at once"),
        ([pod("w-0", "g")], {}, "gang g has 1 member in the input, minMember is 4: Pod/w-0"),
        ([pod("w-0", "g")], {"whole": True}, "gang g can never reach minMember 4: it has 1 member, Pod/w-0"),
        (
            [pod("w-0", "g"), pod("w-1", "g")],
            {"strays": (pod("w-2"),)},
            "2 of 4 members: Pod/w-0, Pod/w-1; 1 more names",
        ),
        ([pod("w-0", "g")], {"strays": (pod("w-2"), pod("w-3"))}, "2 more name it wrongly"),
    ],
)
def test_a_gang_that_is_short_is_told_in_numbers(members: list[Pod], known: dict[str, Any], words: str) -> None:
    (finding,) = told("below-min-member", gang(*members, **known))
    assert words in finding.message
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "quiet",
    [
        gang(template("a", two(4))),
        gang(template("a", two(9))),
        gang(template("a", Count(0, 6, ("spec", "completions")))),
        gang(template("a", Count(4, 6, ("spec", "elasticPolicy", "minReplicas")))),
        gang(template("a", UNKNOWN)),
        gang(template("a", two(2)), wanted=None),
        gang(template("a", two(3)), strays=(pod("w-0"),)),
        gang(template("a", two(3)), strays=(template("b", UNKNOWN),)),
        gang(template("a", two(2)), elsewhere=(pod("w-0", "g", namespace="b"), pod("w-1", "g", namespace="b"))),
        gang(template("a", two(3)), replace(pod("done", "g", live=True), finished=True)),
        gang(pod("w-0", "g", scheduler="volcano")),
        gang(),
        gang(pod("w-0", "g"), group=replace(podgroup("g", members=4), made_by="MPIJob")),
    ],
)
def test_a_gang_that_is_not_known_to_be_short_is_left_alone(quiet: Gang) -> None:
    assert told("below-min-member", quiet) == ()


def test_members_of_another_scheduler_count_beside_ours() -> None:
    members = [pod(f"w-{number}", "g") for number in range(3)]
    assert told("below-min-member", gang(*members, pod("v-0", "g", scheduler="volcano"))) == ()
    assert told("below-min-member", gang(*members))


def test_members_elsewhere_explain_a_gang_only_where_another_rule_tells_of_them() -> None:
    lost = [pod(f"w-{number}", "g", namespace="b") for number in range(2)]
    assert told("below-min-member", gang(template("a", two(2)), elsewhere=tuple(lost))) == ()
    for silent in ({"scheduler": "volcano"}, {"finished": True}):
        others = tuple(replace(member, **silent) for member in lost)
        assert told("below-min-member", gang(template("a", two(2)), elsewhere=others))


JOB_OF_ROLES = Ref("kubeflow.org/v1", "PyTorchJob", "default", "pt")


def roles(*numbers: tuple[str, int, bool], above: bool = False, **fields: Any) -> Gang:  # noqa: ANN401 - any of a Pod's fields
    """Gang g of the labelled templates of one PyTorchJob: role, number, label or none; `fields` are the others'."""
    pods = []
    for role, number, labelled in numbers:
        where = ("spec", "pytorchReplicaSpecs", role)
        made = template("pt", Count(number, number, (*where, "replicas")))
        made = replace(made, ref=JOB_OF_ROLES, role=role, metadata=(*where, "template", "metadata"), spec=where)
        pods.append(made if labelled else replace(made, **{"labels": {}, **fields}))
    strays = tuple(made for made in pods if not made.group) if above else ()
    body: Mapping[str, object] = {
        "spec": {"pytorchReplicaSpecs": {role: {"template": {"metadata": {}}} for role, _, _ in numbers}}
    }
    job = replace(workload(pods[0]), pods=tuple(pods), body=body)
    return gang(*(made for made in pods if made.group), workloads=(job,), strays=strays)


@pytest.mark.parametrize("above", [False, True])
def test_a_template_without_the_label_beside_the_members_is_named(*, above: bool) -> None:
    """Also where the label stands on the job above too, which its members do not miss."""
    (finding,) = told("below-min-member", roles(("Master", 1, False), ("Worker", 3, True), above=above))
    assert "has 3 of 4 members: PyTorchJob/pt (Worker) 3; PyTorchJob/pt (Master) 1 lacks the" in finding.message
    assert finding.fix == f"label Master too: {GROUP_LABEL}: g"
    assert finding.related[-1].place.path == ("spec", "pytorchReplicaSpecs", "Master", "template", "metadata")
    (edit,) = finding.edits
    assert (edit.place.path[-1], edit.value) == ("labels", {GROUP_LABEL: "g"})


def test_at_admission_a_half_labelled_job_is_told_at_its_own_number() -> None:
    subject = replace(roles(("Master", 1, False), ("Worker", 3, True)), partial=True)
    (finding,) = told("below-min-member", subject)
    assert finding.place.ref == JOB_OF_ROLES
    assert finding.fix.startswith("label Master too")


def test_several_templates_without_the_label_are_edited_only_where_the_number_fits() -> None:
    fits = roles(("Master", 1, False), ("PS", 1, False), ("Worker", 2, True))
    (finding,) = told("below-min-member", fits)
    assert finding.fix.startswith("label Master and PS too")
    assert len(finding.edits) == 2
    (finding,) = told("below-min-member", roles(("Master", 1, False), ("PS", 1, False), ("Worker", 3, True)))
    assert finding.fix.startswith("label Master and PS too")
    assert finding.edits == ()


def test_what_is_named_wrongly_elsewhere_is_mended_beside_the_label() -> None:
    subject = replace(roles(("Master", 1, False), ("Worker", 2, True)), strays=(pod("w-0"),))
    (finding,) = told("below-min-member", subject)
    assert ", 1 more names it wrongly; " in finding.message
    assert finding.fix.startswith("mend the label of 1 and label Master too")
    assert finding.edits == ()


@pytest.mark.parametrize(
    "subject",
    [
        roles(("Master", 1, False), ("Worker", 2, True)),
        roles(("Master", 0, False), ("Worker", 3, True)),
        roles(("Master", 1, False), ("Worker", 3, True), labels={GROUP_LABEL: "other"}),
        roles(("Master", 1, False), ("Worker", 3, True), annotations={GROUP_LABEL: "other"}),
        roles(("Master", 1, False), ("Worker", 3, True), native="other"),
        roles(("Master", 1, False), ("Worker", 3, True), scheduler="volcano"),
        roles(("Master", 1, False), ("Worker", 3, True), count=UNKNOWN),
        roles(("Launcher", 1, False), ("Worker", 3, True), count=Count(1, 1, (), Stage(0, "waits", "", ()))),
    ],
)
def test_a_template_that_does_not_make_up_the_number_or_is_no_member_is_not_advised(subject: Gang) -> None:
    members = replace(subject, members=tuple(pod for pod in subject.members if pod.group == "g"))
    (finding,) = told("below-min-member", members)
    assert "label" not in finding.fix
    assert finding.edits == ()


# Whole folders: the name of a folder or a namespace decides nothing.

SHORT = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {{name: short, namespace: {namespace}}}
spec: {{minMember: 4}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: short, namespace: {namespace}}}
spec:
  parallelism: {number}
  template:
    metadata: {{labels: {{scheduling.x-k8s.io/pod-group: short}}}}
    spec:
      restartPolicy: Never
      schedulerName: hami-scheduler
      containers: [{{name: rank, image: "acme/train:1"}}]
"""


def short(*files: tuple[str, str, int]) -> list[str]:
    """The files in which a gang is told to be short; each holds one gang: name, namespace, members."""
    texts = [(name, [SHORT.format(namespace=where, number=number).encode()]) for name, where, number in sorted(files)]
    found = lint.lint(texts, Config(), rules=(RULES["below-min-member"],))
    return [item.spot.file for item in found.findings]


@pytest.mark.parametrize("other", ["dev", "zoo"])
def test_a_gang_of_the_same_name_in_another_namespace_is_another_gang(other: str) -> None:
    assert short(("f/prod.yaml", "ml", 3), ("f/other.yaml", other, 4)) == ["f/prod.yaml"]
    assert sorted(short(("f/prod.yaml", "ml", 3), ("f/other.yaml", other, 2))) == ["f/other.yaml", "f/prod.yaml"]


@pytest.mark.parametrize("sub", ["q/sub/short.yaml", "q/playground/short.yaml", "q/a/b/short.yaml"])
def test_a_folder_and_one_in_it_are_judged_each_by_its_own(sub: str) -> None:
    above = "q/short.yaml"
    assert sorted(short((above, "ml", 3), (sub, "ml", 3))) == sorted([above, sub])
    assert short((above, "ml", 3), (sub, "ml", 4)) == [above]
    assert short((above, "ml", 4), (sub, "ml", 3)) == [sub]
    assert short((above, "ml", 4), (sub, "ml", 4)) == []


def test_an_autoscaler_below_min_member_is_a_guess() -> None:
    (finding,) = told("below-min-member", gang(template("a", Count(1, 6, ("spec", "elasticPolicy", "minReplicas")))))
    assert finding.confidence == "low"
    assert "Job/a may be scaled in to 1 Pod" in finding.message


# --- stages --------------------------------------------------------------------------------------------------------

ORDERED = Stage(1, "makes its Pods one by one", "set podManagementPolicy: Parallel", ("spec",), seen=True)


def staged(number: int, stage: Stage = ORDERED) -> Pod:
    return template("ps", Count(number, number, ("spec", "replicas"), stage), "StatefulSet")


@pytest.mark.parametrize(
    ("subject", "severity"),
    [
        (gang(staged(4)), Severity.ERROR),
        (gang(staged(4, replace(ORDERED, seen=False))), Severity.WARNING),
        (gang(staged(2)), Severity.WARNING),
        (gang(staged(2), whole=True), Severity.ERROR),
        (gang(staged(4), template("a", two(2))), Severity.ERROR),
    ],
)
def test_stages_are_an_error_only_where_seen_and_all_is_known(subject: Gang, severity: Severity) -> None:
    (finding,) = told("gang-starts-in-stages", subject)
    assert finding.severity is severity


@pytest.mark.parametrize(
    "quiet",
    [
        gang(staged(4), wanted=1),
        gang(staged(4), wanted=None),
        gang(staged(4), template("a", two(3))),
        gang(staged(4), template("a", UNKNOWN)),
        gang(template("a", two(4))),
        gang(replace(staged(4), scheduler="volcano")),
    ],
)
def test_a_first_stage_that_is_enough_or_unknown_is_left_alone(quiet: Gang) -> None:
    assert told("gang-starts-in-stages", quiet) == ()


def test_a_stage_of_unknown_number_counts_with_its_first() -> None:
    autoscaled = template("spark", Count(0, None, stage=replace(ORDERED, first=0)), "SparkApplication")
    (finding,) = told("gang-starts-in-stages", gang(template("driver", two(1)), autoscaled, wanted=2))
    assert "1 Pod of gang g at first" in finding.message


def mpi_job(launcher: Count, scheduling: dict[str, object] | None = None) -> Workload:
    ref = Ref("kubeflow.org/v2beta1", "MPIJob", "default", "job")
    pods = tuple(replace(template("job", count), ref=ref, labels={}) for count in (launcher, two(2)))
    return Workload(ref, {}, {}, pods, {"spec": {"runPolicy": {"schedulingPolicy": scheduling or {}}}})


def test_an_operator_makes_a_gang_of_all_stages() -> None:
    late = Count(1, 1, stage=replace(ORDERED, first=0))
    declared = Stack(operators={"mpi-operator": "hami-scheduler"})
    (finding,) = told("gang-starts-in-stages", mpi_job(late), declared)
    assert "MPI operator makes all its Pods one gang" in finding.message
    assert told("gang-starts-in-stages", mpi_job(late, {"minAvailable": 3}), declared)
    assert told("gang-starts-in-stages", mpi_job(late, {"minAvailable": 2}), declared) == ()
    assert told("gang-starts-in-stages", mpi_job(late)) == ()
    assert told("gang-starts-in-stages", mpi_job(two(1)), declared) == ()


# --- the others ----------------------------------------------------------------------------------------------------


def test_a_job_without_numbers_has_no_last_wave() -> None:
    member = template("a", two(4))
    for spec in ({}, {"completions": "5"}, {"completions": 5, "parallelism": 0}):
        body = replace(workload(member), body={"spec": spec})
        assert told("gang-last-wave", gang(member, workloads=(body,))) == ()
    copies = replace(member, count=Count(4, 4, copies=2))
    assert told("gang-last-wave", gang(copies, workloads=(replace(workload(copies), body=JOB),))) == ()


JOB: Mapping[str, object] = {"spec": {"completions": 5, "parallelism": 4}}


def test_a_last_wave_of_another_gang_size_or_kind_is_left_alone() -> None:
    member = template("a", two(4))
    body = (replace(workload(member), body=JOB),)
    assert told("gang-last-wave", gang(member, workloads=body))
    assert told("gang-last-wave", gang(member, template("b", two(3)), workloads=body)) == ()
    assert told("gang-last-wave", gang(template("a", two(4), "ReplicaSet"), workloads=body)) == ()
    assert told("gang-last-wave", gang(member)) == ()


def test_copies_of_unknown_number_are_left_alone() -> None:
    assert told("gang-static-group-reused", gang(template("a", UNKNOWN), template("b", two(4)))) == ()


def deployment(replicas: int, strategy: object, image: str = "acme/chat:1.8.2") -> Gang:
    member = template("chat", two(replicas), "Deployment")
    member = replace(
        member, labels={GROUP_LABEL: "chat-1.8.2"}, containers=(replace(member.containers[0], image=image),)
    )
    body = replace(workload(member), body={"spec": {"strategy": strategy}})
    return Gang("default", "chat-1.8.2", podgroup("chat-1.8.2", members=4), (member,), workloads=(body,))


@pytest.mark.parametrize(
    ("subject", "new"),
    [
        (deployment(4, None), 2),
        (deployment(4, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 1}}), 3),
        (deployment(4, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}), 1),
        (deployment(4, None, "localhost:5000/acme/chat:1.8.2@sha256:00"), 2),
    ],
)
def test_a_rollout_makes_surge_and_unavailable_at_first(subject: Gang, new: int) -> None:
    (finding,) = told("rollout-renames-gang", subject)
    assert f"makes {new} Pod" in finding.message


@pytest.mark.parametrize(
    "quiet",
    [
        deployment(4, {"type": "Recreate"}),
        deployment(4, {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}),
        deployment(4, {"rollingUpdate": {"maxSurge": "{{ surge }}"}}),
        deployment(4, None, "acme/chat:2.0.0"),
        deployment(4, None, "acme/chat"),
        replace(deployment(4, None), group=None),
        replace(deployment(4, None), workloads=()),
    ],
)
def test_a_rollout_without_a_new_name_or_with_all_pods_is_left_alone(quiet: Gang) -> None:
    assert told("rollout-renames-gang", quiet) == ()


def test_a_template_hash_in_the_name_is_a_release() -> None:
    subject = deployment(4, None)
    member = replace(subject.members[0], labels={GROUP_LABEL: "chat-7d9f8b", "pod-template-hash": "7d9f8b"})
    assert told("rollout-renames-gang", replace(subject, members=(member,)))


@pytest.mark.parametrize(
    ("plugin", "made_by", "severity"),
    [
        (False, "", Severity.ERROR),
        (False, "MPIJob", Severity.WARNING),
        (None, "", Severity.WARNING),
        (True, "", None),
    ],
)
def test_min_resources_are_an_error_only_where_the_plugin_is_known_off(
    *, plugin: bool | None, made_by: str, severity: Severity | None
) -> None:
    group = replace(
        podgroup("g"), made_by=made_by, min_resources={"nvidia.com/gpumem": 3000, "nvidia.com/gpucores": "0", "cpu": 1}
    )
    findings = told("min-resources-unsatisfiable", group, Stack(mock_device_plugin=plugin))
    assert [finding.severity for finding in findings] == ([] if severity is None else [severity])


def test_only_a_gang_ray_cluster_of_a_declared_kuberay_is_summed() -> None:
    member = replace(template("ray", two(2), limits=GPU), ref=Ref("ray.io/v1", "RayCluster", "default", "ray"))
    cluster = Workload(member.ref, {"ray.io/gang-scheduling-enabled": "true"}, {}, (member,), {})
    declared = Stack(operators={"kuberay": ""})
    assert told("min-resources-unsatisfiable", cluster, declared)
    assert told("min-resources-unsatisfiable", cluster) == ()
    nothing = replace(member, containers=(replace(member.containers[0], limits={"nvidia.com/gpumem": 0}),))
    assert told("min-resources-unsatisfiable", replace(cluster, pods=(nothing,)), declared) == ()
    assert told("min-resources-unsatisfiable", replace(cluster, labels={}), declared) == ()
    job = replace(cluster, ref=Ref("ray.io/v1", "RayJob", "default", "ray"))
    assert told("min-resources-unsatisfiable", job, declared) == ()
    spark = replace(cluster, ref=Ref("sparkoperator.k8s.io/v1beta2", "SparkApplication", "default", "s"))
    assert told("min-resources-unsatisfiable", spark, Stack(operators={"spark-operator": ""})) == ()


@pytest.mark.parametrize(
    ("seconds", "qps", "severity"),
    [
        (3, None, Severity.INFO),
        (3, 5.0, Severity.WARNING),
        (3, 100.0, None),
        (10, 5.0, None),
        (-1, 5.0, None),
        (None, 5.0, None),
    ],
)
def test_a_time_out_is_too_short_by_what_is_known_of_the_limit(
    seconds: int | None, qps: float | None, severity: Severity | None
) -> None:
    group = replace(podgroup("g", members=16), timeout=seconds)
    subject = gang(template("a", two(16), limits=GPU), group=group)
    findings = told("schedule-timeout-unusable", subject, Stack(kube_qps=qps))
    assert [finding.severity for finding in findings] == ([] if severity is None else [severity])


def test_a_time_out_that_is_too_short_at_any_limit_is_a_warning() -> None:
    subject = gang(template("a", two(64), limits=GPU), group=replace(podgroup("g", members=64), timeout=2))
    (finding,) = told("schedule-timeout-unusable", subject)
    assert finding.severity is Severity.WARNING
    without = gang(template("a", two(64)), group=replace(podgroup("g", members=64), timeout=2))
    assert told("schedule-timeout-unusable", without) == ()


def test_a_time_out_of_another_api_or_of_an_operator_is_left_alone() -> None:
    for group in (podgroup("g", api="scheduling.volcano.sh/v1beta1"), replace(podgroup("g"), made_by="MPIJob")):
        assert told("schedule-timeout-unusable", replace(group, timeout=-1)) == ()
    assert told("schedule-timeout-unusable", replace(podgroup("g"), timeout=0)) == ()


@pytest.mark.parametrize(
    ("stack", "severity"),
    [
        (Stack(), Severity.INFO),
        (Stack(kube_qps=5), Severity.WARNING),
        (Stack(kube_qps=20), None),
        (Stack(kube_qps=5, hami=(2, 9)), None),
    ],
)
def test_a_big_gang_on_one_node_is_told_by_what_is_known(stack: Stack, severity: Severity | None) -> None:
    findings = told("gang-too-big-for-one-node", gang(template("a", two(16), limits=GPU), wanted=16), stack)
    assert [finding.severity for finding in findings] == ([] if severity is None else [severity])


def test_gates_hold_back_where_too_few_are_free() -> None:
    held = replace(pod("w-0", "g"), gates=("acme.example/quota",))
    free = pod("w-1", "g")
    (finding,) = told("gang-scheduling-gates", gang(held, free, wanted=2))
    assert "turns them away" in finding.message
    (finding,) = told("gang-scheduling-gates", gang(held, held, wanted=2), Stack(coscheduling=(0, 33)))
    assert "GPUs booked" in finding.message
    assert told("gang-scheduling-gates", gang(held, wanted=None))
    for quiet in (gang(held, free, free, wanted=2), gang(held, wanted=1), gang(free, wanted=2)):
        assert told("gang-scheduling-gates", quiet) == ()
    kueue = replace(held, gates=("kueue.x-k8s.io/admission",))
    assert told("gang-scheduling-gates", gang(kueue, wanted=2))
    assert told("gang-scheduling-gates", gang(replace(kueue, live=True), wanted=2)) == ()


def ray(kind: str, member: Pod, **labels: str) -> Workload:
    ref = Ref("ray.io/v1", kind, "default", "ray")
    named = {key.replace("_", "-").replace("--", "/"): value for key, value in labels.items()}
    return Workload(ref, named, {}, (replace(member, ref=ref),), {})


GANG_RAY = {"ray.io--gang_scheduling_enabled": "true"}


def test_a_gang_ray_job_is_a_guess_unless_kuberay_is_declared() -> None:
    worker = template("ray", two(2), limits=GPU)
    job = ray("RayJob", worker, **GANG_RAY)
    assert [finding.confidence for finding in told("ray-job-gang", job)] == ["low"]
    assert [finding.confidence for finding in told("ray-job-gang", job, Stack(operators={"kuberay": ""}))] == ["high"]
    assert told("ray-job-gang", ray("RayJob", worker)) == ()
    assert told("ray-job-gang", ray("RayJob", replace(worker, scheduler="yunikorn"), **GANG_RAY)) == ()
    queued = ray("RayJob", worker, **GANG_RAY, **{"yunikorn.apache.org--queue": "root"})
    assert told("ray-job-gang", queued) == ()
    assert told("ray-job-gang", replace(job, ref=Ref("acme.io/v1", "RayJob", "default", "ray"))) == ()
    plain = replace(template("ray", two(2)), labels={}, scheduler="default-scheduler")
    assert told("ray-job-gang", ray("RayJob", plain, **GANG_RAY)) == ()


def test_kuberay_takes_only_gpu_pods_from_hami() -> None:
    declared = Stack(operators={"kuberay": ""})
    (finding,) = told("ray-job-gang", ray("RayCluster", template("ray", two(2), limits=GPU)), declared)
    assert finding.place.path[-1] == "nvidia.com/gpu"
    assert told("ray-job-gang", ray("RayCluster", template("ray", two(2))), declared) == ()
    assert told("ray-job-gang", ray("RayCluster", template("ray", two(2), limits=GPU))) == ()


def test_an_operator_overwrites_labels_and_schedulers_in_its_own_way() -> None:
    member = replace(template("job", two(2)), scheduler="mine")
    every = Stack(operators={"kuberay": "", "training-operator": "s", "mpi-operator": "s", "trainer": ""})

    def places(api: str, kind: str, **labels: str) -> list[object]:
        ref = Ref(api, kind, "default", "job")
        subject = Workload(ref, ray(kind, member, **labels).labels, {}, (replace(member, ref=ref),), {})
        return [finding.place.path[-1] for finding in told("operator-overrides-label", subject, every)]

    assert places("kubeflow.org/v2beta1", "MPIJob") == [GROUP_LABEL, "schedulerName"]
    assert places("kubeflow.org/v1", "PyTorchJob") == [GROUP_LABEL]
    assert places("ray.io/v1", "RayCluster", **GANG_RAY) == [GROUP_LABEL, "schedulerName"]
    assert places("ray.io/v1", "RayCluster") == ["schedulerName"]
    assert places("ray.io/v1", "RayJob", **GANG_RAY) == []
    assert places("trainer.kubeflow.org/v1alpha1", "TrainJob") == []
    assert places("batch/v1", "Job") == []


@pytest.mark.parametrize(
    ("fields", "minimum", "key"),
    [
        ({}, None, None),
        ({"min-member": 3}, None, "min-member"),
        ({"minMember": None}, None, "minMember"),
        ({"minMember": -1}, -1, "minMember"),
    ],
)
def test_a_missing_minimum_points_at_what_was_meant(
    fields: dict[str, object], minimum: int | None, key: str | None
) -> None:
    (finding,) = told("min-member-missing", replace(podgroup("g"), min_member=minimum, fields=fields))
    assert finding.place.path == (("spec", key) if key else ("spec",))


def test_a_minimum_that_is_filled_in_or_malformed_is_left_alone() -> None:
    absent = replace(podgroup("g"), min_member=None, fields={})
    assert told("min-member-missing", replace(absent, templated=True)) == ()
    assert told("min-member-missing", replace(absent, made_by="MPIJob")) == ()
    assert told("min-member-missing", replace(absent, fields={"minMember": "three"})) == ()


def test_a_daemonset_of_another_scheduler_is_left_alone() -> None:
    member = template("check", UNKNOWN, "DaemonSet")
    assert told("gang-of-daemonset", member)
    assert told("gang-of-daemonset", replace(member, scheduler="volcano")) == ()
    assert told("gang-of-daemonset", replace(member, labels={})) == ()
