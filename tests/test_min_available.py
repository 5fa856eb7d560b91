"""The minAvailable of training jobs, field by field: what an operator makes of it, and where nobody can tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from webhook import lint
from webhook.admission import judge
from webhook.config import Config, read_stack
from webhook.review import Answer, Enforcement, Request
from webhook.rule import Finding, Severity
from webhook.rules import all_rules

RULE = next(rule for rule in all_rules() if rule.name == "min-available-unusable")
FIELDS = {"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax"}
ON = {"training-operator": "hami-scheduler", "mpi-operator": "hami-scheduler"}


def role(replicas: object = 1, **spec: object) -> dict[str, Any]:
    """One role of a job; without replicas where they are None."""
    containers = [{"name": "main", "image": "acme/train:1"}]
    given = {} if replicas is None else {"replicas": replicas}
    return {**given, "template": {"spec": {"containers": containers, **spec}}}


def job(
    wanted: object, *, kind: str = "PyTorchJob", version: str = "v1", policy: object = None, **roles: object
) -> Any:  # noqa: ANN401 - an object
    policy = policy if isinstance(policy, dict) else {}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": "ddp", "namespace": "nlp"},
        "spec": {
            "runPolicy": {"schedulingPolicy": {"minAvailable": wanted, **policy}},
            f"{FIELDS.get(kind, 'mpi')}ReplicaSpecs": roles or {"Master": role(1), "Worker": role(3)},
        },
    }


def told(body: object, operators: Mapping[str, object] | None = None) -> list[Finding]:
    config = Config(stack=read_stack({} if operators is None else {"operators": operators}))
    result = lint.lint([("x.json", [json.dumps(body).encode()])], config, rules=(RULE,))
    assert not result.failures
    return [item.finding for item in result.findings]


@pytest.mark.parametrize("kind", FIELDS)
def test_more_than_all_replicas_is_an_error_and_as_many_are_right(kind: str) -> None:
    (finding,) = told(job(5, kind=kind), ON)
    assert finding.severity is Severity.ERROR
    assert "minAvailable 5, it has 4 Pods at most: Training Operator" in finding.message
    assert finding.fix == "set minAvailable: 4, or raise replicas"
    assert told(job(4, kind=kind), ON) == []


@pytest.mark.parametrize(("version", "operator"), [("v1", "Training Operator"), ("v2beta1", "MPI operator")])
def test_a_launcher_is_one_of_the_pods(version: str, operator: str) -> None:
    roles: Any = {"Launcher": role(1), "Worker": role(2)}
    (finding,) = told(job(4, kind="MPIJob", version=version, **roles), ON)
    assert operator in finding.message
    assert told(job(3, kind="MPIJob", version=version, **roles), ON) == []
    assert told(job(4, kind="MPIJob", version="v1alpha2", **roles), ON) == []


def test_a_launcher_that_runs_as_a_worker_counts_once() -> None:
    body = job(2, kind="MPIJob", version="v2beta1", Launcher=role(1))
    body["spec"]["runLauncherAsWorker"] = True
    (finding,) = told(body, ON)
    assert "it has 1 Pod at most" in finding.message
    body["spec"]["mpiReplicaSpecs"]["Worker"] = role(1)
    assert told(body, ON) == []


def test_the_cure_of_a_launcher_that_waits_are_the_workers() -> None:
    body = job(9, kind="MPIJob", version="v2beta1", Launcher=role(1), Worker=role(2))
    body["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    (finding,) = told(body, ON)
    assert finding.fix == "set minAvailable: 2, or raise replicas"


def elastic(wanted: int, **bounds: int) -> Any:  # noqa: ANN401 - an object
    body = job(wanted, Worker=role(2))
    body["spec"]["elasticPolicy"] = bounds
    return body


@pytest.mark.parametrize(
    ("wanted", "bounds", "found"),
    [
        (4, {"minReplicas": 1, "maxReplicas": 4}, 0),
        (5, {"minReplicas": 1, "maxReplicas": 4}, 1),
        (2, {"minReplicas": 1, "maxReplicas": 1}, 0),
        (4, {"maxReplicas": 4}, 0),
        (4, {"minReplicas": 4}, 0),
        (5, {"minReplicas": 4}, 1),
        (3, {"minReplicas": 1}, 1),
        (3, {}, 1),
    ],
)
def test_an_elastic_job_has_as_many_workers_as_its_bounds_allow(
    wanted: int, bounds: dict[str, int], found: int
) -> None:
    assert len(told(elastic(wanted, **bounds), ON)) == found


def test_negative_numbers_are_refused_with_the_group_and_nought_makes_no_gang() -> None:
    (negative,) = told(job(-2), ON)
    assert negative.severity is Severity.ERROR
    assert "Training Operator makes no Pods; CRDs before v0.29" in negative.message
    (nought,) = told(job(0), ON)
    assert nought.severity is Severity.WARNING
    assert "its Pods start one by one" in nought.message


def test_while_nobody_said_that_the_flag_is_on_it_is_a_guess() -> None:
    for wanted in (5, -1):
        (finding,) = told(job(wanted))
        assert (finding.severity, finding.confidence) == (Severity.WARNING, "low")
        assert "if its gang flag is on" in finding.message
    assert told(job(0)) == []


@pytest.mark.parametrize(
    "operators", [{"training-operator": False}, {"mpi-operator": True}, {"training-operator": "Volcano"}]
)
def test_a_flag_that_is_off_or_names_another_system_is_left_alone(operators: Mapping[str, object]) -> None:
    assert told(job(5), {"training-operator": True})
    assert told(job(5), operators) == []


def test_a_flag_whose_scheduler_nobody_knows_leaves_a_doubt() -> None:
    (finding,) = told(job(5), {"training-operator": "batch"})
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("all stay Pending if batch runs Coscheduling")


def test_the_scheduler_of_a_template_stays_with_training_operator_alone() -> None:
    roles: Any = {"Launcher": role(1, schedulerName="volcano"), "Worker": role(2, schedulerName="volcano")}
    assert told(job(4, kind="MPIJob", **roles), ON) == []
    assert told(job(4, kind="MPIJob", version="v2beta1", **roles), ON)
    assert told(job(4, kind="MPIJob", version="v2beta1", **roles)) == []
    (finding,) = told(job(3, Worker=role(2, schedulerName="batch")), ON)
    assert finding.message.endswith("if batch runs Coscheduling")


def test_another_autoscaler_may_give_replicas_that_are_left_out() -> None:
    (finding,) = told(job(3, Master=role(1), Worker=role(None)), ON)
    assert (finding.severity, finding.confidence) == (Severity.WARNING, "low")
    (finding,) = told(job(5, Master=role(None), Worker=role(3)), ON)
    assert finding.severity is Severity.ERROR


def labelled(**metadata: object) -> dict[str, Any]:
    made = role(3)
    made["template"]["metadata"] = metadata
    return made


@pytest.mark.parametrize(
    "body",
    [
        job(5, policy={"queue": "research"}),
        job(5, Worker=labelled(labels={"scheduling.x-k8s.io/pod-group": "mine"})),
        job(5, Worker=labelled(annotations={"scheduling.k8s.io/group-name": "mine"})),
    ],
)
def test_a_gang_that_may_be_made_otherwise_is_left_alone_until_the_flag_is_known(body: object) -> None:
    assert told(body) == []
    assert told(body, ON)


@pytest.mark.parametrize(
    "body",
    [
        job(True),
        job("5"),
        job(None),
        job(5, Worker=role("{{ n }}")),
        job(5, Master={"replicas": 1}, Worker=role(3)),
        job(5, Worker={"replicas": 3, "template": {"spec": {"priorityClassName": "low"}}}),
        {**job(5), "kind": "TrainJob"},
        {**job(5), "spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 5}}}},
        {**job(5), "spec": None},
    ],
)
def test_what_is_no_number_or_no_whole_job_is_left_alone(body: object) -> None:
    assert told(body, ON) == []


def answer(body: Any, old: Any = None) -> Answer:  # noqa: ANN401 - objects
    operation = "CREATE" if old is None else "UPDATE"
    request = Request(
        "u",
        "admission.k8s.io/v1",
        operation,
        "kubeflow.org",
        "v1",
        "PyTorchJob",
        "x",
        name="ddp",
        namespace="nlp",
        object=body,
        old_object=old,
    )
    return judge(request, (RULE,), read_stack({"operators": ON}), Enforcement())


def test_a_new_job_is_denied_and_one_that_has_long_been_there_may_change() -> None:
    assert not answer(job(5)).allowed
    assert answer(job(4)).allowed
    paused = job(5)
    paused["spec"]["runPolicy"]["suspend"] = True
    assert answer(paused, old=job(5)).allowed
    assert not answer(job(6), old=job(5)).allowed
    assert not answer(job(5), old=job(4)).allowed
