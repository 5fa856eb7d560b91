"""What an operator's gang flag says: Coscheduling's PodGroups, another system's, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from webhook import lint
from webhook.config import Config, read_stack
from webhook.gangkeys import makes_groups, scheduler_given
from webhook.model import GROUP_LABEL, Pod, Ref
from webhook.rule import Finding, Severity
from webhook.rules import all_rules
from webhook.stack import Stack

GPU = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
FIELDS = {"MPIJob": "mpiReplicaSpecs", "PyTorchJob": "pytorchReplicaSpecs"}


def template(scheduler: str = "", *, group: str | None = None, limits: object = None) -> dict[str, Any]:
    main = {"name": "main", "image": "acme/train:1", "resources": {"limits": limits or {}}}
    spec = {"containers": [main], **({"schedulerName": scheduler} if scheduler else {})}
    labels = {} if group is None else {"labels": {GROUP_LABEL: group}}
    return {"metadata": labels, "spec": spec}


def job(kind: str, *, first: object = None, worker: object = None, **spec: object) -> dict[str, Any]:
    """A job with one launcher or master, and two workers."""
    mpi = kind == "MPIJob"
    roles = {
        "Launcher" if mpi else "Master": {"replicas": 1, "template": first or template()},
        "Worker": {"replicas": 2, "template": worker or template()},
    }
    version = "v2beta1" if mpi else "v1"
    metadata = {"name": "ddp", "namespace": "nlp"}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": {FIELDS[kind]: roles, **spec},
    }


def ray(kind: str, group: str | None = None) -> dict[str, Any]:
    head = {"template": template(group=group)}
    cluster = {
        "headGroupSpec": head,
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "template": template(group=group, limits=GPU)}],
    }
    metadata = {"name": "ray", "namespace": "nlp", "labels": {"ray.io/gang-scheduling-enabled": "true"}}
    spec = cluster if kind == "RayCluster" else {"rayClusterSpec": cluster}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def podgroup(name: str, minimum: int = 3) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "nlp"}
    spec = {"minMember": minimum}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def told(rule: str, operators: object, *bodies: object, **stack: object) -> list[Finding]:
    rules = tuple(each for each in all_rules() if each.name == rule)
    config = Config(stack=read_stack({"operators": operators, **stack}))
    result = lint.lint([("x.yaml", [yaml.safe_dump_all(bodies).encode()])], config, rules=rules)
    assert not result.failures
    return [item.finding for item in result.findings]


def severities(rule: str, operators: object, *bodies: object, **stack: object) -> list[Severity | None]:
    return [finding.severity for finding in told(rule, operators, *bodies, **stack)]


@pytest.mark.parametrize(
    ("operators", "operator", "made"),
    [
        ({"mpi-operator": True}, "mpi-operator", True),
        ({"mpi-operator": "hami-scheduler"}, "mpi-operator", True),
        ({"mpi-operator": "default-scheduler"}, "mpi-operator", True),
        ({"mpi-operator": "scheduler-plugins"}, "mpi-operator", True),
        ({"mpi-operator": "volcano"}, "mpi-operator", False),
        ({"training-operator": "Volcano"}, "training-operator", False),
        ({"mpi-operator": "koord-scheduler"}, "mpi-operator", False),
        ({"kuberay": "scheduler-plugins"}, "kuberay", True),
        ({"kuberay": "yunikorn"}, "kuberay", False),
        ({"kuberay": "kai-scheduler"}, "kuberay", False),
        ({"mpi-operator": True}, "kuberay", False),
        ({"mpi-operator": False}, "mpi-operator", False),
        ({"mpi-operator": True}, None, False),
    ],
)
def test_a_flag_says_which_pod_groups_an_operator_makes(operators: object, operator: str | None, *, made: bool) -> None:
    assert makes_groups(operator, read_stack({"operators": operators})) is made


def test_what_is_volcano_and_what_is_foreign_by_configuration() -> None:
    assert makes_groups("mpi-operator", Stack()) is None
    own = read_stack(
        {"operators": {"mpi-operator": "volcano", "training-operator": "acme"}, "foreignSchedulers": ["acme"]}
    )
    assert makes_groups("mpi-operator", own) is False
    assert makes_groups("training-operator", own) is False
    ours = {"operators": {"mpi-operator": "koord-scheduler"}, "coschedulingSchedulers": ["koord-scheduler"]}
    assert makes_groups("mpi-operator", read_stack(ours)) is True


@pytest.mark.parametrize(
    ("api", "kind", "flag", "given"),
    [
        ("kubeflow.org/v2beta1", "MPIJob", "volcano", "volcano"),
        ("kubeflow.org/v2beta1", "MPIJob", "", "own"),
        ("kubeflow.org/v1", "PyTorchJob", "volcano", "own"),
        ("ray.io/v1", "RayCluster", "volcano", "volcano"),
        ("ray.io/v1", "RayCluster", "", "scheduler-plugins-scheduler"),
        ("batch/v1", "Job", "volcano", "own"),
    ],
)
def test_whose_scheduler_name_wins(api: str, kind: str, flag: str, given: str) -> None:
    stack = Stack(operators=dict.fromkeys(("mpi-operator", "training-operator", "kuberay"), flag))
    pod = Pod(Ref(api, kind, "nlp", "a"), (), (), scheduler="own")
    assert scheduler_given(pod, stack) == given
    assert scheduler_given(pod, Stack()) == "own"


def test_an_operator_for_volcano_overwrites_the_scheduler_but_no_label() -> None:
    body = job("MPIJob", worker=template("hami-scheduler", group="mine"))
    on = told("operator-overrides-label", {"mpi-operator": "scheduler-plugins-scheduler"}, body)
    assert [finding.place.path[-1] for finding in on] == [GROUP_LABEL, "schedulerName"]
    for flag in ("volcano", "koord-scheduler"):
        (finding,) = told("operator-overrides-label", {"mpi-operator": flag}, body)
        assert "hami-scheduler of" in finding.message
        assert finding.message.endswith(f"with {flag}")
    cluster = ray("RayCluster", group="mine")
    assert told("operator-overrides-label", {"kuberay": True}, cluster)
    assert told("operator-overrides-label", {"kuberay": "yunikorn"}, cluster) == []


def test_a_pod_group_made_by_hand_is_in_the_way_of_coscheduling_s_alone() -> None:
    bodies = podgroup("ddp"), job("MPIJob", first=template(group="ddp"), worker=template(group="ddp"))
    assert told("operator-overrides-label", {"mpi-operator": True}, *bodies)
    assert told("operator-overrides-label", {"mpi-operator": "volcano"}, *bodies) == []


@pytest.mark.parametrize(
    ("flag", "found"),
    [
        ("hami-scheduler", [Severity.ERROR]),
        (True, [Severity.ERROR]),
        ("batch", [Severity.WARNING]),
        ("default-scheduler", [Severity.WARNING]),
        ("volcano", []),
    ],
)
def test_a_gang_waits_for_ever_where_coscheduling_is_known_to_run(flag: object, found: list[Severity]) -> None:
    waits = job("MPIJob", launcherCreationPolicy="WaitForWorkersReady")
    assert severities("gang-starts-in-stages", {"mpi-operator": flag}, waits) == found
    wants = job("MPIJob", first=template(limits={"nvidia.com/gpumem": 1}))
    assert severities("min-resources-unsatisfiable", {"mpi-operator": flag}, wants, mockDevicePlugin=False) == found


def test_kuberay_for_another_system_makes_ray_jobs_and_takes_no_cluster_from_hami() -> None:
    for kind in ("RayJob", "RayCluster"):
        body = ray(kind, group="mine")
        assert told("ray-job-gang", {"kuberay": "scheduler-plugins"}, body)
        for flag in ("volcano", "yunikorn", "kai-scheduler", False):
            assert told("ray-job-gang", {"kuberay": flag}, body) == []


ELSEWHERE = [
    ("PyTorchJob", "hami-scheduler", {"training-operator": "volcano"}, True),
    ("PyTorchJob", "", {"training-operator": "volcano"}, False),
    ("PyTorchJob", "hami-scheduler", {"training-operator": "hami-scheduler"}, False),
    ("MPIJob", "hami-scheduler", {"mpi-operator": "volcano"}, False),
]
"""Volcano's flag brings no PodGroup of ours; but Pods that it sends to Volcano need none."""


@pytest.mark.parametrize(("kind", "scheduler", "operators", "found"), ELSEWHERE)
def test_what_no_operator_brings_is_missed_where_the_pods_stay_ours(
    kind: str, scheduler: str, operators: object, *, found: bool
) -> None:
    named = job(kind, worker=template(scheduler, group="mine"))
    assert bool(told("pod-group-not-found", operators, named)) is found
    empty = job(kind, worker=template(scheduler, group=""))
    assert bool(told("pod-group-empty", operators, empty)) is found
    outside = job(kind, first=template(scheduler), worker=template(scheduler))
    outside["metadata"]["labels"] = {GROUP_LABEL: "mine"}
    assert bool(told("pod-group-on-workload", operators, outside)) is found


@pytest.mark.parametrize(("kind", "scheduler", "operators", "found"), ELSEWHERE)
def test_a_gang_is_split_only_by_schedulers_that_its_pods_keep(
    kind: str, scheduler: str, operators: object, *, found: bool
) -> None:
    first, worker = template("scheduler-plugins-scheduler", group="mine"), template(scheduler, group="mine")
    bodies = podgroup("mine"), job(kind, first=first, worker=worker)
    assert bool(told("gang-split-over-schedulers", operators, *bodies)) is found
