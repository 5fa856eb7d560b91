"""What the rules about a scheduler's configuration say, the real kube-scheduler of scheduler-plugins says too.

Each configuration goes to both: what the binary refuses at its start, the linter finds by the rule named here, and what
it starts with silently shows what the rule says of it.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apiserver
import pytest
from apiserver import ControlPlane, Object, create, delete, made, never, node_of, wait_for, why_pending
from components import COSCHEDULING, SCHEDULER
from controlplane import NotStarted, scheduler
from gangs import bound, told, woken
from objects import member, pod, pod_group

from webhook import lint
from webhook.config import Config
from webhook.rule import Severity
from webhook.rules import all_rules

pytestmark = pytest.mark.e2e_slow  # a scheduler is started for each of them

Profile = dict[str, Any]
SORTED = {"disabled": [{"name": "PrioritySort"}]}
GANGS: Profile = {"plugins": {"multiPoint": {"enabled": [COSCHEDULING]}, "queueSort": SORTED}}


def profile(name: str = "tried", **fields: Any) -> Profile:  # noqa: ANN401 - any field of a profile
    return {"schedulerName": name, **copy.deepcopy(GANGS), **fields}


def with_args(**args: object) -> Profile:
    return profile(pluginConfig=[{"name": "Coscheduling", "args": args}])


def errors(profiles: tuple[Mapping[str, Any], ...], more: Mapping[str, Any]) -> set[str]:
    """The rules that find an error in a configuration when it is linted."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
        **more,
    }
    result = lint.lint([("config.json", [json.dumps(config).encode()])], Config(), rules=all_rules())
    assert not result.failures
    return {item.finding.rule for item in result.findings if item.severity is Severity.ERROR}


REFUSED: Mapping[str, tuple[str, str, tuple[Profile, ...], Mapping[str, Any]]] = {
    "PrioritySort left on": (
        "queue-sort-conflict",
        'only one queue sort plugin required for profile with scheduler name "tried", but got 2',
        ({"schedulerName": "tried", "plugins": {"multiPoint": {"enabled": [COSCHEDULING]}}},),
        {},
    ),
    "queueSort without a disabled one": (
        "queue-sort-conflict",
        "but got 2",
        (profile() | {"plugins": {"queueSort": {"enabled": [COSCHEDULING]}, "permit": {"enabled": [COSCHEDULING]}}},),
        {},
    ),
    "nothing sorts": (
        "queue-sort-conflict",
        "but got 0",
        ({"schedulerName": "tried", "plugins": {"queueSort": {"disabled": [{"name": "*"}]}}},),
        {},
    ),
    "a plain second profile": (
        "queue-sort-conflict",
        "must be the same for all profiles",
        (profile(), {"schedulerName": "plain"}),
        {},
    ),
    "other arguments in the second profile": (
        "queue-sort-conflict",
        "different queue sort plugin args|queueSort must be the same for all profiles",
        (profile(), with_args(permitWaitingTimeSeconds=7) | {"schedulerName": "second"}),
        {},
    ),
    "a misspelt argument": (
        "coscheduling-args",
        'unknown field "permitWaitingTimeSecond"',
        (with_args(permitWaitingTimeSecond=10),),
        {},
    ),
    "an argument of v1beta2": (
        "coscheduling-args",
        'unknown field "deniedPGExpirationTimeSeconds"',
        (with_args(deniedPGExpirationTimeSeconds=3),),
        {},
    ),
    "a duration for seconds": (
        "coscheduling-args",
        "cannot unmarshal string into Go struct field CoschedulingArgs.permitWaitingTimeSeconds of type int64",
        (with_args(permitWaitingTimeSeconds="10s"),),
        {},
    ),
    "negative seconds": (
        "coscheduling-args",
        "permitWaitingTimeSeconds: Invalid value: -5",
        (with_args(permitWaitingTimeSeconds=-5),),
        {},
    ),
    "a negative back-off": (
        "coscheduling-args",
        "podGroupBackoffSeconds: Invalid value: -1",
        (with_args(podGroupBackoffSeconds=-1),),
        {},
    ),
    "more than all": (
        "coscheduling-args",
        "podGroupRejectPercentage: Invalid value: 101",
        (with_args(podGroupRejectPercentage=101),),
        {},
    ),
    "arguments of another version": (
        "coscheduling-args",
        'no kind "CoschedulingArgs" is registered for version "kubescheduler.config.k8s.io/v1beta3"',
        (with_args(apiVersion="kubescheduler.config.k8s.io/v1beta3", kind="CoschedulingArgs"),),
        {},
    ),
    "an unknown field": ("scheduler-config-refused", 'unknown field "extender"', (profile(),), {"extender": []}),
    "a misspelt point": (
        "scheduler-config-refused",
        r'unknown field "profiles\[0\].plugins.multipoint"',
        ({"schedulerName": "tried", "plugins": {"multipoint": {"enabled": [COSCHEDULING]}}},),
        {},
    ),
    "a plugin that is none": (
        "scheduler-config-refused",
        'Plugin "CoScheduling" does not exist',
        ({"schedulerName": "tried", "plugins": {"multiPoint": {"enabled": [{"name": "CoScheduling"}]}}},),
        {},
    ),
    "one name twice": ("scheduler-config-refused", "Duplicate value", (profile(), profile()), {}),
    "a number for a duration": (
        "scheduler-config-refused",
        "cannot unmarshal number into Go struct field Extender.extenders.httpTimeout of type string",
        (profile(),),
        {"extenders": [{"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "httpTimeout": 30}]},
    ),
    "a duration without a unit": (
        "scheduler-config-refused",
        "time: missing unit in duration",
        (profile(),),
        {"extenders": [{"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "httpTimeout": "30"}]},
    ),
    "two that bind": (
        "scheduler-config-refused",
        "found 2 extenders implementing bind",
        (profile(),),
        {"extenders": [{"urlPrefix": f"http://127.0.0.1:{port}", "bindVerb": "bind"} for port in (8, 9)]},
    ),
    "text for a boolean": (
        "scheduler-config-refused",
        "cannot unmarshal string into Go struct field Extender.extenders.enableHTTPS of type bool",
        (profile(),),
        {"extenders": [{"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "enableHTTPS": "true"}]},
    ),
    "a number for text": (
        "scheduler-config-refused",
        "cannot unmarshal number into Go struct field KubeSchedulerProfile.profiles.schedulerName of type string",
        (profile() | {"schedulerName": 7},),
        {},
    ),
    "a list for a mapping": (
        "scheduler-config-refused",
        "cannot unmarshal array into Go struct field Plugins.profiles.plugins.permit",
        (profile() | {"plugins": {**GANGS["plugins"], "permit": [COSCHEDULING]}},),
        {},
    ),
    "an unknown field inside": (
        "scheduler-config-refused",
        r'unknown field "profiles\[0\].plugins.permit.disable"',
        (profile() | {"plugins": {**GANGS["plugins"], "permit": {"disable": []}}},),
        {},
    ),
    "metadata": ("scheduler-config-refused", 'unknown field "metadata"', (profile(),), {"metadata": {"name": "x"}}),
    "Coscheduling at postBind": (
        "scheduler-config-refused",
        'plugin "Coscheduling" does not extend PostBindPlugin plugin',
        (profile() | {"plugins": {**GANGS["plugins"], "postBind": {"enabled": [COSCHEDULING]}}},),
        {},
    ),
    "twice at one point": (
        "scheduler-config-refused",
        'plugin "Coscheduling" already registered',
        (profile() | {"plugins": {**GANGS["plugins"], "permit": {"enabled": [COSCHEDULING, COSCHEDULING]}}},),
        {},
    ),
    "managed twice": (
        "scheduler-config-refused",
        "duplicate extender managed resource name",
        (profile(),),
        {
            "extenders": [
                {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "managedResources": [{"name": "a.b/c"}] * 2}
            ]
        },
    ),
}


def refusal(control: ControlPlane, profiles: tuple[Profile, ...], more: Mapping[str, Any]) -> str:
    """What the binary said last before it ended at its start; its log escapes quotes."""
    with pytest.raises(NotStarted, match="ended with 1") as refused, scheduler(control, "refused", profiles, more):
        pass
    return str(refused.value).splitlines()[-1].replace('\\"', '"')


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_the_binary_refuses_the_linter_finds(control: ControlPlane, mistake: str) -> None:
    rule, said, profiles, more = REFUSED[mistake]
    assert rule in errors(profiles, more)
    assert re.search(said, refusal(control, profiles, more))


@pytest.mark.parametrize(("version", "gone"), [("v1beta2", 28), ("v1beta3", 29)])
def test_old_versions_of_the_configuration(control: ControlPlane, version: str, gone: int) -> None:
    more = {"apiVersion": f"kubescheduler.config.k8s.io/{version}"}
    said = f'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/{version}"'
    assert said in refusal(control, (profile(),), more)
    assert gone <= 35  # the binary's own minor version


TAKEN: Mapping[str, tuple[Profile, ...]] = {
    "PrioritySort off at multiPoint": (
        {
            "schedulerName": "tried",
            "plugins": {"multiPoint": {"enabled": [COSCHEDULING], "disabled": [{"name": "PrioritySort"}]}},
        },
    ),
    "PrioritySort off at queueSort": (profile(),),
    "all off at queueSort, Coscheduling on": (
        {
            "schedulerName": "tried",
            "plugins": {
                "multiPoint": {"enabled": [COSCHEDULING]},
                "queueSort": {"enabled": [COSCHEDULING], "disabled": [{"name": "*"}]},
            },
        },
    ),
    "not at queueSort": (
        {
            "schedulerName": "tried",
            "plugins": {
                point: {"enabled": [COSCHEDULING]} for point in ("preFilter", "postFilter", "reserve", "permit")
            },
        },
    ),
    "no time to wait": (with_args(permitWaitingTimeSeconds=0),),
    "all of them rejected": (with_args(podGroupRejectPercentage=100),),
    "two alike": (profile(), profile("second")),
}


@pytest.mark.parametrize("way", TAKEN)
def test_what_the_binary_starts_with_is_no_error(control: ControlPlane, namespace: str, way: str) -> None:
    profiles = TAKEN[way]
    assert errors(profiles, {}) == set()
    with scheduler(control, "tried", profiles):
        lonely = pod(namespace, "a", scheduler="tried")
        made(control, lonely)
        bound(control, lonely)


def gang(namespace: str, size: int = 3) -> list[Object]:
    """More members than there are Nodes, each wanting a Node's eight GPUs."""
    limits = {"nvidia.com/gpu": "8"}
    return [member(namespace, f"w-{n}", "g", scheduler="tried", limits=limits) for n in range(size)]


def places(control: ControlPlane, pods: list[Object]) -> int:
    return sum(1 for each in pods if node_of(control, each))


SILENT: Mapping[str, tuple[Profile, ...]] = {
    "arguments alone": (
        {"schedulerName": "tried", "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 5}}]},
    ),
    "no permit": (
        {
            "schedulerName": "tried",
            "plugins": {"multiPoint": {"enabled": [COSCHEDULING]}, "permit": {"disabled": [{"name": "*"}]}}
            | {"queueSort": SORTED},
        },
    ),
}


@pytest.mark.parametrize("way", SILENT)
def test_what_starts_and_is_no_gang(control: ControlPlane, namespace: str, way: str) -> None:
    assert "coscheduling-not-enabled" in errors(SILENT[way], {})
    pods = gang(namespace)
    made(control, pod_group(namespace, "g", minMember=3), *pods)
    with scheduler(control, "tried", SILENT[way]):
        wait_for(lambda: places(control, pods) == 2, 30)


def test_with_permit_the_same_gang_waits(control: ControlPlane, namespace: str) -> None:
    pods = gang(namespace)
    made(control, pod_group(namespace, "g", minMember=3), *pods)
    with scheduler(control, "tried", (with_args(permitWaitingTimeSeconds=2),)):
        told(control, pods[2], "0/2 nodes are available")
        never(lambda: places(control, pods), 4)


@contextmanager
def cordoned(control: ControlPlane, *nodes: str) -> Iterator[None]:
    """Nodes that take no new Pods."""

    def cordon(*, on: bool) -> None:
        for name in nodes:
            answer = apiserver.patch(control, apiserver.named("v1", "Node", name), {"spec": {"unschedulable": on}})
            assert answer.ok, answer

    cordon(on=True)
    try:
        yield
    finally:
        cordon(on=False)


def split(namespace: str) -> tuple[list[Object], Object]:
    """Two members that fit the Nodes that are there, and a third that fits none yet."""
    first = [member(namespace, f"w-{n}", "g", scheduler="tried") for n in range(2)]
    tolerations = [{"key": "late", "operator": "Exists"}]
    parts = {"nodeSelector": {"late": "yes"}, "tolerations": tolerations}
    return first, member(namespace, "late", "g", scheduler="tried", **parts)


@pytest.mark.parametrize("reserve", [False, True])
def test_without_reserve_members_that_were_turned_away_stay_counted(
    control: ControlPlane, namespace: str, *, reserve: bool
) -> None:
    points = {} if reserve else {"reserve": {"disabled": [COSCHEDULING]}}
    args = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 1}}]
    tried = profile(pluginConfig=args)
    tried["plugins"] |= points
    assert ("coscheduling-not-enabled" in errors((tried,), {})) is not reserve
    first, late = split(namespace)
    made(control, pod_group(namespace, "g", minMember=3), *first, late)
    node = apiserver.make_node(control, f"late-{namespace}", labels={"late": "no"})
    assert apiserver.patch(control, node, {"spec": {"taints": [{"key": "late", "effect": "NoSchedule"}]}}).ok
    try:
        with scheduler(control, "tried", (tried,)):
            told(control, late, "PodGroup")
            with cordoned(control, "gpu-a", "gpu-b"):
                # Only the late one has a place, now.
                assert apiserver.patch(control, node, {"metadata": {"labels": {"late": "yes"}}}).ok
                if reserve:
                    never(lambda: node_of(control, late), 6)
                else:
                    woken(control, namespace, "g", lambda: node_of(control, late), 30)
    finally:
        delete(control, node)


def test_pods_for_a_name_that_no_profile_serves(control: ControlPlane, namespace: str) -> None:
    lost = pod(namespace, "a", scheduler="hami-schedular")
    made(control, lost)
    with scheduler(control, "tried", (profile(),)):
        never(lambda: node_of(control, lost) or why_pending(control, lost), 3)
        assert apiserver.events(control, namespace, "a") == []


@contextmanager
def without_podgroup_access(control: ControlPlane, verbs: tuple[str, ...]) -> Iterator[None]:
    """The scheduler's user with these verbs on PodGroups alone, for as long as the block lasts."""
    bindings = [
        each
        for each in apiserver.listed(control, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
        if any(subject.get("name") == SCHEDULER for subject in each.get("subjects") or ())
        and not each["metadata"]["name"].startswith("system:")
    ]
    assert bindings
    for each in bindings:
        assert delete(control, each).ok
    try:
        if verbs:
            rule = {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": list(verbs)}
            apiserver.allow(control, SCHEDULER, [rule])
        yield
    finally:
        for each in bindings:
            each["metadata"] = {"name": each["metadata"]["name"]}
            create(control, each)


@pytest.mark.parametrize("verbs", [(), ("get",)])
def test_without_the_right_to_list_nothing_is_placed_at_all(
    control: ControlPlane, namespace: str, verbs: tuple[str, ...]
) -> None:
    ordinary = pod(namespace, "a", scheduler="tried")
    made(control, ordinary)
    with (
        without_podgroup_access(control, verbs),
        pytest.raises(NotStarted, match="was not ready"),
        scheduler(control, "tried", (profile(),), patience=8),
    ):
        pass
    assert not node_of(control, ordinary)
    assert apiserver.events(control, namespace, "a") == []
