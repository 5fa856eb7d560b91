"""What the rules say of HAMi's extender in a scheduler's configuration, shown with one that keeps what it hears."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from apiserver import ControlPlane, Object, events, made, never, node_of, wait_for, why_pending
from components import COSCHEDULING
from controlplane import scheduler
from extender import Extender, extending
from gangs import bound
from objects import member, pod, pod_group

from webhook import lint
from webhook.config import Config
from webhook.rules import all_rules

pytestmark = pytest.mark.e2e_slow  # a scheduler is started for each of them

PROFILE: dict[str, Any] = {
    "schedulerName": "tried",
    "plugins": {"multiPoint": {"enabled": [COSCHEDULING]}, "queueSort": {"disabled": [{"name": "PrioritySort"}]}},
    "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 3}}],
}
GPU = {"nvidia.com/gpu": "1"}
VGPU = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}


def found(entry: dict[str, Any]) -> set[str]:
    """The rules that find something in a configuration with this extender."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [PROFILE],
        "extenders": [entry],
    }
    result = lint.lint([("config.json", [json.dumps(config).encode()])], Config(), rules=all_rules())
    return {item.finding.rule for item in result.findings}


@pytest.fixture
def extender(control: ControlPlane) -> Iterator[Extender]:
    with extending(control) as started:
        yield started


@contextmanager
def asking(control: ControlPlane, entry: dict[str, Any]) -> Iterator[None]:
    with scheduler(control, "tried", (PROFILE,), {"extenders": [entry]}):
        yield


def placed(control: ControlPlane, namespace: str, limits: dict[str, str], name: str = "a") -> Object:
    """A Pod that the scheduler has bound."""
    wanted = pod(namespace, name, scheduler="tried", limits=limits)
    made(control, wanted)
    bound(control, wanted)
    return wanted


def test_as_the_chart_renders_it(control: ControlPlane, namespace: str, extender: Extender) -> None:
    with asking(control, extender.entry()):
        placed(control, namespace, VGPU)
    assert extender.verbs() == {"filter", "bind"}
    (_, asked) = extender.calls[0]
    assert (asked["NodeNames"] is not None, asked["Nodes"]) == (True, None)


def test_without_node_cache_the_extender_gets_whole_nodes(
    control: ControlPlane, namespace: str, extender: Extender
) -> None:
    entry = extender.entry(nodeCacheCapable=None)
    assert "extender-misconfigured" in found(entry)
    with asking(control, entry):
        placed(control, namespace, VGPU)
    (_, asked) = extender.calls[0]
    assert (asked["NodeNames"], asked["Nodes"] is not None) == (None, True)


@pytest.mark.parametrize(("missing", "left"), [("bindVerb", {"filter"}), ("filterVerb", {"bind"})])
def test_a_verb_that_is_missing_is_not_called(
    control: ControlPlane, namespace: str, extender: Extender, missing: str, left: set[str]
) -> None:
    entry = extender.entry(**{missing: None})
    assert "extender-misconfigured" in found(entry)
    with asking(control, entry):
        placed(control, namespace, VGPU)
    assert extender.verbs() == left


def test_a_resource_that_is_not_managed_is_counted_by_the_scheduler(
    control: ControlPlane, namespace: str, extender: Extender
) -> None:
    known = ("nvidia.com/gpu", "nvidia.com/gpucores")
    entry = extender.entry(managedResources=[{"name": name, "ignoredByScheduler": True} for name in known])
    assert "managed-resources" in found(entry)
    waiting = pod(namespace, "a", scheduler="tried", limits=VGPU)
    made(control, waiting)
    with asking(control, entry):
        wait_for(lambda: "Insufficient nvidia.com/gpumem" in why_pending(control, waiting))


def test_a_pod_without_any_managed_resource_never_reaches_the_extender(
    control: ControlPlane, namespace: str, extender: Extender
) -> None:
    entry = extender.entry(managedResources=[{"name": "nvidia.com/gpumem", "ignoredByScheduler": True}])
    with asking(control, entry):
        placed(control, namespace, GPU)
        placed(control, namespace, {}, "b")
    assert extender.calls == []


@pytest.mark.parametrize("ignorable", [None, True])
def test_an_extender_that_is_away(
    control: ControlPlane, namespace: str, extender: Extender, *, ignorable: bool | None
) -> None:
    entry = extender.entry(urlPrefix="http://127.0.0.1:9", ignorable=ignorable, bindVerb=None)
    assert "extender-misconfigured" in found(entry)
    ordinary, wanted = (pod(namespace, name, scheduler="tried", limits=limits) for name, limits in NAMED)
    made(control, ordinary, wanted)
    with asking(control, entry):
        bound(control, ordinary)
        if ignorable:
            bound(control, wanted)
        else:
            wait_for(lambda: "connection refused" in why_pending(control, wanted))


NAMED: tuple[tuple[str, dict[str, str]], ...] = (("plain", {}), ("gpu", GPU))


def test_the_default_timeout_gives_up_on_a_bind_that_goes_on(
    control: ControlPlane, namespace: str, extender: Extender
) -> None:
    """Without httpTimeout kube-scheduler waits 5 s; the extender binds all the same, late."""
    extender.slow = 7.0
    entry = extender.entry(httpTimeout=None)
    pods = [member(namespace, f"w-{n}", "g", scheduler="tried", limits=GPU) for n in range(2)]
    with asking(control, entry):
        made(control, pod_group(namespace, "g", minMember=2), *pods)
        wait_for(lambda: any(node_of(control, each) for each in pods), 30)
        said = "".join(event.get("message", "") for event in events(control, namespace))
        assert "Client.Timeout exceeded" in said or "context deadline exceeded" in said


def test_a_longer_timeout_waits_for_the_bind(control: ControlPlane, namespace: str, extender: Extender) -> None:
    extender.slow = 7.0
    pods = [member(namespace, f"w-{n}", "g", scheduler="tried", limits=GPU) for n in range(2)]
    with asking(control, extender.entry(httpTimeout="20s")):
        made(control, pod_group(namespace, "g", minMember=2), *pods)
        bound(control, *pods)
        assert not [event for event in events(control, namespace) if "Timeout" in event.get("message", "")]


def test_back_off_is_not_ended_by_its_end(control: ControlPlane, namespace: str) -> None:
    """With a back-off of 4 s a gang that fits at once after it was turned away still waits when these are over."""
    args = {"permitWaitingTimeSeconds": 2, "podGroupBackoffSeconds": 4}
    profile = PROFILE | {"pluginConfig": [{"name": "Coscheduling", "args": args}]}
    limits = {"nvidia.com/gpu": "8"}
    filler = pod(namespace, "filler", scheduler="tried", limits=limits)
    pods = [member(namespace, f"w-{n}", "g", scheduler="tried", limits=limits) for n in range(2)]
    with scheduler(control, "tried", (profile,)):
        made(control, filler)
        bound(control, filler)
        made(control, pod_group(namespace, "g", minMember=2), *pods)
        wait_for(lambda: "failed recently" in "".join(why_pending(control, each) for each in pods), 20)
        assert never_placed(control, pods)


def never_placed(control: ControlPlane, pods: list[Object]) -> bool:
    never(lambda: [each for each in pods if node_of(control, each)], 6)
    return True
