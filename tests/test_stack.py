from __future__ import annotations

import pytest
from made import GPU, pod

from webhook.stack import VENDORS, Names, Stack

DEFAULT = "default-scheduler"
HAMI = "hami-scheduler"


@pytest.mark.parametrize(
    ("scheduler", "limits", "stack", "placed_by"),
    [
        ("", GPU, Stack(), HAMI),
        (DEFAULT, GPU, Stack(), HAMI),
        ("", {"nvidia.com/gpu": 0}, Stack(), HAMI),
        ("", {"nvidia.com/gpucores": 30}, Stack(), HAMI),
        ("", {"nvidia.com/priority": 1}, Stack(), DEFAULT),
        ("", {"cpu": 1}, Stack(), DEFAULT),
        ("", {"cpu": 1}, Stack(injects_scheduler=True), HAMI),
        ("", {"cpu": 1}, Stack(injects_scheduler=True, coscheduling_schedulers=frozenset({DEFAULT})), DEFAULT),
        ("volcano", GPU, Stack(), "volcano"),
        ("hami-scheduler", {}, Stack(), HAMI),
        ("", GPU, Stack(hami_webhook=False), DEFAULT),
        ("", GPU, Stack(force_overwrite_default_scheduler=False), DEFAULT),
        ("", GPU, Stack(hami_webhook=False, injects_scheduler=True), HAMI),
        (DEFAULT, GPU, Stack(force_overwrite_default_scheduler=False), DEFAULT),
        ("", {"amd.com/gpu": 1}, Stack(), HAMI),
        ("", {"example.com/gpu": 1}, Stack(), DEFAULT),
        ("", {"example.com/gpu": 1}, Stack(vendors={"nvidia": Names(("example.com/gpu",))}), HAMI),
    ],
)
def test_who_places_a_member(scheduler: str, limits: dict[str, object], stack: Stack, placed_by: str) -> None:
    assert stack.scheduler_of(pod("a", "g", scheduler=scheduler, limits=limits)) == placed_by


def test_a_live_pod_stays_where_it_is() -> None:
    assert Stack().scheduler_of(pod("a", "g", limits=GPU, live=True)) == DEFAULT


def test_other_gang_systems_schedulers_are_foreign() -> None:
    assert Stack().is_foreign(pod(scheduler="volcano"))
    assert not Stack().is_foreign(pod(scheduler="my-own"))
    assert not Stack(coscheduling_schedulers=frozenset({"volcano"})).is_foreign(pod(scheduler="volcano"))


def test_no_name_belongs_to_two_vendors() -> None:
    names = [name for vendor in VENDORS.values() for name in (*vendor.devices, *vendor.priority)]
    assert len(names) == len(set(names))


def test_what_hami_keeps_in_annotations_is_no_count() -> None:
    stack = Stack()
    assert "nvidia.com/gpumem" in stack.annotated_names
    assert not stack.annotated_names & {name for vendor in VENDORS.values() for name in vendor.count}


def test_devices_a_container_asks_for_come_in_the_order_written() -> None:
    container = pod(limits={"cpu": 1, **GPU}).containers[0]
    assert list(Stack().requested(container)) == ["nvidia.com/gpu", "nvidia.com/gpumem"]


def test_coscheduled_pods() -> None:
    assert Stack().is_coscheduled(pod(limits=GPU))
    assert not Stack().is_coscheduled(pod())
