"""The played HAMi webhook against the table that was written down from the real one (2.10.0)."""

import copy
from typing import Any

import pytest
from hami import Denied, Settings, answer, decide
from objects import container, pod

GPU = {"nvidia.com/gpu": "1"}


def _only(limits: dict[str, str], **parts: Any) -> dict[str, Any] | Denied:  # noqa: ANN401 - what pod takes
    return decide(pod("default", "p", limits=limits, **parts))


def _limits(made: dict[str, Any] | Denied) -> dict[str, str]:
    assert not isinstance(made, Denied)
    limits: dict[str, str] = made["spec"]["containers"][0]["resources"]["limits"]
    return limits


@pytest.mark.parametrize("scheduler", ["", "default-scheduler", "hami-scheduler"])
def test_gpu_alone_is_a_whole_card(scheduler: str) -> None:
    made = _only(GPU, scheduler=scheduler)
    assert _limits(made) == GPU | {"nvidia.com/gpucores": "100"}
    assert not isinstance(made, Denied)
    assert made["spec"]["schedulerName"] == "hami-scheduler"
    assert made["spec"]["containers"][0]["env"] == []


@pytest.mark.parametrize(
    ("limits", "added"),
    [
        (GPU | {"nvidia.com/gpumem": "3k"}, {}),
        (GPU | {"nvidia.com/gpumem": "16Gi"}, {}),
        (GPU | {"nvidia.com/gpumem": "0"}, {}),
        (GPU | {"nvidia.com/gpumem-percentage": "0"}, {}),
        (GPU | {"nvidia.com/gpumem-percentage": "50"}, {}),
        (GPU | {"nvidia.com/gpumem-percentage": "100"}, {"nvidia.com/gpucores": "100"}),
        ({"nvidia.com/gpu": "0"}, {"nvidia.com/gpucores": "100"}),
        ({"nvidia.com/gpumem": "3k"}, GPU),
        ({"nvidia.com/gpucores": "30"}, GPU),
    ],
)
def test_limits_are_completed(limits: dict[str, str], added: dict[str, str]) -> None:
    assert _limits(_only(limits)) == limits | added


@pytest.mark.parametrize(
    "parts",
    [
        {"limits": {}},
        {"limits": {}, "labels": {"scheduling.x-k8s.io/pod-group": "g"}},
        {"limits": GPU, "labels": {"hami.io/webhook": "ignore"}},
        {"limits": GPU, "scheduler": "volcano"},
        {"limits": GPU, "scheduler": "volcano", "nodeName": "n"},
        {"limits": {"nvidia.com/gpumem-percentage": "150"}, "scheduler": "volcano"},
    ],
)
def test_others_are_left_alone(parts: dict[str, Any]) -> None:
    before = pod("default", "p", **parts)
    assert decide(before) == before


def test_priority_alone_is_no_device() -> None:
    made = _only({"nvidia.com/priority": "5"})
    assert not isinstance(made, Denied)
    assert made["spec"]["containers"][0]["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "5"}]
    assert "schedulerName" not in made["spec"]


@pytest.mark.parametrize("value", ["101", "150", "1k"])
def test_percentage_beyond_a_hundred(value: str) -> None:
    denied = _only({"nvidia.com/gpumem-percentage": value})
    assert isinstance(denied, Denied)
    assert (denied.code, denied.message.endswith("must be an integer between 0 and 100")) == (500, True)


def test_privileged_sidecar_and_assigned_node() -> None:
    sidecar = container("s") | {"securityContext": {"privileged": True}}
    assert decide(pod("default", "p", containers=[container("c", limits=GPU), sidecar])) == Denied(
        403, "container s is privileged"
    )
    assert _only(GPU, nodeName="n") == Denied(403, "pod has node assigned")


def test_gpu_in_an_init_container() -> None:
    made = decide(pod("default", "p", initContainers=[container("i", limits=GPU)]))
    assert not isinstance(made, Denied)
    assert made["spec"]["schedulerName"] == "hami-scheduler"
    assert made["spec"]["initContainers"][0]["resources"]["limits"] == GPU | {"nvidia.com/gpucores": "100"}


def test_installation_that_forces_the_core_policy() -> None:
    before = pod("default", "p", containers=[container("c", limits=GPU), container("s")])
    made = decide(before, Settings(core_policy="force", overwrite_env=True))
    assert not isinstance(made, Denied)
    names = [[entry["name"] for entry in one["env"]] for one in made["spec"]["containers"]]
    assert names == [
        ["GPU_CORE_UTILIZATION_POLICY"],
        ["GPU_CORE_UTILIZATION_POLICY", "NVIDIA_VISIBLE_DEVICES"],
    ]


def test_review_is_answered_in_kind_and_left_as_it_was() -> None:
    asked = {"uid": "u", "object": pod("default", "p", limits=GPU)}
    review = {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": asked}
    before = copy.deepcopy(review)
    answered = answer(review)
    assert review == before
    assert answered["apiVersion"] == "admission.k8s.io/v1beta1"
    assert answered["response"]["uid"] == "u"
    assert answered["response"]["patchType"] == "JSONPatch"
