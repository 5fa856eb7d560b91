"""What the API server sends, recorded: tests/reviews/recorded holds it for the tests that need no API server.

GANGCHECK_RECORD=1 make e2e        writes the files anew
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import hooks
import pytest
from apiserver import ControlPlane, create, delete, made, patch, request, wait_for
from objects import GROUP, Object, container, pod, pod_group, template, workload

sys.path.insert(0, str(Path(__file__).parents[1]))

import pod_shape

from webhook.registration import Options, Reach, configurations
from webhook.stack import Stack

RECORDED = Path(__file__).parents[1] / "reviews" / "recorded"
LIMITS = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/priority": "0"}

# What differs between any two runs.
UNSTEADY = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-4000-8000-000000000000"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-01-01T00:00:00Z"),
    (re.compile(r'(?<="resourceVersion": ")\d+'), "1"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-abcde"),
)


def objects(namespace: str) -> dict[str, Object]:
    """One of each kind, sound, and the card's mistake; as a user writes them."""
    cards = [container("main", limits=LIMITS, env={"NCCL_DEBUG": "INFO"}), container("side")]
    labels = {GROUP: "train"}

    def body() -> Object:
        return template(labels=labels, containers=cards)

    return {
        "pod": pod(namespace, "pod", labels=labels, containers=cards),
        "wrong-pod": pod(namespace, "wrong-pod", annotations=labels, containers=cards),
        "deployment": workload("Deployment", namespace, "deployment", body(), replicas=4),
        "job": workload("Job", namespace, "job", body(), parallelism=4, completions=4),
        "statefulset": workload(
            "StatefulSet", namespace, "statefulset", body(), replicas=4, podManagementPolicy="Parallel"
        ),
        "podgroup": pod_group(namespace, "podgroup", minMember=4, scheduleTimeoutSeconds=60),
    }


@pytest.fixture(scope="module", params=["v1", "v1beta1"])
def recorder(
    request: pytest.FixtureRequest, control: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, hooks.Hook]]:
    """Registered as the product is, conditions and all, but for the version; allows everything."""
    with hooks.serving(allowed, tmp_path_factory.mktemp("recorder"), "recorder") as hook:
        both = configurations(Stack(), Options(reach=Reach(url="https://127.0.0.1:1")))
        for configuration in both:
            for each in configuration["webhooks"]:
                each["admissionReviewVersions"] = [request.param]
                each["clientConfig"] = hook.client_config
            made(control, configuration)
        probe = pod("default", "probe", limits={"nvidia.com/gpu": "1"})

        def reached() -> int:
            hook.reviews.clear()
            create(control, probe, dryRun="All")
            return len(hook.reviews)

        wait_for(lambda: reached() == 2)
        hook.reviews.clear()
        yield str(request.param), hook
        for configuration in both:
            delete(control, configuration)
        wait_for(lambda: reached() == 0)


def allowed(review: Object) -> Object:
    response = {"uid": review["request"]["uid"], "allowed": True}
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}


def steady(review: Object, namespace: str) -> str:
    text = json.dumps(review, indent=2, sort_keys=True, ensure_ascii=False).replace(namespace, "team-a")
    for pattern, constant in UNSTEADY:
        text = pattern.sub(constant, text)
    return f"{text}\n"


def test_reviews_are_as_recorded(control: ControlPlane, namespace: str, recorder: tuple[str, hooks.Hook]) -> None:
    version, hook = recorder
    things = objects(namespace)
    made(control, *things.values())
    for key, thing in things.items():
        reviews = [each for each in hook.reviews if is_of(each, thing)]
        assert [each["apiVersion"] for each in reviews] == [f"admission.k8s.io/{version}"] * len(reviews)
        names = [key] if len(reviews) == 1 else [f"{key}-mutate", key]
        assert len(reviews) == len(names)
        for name, review in zip(names, reviews, strict=True):
            compare(RECORDED / f"{name}.{version}.json", steady(review, namespace))


def is_of(review: Object, thing: Object) -> bool:
    asked = review["request"]
    return (asked["kind"]["kind"], asked.get("name")) == (thing["kind"], thing["metadata"]["name"])


def compare(file: Path, text: str) -> None:
    if os.environ.get("GANGCHECK_RECORD") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), file.name


def test_update_carries_both_objects(control: ControlPlane, namespace: str, recorder: tuple[str, hooks.Hook]) -> None:
    version, hook = recorder
    group = pod_group(namespace, "changed", minMember=4)
    made(control, group)
    hook.reviews.clear()
    assert patch(control, group, {"spec": {"minMember": 5}}).ok
    (review,) = hook.reviews
    compare(RECORDED / f"podgroup-update.{version}.json", steady(review, namespace))


def test_a_pods_shape_is_as_recorded(control: ControlPlane) -> None:
    """What the tests of wrong types take a Pod's fields from."""
    answer = request(control, "GET", "/openapi/v3/api/v1")
    assert answer.ok, answer
    compare(pod_shape.FILE, json.dumps(pod_shape.reduced(answer.body), indent=1) + "\n")
