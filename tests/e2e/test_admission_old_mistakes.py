"""Workloads with a mistake that were there before the webhooks: whatever happens to them, their Pods come back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from apiserver import (
    ControlPlane,
    create,
    events,
    listed,
    made,
    make_namespace,
    named,
    never,
    patch,
    remove_namespace,
    request,
    wait_for,
)
from objects import GROUP, Object, pod_group, template, workload
from server import Server, serving

GPU = {"nvidia.com/gpu": "1"}
NEW_IMAGE = "registry.example.com/ml/torch:2.5"
CARD = "pod-group-annotation"
OLD_KEY = "pod-group.scheduling.sigs.k8s.io"


@dataclass(frozen=True, slots=True)
class Mistake:
    """Where a template, or the workload itself, names its gang."""

    rule: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    own_labels: dict[str, str] = field(default_factory=dict)


MISTAKES = {
    "empty": Mistake("pod-group-empty", {GROUP: ""}),
    "unmatchable": Mistake("pod-group-unmatchable", {GROUP: "Train_1"}),
    "old-key": Mistake("pod-group-old-key", {OLD_KEY: "train"}),
    "on-workload": Mistake("pod-group-on-workload", own_labels={GROUP: "train"}),
    "annotation": Mistake(CARD, annotations={GROUP: "train"}),
}
CURABLE = [name for name, mistake in MISTAKES.items() if mistake.rule != CARD]


def deployment(namespace: str, name: str, mistake: Mistake) -> Object:
    """Placed by nobody: a Pod that is bound would stay Terminating, for there is no kubelet."""
    body = template(labels=mistake.labels, annotations=mistake.annotations, limits=GPU, scheduler="nobody")
    thing = workload("Deployment", namespace, name, body, replicas=2, strategy={"type": "Recreate"})
    thing["metadata"]["labels"] = dict(mistake.own_labels)
    return thing


def job(namespace: str, name: str, mistake: Mistake) -> Object:
    body = template(labels=mistake.labels, annotations=mistake.annotations, limits=GPU, scheduler="nobody")
    thing = workload("Job", namespace, name, body, parallelism=2, completions=4, backoffLimit=100)
    thing["metadata"]["labels"] = dict(mistake.own_labels)
    return thing


@pytest.fixture(scope="module")
def old(control: ControlPlane) -> Iterator[str]:
    """A namespace with a Deployment and a Job for each mistake, made before there is a webhook."""
    name = make_namespace(control)
    for key, mistake in MISTAKES.items():
        made(control, deployment(name, f"d-{key}", mistake), job(name, f"j-{key}", mistake))
    made(control, pod_group(name, "train", minResources={"cpu": "4"}))
    for key in MISTAKES:
        wait_for(lambda key=key: len(pods(control, name, f"d-{key}")) == 2)  # type: ignore[misc] # bound at once
        wait_for(lambda key=key: len(pods(control, name, f"j-{key}")) == 2)  # type: ignore[misc] # bound at once
    yield name
    remove_namespace(control, name)


@pytest.fixture(scope="module")
def before(old: str, gangcheck: Server) -> str:
    """The same namespace when there is one: the order of the two is what matters."""
    return old


def pods(control: ControlPlane, namespace: str, app: str) -> list[Object]:
    """Those that are not on their way out."""
    found_ = listed(control, "v1", "Pod", namespace, labelSelector=f"app={app}")
    return [pod for pod in found_ if "deletionTimestamp" not in pod["metadata"]]


def evict(control: ControlPlane, namespace: str, app: str) -> set[str]:
    """Drains them away; returns their uids."""
    gone = pods(control, namespace, app)
    for pod in gone:
        eviction = named("policy/v1", "Eviction", pod["metadata"]["name"], namespace)
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/eviction"
        assert request(control, "POST", path, eviction).ok
    return {pod["metadata"]["uid"] for pod in gone}


def come_back(control: ControlPlane, namespace: str, app: str, count: int, gone: set[str]) -> None:
    def all_new() -> bool:
        uids = {pod["metadata"]["uid"] for pod in pods(control, namespace, app)}
        return len(uids) == count and not uids & gone

    wait_for(all_new, 60, f"{count} new Pods of {app}")


@pytest.mark.parametrize("key", CURABLE)
def test_deployment_that_is_drained_scaled_and_bumped(control: ControlPlane, before: str, key: str) -> None:
    app = f"d-{key}"
    thing = named("apps/v1", "Deployment", app, before)
    come_back(control, before, app, 2, evict(control, before, app))
    assert patch(control, thing, {"spec": {"replicas": 4}}, subresource="scale").ok
    come_back(control, before, app, 4, set())
    bump = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": NEW_IMAGE}]}}}}
    gone = {pod["metadata"]["uid"] for pod in pods(control, before, app)}
    answer = patch(control, thing, bump, content_type="application/strategic-merge-patch+json")
    assert answer.ok, answer
    assert [text.partition(":")[0] for text in answer.warnings] == [MISTAKES[key].rule]
    come_back(control, before, app, 4, gone)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(control, before, app)} == {NEW_IMAGE}
    assert patch(control, thing, {"spec": {"replicas": 1}}).ok
    come_back(control, before, app, 1, gone)


@pytest.mark.e2e_slow
def test_jobs_that_are_drained(control: ControlPlane, before: str) -> None:
    """A Job takes ten seconds to make up for a Pod that is lost, and twice that for the next."""
    gone = {key: evict(control, before, f"j-{key}") for key in CURABLE}
    for key in CURABLE:
        come_back(control, before, f"j-{key}", 2, gone[key])
        assert patch(control, named("batch/v1", "Job", f"j-{key}", before), {"spec": {"parallelism": 3}}).ok
        come_back(control, before, f"j-{key}", 3, set())


@pytest.mark.parametrize("key", ["empty", "unmatchable", "old-key"])
def test_owner_of_an_admitted_mistake_hears_of_it(control: ControlPlane, before: str, key: str) -> None:
    evict(control, before, f"d-{key}")
    reason = "".join(word.capitalize() for word in MISTAKES[key].rule.split("-"))

    def told() -> list[Object]:
        return [each for each in events(control, before, f"d-{key}") if each["reason"] == reason]

    assert wait_for(told)[0]["involvedObject"]["kind"] == "Deployment"


def test_pod_group_with_an_old_mistake_can_be_changed(control: ControlPlane, before: str) -> None:
    group = pod_group(before, "train")
    answer = patch(control, group, {"metadata": {"labels": {"seen": "true"}}})
    assert answer.ok
    assert [text.partition(":")[0] for text in answer.warnings] == ["min-member-missing"]
    assert patch(control, group, {"spec": {"scheduleTimeoutSeconds": 60}}).ok


@pytest.mark.parametrize("letter", ["d", pytest.param("j", marks=pytest.mark.e2e_slow)])
def test_card_mistake_is_refused_until_the_policy_lets_it_pass(  # noqa: PLR0917 - fixtures
    control: ControlPlane, server_account: ControlPlane, before: str, gangcheck: Server, tmp_path: Path, letter: str
) -> None:
    """The last test here: it brings servers of its own to the registered place."""
    app = f"{letter}-annotation"
    gangcheck.stop()
    ports = [gangcheck.port, gangcheck.probes]
    with serving(server_account, tmp_path, ports=ports, pair=gangcheck.pair):
        gone = evict(control, before, app)
        assert len(gone) == 2
        maker = makers(control, before)[app]
        said = wait_for(lambda: refusals(control, before, maker["metadata"]["name"]), 60)
        assert 'webhook "pods.enforce.gangcheck.io" denied the request: pod-group-annotation: ' in said
        assert f"mend it in {maker['kind']}/{maker['metadata']['name']}, which makes it" in said
        never(lambda: pods(control, before, app), 0.5)
    with serving(server_account, tmp_path, "--owned-pods", "warn", ports=ports, pair=gangcheck.pair):
        # Controllers wait longer and longer before they try again; a change wakes them.
        assert patch(control, maker, {"metadata": {"annotations": {"woken": "true"}}}).ok
        come_back(control, before, app, 2, gone)
        assert create(control, deployment(before, "new", MISTAKES["annotation"])).status == 403


def makers(control: ControlPlane, namespace: str) -> dict[str, Object]:
    """What makes the Pods of each app."""
    found_ = [*listed(control, "apps/v1", "ReplicaSet", namespace), *listed(control, "batch/v1", "Job", namespace)]
    return {each["spec"]["template"]["metadata"]["labels"]["app"]: each for each in found_}


def refusals(control: ControlPlane, namespace: str, name: str) -> str:
    return "".join(each["message"] for each in events(control, namespace, name) if each["reason"] == "FailedCreate")
