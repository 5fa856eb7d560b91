"""Gangs through the webhooks and on to the real Coscheduling: what is injected makes them start."""

import json
import time

import pytest
from apiserver import (
    ControlPlane,
    create,
    kubectl,
    listed,
    made,
    named,
    never,
    node_of,
    patch,
    wait_for,
    why_pending,
)
from gangs import bound, woken
from objects import GROUP, SCHEDULER, Object, member, pod_group, template, workload
from server import Server

GPU = {"nvidia.com/gpu": "1"}

pytestmark = pytest.mark.usefixtures("gangcheck")


def gang(namespace: str, **spec: int) -> list[Object]:
    """A PodGroup, a launcher without a GPU and three workers; nobody names a scheduler."""
    launcher = member(namespace, "launcher", "train", scheduler="")
    workers = [member(namespace, f"w-{n}", "train", scheduler="", limits=GPU) for n in range(3)]
    return [pod_group(namespace, "train", minMember=4, **spec), launcher, *workers]


def test_gang_with_a_launcher_is_bound(control: ControlPlane, namespace: str) -> None:
    pods = made(control, *gang(namespace))[1:]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {SCHEDULER}
    bound(control, *pods)


def test_without_us_the_launcher_goes_alone(control: ControlPlane, namespace: str) -> None:
    """The reason for the mutator. HAMi's webhook takes the workers to its scheduler, and leaves the launcher."""
    patch(control, named("v1", "Namespace", namespace), {"metadata": {"labels": {"gangcheck.io/mode": "off"}}})
    group, launcher, *workers = gang(namespace, scheduleTimeoutSeconds=1)
    for worker in workers:
        worker["spec"]["schedulerName"] = SCHEDULER
    probe = member(namespace, "probe", "none", scheduler="")
    wait_for(lambda: made(control, probe, dryRun="All")[0]["spec"]["schedulerName"] == "default-scheduler")
    made(control, group, launcher, *workers)
    bound(control, launcher)

    def said() -> bool:
        texts = [why_pending(control, worker) for worker in workers]
        return any("rejected due to timeout after waiting 1s at plugin Coscheduling" in text for text in texts)

    woken(control, namespace, "train", said)
    assert not any(node_of(control, worker) for worker in workers)


@pytest.mark.parametrize("kind", ["Job", "Deployment", "StatefulSet"])
def test_gang_of_a_workload_is_bound(control: ControlPlane, namespace: str, kind: str, gangcheck: Server) -> None:
    counts = {"parallelism": 4, "completions": 4} if kind == "Job" else {"replicas": 4}
    parallel = {"podManagementPolicy": "Parallel"} if kind == "StatefulSet" else {}
    body = template(labels={GROUP: "train"}, limits=GPU)
    made(
        control,
        pod_group(namespace, "train", minMember=4),
        workload(kind, namespace, "train", body, **counts, **parallel),
    )
    pods = wait_for(lambda: found if len(found := listed(control, "v1", "Pod", namespace)) == 4 else None)
    assert {pod["spec"]["schedulerName"] for pod in pods or ()} == {SCHEDULER}
    bound(control, *(pods or ()))
    assert {review["verdict"] for review in gangcheck.reviews(namespace)} == {"allowed", "patched"}


def test_healthy_gang_of_64_is_warned_of_nothing(control: ControlPlane, namespace: str, gangcheck: Server) -> None:
    """One apply of a PodGroup and its Pods, into a namespace that has been quiet for longer than the index waits."""
    made(control, pod_group(namespace, "other", minMember=1))
    time.sleep(6)
    pods = [member(namespace, f"w-{n}", "train", scheduler="") for n in range(64)]
    things = [pod_group(namespace, "train", minMember=64), *pods]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    done = kubectl(control, "apply", "--filename=-", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    bound(control, *pods, timeout=60)
    verdicts = [review["verdict"] for review in gangcheck.reviews(namespace) if review["entry"] == "validate"]
    assert verdicts == ["allowed"] * 66


@pytest.mark.e2e_slow
def test_gang_of_64_whose_group_was_there_before(control: ControlPlane, namespace: str) -> None:
    """Only its first member, before which there is no sign of any other, is told of those that are missing; those
    that come while it grows are not, and when it has come to rest one short, the next one is."""
    made(control, pod_group(namespace, "train", minMember=66))
    time.sleep(6)
    pods = [member(namespace, f"w-{n}", "train", scheduler="") for n in range(64)]
    done = kubectl(
        control, "apply", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    )
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if "below-min-member: " in line]
    assert done.stderr.splitlines() == told
    assert len(told) <= 2, told  # the second may be there before the watch has told of the first
    time.sleep(6)
    late, last = (member(namespace, name, "train", scheduler="") for name in ("late", "last"))
    answers = [create(control, each) for each in (late, last)]
    assert ["has 65 of 66 members so far" in "".join(answer.warnings) for answer in answers] == [True, False]
    bound(control, *pods, late, last, timeout=60)


def test_group_that_never_comes_is_mentioned(control: ControlPlane, namespace: str) -> None:
    made(control, pod_group(namespace, "other", minMember=1))

    def said() -> tuple[str, ...]:
        done = kubectl(
            control, "create", "--dry-run=server", "-f", "-", stdin=json.dumps(member(namespace, "w", "train"))
        )
        return tuple(done.stderr.splitlines())

    assert said() == ()
    assert wait_for(said, every=0.5)[0].startswith("Warning: pod-group-not-found: create the PodGroup train, ")
    never(lambda: node_of(control, member(namespace, "w", "train")), 0.2)
