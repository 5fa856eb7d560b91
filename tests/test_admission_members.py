"""What the index of gangs lets us say at admission, and that nothing is denied for it."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from asked import LABEL, STACK, Object, answer, deployment, job, knows, owned_by, pod, request, template
from made import podgroup

from webhook.model import Gang, Member, Pod, PodGroup
from webhook.policy import Policy, evaluate
from webhook.review import Known
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

FOUR = podgroup("g1", namespace="team-a", members=4)


def known(members: int = 0, group: PodGroup | None = FOUR, *, quiet: bool = True, growing: bool = False) -> Known:
    return Known(members, group, quiet, growing)


# A Pod on its way in


def test_a_lone_member_is_told_how_many_there_are() -> None:
    said = answer(request(pod(group="g1")), look_up=knows(known(1)))
    assert said.allowed
    (text,) = said.warnings
    assert text == (
        "below-min-member: create 2 more members; gang g1 has 2 of 4 members so far; normal while the rest are being "
        "created"
    )


@pytest.mark.parametrize(
    ("metadata", "index"),
    [
        ({}, known(3)),
        ({}, known(9)),
        ({}, known(1, quiet=False)),
        ({}, known(1, growing=True)),
        ({}, known(1, None, quiet=False)),
        ({}, known(1, FOUR._replace(made_by="PyTorchJob"))),
        ({}, known(1, FOUR._replace(min_member=None))),
        ({}, known(0, FOUR._replace(min_member=1))),
        ({"ownerReferences": owned_by("Job")}, known(1)),
    ],
)
def test_nothing_is_said_of_a_gang_that_is_whole_or_being_made(metadata: Object, index: Known) -> None:
    assert answer(request(pod(group="g1", **metadata)), look_up=knows(index)).warnings == ()


def test_a_healthy_gang_of_64_gets_no_word() -> None:
    """One apply of PodGroup and Pods; and the same with a PodGroup that has been there for long."""
    group = podgroup("g1", namespace="team-a", members=64)
    for index in range(64):
        made = request(pod(f"w-{index}", "g1"))
        assert answer(made, look_up=knows(known(index, group, quiet=False))).warnings == ()
        assert answer(made, look_up=knows(known(index, None, quiet=False))).warnings == ()
        assert index == 0 or not answer(made, look_up=knows(known(index, group, growing=True))).warnings
    made = request(job(group="g1", parallelism=64))
    assert answer(made, look_up=knows(known(0, group))).warnings == ()


def test_a_missing_podgroup_is_told_after_five_quiet_seconds() -> None:
    asked = request(pod(group="g1"))
    said = answer(asked, look_up=knows(known(0, None)))
    assert said.allowed
    (text,) = said.warnings
    assert text == (
        "pod-group-not-found: create the PodGroup g1, or name the right one; there is no PodGroup g1 in namespace "
        "team-a; until there is one, its Pods stay Pending with 'PodGroup not found'"
    )
    assert answer(asked, look_up=knows(known(0, None, quiet=False))).warnings == ()


def test_an_owned_member_of_a_missing_podgroup_is_told_by_an_event() -> None:
    asked = request(pod(group="g1", ownerReferences=owned_by("Job", "train")))
    (notice,) = answer(asked, look_up=knows(known(0, None))).notices
    assert (notice.kind, notice.reason) == ("Job", "PodGroupNotFound")
    operators = Stack(operators={"mpi-operator": ""})
    assert answer(asked, look_up=knows(known(0, None)), stack=operators).notices == ()
    elsewhere = Stack(operators={"mpi-operator": "volcano"})
    assert answer(asked, look_up=knows(known(0, None)), stack=elsewhere).notices == (notice,)


@pytest.mark.parametrize("change", ["name", "scheduler", "finished"])
def test_pods_that_no_podgroup_would_help_are_left_alone(change: str) -> None:
    made = pod(group="My_Gang" if change == "name" else "g1")
    if change == "scheduler":
        made["spec"]["schedulerName"] = "volcano"
    if change == "finished":
        made["status"]["phase"] = "Failed"
    for index in (known(0, None), known(1)):
        rules = answer(request(made), look_up=knows(index)).rules
        assert "pod-group-not-found" not in rules
        assert change == "name" or rules == (("gpu-other-scheduler",) if change == "scheduler" else ())


def test_a_changed_label_is_looked_up_too() -> None:
    asked = request(pod(group="g2"), pod(group="g1"))
    assert answer(asked, look_up=knows(known(0, None))).rules == ("pod-group-not-found",)
    assert answer(asked, look_up=knows(known(1))).rules == ()


def test_without_the_index_the_objects_own_rules_answer() -> None:
    def down(namespace: str, name: str) -> Known | None:
        raise ConnectionError

    asked = request(pod(group="g1", image="python:3.12-alpine"))
    for look_up, why in ((knows(None), "index: not in sync"), (down, "index: failed")):
        said = answer(asked, look_up=look_up)
        assert said.rules == ("musl-image",)
        assert said.skipped == (why,)
        assert said.audit["skipped"] == why
    assert answer(request(pod()), look_up=down).skipped == ()


# A workload on its way in


@pytest.mark.parametrize(
    "made",
    [
        job("g1", "g1"),
        job("g1", "g1", parallelism=2, completions=2),
        job("anything", "g1", parallelism=2, completions=8),
        job("anything", "g1", parallelism=8, completions=2),
        {**deployment("g1"), "metadata": {"name": "g1"}},
    ],
)
def test_a_workload_that_is_meant_to_be_the_gang_and_falls_short_is_warned(made: Object) -> None:
    said = answer(request(made), look_up=knows(known()))
    assert said.allowed
    assert said.rules == ("below-min-member",)
    assert "2 Pods at once" in said.warnings[0]
    assert "can never reach minMember 4 of gang g1 by itself" in said.warnings[0]


def test_the_gangs_name_may_be_longer_than_the_workloads() -> None:
    index = knows(known(0, podgroup("train-gang", namespace="team-a", members=4)))
    assert answer(request(job("train", "train-gang")), look_up=index).rules == ("below-min-member",)
    assert answer(request(job("train-gang-launcher", "train-gang")), look_up=index).rules == ()
    assert answer(request(job("tra", "train-gang")), look_up=index).rules == ()


def pytorch(*replicas: int) -> Object:
    roles = zip(("Master", "Worker"), replicas, strict=True)
    specs = {role: {"replicas": number, "template": template("g1")} for role, number in roles}
    spec = {"pytorchReplicaSpecs": specs}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ddp"}, "spec": spec}


def test_a_job_with_roles_is_the_whole_gang() -> None:
    said = answer(request(pytorch(1, 2)), look_up=knows(known()))
    (text,) = said.warnings
    assert text == (
        "below-min-member: add 1 member with the label, or set minMember: 3; PyTorchJob/ddp brings 3 members of gang "
        "g1, minMember is 4; they wait for 1 more"
    )
    assert answer(request(pytorch(1, 3)), look_up=knows(known())).warnings == ()


@pytest.mark.parametrize(
    ("made", "index"),
    [
        (job("launcher", "g1", parallelism=1), known()),
        (job("worker", "g1", parallelism=3), known()),
        (job("worker", "g1", parallelism=3, completions=3), known()),
        ({**deployment("g1"), "metadata": {"name": "worker"}}, known()),
        (job("g1", "g1"), known(1)),
        (pytorch(1, 2), known(1)),
        (job("g1", "g1"), known(0, None)),
        (job("g1", "g1"), known(0, FOUR._replace(made_by="x"))),
    ],
)
def test_a_part_of_a_gang_gets_no_word(made: Object, index: Known) -> None:
    assert answer(request(made), look_up=knows(index)).warnings == ()


def wrapped(*inside: Object) -> Object:
    components = [{"template": each} for each in inside]
    api = "workload.codeflare.dev/v1beta2"
    return {"apiVersion": api, "kind": "AppWrapper", "metadata": {"name": "g1"}, "spec": {"components": components}}


def test_a_wrapper_brings_what_is_in_it() -> None:
    one, two = job("a", "g1", parallelism=1), job("b", "g1", parallelism=1)
    assert answer(request(wrapped(one, two)), look_up=knows(known())).rules == ()
    gated = {"apiVersion": "v1", "kind": "Pod", **{key: pod(group="g1")[key] for key in ("metadata", "spec")}}
    said = answer(request(wrapped(gated)), look_up=knows(known(1)))
    assert said.warnings == ()
    broken = job("a")
    broken["spec"]["template"]["metadata"]["annotations"] = {LABEL: "g1"}
    assert "spec.components[1].template.spec.template.metadata" in answer(request(wrapped(one, broken))).message


def ordered(replicas: int) -> Object:
    made = copy.deepcopy(deployment("g1"))
    made["kind"] = "StatefulSet"
    made["spec"]["replicas"] = replicas
    return made


def test_a_gang_that_one_object_fills_is_judged_whole() -> None:
    said = answer(request(ordered(4)), look_up=knows(known()))
    assert said.allowed
    assert said.rules == ("gang-starts-in-stages",)
    assert answer(request(ordered(3)), look_up=knows(known())).rules == ()
    assert answer(request(ordered(4)), look_up=knows(known(1))).rules == ()


def test_an_annotation_on_the_workload_silences_what_is_said_of_its_podgroup() -> None:
    slow = FOUR._replace(timeout=1)
    made = job("train", "g1", parallelism=4)
    look_up, slow_api = knows(known(0, slow)), Stack(kube_qps=5.0)
    assert answer(request(made), look_up=look_up, stack=slow_api).rules == ("schedule-timeout-unusable",)
    made["metadata"]["annotations"] = {"ignore.gangcheck.io/schedule-timeout-unusable": "short jobs"}
    assert answer(request(made), look_up=look_up, stack=slow_api).rules == ()


def test_a_split_gang_is_warned_of_but_never_denied() -> None:
    made = pytorch(1, 3)
    made["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["schedulerName"] = "mine"
    for index in (None, known(), known(5), known(0, None)):
        said = answer(request(made), look_up=knows(index))
        assert said.allowed
        assert said.rules == ("gang-split-over-schedulers",)


# What holds for all of them


@rule(Pod | Gang | Member, Severity.ERROR, evidence="seen")
def loud(subject: Pod | Gang | Member, stack: Stack) -> Iterator[Finding]:
    """Anything exists.

    Why.
    """
    if isinstance(subject, Member):
        yield Finding(subject.pod.label(LABEL), "heard of", "unhear it")
    elif isinstance(subject, Gang):
        yield Finding(subject.members[0].label(LABEL), "gathered", "scatter it", severity=Severity.INFO)
        yield Finding(subject.members[0].label(LABEL), "gathered", "scatter it")


@pytest.mark.parametrize("raised", [None, Severity.ERROR])
@pytest.mark.parametrize("made", [pod(group="g1"), job("train", "g1")])
def test_what_the_index_said_is_a_warning_at_most(made: Object, raised: Severity | None) -> None:
    severities = {"loud": raised} if raised else {}
    said = answer(request(made), look_up=knows(known()), rules=(loud,), severities=severities)
    assert said.allowed
    assert said.rules == ("loud",)
    assert "admitted" not in said.audit


def test_the_cap_lifts_nothing_up() -> None:
    gang = Gang("d", "g1", FOUR, (Pod(FOUR.ref, (), ()),), partial=True)
    found = evaluate([gang, gang._replace(partial=False)], Policy((loud,)), STACK).findings
    assert [finding.severity for finding in found] == [
        Severity.INFO,
        Severity.WARNING,
        Severity.INFO,
        Severity.ERROR,
    ]
