"""What users of a cluster with gangcheck see: denials, warnings, and what their Pods hold when they are stored."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from apiserver import (
    ControlPlane,
    apply,
    audited,
    create,
    delete,
    events,
    found,
    get,
    kubectl,
    listed,
    made,
    make_namespace,
    named,
    never,
    patch,
    put,
    remove_namespace,
    wait_for,
)
from objects import GROUP, SCHEDULER, Object, container, member, pod, pod_group, template, workload
from server import Server, scheduler_of

GPU = {"nvidia.com/gpu": "1"}
MUSL = "python:3.12-alpine"
EXPLAINED = "; gangcheck explain pod-group-annotation"

# The sentences are the product's; they stand here whole, once, as users read them.
ON_POD = (
    'admission webhook "pods.enforce.gangcheck.io" denied the request: pod-group-annotation: '
    "metadata.annotations[\"scheduling.x-k8s.io/pod-group\"]: Pod/w-0 names its gang 'train' in an annotation; "
    "Coscheduling reads only the label scheduling.x-k8s.io/pod-group, so its members start one by one; "
    f"move it to metadata.labels: scheduling.x-k8s.io/pod-group: train{EXPLAINED}"
)
ON_WORKLOAD = (
    'admission webhook "workloads.enforce.gangcheck.io" denied the request: pod-group-annotation: '
    "spec.template.metadata.annotations[\"scheduling.x-k8s.io/pod-group\"]: {}/w names its gang 'train' in an "
    "annotation; Coscheduling reads only the label scheduling.x-k8s.io/pod-group, so its members start one by one; "
    f"move it to spec.template.metadata.labels: scheduling.x-k8s.io/pod-group: train{EXPLAINED}"
)
SHORT = (
    "below-min-member: create {} more member{}; gang train has {} of 4 members so far; "
    "normal while the rest are being created"
)
ON_MUSL = "musl-image: "

pytestmark = pytest.mark.usefixtures("gangcheck")


@pytest.fixture
def warned(control: ControlPlane) -> Iterator[str]:
    """A namespace in which nothing is denied."""
    name = make_namespace(control, labels={"gangcheck.io/mode": "warn"})
    yield name
    remove_namespace(control, name)


@pytest.fixture
def left_alone(control: ControlPlane) -> Iterator[str]:
    """A namespace in which gangcheck does nothing."""
    name = make_namespace(control, labels={"gangcheck.io/mode": "off"})
    yield name
    remove_namespace(control, name)


def wrong(namespace: str, name: str = "w-0") -> Object:
    """The card's mistake."""
    return pod(namespace, name, annotations={GROUP: "train"}, limits=GPU)


def with_musl(namespace: str, name: str = "m", **parts: Any) -> Object:  # noqa: ANN401 - what template takes
    return pod(namespace, name, containers=[container(limits=GPU) | {"image": MUSL}], **parts)


# The card's sentences.


def test_group_as_annotation_is_denied(control: ControlPlane, namespace: str) -> None:
    answer = create(control, wrong(namespace))
    assert (answer.status, answer.body["reason"], answer.message) == (403, "Forbidden", ON_POD)
    assert not get(control, wrong(namespace)).ok


def test_kubectl_shows_the_denial(control: ControlPlane, namespace: str) -> None:
    done = kubectl(control, "apply", "--filename=-", stdin=json.dumps(wrong(namespace)))
    assert done.returncode == 1
    assert ON_POD in done.stderr


def test_below_min_member_is_warned_of(control: ControlPlane, namespace: str) -> None:
    made(control, pod_group(namespace, "train", minMember=4))

    def said() -> tuple[str, ...]:
        return create(control, member(namespace, "w-0", "train", limits=GPU), dryRun="All").warnings

    # Not at once: one apply of PodGroup and Pods races every watch.
    assert said() == ()
    assert wait_for(said, every=0.5) == (SHORT.format(3, "s", 1),)
    answer = create(control, member(namespace, "w-0", "train", limits=GPU))
    assert (answer.status, answer.warnings) == (201, (SHORT.format(3, "s", 1),))


def test_musl_image_is_warned_of(control: ControlPlane, namespace: str) -> None:
    answer = create(control, with_musl(namespace))
    assert answer.status == 201
    (said,) = answer.warnings
    assert said.startswith(ON_MUSL)
    assert len(said) <= 200
    delete(control, with_musl(namespace))
    done = kubectl(control, "apply", "--filename=-", stdin=json.dumps(with_musl(namespace)))
    assert (done.returncode, done.stderr) == (0, f"Warning: {said}\n")


@pytest.mark.parametrize("written", ["", "default-scheduler"])
def test_what_is_missing_is_injected(control: ControlPlane, namespace: str, written: str) -> None:
    card = container("main", limits=GPU, env={"HOME": "/"})
    first = container("first", limits=GPU | {"nvidia.com/priority": "0"}) | {"env": None}
    made(control, pod(namespace, "a", containers=[card, container("side")], initContainers=[first], scheduler=written))
    stored = found(control, pod(namespace, "a"))
    assert stored["spec"]["schedulerName"] == SCHEDULER
    env = {each["name"]: each.get("env") for each in stored["spec"]["initContainers"] + stored["spec"]["containers"]}
    assert env == {
        "first": [{"name": "CUDA_TASK_PRIORITY", "value": "0"}],
        "main": [{"name": "HOME", "value": "/"}, {"name": "CUDA_TASK_PRIORITY", "value": "1"}],
        "side": None,
    }
    injected = "schedulerName,first/CUDA_TASK_PRIORITY,main/CUDA_TASK_PRIORITY"
    assert stored["metadata"]["annotations"] == {"gangcheck.io/injected": injected}


def test_what_a_user_set_stays(control: ControlPlane, namespace: str) -> None:
    own = container(limits=GPU, env={"CUDA_TASK_PRIORITY": "0"})
    (elsewhere,) = made(control, pod(namespace, "a", containers=[own], scheduler="volcano"))
    (here,) = made(control, pod(namespace, "b", containers=[own], scheduler=SCHEDULER))
    for stored, scheduler in ((elsewhere, "volcano"), (here, SCHEDULER)):
        assert stored["spec"]["schedulerName"] == scheduler
        assert stored["spec"]["containers"][0]["env"] == own["env"]
        assert "annotations" not in stored["metadata"]


# Workloads: denied where a user reads it.


@pytest.mark.parametrize("kind", ["Deployment", "Job", "StatefulSet", "ReplicaSet", "DaemonSet"])
def test_workload_with_an_error_is_denied(control: ControlPlane, namespace: str, kind: str) -> None:
    answer = create(control, workload(kind, namespace, "w", template(annotations={GROUP: "train"}, limits=GPU)))
    assert (answer.status, answer.message) == (403, ON_WORKLOAD.format(kind))
    assert listed(control, "v1", "Pod", namespace) == []


def test_cron_job_with_an_error_is_denied(control: ControlPlane, namespace: str) -> None:
    job = workload("Job", namespace, "w", template(labels={GROUP: "Train"}))
    answer = create(
        control,
        named("batch/v1", "CronJob", "c", namespace)
        | {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job["spec"]}}},
    )
    assert answer.status == 403
    assert 'webhook "cronjobs.enforce.gangcheck.io" denied the request: pod-group-unmatchable: ' in answer.message


def test_pod_group_with_an_error_is_denied(control: ControlPlane, namespace: str) -> None:
    answer = create(control, pod_group(namespace, "train", scheduleTimeoutSeconds=60))
    assert answer.status == 403
    assert 'webhook "podgroups.enforce.gangcheck.io" denied the request: min-member-missing: ' in answer.message


def test_all_denials_come_in_one_message(control: ControlPlane, namespace: str) -> None:
    marks: Object = {"labels": {GROUP: "Train"}, "annotations": {GROUP: "train"}}
    answer = create(control, with_musl(namespace, **marks))
    lines = answer.message.partition("denied the request: ")[2].splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == ["pod-group-annotation", "pod-group-unmatchable"]
    assert lines[-1] == "gangcheck explain pod-group-annotation; gangcheck explain pod-group-unmatchable"
    assert [text.partition(":")[0] for text in answer.warnings] == ["musl-image"]


# Namespaces pick a mode.


def test_mode_warn_denies_nothing_and_injects(control: ControlPlane, warned: str) -> None:
    answer = create(control, wrong(warned))
    assert answer.status == 201
    (said,) = answer.warnings
    assert said.startswith("pod-group-annotation: move it to metadata.labels: scheduling.x-k8s.io/pod-group: train; ")
    assert scheduler_of(answer) == SCHEDULER
    assert create(control, workload("Job", warned, "w", template(annotations={GROUP: "train"}))).ok


def test_mode_off_does_nothing(control: ControlPlane, left_alone: str, gangcheck: Server) -> None:
    answer = create(control, wrong(left_alone))
    assert (answer.status, answer.warnings, scheduler_of(answer)) == (201, (), "default-scheduler")
    assert gangcheck.reviews(left_alone) == []


def test_mode_of_another_name_enforces(control: ControlPlane, namespace: str) -> None:
    patch(control, named("v1", "Namespace", namespace), {"metadata": {"labels": {"gangcheck.io/mode": "Warn"}}})
    assert wait_for(lambda: create(control, wrong(namespace)).status) == 403


def test_mode_changes_at_once(control: ControlPlane, namespace: str) -> None:
    home = named("v1", "Namespace", namespace)
    for mode, status in (("warn", 201), ("enforce", 403), ("off", 201), (None, 403)):
        patch(control, home, {"metadata": {"labels": {"gangcheck.io/mode": mode}}})
        wait_for(lambda: create(control, wrong(namespace), dryRun="All").status == status, what=f"mode {mode}")  # noqa: B023


# Ways to write an object.


def test_dry_run_is_the_same(control: ControlPlane, namespace: str, gangcheck: Server) -> None:
    assert create(control, wrong(namespace), dryRun="All").message == ON_POD
    answer = create(control, with_musl(namespace), dryRun="All")
    assert answer.warnings[0].startswith(ON_MUSL)
    assert scheduler_of(answer) == SCHEDULER
    assert all(review["dryRun"] for review in gangcheck.reviews(namespace))


def test_server_side_apply(control: ControlPlane, namespace: str) -> None:
    assert apply(control, wrong(namespace)).message == ON_POD
    right = member(namespace, "w-0", "train", limits=GPU, scheduler="")
    once, again = apply(control, right), apply(control, right)
    assert (once.status, again.status) == (201, 200)
    assert scheduler_of(again) == SCHEDULER
    assert again.body["spec"]["containers"][0]["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "1"}]


def test_generated_names(control: ControlPlane, namespace: str) -> None:
    unnamed = wrong(namespace)
    unnamed["metadata"] = {"generateName": "w-", "namespace": namespace, "annotations": {GROUP: "train"}}
    answer = create(control, unnamed)
    assert answer.status == 403
    assert re.search(r"Pod/w-[a-z0-9]+ names its gang 'train' in an annotation", answer.message)
    unnamed["metadata"]["annotations"] = {}
    (stored,) = made(control, unnamed)
    assert stored["spec"]["schedulerName"] == SCHEDULER


def test_client_side_apply_of_kubectl(control: ControlPlane, namespace: str) -> None:
    """kubectl keeps what it was given in an annotation: that is not the object's own text."""
    right = json.dumps(workload("Deployment", namespace, "w", template(labels={GROUP: "train"}, limits=GPU)))
    for _ in range(2):
        done = kubectl(control, "apply", "--filename=-", stdin=right)
        assert (done.returncode, done.stderr) == (0, "")
    mistaken = json.dumps(workload("Deployment", namespace, "w", template(annotations={GROUP: "train"}, limits=GPU)))
    done = kubectl(control, "apply", "--filename=-", stdin=mistaken)
    assert done.returncode == 1
    assert "pod-group-annotation: spec.template.metadata.annotations" in done.stderr


# Updates.


def test_update_of_an_old_mistake_passes(control: ControlPlane, namespace: str) -> None:
    home = named("v1", "Namespace", namespace)
    old = workload("Deployment", namespace, "w", template(annotations={GROUP: "train"}, limits=GPU), replicas=0)
    patch(control, home, {"metadata": {"labels": {"gangcheck.io/mode": "off"}}})
    wait_for(lambda: create(control, old, dryRun="All").ok)
    made(control, old)
    patch(control, home, {"metadata": {"labels": {"gangcheck.io/mode": None}}})
    wait_for(lambda: create(control, wrong(namespace), dryRun="All").status == 403)
    answer = patch(control, old, {"metadata": {"labels": {"seen": "true"}}})
    assert answer.status == 200
    assert [text.partition(":")[0] for text in answer.warnings] == ["pod-group-annotation"]
    stored = found(control, old)
    stored["spec"]["template"]["metadata"]["annotations"][GROUP] = "other"
    assert put(control, stored).status == 403
    stored["spec"]["template"]["metadata"]["annotations"] = {}
    assert put(control, stored).warnings == ()


def test_update_that_brings_a_mistake_is_denied(control: ControlPlane, namespace: str) -> None:
    (stored,) = made(control, member(namespace, "w-0", "train", limits=GPU))
    moved = patch(control, stored, {"metadata": {"labels": {GROUP: None}, "annotations": {GROUP: "train"}}})
    assert moved.status == 403
    assert 'webhook "gang-changes.enforce.gangcheck.io" denied the request: pod-group-annotation: ' in moved.message
    made(control, pod_group(namespace, "train", minMember=2))
    assert patch(control, pod_group(namespace, "train"), {"spec": {"minMember": None}}).status == 403


# Who hears of it.


def test_owner_hears_of_a_warning(control: ControlPlane, namespace: str) -> None:
    body = template(containers=[container(limits=GPU) | {"image": MUSL}])
    made(control, workload("Deployment", namespace, "w", body, replicas=2))

    def told() -> list[Object]:
        return [event for event in events(control, namespace, "w") if event["reason"] == "MuslImage"]

    (event,) = wait_for(told)
    assert event["involvedObject"]["kind"] == "Deployment"
    assert event["type"] == "Warning"
    assert event["message"].startswith(ON_MUSL)
    assert "musl-image: " in kubectl(control, "describe", "deployment", "w", "-n", namespace).stdout
    never(lambda: len(told()) > 1 and [event["message"] for event in told()], 0.5)


def test_dry_run_leaves_no_event(control: ControlPlane, namespace: str) -> None:
    (job,) = made(control, workload("Job", namespace, "j", template(), suspend=True))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}
    owned = with_musl(namespace)
    owned["metadata"]["ownerReferences"] = [owner]
    assert create(control, owned, dryRun="All").warnings
    never(lambda: any(event["reason"] == "MuslImage" for event in events(control, namespace, "j")), 1)
    assert create(control, owned).warnings
    wait_for(lambda: any(event["reason"] == "MuslImage" for event in events(control, namespace, "j")))


def test_verdicts_are_in_the_audit_log(control: ControlPlane, namespace: str) -> None:
    create(control, wrong(namespace))
    create(control, with_musl(namespace))

    def annotations() -> list[dict[str, str]]:
        ours = (e for e in audited(control) if e.get("objectRef", {}).get("namespace") == namespace)
        pods = (e for e in ours if e["objectRef"]["resource"] == "pods")
        return [
            e["annotations"] for e in pods if "subresource" not in e["objectRef"]
        ]  # the scheduler may have bound it

    denied, warned_of = wait_for(lambda: found_two(annotations()))
    assert denied["pods.enforce.gangcheck.io/verdict"] == "denied"
    assert denied["pods.enforce.gangcheck.io/rules"] == "pod-group-annotation"
    assert warned_of["pods.enforce.gangcheck.io/verdict"] == "warned"
    assert warned_of["pods.enforce.gangcheck.io/rules"] == "musl-image"
    assert warned_of["inject.gangcheck.io/verdict"] == "injected"


def found_two(all_of_them: list[dict[str, str]]) -> list[dict[str, str]]:
    return all_of_them if len(all_of_them) == 2 else []


def test_log_says_who_and_what(control: ControlPlane, namespace: str, gangcheck: Server) -> None:
    create(control, wrong(namespace))
    injected, judged = wait_for(lambda: gangcheck.reviews(namespace)[:2])
    assert (injected["entry"], injected["verdict"], injected["kind"]) == ("mutate", "patched", "Pod")
    assert (judged["entry"], judged["verdict"], judged["rules"]) == ("validate", "denied", ["pod-group-annotation"])
    assert "failed" not in judged
