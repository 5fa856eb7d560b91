"""Quantities as the API server itself reads and writes them, against webhook/quantity.py."""

from __future__ import annotations

import random
from typing import Any

import pytest
from apiserver import ControlPlane, create
from objects import pod

from webhook.quantity import as_int64, canonical, quantity

WRITTEN: list[object] = [
    *(3000, 0, 1, 1024, 16384, 2**31, 2**40, 10**18, 1.5, 2e4, 0.001),
    *("3000", "3k", "20k", "2e4", "1e3", "1E2", "1e-3", "20e3", "1000m", "1100m", "1500m", "100u", "7n"),
    *("2048Mi", "2Gi", "1.5Gi", "0.5Gi", "16Gi", "1000Ki", "0.5Ki", "1023Ki", "100Ti", "300Ti", "8Ei", "10Ei"),
    *("16G", "32G", "1.G", "1E", "9E", "2000E", "1.0", "+5", "007", ".5", "5.001", "2.001k", "0.0000000001", " 4 "),
]


def _random(count: int) -> list[str]:
    """Texts of all shapes, the same ones in every run."""
    source = random.Random(6)
    suffixes = ["", *"numkMGTPE", *(f"{letter}i" for letter in "KMGTPE"), "e3", "E3", "e-2", "e0"]
    parts = ["", "", "", ".", ".0", ".5", ".25", ".001", ".000000001"]
    return [
        f"{source.randrange(10 ** source.choice([1, 3, 6, 9]))}{source.choice(parts)}{source.choice(suffixes)}"
        for _ in range(count)
    ]


def _stored(control: ControlPlane, namespace: str, value: object) -> Any:  # noqa: ANN401 - text, where it is taken
    """How the API server writes a quantity of a quota."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"hard": {"requests.cpu": value}},
    }
    answer = create(control, quota, dryRun="All")
    return answer.body["spec"]["hard"]["requests.cpu"] if answer.ok else None


def test_what_the_api_server_writes_is_what_we_say(control: ControlPlane, namespace: str) -> None:
    values = [*WRITTEN, *_random(300)]
    assert {repr(value): _stored(control, namespace, value) for value in values} == {
        repr(value): canonical(value) for value in values
    }


@pytest.mark.parametrize("none", ["", "abc", "16GB", "16gi", "1 Gi", "1e", "1.2.3", "0x10", "Infinity", True, []])
def test_what_it_refuses_is_none_to_us(control: ControlPlane, namespace: str, none: object) -> None:
    assert _stored(control, namespace, none) is None
    assert quantity(none) is None


@pytest.mark.parametrize("value", [3000, "3000", "20k", "2e4", "16Gi", "16G", "1.5Gi", "1000m", "1.0", "300Ti", 0])
def test_webhooks_see_the_number_that_we_read(control: ControlPlane, namespace: str, value: object) -> None:
    """What a Pod asks of a card comes canonical, in both halves, and is the same number for HAMi."""
    limits: dict[str, Any] = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": value}
    answer = create(control, pod(namespace, "p", limits=limits), dryRun="All")
    assert answer.ok, answer.message
    resources = answer.body["spec"]["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpumem"] == resources["requests"]["nvidia.com/gpumem"] == canonical(value)
    assert as_int64(resources["limits"]["nvidia.com/gpumem"]) == as_int64(value)


@pytest.mark.parametrize("value", [0.5, "1500m", "1.5", -1])
def test_an_extended_resource_is_whole_and_not_negative(control: ControlPlane, namespace: str, value: object) -> None:
    limits: dict[str, Any] = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": value}
    answer = create(control, pod(namespace, "p", limits=limits), dryRun="All")
    assert answer.status == 422
    assert "must be an integer" in answer.message or "must be greater than or equal to 0" in answer.message
