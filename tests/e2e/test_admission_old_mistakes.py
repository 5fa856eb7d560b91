"""Objects with a mistake that were there before the webhooks: whatever happens to them, their Pods come back.

The objects are those of old_mistakes: one for each rule that may deny, found by asking all rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

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
from old_mistakes import CARD, Case, job, placed
from server import Server, registered, registration, serving

NEW_IMAGE = "registry.example.com/ml/torch:2.5"
RULES = [rule.name for rule in old_mistakes.demanded() if rule.name not in old_mistakes.ELSEWHERE]
STACK = ("--stack", f"hami={old_mistakes.STACK['hami']}")


class Old(NamedTuple):
    """What was there before the webhooks: a namespace, and by name what stands in it. `refused` are rules none of
    whose objects the API server took, with what it said."""

    namespace: str
    deployed: Mapping[str, Case]
    others: Mapping[str, Case]
    jobs: tuple[str, ...]
    refused: Mapping[str, str]


def with_annotation() -> Object:
    body = template(annotations={GROUP: "train"}, limits={"nvidia.com/gpu": "1"}, scheduler="nobody")
    return workload("Deployment", "", CARD, body)


@pytest.fixture(scope="module")
def old(control: ControlPlane) -> Iterator[Old]:
    """An object for each rule, and a Job of each template, made before there is a webhook."""
    namespace = make_namespace(control)
    deployed: dict[str, Case] = {}
    others: dict[str, Case] = {}
    refused: dict[str, str] = {}
    for rule in RULES:
        answer = None
        for case in old_mistakes.candidates(rule):
            app = f"{'d' if case.is_deployment else 'o'}-{rule}"
            answer = create(control, placed(case.thing, namespace, app))
            if answer.ok:
                (deployed if case.is_deployment else others)[app] = case
                break
        else:
            refused[rule] = answer.message if answer else "tests/rules has nothing that could be tried"
            continue
        for group in case.beside:  # some have names that no object can have: those are in no cluster
            create(control, placed(group, namespace, group["metadata"]["name"]))
    jobs = [placed(job(case.thing), namespace, f"j-{case.rule}") for case in deployed.values()]
    taken = tuple(thing["metadata"]["name"] for thing in jobs if create(control, thing).ok)
    card = with_annotation()
    made(control, placed(card, namespace, "d-card"), placed(job(card), namespace, "j-card"))
    all_come_back(control, namespace, [*deployed, *taken, "d-card", "j-card"], 2)
    yield Old(namespace, deployed, others, taken, refused)
    remove_namespace(control, namespace)


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
def there(old: Old, gangcheck: Server) -> Old:
    """The same when there is a webhook: the order of the two is what matters."""
    return old


@pytest.fixture(scope="module")
def before(there: Old) -> str:
    """The namespace alone."""
    return there.namespace


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


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_that_may_deny_has_an_old_mistake(there: Old, rule: str) -> None:
    assert rule not in there.refused, (
        f"the API server takes no object of tests/rules/{rule}.bad.yaml: add a row to BY_HAND or ELSEWHERE in "
        f"old_mistakes.py. It says: {there.refused[rule]}"
    )


def test_new_ones_would_be_denied(control: ControlPlane, there: Old) -> None:
    """Else what follows would prove nothing."""
    denied = [case for case in (*there.deployed.values(), *there.others.values()) if case.verdict == "denied"]
    for case in denied:
        answer = create(control, placed(case.thing, there.namespace, f"new-{case.rule}"), dryRun="All")
        assert (answer.status, f"{case.rule}: " in answer.message) == (403, True), (case.rule, answer)
    assert len(denied) > len(RULES) / 2


def test_pods_that_are_drained_come_back(control: ControlPlane, there: Old) -> None:
    gone = {app: evict(control, there.namespace, app) for app in there.deployed}
    assert all(gone.values())
    all_come_back(control, there.namespace, gone, 2, gone)


def test_deployments_can_be_scaled(control: ControlPlane, there: Old) -> None:
    for replicas, subresource in ((3, "scale"), (2, "")):
        for app in there.deployed:
            thing = named("apps/v1", "Deployment", app, there.namespace)
            answer = patch(control, thing, {"spec": {"replicas": replicas}}, subresource=subresource)
            assert answer.ok, (app, answer)
        all_come_back(control, there.namespace, there.deployed, replicas)


def test_images_can_be_changed(control: ControlPlane, there: Old) -> None:
    """Admitted, and the author is told of the mistake where a new object would be denied for it. One whose mistake is
    the image itself has lost it."""
    gone = {app: {pod["metadata"]["uid"] for pod in pods(control, there.namespace, app)} for app in there.deployed}
    for app, case in there.deployed.items():
        first = case.thing["spec"]["template"]["spec"]["containers"][0]["name"]
        bump = {"spec": {"template": {"spec": {"containers": [{"name": first, "image": NEW_IMAGE}]}}}}
        thing = named("apps/v1", "Deployment", app, there.namespace)
        answer = patch(control, thing, bump, content_type=STRATEGIC)
        assert answer.ok, (app, answer)
        told = [text.partition(":")[0] for text in answer.warnings]
        assert case.rule in told or case.verdict == "nothing" or "image" in case.rule, (app, answer.warnings)
    all_come_back(control, there.namespace, there.deployed, 2, gone)
    for app in there.deployed:
        images = {pod["spec"]["containers"][0]["image"] for pod in pods(control, there.namespace, app)}
        assert images == {NEW_IMAGE}, app


@pytest.mark.e2e_slow
def test_jobs_that_are_drained(control: ControlPlane, there: Old) -> None:
    """A Job takes ten seconds to make up for a Pod that is lost, and twice that for the next."""
    assert len(there.jobs) > len(RULES) / 2
    gone = {app: evict(control, there.namespace, app) for app in there.jobs}
    all_come_back(control, there.namespace, gone, 2, gone)
    for app in there.jobs:
        thing = named("batch/v1", "Job", app, there.namespace)
        assert patch(control, thing, {"spec": {"parallelism": 3}}).ok, app
    all_come_back(control, there.namespace, there.jobs, 3)


@pytest.mark.parametrize("rule", ["pod-group-empty", "pod-group-unmatchable", "pod-group-old-key"])
def test_owner_of_an_admitted_mistake_hears_of_it(control: ControlPlane, before: str, rule: str) -> None:
    evict(control, before, f"d-{rule}")
    reason = "".join(word.capitalize() for word in rule.split("-"))

    def told() -> list[Object]:
        return [each for each in events(control, before, f"d-{rule}") if each["reason"] == reason]

    assert wait_for(told)[0]["involvedObject"]["kind"] == "Deployment"


def test_other_objects_with_an_old_mistake_can_be_changed(control: ControlPlane, there: Old) -> None:
    assert any(case.thing["kind"] == "PodGroup" for case in there.others.values())
    for app, case in there.others.items():
        thing = placed(case.thing, there.namespace, app)
        answer = patch(control, thing, {"metadata": {"labels": {"seen": "true"}}})
        assert answer.ok, (app, answer)
        assert case.rule in [text.partition(":")[0] for text in answer.warnings] or case.verdict == "nothing", app
        if thing["kind"] == "PodGroup":
            assert patch(control, thing, {"spec": {"scheduleTimeoutSeconds": 60}}).ok


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
