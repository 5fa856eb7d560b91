"""Nothing but what is missing, once, and only where it is our business."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml
from generated import hostile, near_pods, pods, pointed
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.gather import gather
from webhook.inject import checked, operations
from webhook.isolation import INJECTED
from webhook.kinds import templates
from webhook.model import GROUP_LABEL, Subject, dig, pointer
from webhook.parse import parse
from webhook.policy import Policy, evaluate
from webhook.review import Operation, VgpuEnv
from webhook.rules import all_rules
from webhook.stack import VENDORS, Stack

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "e2e"))

import hami  # noqa: E402 - HAMi's webhook as a function, which the end-to-end tests play too

Object = dict[str, Any]

STACK = Stack(injects_scheduler=True)
DEFAULTS = VgpuEnv()
EVERYTHING = VgpuEnv(priority=0, core_policy="force", hide_gpus=True)
SETTINGS = st.sampled_from([DEFAULTS, EVERYTHING, VgpuEnv(core_policy="disable"), VgpuEnv(hide_gpus=True)])
STACKS = st.sampled_from(
    [
        STACK,
        Stack(force_overwrite_default_scheduler=False),
        Stack(coscheduling_schedulers=frozenset({"default-scheduler"})),
        Stack(hami_scheduler="default-scheduler"),
        Stack(hami_scheduler="gpu-scheduler"),
    ]
)
GPU = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3k"}


def container(name: str = "main", limits: Mapping[str, object] | None = None, **fields: object) -> Object:
    return {"name": name, "image": "registry.example.com/ml/torch:2.4", "resources": {"limits": limits or {}}, **fields}


def pod(*containers: Object, labels: Object | None = None, annotations: Object | None = None, **spec: object) -> Object:
    metadata = {"name": "w-0", "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": list(containers), **spec}}


def member(*containers: Object, scheduler: str = "") -> Object:
    return pod(*containers, labels={GROUP_LABEL: "train"}, schedulerName=scheduler)


def steps(patch: tuple[Operation, ...]) -> list[Object]:
    return [{"op": each.op, "path": each.path, "value": each.value} for each in patch]


def injected(body: Object, stack: Stack = STACK, env: VgpuEnv = DEFAULTS) -> Object:
    """The Pod as the API server stores it after us."""
    done: Object = jsonpatch.apply_patch(body, steps(operations(body, stack, env)))
    return done


def scheduler(body: Object) -> object:
    return body["spec"].get("schedulerName")


def env(body: Object, index: int = 0, key: str = "containers") -> list[object]:
    return [(entry["name"], entry.get("value")) for entry in body["spec"][key][index].get("env") or ()]


def note(body: Object) -> object:
    return dig(body, "metadata", "annotations", INJECTED)


def test_a_gpu_pod_gets_the_scheduler_and_the_priority() -> None:
    assert operations(pod(container(limits=GPU)), STACK, DEFAULTS) == (
        Operation("add", "/spec/schedulerName", "hami-scheduler"),
        Operation("add", "/spec/containers/0/env", [{"name": "CUDA_TASK_PRIORITY", "value": "1"}]),
        Operation("add", "/metadata/annotations", {"gangcheck.io/injected": "schedulerName,main/CUDA_TASK_PRIORITY"}),
    )


@pytest.mark.parametrize("name", [None, "", "default-scheduler"])
@pytest.mark.parametrize("resource", sorted({name for names in VENDORS.values() for name in names.devices}))
def test_every_device_of_every_vendor_counts(resource: str, name: str | None) -> None:
    assert scheduler(injected(pod(container(limits={resource: "0"}), schedulerName=name))) == "hami-scheduler"


@pytest.mark.parametrize(
    "limits", [{}, {"cpu": "1"}, {"nvidia.com/priority": "1"}, {"nvidia.com/mig-1g.5gb": "1"}, {"example.com/gpu": "1"}]
)
def test_what_is_no_device_does_not_count(limits: Object) -> None:
    assert operations(pod(container(limits=limits)), STACK, EVERYTHING) == ()


def test_a_renamed_resource_counts() -> None:
    nvidia = VENDORS["nvidia"]
    renamed = type(nvidia)(("example.com/gpu",), priority=("example.com/priority",))
    stack = Stack(vendors={**VENDORS, "nvidia": renamed}, hami_scheduler="gpu-scheduler")
    done = injected(pod(container(limits={"example.com/gpu": "1", "example.com/priority": "0"})), stack)
    assert scheduler(done) == "gpu-scheduler"
    assert env(done) == [("CUDA_TASK_PRIORITY", "0")]
    assert operations(pod(container(limits=GPU)), stack, DEFAULTS) == ()


def test_a_device_in_an_init_container_counts() -> None:
    done = injected(pod(container(), initContainers=[container("warm", GPU)]))
    assert scheduler(done) == "hami-scheduler"
    assert env(done, key="initContainers") == [("CUDA_TASK_PRIORITY", "1")]
    assert env(done) == []
    assert note(done) == "schedulerName,warm/CUDA_TASK_PRIORITY"


def test_a_gang_member_without_a_device_gets_the_scheduler_alone() -> None:
    done = injected(member(container(), scheduler="default-scheduler"), env=EVERYTHING)
    assert (scheduler(done), env(done), note(done)) == ("hami-scheduler", [], "schedulerName")


@pytest.mark.parametrize("labels", [{GROUP_LABEL: ""}, {"pod-group.scheduling.sigs.k8s.io": "train"}, {"app": "x"}])
def test_a_pod_in_no_coscheduling_gang_is_left_alone(labels: Object) -> None:
    assert operations(pod(container(), labels=labels), STACK, DEFAULTS) == ()


def test_a_gang_stays_where_the_default_scheduler_runs_coscheduling() -> None:
    stack = Stack(coscheduling_schedulers=frozenset({"default-scheduler", "hami-scheduler"}))
    assert operations(member(container()), stack, DEFAULTS) == ()
    assert scheduler(injected(member(container(limits=GPU)), stack)) == "hami-scheduler"


def test_hamis_setting_to_leave_the_default_scheduler_alone_is_kept() -> None:
    stack = Stack(force_overwrite_default_scheduler=False)
    body = pod(container(limits=GPU), schedulerName="default-scheduler")
    assert operations(body, stack, DEFAULTS) == ()
    body["spec"].pop("schedulerName")
    assert scheduler(injected(body, stack)) == "hami-scheduler"


def test_a_gang_is_kept_together_whatever_hamis_setting() -> None:
    stack = Stack(force_overwrite_default_scheduler=False)
    bodies = [member(container(limits=limits), scheduler="default-scheduler") for limits in (GPU, {})]
    assert {scheduler(injected(body, stack)) for body in bodies} == {"hami-scheduler"}


def test_hami_as_the_default_scheduler_needs_no_name() -> None:
    stack = Stack(hami_scheduler="default-scheduler")
    assert note(injected(pod(container(limits=GPU)), stack)) == "main/CUDA_TASK_PRIORITY"


@pytest.mark.parametrize("name", ["volcano", "kai-scheduler", "my-scheduler"])
def test_pods_of_other_schedulers_are_left_alone(name: str) -> None:
    assert operations(member(container(limits=GPU), scheduler=name), STACK, EVERYTHING) == ()


@pytest.mark.parametrize("name", ["hami-scheduler", "scheduler-plugins-scheduler"])
def test_pods_that_name_a_gang_scheduler_get_the_environment_alone(name: str) -> None:
    done = injected(member(container(limits=GPU), scheduler=name))
    assert (scheduler(done), note(done)) == (name, "main/CUDA_TASK_PRIORITY")


def test_what_is_placed_mirrored_stored_or_opted_out_is_left_alone() -> None:
    bodies = [
        pod(container(limits=GPU), nodeName="node-1"),
        pod(container(limits=GPU), annotations={"kubernetes.io/config.mirror": ""}),
        pod(container(limits=GPU), labels={"hami.io/webhook": "ignore"}),
        pod(container(), labels={GROUP_LABEL: "train", "hami.io/webhook": "ignore"}),
        {**pod(container(limits=GPU)), "metadata": {"uid": "0b1c"}},
        {**pod(container(limits=GPU)), "metadata": {"resourceVersion": "7"}},
    ]
    assert [operations(body, STACK, EVERYTHING) for body in bodies] == [()] * len(bodies)
    assert operations(pod(container(limits=GPU), labels={"hami.io/webhook": "x"}), STACK, DEFAULTS)


@pytest.mark.parametrize(
    ("limit", "value"), [("0", "0"), ("1", "1"), (0, "0"), (1, "1"), ("5", "1"), ("-1", "1"), (True, "1"), ("1k", "1")]
)
def test_the_priority_limit_wins_where_it_is_one(limit: object, value: str) -> None:
    done = injected(pod(container(limits={**GPU, "nvidia.com/priority": limit})))
    assert env(done) == ([("CUDA_TASK_PRIORITY", value)] if type(limit) is not bool else [])


def test_the_priority_of_the_policy_is_a_default() -> None:
    assert env(injected(pod(container(limits=GPU)), env=VgpuEnv(priority=0))) == [("CUDA_TASK_PRIORITY", "0")]


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "CUDA_TASK_PRIORITY", "value": "0"},
        {"name": "CUDA_TASK_PRIORITY", "value": ""},
        {"name": "CUDA_TASK_PRIORITY"},
        {"name": "CUDA_TASK_PRIORITY", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    ],
)
def test_an_entry_that_is_there_stays_the_only_one(entry: Object) -> None:
    done = injected(pod(container(limits=GPU, env=[{"name": "A", "value": "b"}, entry])))
    assert done["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}, entry]


def test_other_vendors_have_no_use_for_cudas_environment() -> None:
    both = pod(container("amd", {"amd.com/gpu": "1"}), container("cuda", GPU))
    done = injected(both, env=EVERYTHING)
    assert env(done) == []
    assert env(done, 1) == [("CUDA_TASK_PRIORITY", "0"), ("GPU_CORE_UTILIZATION_POLICY", "force")]
    assert note(injected(pod(container(limits={"amd.com/gpu": "1"})), env=EVERYTHING)) == "schedulerName"


def test_a_card_is_hidden_from_containers_that_ask_for_none() -> None:
    body = pod(
        container("gpu", GPU),
        container("plain"),
        container("shown", env=[{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}]),
        container("root", securityContext={"privileged": True}),
        container("device", volumeMounts=[{"name": "dev", "mountPath": "/dev/x"}]),
        container("disk", volumeMounts=[{"name": "data", "mountPath": "/data"}]),
        initContainers=[container("init")],
        volumes=[
            {"name": "dev", "hostPath": {"path": "/dev/nvidia0"}},
            {"name": "data", "hostPath": {"path": "/devices"}},
        ],
    )
    done = injected(body, env=VgpuEnv(hide_gpus=True))
    hidden = [("NVIDIA_VISIBLE_DEVICES", "none")]
    assert [env(done, index) == hidden for index in range(6)] == [False, True, False, False, False, True]
    assert env(done, key="initContainers") == hidden
    assert env(injected(pod(container("plain")), env=VgpuEnv(hide_gpus=True))) == []


@pytest.mark.parametrize(
    ("path", "shows"),
    [("/", True), ("/dev", True), ("//dev/", True), ("/x/../dev/dri", True), ("/devices", False)],
)
def test_what_shows_the_hosts_devices(path: object, *, shows: bool) -> None:
    body = pod(
        container(limits=GPU),
        container("side", volumeMounts=[{"name": "host", "mountPath": "/mnt"}]),
        volumes=[{"name": "host", "hostPath": {"path": path}}],
    )
    assert (env(injected(body, env=VgpuEnv(hide_gpus=True)), 1) == []) is shows


def test_the_annotation_is_added_to() -> None:
    done = injected(pod(container(limits=GPU), annotations={INJECTED: "schedulerName, other"}))
    assert note(done) == "schedulerName, other,main/CUDA_TASK_PRIORITY"


def test_nulls_are_filled() -> None:
    body = pod(container(limits=GPU, env=None), initContainers=None)
    assert body["metadata"]["annotations"] is None
    done = injected(body)
    assert env(done) == [("CUDA_TASK_PRIORITY", "1")]
    assert done["metadata"] == {"name": "w-0", "labels": None, "annotations": {INJECTED: note(done)}}


def test_metadata_is_made_where_there_is_none() -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container(limits=GPU)]}}
    assert note(injected(body)) == "schedulerName,main/CUDA_TASK_PRIORITY"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"spec": None},
        {"spec": {"containers": None}},
        {"spec": {"containers": {"a": container(limits=GPU)}}},
        {"spec": {"containers": ["main"]}},
        {"spec": {"containers": [container(limits=GPU, env={"A": "b"})]}},
        {"spec": {"containers": [container(limits=GPU, env=["A=b"])]}},
        {"spec": {"containers": [container(limits=GPU)], "schedulerName": 7}},
        {"metadata": {"annotations": "x"}, "spec": {"containers": [container(limits=GPU)]}},
        {"metadata": {"annotations": {INJECTED: 7}}, "spec": {"containers": [container(limits=GPU)]}},
    ],
)
def test_nonsense_gets_no_patch(body: Object) -> None:
    assert operations(body, STACK, EVERYTHING) == ()


def test_two_containers_of_one_name_are_two() -> None:
    done = injected(pod(container(limits=GPU), container(limits=GPU)))
    assert env(done, 0) == env(done, 1) == [("CUDA_TASK_PRIORITY", "1")]
    assert note(done) == "schedulerName,main/CUDA_TASK_PRIORITY"


def test_a_patch_that_applies_is_let_through() -> None:
    body = pod(container(limits=GPU))
    before = copy.deepcopy(body)
    patch = operations(body, STACK, DEFAULTS)
    assert checked(body, patch) == patch
    assert checked(body, ()) == ()
    assert body == before
    assert patch[1].value == [{"name": "CUDA_TASK_PRIORITY", "value": "1"}]


@pytest.mark.parametrize(
    "path", ["/metadata/annotations/x", "/spec/containers/7/env", "/spec/containers/0/name/x", "spec", "/spec/~2"]
)
def test_a_patch_that_does_not_apply_is_dropped_whole(path: str) -> None:
    patch = (Operation("add", "/spec/schedulerName", "x"), Operation("add", path, "y"))
    assert checked(pod(container()), patch) == ()


@st.composite
def patches(draw: st.DrawFn) -> tuple[Object, tuple[Operation, ...]]:
    """A Pod and operations at places that it has, nearly has, or has not."""
    body: Object = draw(pods())
    places = st.sampled_from([*pointed(body)])
    ends = st.sampled_from([(), ("-",), ("new",), ("0",), ("9",), ("new", "x"), ("~2",)])
    values = st.sampled_from(["x", 1, {}, [], {"a": []}])
    found = draw(st.lists(st.tuples(places, ends, values), min_size=1, max_size=4))
    return body, tuple(Operation("add", pointer((*place, *end)), copy.deepcopy(value)) for place, end, value in found)


@given(patches())
def test_a_patch_is_let_through_if_and_only_if_it_applies(drawn: tuple[Object, tuple[Operation, ...]]) -> None:
    body, patch = drawn
    before = copy.deepcopy((body, steps(patch)))
    try:
        jsonpatch.apply_patch(body, steps(patch))
    except Exception:  # noqa: BLE001 - as in the product
        wanted: tuple[Operation, ...] = ()
    else:
        wanted = patch
    assert checked(body, patch) == wanted
    assert (body, steps(patch)) == before


# Properties, of generated Pods and of every Pod and template in the fixtures.


def written() -> Iterator[Object]:
    """Every Pod and Pod template of the fixtures and the cases, each as a Pod."""
    for path in sorted([*(HERE / "rules").glob("*.yaml"), *(HERE / "cases").glob("*.yaml")]):
        try:
            documents = list(yaml.safe_load_all(path.read_bytes()))
        except (yaml.YAMLError, UnicodeDecodeError):
            continue
        for body in documents:
            listed = body.get("items") if isinstance(body, dict) else None
            for each in listed if isinstance(listed, list) else [body]:
                yield from made_by(each)


def made_by(body: object) -> Iterator[Object]:
    for template in (templates(body) or ()) if isinstance(body, dict) else ():
        metadata, spec = dig(body, *template.metadata), dig(body, *template.spec)
        if isinstance(spec, dict):
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata if isinstance(metadata, dict) else {},
                "spec": spec,
            }


WRITTEN = list(written())


def test_the_fixtures_hold_pods_to_complete() -> None:
    assert sum(bool(operations(body, STACK, DEFAULTS)) for body in WRITTEN) > 50


def additions(before: Any, after: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:  # noqa: ANN401
    """Where something was added. Fails where anything else happened."""
    if isinstance(before, dict) and isinstance(after, dict):
        assert list(before) == list(after)[: len(before)]
        for key, value in after.items():
            yield from additions(before[key], value, (*path, key)) if key in before else [(*path, key)]
    elif isinstance(before, list) and isinstance(after, list):
        assert len(before) <= len(after)
        yield from ((*path, index) for index in range(len(before), len(after)))
        for index, value in enumerate(before):
            yield from additions(value, after[index], (*path, index))
    elif before is None and after is not None:
        yield path
    elif path == ("spec", "schedulerName"):
        assert before in {after, "", "default-scheduler"}
        yield from [] if before == after else [path]
    elif path == ("metadata", "annotations", INJECTED):
        assert after.startswith(before)
        yield path
    else:
        assert type(before) is type(after)
        assert before == after


def names(container: Object) -> list[str]:
    return [entry["name"] for entry in container.get("env") or ()]


def holds(body: Object, stack: Stack, settings: VgpuEnv) -> None:
    """What is true of every patch."""
    before = copy.deepcopy(body)
    patch = operations(body, stack, settings)
    assert body == before
    assert checked(body, patch) == patch
    after = jsonpatch.apply_patch(body, steps(patch))
    assert operations(after, stack, settings) == ()
    for path in additions(before, after):
        assert path == ("spec", "schedulerName") or path[-2] == "env" or path[-1] == "env" or path[0] == "metadata"
    for key in ("containers", "initContainers"):
        for old, new in zip(before["spec"].get(key) or (), after["spec"].get(key) or (), strict=True):
            added = names(new)[len(names(old)) :]
            assert len(added) == len(set(added))
            assert not set(added) & set(names(old))
            assert set(added) <= {"CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY", "NVIDIA_VISIBLE_DEVICES"}


@settings(max_examples=400, deadline=None)
@given(pods(), STACKS, SETTINGS)
def test_a_patch_only_adds_and_does_so_once(body: Object, stack: Stack, settings: VgpuEnv) -> None:
    holds(body, stack, settings)


@pytest.mark.parametrize("settings", [DEFAULTS, EVERYTHING])
def test_a_patch_of_a_written_pod_only_adds_and_does_so_once(settings: VgpuEnv) -> None:
    for body in WRITTEN:
        if operations(body, STACK, settings):
            holds(body, STACK, settings)


@settings(max_examples=300, deadline=None)
@given(near_pods() | hostile(), SETTINGS)
def test_any_object_gets_a_patch_that_applies_or_none(body: Any, settings: VgpuEnv) -> None:  # noqa: ANN401
    patch = operations(body, STACK, settings)
    assert checked(body, patch) == patch


def ours(body: Object) -> bool:
    limits = [
        dig(each, "resources", "limits") or {}
        for key in ("containers", "initContainers")
        for each in body["spec"].get(key) or ()
    ]
    devices = any(not STACK.device_names.isdisjoint(each) for each in limits)  # type: ignore[arg-type]
    return devices or bool(dig(body, "metadata", "labels", GROUP_LABEL))


@settings(max_examples=200, deadline=None)
@given(pods().filter(lambda body: not ours(body)), STACKS, SETTINGS)
def test_a_pod_that_is_none_of_our_business_gets_no_patch(body: Object, stack: Stack, settings: VgpuEnv) -> None:
    assert operations(body, stack, settings) == ()


def findings(body: Object) -> set[tuple[str, str, object]]:
    """What our rules say of one Pod, by rule, path and severity."""
    found: list[Subject] = list(parse(body, 0, STACK, written=lambda path: str(dig(body, *path))).subjects)
    verdict = evaluate([*found, *gather(found)], Policy(all_rules()), STACK)
    assert not verdict.failures
    return {(each.rule, str(each.place.path), each.severity) for each in verdict.findings}


@settings(max_examples=200, deadline=None)
@given(pods(), SETTINGS)
def test_what_is_injected_passes_our_own_rules(body: Object, settings: VgpuEnv) -> None:
    assert findings(injected(body, env=settings)) <= findings(body)


def test_what_is_injected_into_a_written_pod_passes_our_own_rules() -> None:
    for body in WRITTEN:
        if operations(body, STACK, EVERYTHING):
            assert findings(injected(body, env=EVERYTHING)) <= findings(body)


def last(body: Object) -> list[Object]:
    """What every container sees of the variables that we may set: of two entries the last one counts."""
    return [
        {
            entry["name"]: entry.get("value", entry.get("valueFrom"))
            for entry in each.get("env") or ()
            if entry["name"] in {"CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY", "NVIDIA_VISIBLE_DEVICES"}
        }
        for key in ("containers", "initContainers")
        for each in body["spec"].get(key) or ()
    ]


def agrees(body: Object, settings: VgpuEnv) -> None:
    """After HAMi's webhook or without it: one scheduler, and one value of what we set."""
    left = hami.decide(body, hami.Settings(core_policy=settings.core_policy))
    if isinstance(left, hami.Denied):
        return
    alone, after = injected(body, env=settings), injected(left, env=settings)
    assert scheduler(alone) == scheduler(after)
    for mine, both in zip(last(alone), last(after), strict=True):
        assert mine.items() <= both.items()


def plays(body: Object) -> Object:
    """A generated Pod that HAMi's webhook, as it is played, can read: NVIDIA alone, nothing null, sane priorities.

    A user's own entry beside a priority limit is left out: HAMi writes a second one and so overrules the user (seen).
    """
    for key in ("containers", "initContainers"):
        for each in body["spec"].get(key) or ():
            each["resources"] = each.get("resources") or {}
            limits = each["resources"].get("limits", {})
            for name in [name for name in limits if not name.startswith("nvidia.com/")]:
                del limits[name]
            if limits.get("nvidia.com/priority") not in {None, "0", "1"}:
                limits["nvidia.com/priority"] = "0"
            each["env"] = [
                entry
                for entry in each.get("env") or ()
                if entry["name"] not in {"CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY"}
            ]
        body["spec"][key] = body["spec"].get(key) or []
    body["metadata"]["labels"] = body["metadata"].get("labels") or {}
    body["metadata"]["annotations"] = body["metadata"].get("annotations") or {}
    return body


@settings(max_examples=300, deadline=None)
@given(pods().map(plays), SETTINGS)
def test_hamis_webhook_before_us_changes_nothing_of_what_we_set(body: Object, settings: VgpuEnv) -> None:
    agrees(body, settings)
