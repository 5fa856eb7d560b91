"""What the rules about GPU requests say, by release, and that their cures mend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml
from fixture import FIXTURES, stack_of

from webhook import lint
from webhook.config import Config, read_stack
from webhook.model import Place, Subject, pointer
from webhook.parse import parse
from webhook.policy import Policy, evaluate
from webhook.rule import Finding, Severity
from webhook.rules import all_rules
from webhook.stack import Stack

Object = dict[str, Any]

MINE = (
    "gpu-count-invalid",
    "gpu-cores-range",
    "gpu-init-container",
    "gpu-memory-percentage",
    "gpu-memory-unit",
    "gpu-priority-invalid",
    "gpu-request-as-annotation",
    "gpu-two-vendors",
    "gpu-unknown-resource",
    "gpu-whole-card",
    "quota-prefix",
)
RULES = tuple(rule for rule in all_rules() if rule.name in MINE)
BAD = sorted(path for name in MINE for path in FIXTURES.glob(f"{name}.*bad.yaml"))


PLAIN = Stack()


def found(body: Object, stack: Stack = PLAIN) -> list[Finding]:
    subjects: tuple[Subject, ...] = parse(body, 0, stack, written=lambda _: "").subjects
    verdict = evaluate(subjects, Policy(RULES), stack)
    assert not verdict.failures
    return list(verdict.findings)


def pod(limits: Mapping[str, object], **parts: object) -> Object:
    named = {key if "/" in key else f"nvidia.com/{key}": value for key, value in limits.items()}
    container = {"name": "main", "image": "x:1", "resources": {"limits": named}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container], **parts}}


def said(rule: str, limits: Mapping[str, object], hami: str = "") -> list[tuple[str, str]]:
    """Severity and message of a rule, without the container's name."""
    stack = read_stack({"hami": hami} if hami else {})
    told = [each for each in found(pod(limits), stack) if each.rule == rule]
    return [(str(each.severity), each.message.replace("container main of Pod/p", "C")) for each in told]


GPU: Mapping[str, object] = {"gpu": 1}
BIG: Mapping[str, object] = {**GPU, "gpumem": "16Gi"}
BIG_IS = "C: 16Gi of nvidia.com/gpumem is 17179869184 MiB; "


@pytest.mark.parametrize(
    ("hami", "then"),
    [
        ("", "HAMi up to 2.9 reads no limit, from 2.10 ignores the request"),
        ("2.8.3", "HAMi 2.8.3 reads no limit"),
        ("2.9", "HAMi 2.9 reads no limit"),
        ("2.10", "HAMi 2.10 ignores the request"),
    ],
)
def test_a_unit_says_what_becomes_of_it_by_release(hami: str, then: str) -> None:
    assert said("gpu-memory-unit", BIG, hami) == [("error", BIG_IS + then)]


@pytest.mark.parametrize(
    ("hami", "severity", "then"),
    [
        ("", "warning", "HAMi up to 2.9 reads no limit, from 2.10 gives 1 card with all of its memory"),
        ("2.9", "error", "HAMi 2.9 reads no limit"),
        ("2.10.0", "warning", "HAMi 2.10.0 gives 1 card with all of its memory"),
    ],
)
def test_a_percentage_of_0_by_release(hami: str, severity: str, then: str) -> None:
    asked = "C asks for 0 percent of a card's memory (nvidia.com/gpumem-percentage): "
    assert said("gpu-memory-percentage", {**GPU, "gpumem-percentage": 0}, hami) == [(severity, asked + then)]


@pytest.mark.parametrize(
    ("hami", "then"),
    [
        ("", "HAMi up to 2.9 never finds such a card, from 2.10 denies the Pod"),
        ("2.6", "HAMi 2.6 never finds such a card"),
        ("2.10", "HAMi 2.10 denies the Pod"),
    ],
)
def test_a_percentage_above_100_by_release(hami: str, then: str) -> None:
    asked = "C asks for 150 percent of a card's memory (nvidia.com/gpumem-percentage): "
    assert said("gpu-memory-percentage", {**GPU, "gpumem-percentage": 150}, hami) == [("error", asked + then)]


@pytest.mark.parametrize(("hami", "loud"), [("", True), ("2.6.1", False), ("2.7", True), ("2.10", True)])
def test_a_bare_count_is_a_whole_card_from_2_7_on(hami: str, *, loud: bool) -> None:
    since = "" if hami else " from HAMi 2.7 on"
    whole = [("info", f"C asks for nvidia.com/gpu alone: it gets 1 whole card{since}")]
    assert said("gpu-whole-card", GPU, hami) == (whole if loud else [])


@pytest.mark.parametrize(
    ("hami", "severity", "then"),
    [
        ("", "error", "up to HAMi 2.9 vGPUmonitor dies of it on the node, 2.10 takes it for a priority below 1"),
        ("2.9", "error", "vGPUmonitor dies of it on the node"),
        ("2.10", "warning", "this HAMi takes it for a priority below 1"),
    ],
)
def test_a_priority_of_5_by_release(hami: str, severity: str, then: str) -> None:
    asked = {**GPU, "gpumem": 4000, "priority": 5}
    assert said("gpu-priority-invalid", asked, hami) == [(severity, f"C has nvidia.com/priority: 5; {then}")]


@pytest.mark.parametrize(
    ("hami", "severity", "then"),
    [
        ("", "warning", "one node must have both, and HAMi up to 2.9 locks the Pod out for ever"),
        ("2.9", "error", "HAMi locks the node twice, and the Pod waits for ever"),
        ("2.10", "warning", "one node must have both"),
    ],
)
def test_two_vendors_by_release(hami: str, severity: str, then: str) -> None:
    told = said("gpu-two-vendors", {**GPU, "gpumem": 4000, "hygon.com/dcunum": 1}, hami)
    assert told == [(severity, f"Pod/p asks for nvidia.com/gpu and for hygon.com/dcunum: {then}")]


def test_two_vendors_that_take_no_common_lock_are_a_warning_in_any_release() -> None:
    asked = {**GPU, "gpumem": 4000, "mthreads.com/vgpu": 1}
    assert [severity for severity, _ in said("gpu-two-vendors", asked, "2.9")] == ["warning"]


@pytest.mark.parametrize(
    ("other", "since", "before"),
    [
        ("hygon.com/dcunum", "2.6", "2.5"),
        ("iluvatar.ai/BI-V100-vgpu", "2.8", "2.7"),
        ("vastaitech.com/va", "2.9", "2.8"),
    ],
)
def test_two_vendors_lock_each_other_out_since_both_lock(other: str, since: str, before: str) -> None:
    asked = {**GPU, "gpumem": 4000, other: 1}
    told = {hami: [severity for severity, _ in said("gpu-two-vendors", asked, hami)] for hami in (before, since, "2.9")}
    assert told == {before: ["warning"], since: ["error"], "2.9": ["error"]}


def test_an_init_container_takes_no_lock() -> None:
    body = pod({**GPU, "gpumem": 4000})
    dcu = {"name": "i", "image": "x:1", "resources": {"limits": {"hygon.com/dcunum": 1, "hygon.com/dcumem": 2000}}}
    body["spec"]["initContainers"] = [dcu]
    told = [each for each in found(body, read_stack({"hami": "2.9"})) if each.rule == "gpu-two-vendors"]
    assert [each.severity for each in told] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("hami", "scheduler", "severity", "then"),
    [
        ("", None, "info", "HAMi up to 2.8 does not see it, and up to 2.9 its webhook passes the Pod over"),
        ("", "hami-scheduler", "info", "HAMi up to 2.8 does not see it"),
        ("2.8", None, "warning", "this HAMi does not see it, and books no card for it"),
        ("2.9", None, "warning", "HAMi's webhook passes the Pod over, and its scheduler does not get it"),
        ("2.9", "hami-scheduler", "info", "HAMi books it, as no app container asks for more"),
        ("2.10", None, "info", "HAMi books it, as no app container asks for more"),
    ],
)
def test_a_gpu_in_an_init_container_alone_is_not_beside_app_containers(
    hami: str, scheduler: str | None, severity: str, then: str
) -> None:
    body = pod({})
    asking = {"name": "i", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}}}
    body["spec"] |= {"initContainers": [asking]} | ({"schedulerName": scheduler} if scheduler else {})
    (told,) = found(body, read_stack({"hami": hami} if hami else {}))
    assert (told.rule, str(told.severity)) == ("gpu-init-container", severity)
    assert told.message == f"init container i of Pod/p asks for nvidia.com/gpu: {then}"


def test_a_shortened_number_is_shown_as_people_know_it() -> None:
    told = said("gpu-memory-percentage", {**GPU, "gpumem": "3k", "gpumem-percentage": 50})
    assert told == [("info", "C: nvidia.com/gpumem-percentage is ignored beside nvidia.com/gpumem: 3000")]


def test_what_is_filled_in_later_is_not_judged() -> None:
    for value in ("${X}", "{{ .Values.gpus }}", "<GPUS>"):
        for name in ("gpu", "gpumem", "gpumem-percentage", "gpucores", "priority"):
            assert [each for each in found(pod({**GPU, "gpumem": 4000, name: value})) if each.rule in MINE] == []


def test_a_finished_pod_is_left_alone() -> None:
    body = pod({**BIG, "gpumem-percentage": 150, "gpucores": 150, "priority": 5})
    assert found(body)
    assert found({**body, "status": {"phase": "Succeeded"}}) == []


def test_a_scheduler_with_gpus_of_its_own_is_left_alone() -> None:
    asked = {"gpumem": "16Gi", "gpumem-percentage": 150, "gpucores": 150, "priority": 5, "gpumemory": 1}
    assert found(pod({**GPU, **asked}, schedulerName="volcano")) == []


def test_renamed_resources_are_judged_by_their_own_names() -> None:
    stack = read_stack({"resources": {"nvidia": {"count": "example.com/vgpu", "memory": "example.com/vmem"}}})
    told = found(pod({"example.com/vgpu": 1, "example.com/vmem": "16Gi"}), stack)
    assert [(each.rule, each.fix) for each in told] == [("gpu-memory-unit", "write example.com/vmem: 16384")]


def test_a_factor_counts() -> None:
    stack = read_stack({"memoryFactor": 1024})
    (told,) = found(pod({**GPU, "gpumem": "16Gi"}), stack)
    assert (told.fix, [edit.value for edit in told.edits]) == ("write nvidia.com/gpumem: 16", [16])
    assert found(pod({**GPU, "gpumem": 512}), stack) == []
    assert [each.rule for each in found(pod({**GPU, "gpumem": 1024}), stack)] == ["gpu-memory-unit"]


@pytest.mark.parametrize(
    ("written", "fix", "certain"),
    [
        ("16Gi", "write nvidia.com/gpumem: 16384", True),
        ("2048Mi", "write nvidia.com/gpumem: 2048", True),
        ("1.5Gi", "write nvidia.com/gpumem: 1536", True),
        ("16000000Ki", "write nvidia.com/gpumem: 15625", True),
        (17179869184, "write nvidia.com/gpumem: 16384", False),
        ("16G", "write nvidia.com/gpumem: 16384 for 16 GiB, or 15259 for 16 GB", False),
        ("16777216", "write nvidia.com/gpumem in MiB of each card, without a unit", False),
        ("300Ti", "write nvidia.com/gpumem in MiB of each card, without a unit", False),
    ],
)
def test_the_right_number_is_computed(written: object, fix: str, *, certain: bool) -> None:
    (told,) = (each for each in found(pod({**GPU, "gpumem": written})) if each.rule == "gpu-memory-unit")
    assert told.fix == fix
    assert bool(told.edits) == certain


@pytest.mark.parametrize(
    ("name", "written", "fix"),
    [
        ("cambricon.com/mlu.smlu.vmemory", 10240, "40"),
        ("cambricon.com/mlu.smlu.vmemory", "10Gi", "40"),
        ("mthreads.com/sgpu-memory", 16384, "32"),
        ("metax-tech.com/vmemory", 16384, "16"),
    ],
)
def test_mib_where_larger_units_count_are_told_in_units(name: str, written: object, fix: str) -> None:
    counts = {"cambricon": "cambricon.com/vmlu", "mthreads": "mthreads.com/vgpu", "metax-tech": "metax-tech.com/sgpu"}
    body = pod({counts[name.partition(".")[0]]: 1, name: written})
    assert [each.fix for each in found(body) if each.rule == "gpu-memory-unit"] == [f"write {name}: {fix}"]


@pytest.mark.parametrize(
    ("limits", "then"),
    [
        ({"amd.com/gpu": 1, "amd.com/gpucores": 120}, "a card has 100, and HAMi from 2.10 denies the Pod"),
        ({"hygon.com/dcunum": 1, "hygon.com/dcucores": 120}, "a card has 100"),
    ],
)
def test_cores_of_other_vendors_above_100(limits: Mapping[str, object], then: str) -> None:
    ((_, message),) = said("gpu-cores-range", limits)
    assert message.endswith(f"; {then}")


def mended(body: Object, finding: Finding) -> Object:
    steps = [
        {"op": each.operation, "path": pointer(each.place.path)}
        | ({} if each.operation == "remove" else {"value": each.value})
        for each in finding.edits
    ]
    done: Object = jsonpatch.apply_patch(json.loads(json.dumps(body)), steps)
    return done


@pytest.mark.parametrize("path", BAD, ids=lambda path: str(path.name))
def test_a_cure_mends_its_finding_and_brings_no_other(path: Path) -> None:
    stack = stack_of(path)
    for body in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        for finding in found(body, stack):
            if finding.edits:
                after = loud(found(mended(body, finding), stack))
                assert after <= loud(found(body, stack)) - {(finding.rule, finding.place)}, finding


def test_two_limits_that_are_missing_are_both_written() -> None:
    body = pod({})
    container = body["spec"]["containers"][0]
    container["resources"] = {"requests": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000, "amd.com/gpu": 1, "cpu": 2}}
    done = body
    for finding in found(body):
        done = mended(done, finding)
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000, "amd.com/gpu": 1}
    assert done["spec"]["containers"][0]["resources"] == {**container["resources"], "limits": limits}
    assert "gpu-count-invalid" not in {each.rule for each in found(done)}


def loud(findings: list[Finding]) -> set[tuple[str, Place]]:
    """What is more than an info: a count that is written right may well be a whole card."""
    return {(each.rule, each.place) for each in findings if each.severity is not Severity.INFO}


def test_rules_whose_cure_is_certain_give_it() -> None:
    documents = ((path, body) for path in BAD for body in yaml.safe_load_all(path.read_text(encoding="utf-8")))
    cured = {each.rule for path, body in documents for each in found(body, stack_of(path)) if each.edits}
    assert cured == {"gpu-count-invalid", "gpu-memory-unit", "gpu-unknown-resource", "quota-prefix"}


def test_messages_are_short_and_fixes_begin_with_a_verb() -> None:
    verbs = {"add", "ask", "count", "let", "make", "remove", "write"}
    for path in BAD:
        result = lint.lint([(path.name, [path.read_bytes()])], Config(stack=stack_of(path)), rules=RULES)
        for item in result.findings:
            assert len(item.finding.message) <= 210, item.finding.message
            assert item.finding.fix.split()[0] in verbs, item.finding.fix
