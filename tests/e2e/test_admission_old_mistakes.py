"""Objects with a mistake that were there before the webhooks: whatever happens to them, their Pods come back.

The objects are those of old_mistakes: one for each rule that may deny, found by asking all rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import old_mistakes
import pytest
from apiserver import (
    STRATEGIC,
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
from objects import GROUP, Object, template, workload
from old_mistakes import CARD, job, placed
from server import Server, registered, registration, serving

NEW_IMAGE = "registry.example.com/ml/torch:2.5"
CASES = old_mistakes.cases()
DEPLOYED = {f"d-{rule}": case for rule, case in CASES.items() if case.is_deployment}
GROUPS = {f"g-{rule}": case for rule, case in CASES.items() if case.thing["kind"] == "PodGroup"}
JOBS = {f"j-{rule}": job(case.thing) for rule, case in CASES.items() if case.is_deployment}
STACK = ("--stack", f"hami={old_mistakes.STACK['hami']}")


def with_annotation() -> Object:
    body = template(annotations={GROUP: "train"}, limits={"nvidia.com/gpu": "1"}, scheduler="nobody")
    return workload("Deployment", "", CARD, body)


@pytest.fixture(scope="module")
def old(control: ControlPlane) -> Iterator[str]:
    """A namespace with an object for each rule, and a Job of each template, made before there is a webhook."""
    name = make_namespace(control)
    for app, case in {**DEPLOYED, **GROUPS}.items():
        for group in case.beside:  # some have names that no object can have: those mistakes are not in any cluster
            create(control, placed(group, name, group["metadata"]["name"]))
        answer = create(control, placed(case.thing, name, app))
        assert answer.ok, f"{case.rule}: no row in old_mistakes, or a wrong one? {answer.message}"
    for app, thing in JOBS.items():
        made(control, placed(thing, name, app))
    card = with_annotation()
    made(control, placed(card, name, "d-card"), placed(job(card), name, "j-card"))
    for app in (*DEPLOYED, *JOBS, "d-card", "j-card"):
        come_back(control, name, app, 2, set())
    yield name
    remove_namespace(control, name)


@pytest.fixture(scope="module")
def gangcheck(
    control: ControlPlane, server_account: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """In place of the stand's own: this one knows HAMi's version, so that more is an error."""
    with (
        serving(server_account, tmp_path_factory.mktemp("server"), *STACK) as started,
        registered(control, *registration(started)),
    ):
        yield started


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


NONE_GONE: Mapping[str, set[str]] = {}


def all_come_back(
    control: ControlPlane, namespace: str, apps: Iterable[str], count: int, gone: Mapping[str, set[str]] = NONE_GONE
) -> None:
    """Each of the apps has so many Pods, and none of those that are gone (their uids, by app)."""
    for app in apps:
        come_back(control, namespace, app, count, gone.get(app, set()))


def test_there_are_rules_to_ask() -> None:
    assert len(DEPLOYED) > 5
    assert GROUPS


@pytest.mark.parametrize("app", [app for app, case in CASES.items() if case.verdict == "denied"])
def test_a_new_one_would_be_denied(control: ControlPlane, before: str, app: str) -> None:
    """Else what follows would prove nothing."""
    answer = create(control, placed(CASES[app].thing, before, f"new-{app}"), dryRun="All")
    assert (answer.status, f"{app}: " in answer.message) == (403, True), answer


def test_pods_that_are_drained_come_back(control: ControlPlane, before: str) -> None:
    gone = {app: evict(control, before, app) for app in DEPLOYED}
    assert all(gone.values())
    all_come_back(control, before, gone, 2, gone)


def test_deployments_can_be_scaled(control: ControlPlane, before: str) -> None:
    for app in DEPLOYED:
        answer = patch(
            control, named("apps/v1", "Deployment", app, before), {"spec": {"replicas": 3}}, subresource="scale"
        )
        assert answer.ok, (app, answer)
    all_come_back(control, before, DEPLOYED, 3)
    for app in DEPLOYED:
        answer = patch(control, named("apps/v1", "Deployment", app, before), {"spec": {"replicas": 2}})
        assert answer.ok, (app, answer)
    all_come_back(control, before, DEPLOYED, 2)


def test_images_can_be_changed(control: ControlPlane, before: str) -> None:
    """Admitted, and the author is told of the mistake where a new object would be denied for it."""
    gone = {app: {pod["metadata"]["uid"] for pod in pods(control, before, app)} for app in DEPLOYED}
    for app, case in DEPLOYED.items():
        first = case.thing["spec"]["template"]["spec"]["containers"][0]["name"]
        bump = {"spec": {"template": {"spec": {"containers": [{"name": first, "image": NEW_IMAGE}]}}}}
        answer = patch(control, named("apps/v1", "Deployment", app, before), bump, content_type=STRATEGIC)
        assert answer.ok, (app, answer)
        told = [text.partition(":")[0] for text in answer.warnings]
        assert case.rule in told or case.verdict == "nothing", (app, answer.warnings)
    all_come_back(control, before, gone, 2, gone)
    for app in DEPLOYED:
        assert {pod["spec"]["containers"][0]["image"] for pod in pods(control, before, app)} == {NEW_IMAGE}, app


@pytest.mark.e2e_slow
def test_jobs_that_are_drained(control: ControlPlane, before: str) -> None:
    """A Job takes ten seconds to make up for a Pod that is lost, and twice that for the next."""
    gone = {app: evict(control, before, app) for app in JOBS}
    all_come_back(control, before, gone, 2, gone)
    for app in JOBS:
        assert patch(control, named("batch/v1", "Job", app, before), {"spec": {"parallelism": 3}}).ok, app
    all_come_back(control, before, JOBS, 3)


@pytest.mark.parametrize("rule", ["pod-group-empty", "pod-group-unmatchable", "pod-group-old-key"])
def test_owner_of_an_admitted_mistake_hears_of_it(control: ControlPlane, before: str, rule: str) -> None:
    evict(control, before, f"d-{rule}")
    reason = "".join(word.capitalize() for word in rule.split("-"))

    def told() -> list[Object]:
        return [each for each in events(control, before, f"d-{rule}") if each["reason"] == reason]

    assert wait_for(told)[0]["involvedObject"]["kind"] == "Deployment"


@pytest.mark.parametrize("app", GROUPS)
def test_pod_group_with_an_old_mistake_can_be_changed(control: ControlPlane, before: str, app: str) -> None:
    case = GROUPS[app]
    group = placed(case.thing, before, app)
    answer = patch(control, group, {"metadata": {"labels": {"seen": "true"}}})
    assert answer.ok
    assert case.rule in [text.partition(":")[0] for text in answer.warnings]
    assert patch(control, group, {"spec": {"scheduleTimeoutSeconds": 60}}).ok


@pytest.mark.parametrize("letter", ["d", pytest.param("j", marks=pytest.mark.e2e_slow)])
def test_card_mistake_is_refused_until_the_policy_lets_it_pass(  # noqa: PLR0917 - fixtures
    control: ControlPlane, server_account: ControlPlane, before: str, gangcheck: Server, tmp_path: Path, letter: str
) -> None:
    """The last test here: it brings servers of its own to the registered place."""
    app = f"{letter}-card"
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
        assert create(control, placed(with_annotation(), before, "new")).status == 403


def makers(control: ControlPlane, namespace: str) -> dict[str, Object]:
    """What makes the Pods of each app."""
    found_ = [*listed(control, "apps/v1", "ReplicaSet", namespace), *listed(control, "batch/v1", "Job", namespace)]
    return {each["spec"]["template"]["metadata"]["labels"]["app"]: each for each in found_}


def refusals(control: ControlPlane, namespace: str, name: str) -> str:
    return "".join(each["message"] for each in events(control, namespace, name) if each["reason"] == "FailedCreate")
