"""Reviews as a real API server sent them (tests/e2e/test_admission_recorded.py records them), through the pure core."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from asked import REVIEWS, RULES, STACK, Object

from webhook.admission import decode, encode, judge, mutate
from webhook.review import Enforcement, VgpuEnv

RECORDED = REVIEWS / "recorded"
NAMES = sorted(file.name for file in RECORDED.iterdir())
FIRST = [name for name in NAMES if "-mutate" in name]
SECOND = [name for name in NAMES if "-mutate" not in name]


def answered(name: str) -> Mapping[str, object]:
    request = decode((RECORDED / name).read_bytes())
    if "-mutate" in name:
        return encode(request, mutate(request, STACK, VgpuEnv()))
    return encode(request, judge(request, RULES, STACK, Enforcement()))


def response_of(name: str) -> Object:
    found = answered(name)["response"]
    assert isinstance(found, dict)
    return found


def test_both_versions_of_every_kind_are_there() -> None:
    kinds = {"deployment", "job", "pod", "podgroup", "podgroup-update", "statefulset", "wrong-pod"}
    assert {name.rpartition(".v")[0].partition(".")[0] for name in SECOND} == kinds
    assert len(NAMES) == 2 * len({name.partition(".")[0] for name in NAMES})


@pytest.mark.parametrize("name", NAMES)
def test_answered_in_kind(name: str) -> None:
    asked = json.loads((RECORDED / name).read_text(encoding="utf-8"))
    said = answered(name)
    assert (said["apiVersion"], said["kind"]) == (asked["apiVersion"], "AdmissionReview")
    assert response_of(name)["uid"] == asked["request"]["uid"]


@pytest.mark.parametrize("name", SECOND)
def test_what_is_sound_is_admitted_without_a_word(name: str) -> None:
    response = response_of(name)
    if name.startswith("wrong-pod"):
        assert not response["allowed"]
        told = {"verdict": "denied", "rules": "pod-group-annotation", "vgpu": "main=1x3000MiB"}
        assert response["auditAnnotations"] == told
    else:
        assert response["allowed"]
        assert "warnings" not in response


@pytest.mark.parametrize("name", FIRST)
def test_what_is_missing_is_injected(name: str) -> None:
    assert response_of(name)["patchType"] == "JSONPatch"


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".v1.json")])
def test_versions_differ_in_their_name_alone(name: str) -> None:
    assert response_of(name) == response_of(name.replace(".v1.", ".v1beta1."))
