"""stripMinResources: a new PodGroup loses what no node advertises, and nothing else; without the policy nothing."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from asked import Object, answer, pod, podgroup, request
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.admission import mutate
from webhook.inject import checked
from webhook.isolation import INJECTED
from webhook.registration import MUTATE, Options, configurations
from webhook.repair import repairs, unadvertised
from webhook.review import Answer, Operation, VgpuEnv
from webhook.serve_command import registration
from webhook.stack import Names, Stack

STACK = Stack()
ON, OFF = VgpuEnv(strip_min_resources=True), VgpuEnv()
TRAP = {"nvidia.com/gpu": "4", "nvidia.com/gpumem": "6k", "cpu": "8", "nvidia.com/gpucores": 30}


def group(**resources: object) -> Object:
    return podgroup("g1", minMember=2, minResources=resources or dict(TRAP))


def after(body: Object, patch: tuple[Operation, ...]) -> Object:
    steps = [{"op": each.op, "path": each.path, "value": each.value} for each in patch]
    made: Object = jsonpatch.apply_patch(body, steps)
    return made


def asked(body: Object, env: VgpuEnv = ON, stack: Stack = STACK, old: Object | None = None) -> Answer:
    return mutate(request(body, old), stack, env)


def test_what_no_node_advertises_is_taken_out_and_told() -> None:
    body = group()
    said = asked(body)
    made = after(body, said.patch)
    assert made["spec"] == {"minMember": 2, "minResources": {"nvidia.com/gpu": "4", "cpu": "8"}}
    assert made["metadata"]["annotations"] == {
        INJECTED: "-minResources/nvidia.com/gpumem,-minResources/nvidia.com/gpucores"
    }
    (text,) = said.warnings
    assert text == (
        "min-resources-unsatisfiable: took nvidia.com/gpumem, nvidia.com/gpucores out of minResources; HAMi keeps that "
        "out of the nodes' allocatable, and the gang would wait for ever"
    )
    assert len(text) <= 200
    assert (said.allowed, said.audit) == (True, {"verdict": "repaired"})


def test_the_mended_group_passes_and_the_other_does_not() -> None:
    body = group()
    assert answer(request(body)).rules == ("min-resources-unsatisfiable",)
    assert answer(request(after(body, asked(body).patch))).rules == ()


def test_a_map_of_nothing_else_is_left_empty() -> None:
    body = group(**{"nvidia.com/gpumem": "6k"})
    assert after(body, asked(body).patch)["spec"]["minResources"] == {}


@pytest.mark.parametrize(
    ("body", "stack", "env"),
    [
        (group(), STACK, OFF),
        (group(), Stack(mock_device_plugin=True), ON),
        (group(**{"nvidia.com/gpu": "4", "cpu": "8", "example.com/gpumem": "1"}), STACK, ON),
        ({**group(), "apiVersion": "scheduling.volcano.sh/v1beta1"}, STACK, ON),
        (podgroup("g1", minMember=2), STACK, ON),
        (podgroup("g1", minMember=2, minResources=None), STACK, ON),
        (podgroup("g1", minMember=2, minResources=["nvidia.com/gpumem"]), STACK, ON),
    ],
    ids=["policy off", "published", "others' names", "Volcano's", "no minResources", "null", "a list"],
)
def test_everything_else_is_left_as_it_is(body: Object, stack: Stack, env: VgpuEnv) -> None:
    assert asked(body, env, stack) == Answer()


def test_an_update_is_never_touched() -> None:
    assert asked(group(), old=podgroup("g1", minMember=2)) == Answer()
    assert asked(group(), old=group()) == Answer()


def test_a_pod_is_completed_as_ever() -> None:
    assert asked(pod()) == asked(pod(), OFF)


def test_renamed_resources_are_known_by_the_stack() -> None:
    stack = Stack(vendors={"nvidia": Names(("example.com/gpu",), ("example.com/mem",))})
    body = group(**{"example.com/mem": "6k", "example.com/gpu": "2", "nvidia.com/gpumem": "6k"})
    assert unadvertised(body, stack) == ("example.com/mem",)


def test_what_stood_in_the_annotation_stays() -> None:
    body = group(**{"nvidia.com/gpumem": "6k"})
    body["metadata"]["annotations"] = {INJECTED: "mine", "a": "b"}
    made = after(body, asked(body).patch)
    assert made["metadata"]["annotations"] == {INJECTED: "mine,-minResources/nvidia.com/gpumem", "a": "b"}


NAMES = st.sampled_from(
    ["nvidia.com/gpu", "nvidia.com/gpumem", "cpu", "amd.com/gpumem", "huawei.com/Ascend910B3-memory"]
)
AMOUNTS: st.SearchStrategy[object] = st.sampled_from(["1", "6k", 0, 3, None, {}, "x", 1.5])
GROUPS = st.builds(
    lambda resources, metadata, spec: {**podgroup("g1"), "metadata": metadata, "spec": {**spec, **resources}},
    st.just({}) | st.fixed_dictionaries({"minResources": st.dictionaries(NAMES, AMOUNTS) | st.none() | st.just("x")}),
    st.sampled_from(
        [{}, {"name": "g1"}, {"name": "g1", "annotations": None}, {"annotations": {INJECTED: ""}}, None, 1]
    ),
    st.sampled_from([{}, {"minMember": 2}, {"minMember": "x"}]),
)


@settings(max_examples=400, deadline=None)
@given(GROUPS)
def test_a_patch_only_takes_names_out_and_does_so_once(body: Any) -> None:  # noqa: ANN401
    before = copy.deepcopy(body)
    patch = repairs(body, STACK)
    assert body == before
    assert checked(body, patch) == patch
    if not patch:
        return
    made = after(body, patch)
    assert repairs(made, STACK) == ()
    kept = {
        name: amount for name, amount in before["spec"]["minResources"].items() if name not in STACK.annotated_names
    }
    assert made["spec"] == {**before["spec"], "minResources": kept}
    assert kept != before["spec"]["minResources"]
    old = before["metadata"] or {}
    assert {**made["metadata"], "annotations": None} == {**old, "annotations": None}
    assert set(made["metadata"]["annotations"]) == {INJECTED, *(old.get("annotations") or {})}


def test_podgroups_are_registered_with_the_policy_alone() -> None:
    (inject,) = configurations(STACK)[0]["webhooks"]
    mutating, validating = configurations(STACK, Options(repairs=True))
    assert mutating["webhooks"][0] == inject
    assert validating == configurations(STACK)[1]
    (repair,) = mutating["webhooks"][1:]
    assert repair["name"] == "repair.gangcheck.io"
    assert repair["clientConfig"]["service"]["path"] == MUTATE
    assert repair["failurePolicy"] == "Ignore"
    (rule,) = repair["rules"]
    assert (rule["apiGroups"], rule["resources"], rule["operations"]) == (
        ["scheduling.x-k8s.io"],
        ["podgroups"],
        ["CREATE"],
    )


@pytest.mark.parametrize(
    ("options", "policy", "repairs"),
    [
        ((), "{}", False),
        (("--strip-min-resources",), "{}", True),
        ((), "inject: {stripMinResources: true}", True),
        (("--keep-min-resources",), "inject: {stripMinResources: true}", False),
    ],
)
def test_the_command_prints_the_entry_where_policy_or_option_say_so(
    tmp_path: Path, options: tuple[str, ...], policy: str, *, repairs: bool
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(policy, encoding="utf-8")
    done = CliRunner().invoke(registration, ["--config", str(file), *options], standalone_mode=False)
    assert done.return_value == 0
    assert ("repair.gangcheck.io" in done.stdout) is repairs
