"""What the rules of env, mounts, schedulers and annotations rest on, what they say by version, and their cures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml
from asked import GPU, answer, owned_by, pod, request
from fixture import FIXTURES, stack_of
from test_inject import WRITTEN

from webhook import lint
from webhook.admission import judge_by, law
from webhook.config import Config, read_stack
from webhook.hamikeys import SELECTION, is_owned
from webhook.inject import operations
from webhook.isolation import is_mutated, limited, meets_webhook, parse_bool
from webhook.manifest import cut, read
from webhook.model import Container, Env, Pod, Ref, pointer
from webhook.parse import parse
from webhook.parse.pods import Role
from webhook.policy import Policy, evaluate
from webhook.review import Enforcement, VgpuEnv
from webhook.rule import Finding, Severity
from webhook.rules import all_rules
from webhook.stack import Names, Stack

sys.path.insert(0, str(Path(__file__).parent / "e2e"))

import hami

Object = dict[str, Any]

PLAIN = Stack()

MINE = (
    "dead-env",
    "device-annotation-on-workload",
    "driver-capabilities-incomplete",
    "env-set-twice",
    "gpu-node-name",
    "gpu-other-scheduler",
    "gpu-privileged",
    "gpu-selection-annotation",
    "gpu-webhook-opt-out",
    "isolation-env",
    "isolation-mount",
    "scheduler-owned-annotation",
)
ASKED = Policy(tuple(rule for rule in all_rules() if rule.name in MINE))
HAMI, VOLCANO, DEFAULT = "hami-scheduler", "volcano", "default-scheduler"
V26, V28, V29, V210 = (2, 6, 1), (2, 8, 3), (2, 9, 0), (2, 10, 0)


def made(scheduler: str = "", *, live: bool = False, labels: dict[str, str] | None = None, **parts: Any) -> Pod:  # noqa: ANN401
    ref = Ref("v1", "Pod", "default", "a")
    main = Container("main", "x:1", "app", ("spec", "containers", 0), {"nvidia.com/gpu": 1})
    fields = {"containers": (main,), "labels": labels or {}, "scheduler": scheduler, "live": live, **parts}
    return Pod(ref, ("metadata",), ("spec",), **fields)


def found(body: Object, stack: Stack = PLAIN) -> list[Finding]:
    subjects = parse(body, 0, stack, written=str).subjects
    verdict = evaluate(subjects, ASKED, stack)
    assert verdict.failures == ()
    return list(verdict.findings)


def said(body: Object, stack: Stack = PLAIN) -> list[tuple[str, str, str]]:
    return sorted((each.rule, str(each.severity), each.message) for each in found(body, stack))


def manifest(spec: str, *, kind: str = "Pod", metadata: str = "{name: a}") -> Object:
    made: Object = yaml.safe_load(f"apiVersion: v1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n")
    return made


# Whether HAMi's webhook will look at a Pod, as it was seen or read by version.


@pytest.mark.parametrize("hami", [None, V26, V28, V29, V210])
def test_pods_that_name_no_scheduler_meet_hamis_webhook(hami: tuple[int, ...] | None) -> None:
    stack = Stack(hami=hami)
    assert meets_webhook(made(), stack)
    assert meets_webhook(made(DEFAULT), stack)
    assert not meets_webhook(made(live=True), stack)
    assert not meets_webhook(made(labels={"hami.io/webhook": "ignore"}), stack)
    assert not meets_webhook(made(), Stack(hami=hami, hami_webhook=False))
    assert not meets_webhook(made(DEFAULT), Stack(hami=hami, force_overwrite_default_scheduler=False))


@pytest.mark.parametrize(
    ("hami", "own", "others"),
    [(None, True, False), (V26, True, True), (V28, False, False), (V29, True, False), (V210, True, False)],
)
def test_pods_that_name_one_meet_it_by_version(hami: tuple[int, ...] | None, *, own: bool, others: bool) -> None:
    stack = Stack(hami=hami)
    assert meets_webhook(made(HAMI), stack) is own
    assert meets_webhook(made(VOLCANO), stack) is others


@pytest.mark.parametrize(
    ("role", "privileged", "hami", "mutated"),
    [
        ("app", False, V28, True),
        ("app", True, V28, False),
        ("init", False, V29, False),
        ("init", False, V210, True),
        ("sidecar", False, V29, False),
        ("init", False, None, True),
        ("ephemeral", False, V210, False),
    ],
)
def test_containers_that_hamis_webhook_looks_into(
    role: Role, hami: tuple[int, ...], *, privileged: bool, mutated: bool
) -> None:
    container = Container("c", "x:1", role, ("spec", "containers", 0), privileged=privileged)
    assert is_mutated(made(), container, Stack(hami=hami)) is mutated


@pytest.mark.parametrize(
    ("limits", "is_held"),
    [
        ({"nvidia.com/gpu": 1}, True),
        ({"nvidia.com/gpu": "1"}, True),
        ({"nvidia.com/gpu": 0}, False),
        ({"nvidia.com/gpumem": 4000}, True),
        ({"nvidia.com/gpucores": 30}, True),
        ({"nvidia.com/priority": 1}, False),
        ({"hygon.com/dcunum": 1}, False),
        ({"cpu": 1}, False),
        ({}, False),
    ],
)
def test_which_containers_hamis_library_holds(limits: dict[str, object], *, is_held: bool) -> None:
    container = Container("main", "x:1", "app", ("spec", "containers", 0), limits)
    pods = [
        made(containers=(container,)),
        made(HAMI, containers=(container._replace(role="init"),)),
        made(containers=(container,), annotations={"nvidia.com/vgpu-mode": "hami-core"}),
    ]
    assert [bool(list(limited(each, Stack()))) for each in pods] == [is_held] * 3
    never = [
        made(VOLCANO, containers=(container,)),
        made(containers=(container._replace(role="ephemeral"),)),
        made(containers=(container,), annotations={"nvidia.com/vgpu-mode": "mig"}),
        made(containers=(container,), finished=True),
    ]
    assert not any(list(limited(each, Stack())) for each in never)


def test_renamed_resources_are_known_by_the_stack() -> None:
    stack = Stack(
        vendors={"nvidia": Names(("example.com/vgpu",), ("example.com/mem",), priority=("example.com/prio",))}
    )
    body = manifest(
        "{containers: [{name: main, image: 'x:1', resources: {limits: {example.com/vgpu: 1, example.com/prio: 1}},"
        " env: [{name: CUDA_TASK_PRIORITY, value: '1'}, {name: CUDA_DEVICE_MEMORY_LIMIT_0, value: 9g}]}]}"
    )
    assert [(rule, severity) for rule, severity, _ in said(body, stack)] == [
        ("env-set-twice", "warning"),
        ("isolation-env", "error"),
    ]
    (fix,) = [each.fix for each in found(body, stack) if each.rule == "isolation-env"]
    assert "example.com/mem" in fix
    assert said(body) == []


def test_booleans_are_read_as_go_does() -> None:
    assert {text for text in ("1", "t", "T", "true", "True", "TRUE", "tRUE", "yes", "on", "") if parse_bool(text)} == {
        "1", "t", "T", "true", "True", "TRUE",
    }  # fmt: skip
    assert [parse_bool(text) for text in ("0", "False", "no", "")] == [False, False, None, None]


@pytest.mark.parametrize(
    ("key", "owned"),
    [
        ("hami.io/vgpu-node", True),
        ("hami.io/vgpu-time", True),
        ("hami.io/bind-phase", True),
        ("hami.io/vgpu-devices-allocated", True),
        ("hami.io/vgpu-mig-allocations", True),
        ("hami.io/metax-sgpu-devices-to-allocate", True),
        ("hami.io/aws-neuron-allocated", True),
        ("hami.io/gpu-scheduler-policy", False),
        ("hami.io/node-scheduler-policy", False),
        ("hami.io/webhook", False),
        ("example.com/vgpu-node", False),
        ("hami.io/mutex.lock", False),
    ],
)
def test_keys_that_hami_writes_itself(key: str, *, owned: bool) -> None:
    assert is_owned(key) is owned
    assert not (owned and key in SELECTION)


# What is said by version: both halves where nobody said which HAMi there is, else the true one.

PRIVILEGED = manifest(
    "{containers: [{name: main, image: 'x:1', resources: {limits: {nvidia.com/gpu: 1}}},"
    " {name: agent, image: 'x:1', securityContext: {privileged: true}}]}"
)
WHO = "container agent of Pod/a is privileged"
UNLIMITED = "it sees every card of the node, without a limit"


@pytest.mark.parametrize(
    ("hami", "severity", "message"),
    [
        (
            None,
            "warning",
            f"{WHO} in a Pod that asks for a GPU: HAMi 2.10 refuses the Pod; up to 2.9 {UNLIMITED}",
        ),
        (V29, "warning", f"{WHO} in a Pod that asks for a GPU: {UNLIMITED}"),
        (V210, "error", f"{WHO}, and the Pod asks for a GPU: HAMi's webhook refuses it whole"),
        ((3, 0), "error", f"{WHO}, and the Pod asks for a GPU: HAMi's webhook refuses it whole"),
    ],
)
def test_a_privileged_container_by_version(hami: tuple[int, ...] | None, severity: str, message: str) -> None:
    assert said(PRIVILEGED, Stack(hami=hami)) == [("gpu-privileged", severity, message)]


def test_a_privileged_container_that_runs_is_warned_of() -> None:
    live = {**PRIVILEGED, "metadata": {"name": "a", "uid": "u"}, "spec": {**PRIVILEGED["spec"], "schedulerName": HAMI}}
    for stack in (Stack(hami=V210), PLAIN):
        ((_, severity, message),) = said(live, stack)
        assert severity == "warning"
        assert message.endswith("in a Pod that asks for a GPU: it sees every card of the node, without a limit")


FOREIGN = manifest(
    "{schedulerName: team-scheduler,"
    " containers: [{name: main, image: 'x:1', resources: {limits: {nvidia.com/gpumem: 4000}}}]}"
)


@pytest.mark.parametrize(
    ("hami", "end"),
    [
        (None, "is none that HAMi serves from 2.7 on; up to 2.6 its webhook moves the Pod"),
        (V28, "is none that HAMi serves"),
        (V26, ""),
    ],
)
def test_another_scheduler_by_version(hami: tuple[int, ...] | None, end: str) -> None:
    expected = [f"Pod/a asks for nvidia.com/gpumem, and its scheduler team-scheduler {end}"] if end else []
    assert [message for _, _, message in said(FOREIGN, Stack(hami=hami))] == expected


@pytest.mark.parametrize(
    ("name", "is_slip"),
    [
        ("hami-schedular", True),
        ("hami_scheduler", True),
        ("HAMi-scheduler", True),
        ("hami-shceduler", True),
        ("hami-scheduler-2", False),
        ("team-scheduler", False),
        ("scheduler", False),
    ],
)
def test_a_slip_of_the_pen_is_mended(name: str, *, is_slip: bool) -> None:
    (one,) = found({**FOREIGN, "spec": {**FOREIGN["spec"], "schedulerName": name}})
    assert [edit.value for edit in one.edits] == ([HAMI] if is_slip else [])


def test_a_scheduler_that_nobody_declared_is_a_guess() -> None:
    (one,) = found(FOREIGN)
    assert (one.confidence, one.edits) == ("low", ())
    assert "declare team-scheduler as hamiScheduler" in one.fix
    assert found(FOREIGN, Stack(hami_scheduler="team-scheduler")) == []


# What stands in a Pod at admission, after HAMi's webhook and ours.


def arrived(limits: dict[str, str] | None = None, env: list[Object] | None = None, **metadata: Any) -> Object:  # noqa: ANN401
    body = pod(limits=limits or GPU, **metadata)
    body["spec"]["containers"][0]["env"] = env or []
    return body


def told(body: Object, stack: Stack | None = None) -> tuple[str, ...]:
    return answer(request(body), stack=stack or Stack(injects_scheduler=True)).rules


def test_at_admission_env_is_set_twice_only_where_it_is() -> None:
    limits = {**GPU, "nvidia.com/priority": "1"}
    once, twice = ([{"name": "CUDA_TASK_PRIORITY", "value": "1"}] * times for times in (1, 2))
    assert told(arrived(limits, once)) == ()
    assert told(arrived(limits, twice)) == ("env-set-twice",)


def test_what_hamis_device_configuration_adds_is_no_finding() -> None:
    stack = Stack(gpu_core_policy="disable", overwrite_env=True, injects_scheduler=True)
    body = arrived({**GPU, "nvidia.com/gpucores": "30"}, [{"name": "GPU_CORE_UTILIZATION_POLICY", "value": "disable"}])
    side = {"name": "side", "image": "x:1", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]}
    body["spec"]["containers"].append(side)
    assert told(body, stack) == ()


@pytest.mark.parametrize(
    ("settings", "env"),
    [
        (hami.Settings(), VgpuEnv()),
        (hami.Settings("force", overwrite_env=True), VgpuEnv(hide_gpus=True, core_policy="force")),
        (hami.Settings("disable", overwrite_env=True), VgpuEnv(priority=0, core_policy="disable")),
        (hami.Settings("disable"), VgpuEnv(priority=0, hide_gpus=True)),
    ],
)
def test_what_hamis_webhook_and_ours_add_is_no_finding(settings: hami.Settings, env: VgpuEnv) -> None:
    """Of every Pod and template of the fixtures. What HAMi adds a second time is truly there twice, and told."""
    stack = Stack(
        injects_scheduler=True, gpu_core_policy=settings.core_policy or None, overwrite_env=settings.overwrite_env
    )
    held, passed = law(all_rules(), stack), 0
    for body in WRITTEN:
        left = hami.decide(body, settings) if is_plain(body) else hami.Denied(0, "")
        if isinstance(left, hami.Denied):
            continue
        patch = operations(left, stack, env)
        done = jsonpatch.apply_patch(left, [{"op": "add", "path": each.path, "value": each.value} for each in patch])
        where = {**body, "spec": {**body["spec"], "schedulerName": done["spec"].get("schedulerName", DEFAULT)}}
        before, after = (set(judge_by(held, request(each), Enforcement()).rules) for each in (where, done))
        assert after - before <= {"env-set-twice"}, done
        passed += 1
    assert passed > 300


def is_plain(body: Object) -> bool:
    """Whether HAMi's webhook, as it is played, can read the Pod: whole containers, nothing null."""
    found = [body["spec"].get(key, []) for key in ("initContainers", "containers")]
    if not all(isinstance(each, list) for each in found) or not found[1]:
        return False
    return all(is_whole(item) for each in found for item in each)


def is_whole(item: object) -> bool:
    if not isinstance(item, dict) or "name" not in item or not isinstance(item.get("env", []), list):
        return False
    resources = item.get("resources", {})
    return isinstance(resources, dict) and isinstance(resources.get("limits", {}), dict)


def test_scheduler_owned_annotations_deny_only_what_a_user_makes() -> None:
    marks = {"hami.io/vgpu-devices-allocated": "GPU-0,NVIDIA,4000,0:;", "hami.io/vgpu-node": "gpu-07"}
    assert not answer(request(arrived(annotations=marks))).allowed
    owned = arrived(annotations=marks, ownerReferences=owned_by())
    assert answer(request(owned)).rules == ()
    assert answer(request(arrived(annotations=marks), arrived())).rules == ()


def test_a_new_pod_that_names_its_node_is_no_running_one() -> None:
    """The API server has filled in status.phase when we are asked."""
    body = arrived()
    body["spec"] |= {"nodeName": "gpu-07", "schedulerName": DEFAULT}
    body["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    assert answer(request(body)).message.startswith("gpu-node-name: ")
    running = {**body, "status": {"phase": "Running"}}
    assert answer(request(running)).rules == ()


def test_a_pod_without_a_gpu_that_sees_them_all_is_info() -> None:
    env = "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"
    body = manifest(f"{{containers: [{{name: main, image: 'x:1', {env}}}]}}")
    assert [(rule, severity) for rule, severity, _ in said(body)] == [("isolation-env", "info")]
    body["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    assert said(body) == []


# Every cure that is told as data puts the finding right, and brings no other.


def cures() -> list[tuple[str, Object, Stack, Finding]]:
    told_: list[tuple[str, Object, Stack, Finding]] = []
    for path in sorted(path for name in MINE for path in FIXTURES.glob(f"{name}.*bad.yaml")):
        stack = stack_of(path)
        bodies = [document.data for chunk in cut([path.read_bytes()]) for document in read(chunk)]
        for body in bodies:
            assert isinstance(body, dict)
            told_ += [(path.name, body, stack, each) for each in found(body, stack) if each.edits]
    return told_


def mended(body: Object, finding: Finding) -> Object:
    steps = [
        {"op": each.operation, "path": pointer(each.place.path), "value": each.value}
        if each.operation != "remove"
        else {"op": "remove", "path": pointer(each.place.path)}
        for each in finding.edits
    ]
    done: Object = jsonpatch.apply_patch(json.loads(json.dumps(body)), steps)
    return done


def test_every_cure_mends_its_finding_and_brings_no_other() -> None:
    known = cures()
    assert {finding.rule for _, _, _, finding in known} == set(MINE) - {"gpu-privileged", "gpu-node-name"}
    for name, body, stack, finding in known:
        before = {(each.rule, each.message) for each in found(body, stack)}
        after = {(each.rule, each.message) for each in found(mended(body, finding), stack)}
        assert after == before - {(finding.rule, finding.message)}, (name, finding)


def test_messages_are_short_and_fixes_begin_with_a_verb() -> None:
    for path in sorted(path for name in MINE for path in FIXTURES.glob(f"{name}.*bad.yaml")):
        result = lint.lint([(path.name, [path.read_bytes()])], Config(stack=stack_of(path)), rules=ASKED.rules)
        for item in result.findings:
            assert len(item.finding.message) <= 200, item.finding.message
            assert item.finding.fix.split()[0] in {"remove", "write", "move", "keep", "mount"}, item.finding.fix


@pytest.mark.parametrize(
    ("scheduler", "settings", "refused"),
    [
        (None, {}, True),
        (HAMI, {}, True),
        (HAMI, {"hami": "2.8"}, False),
        (None, {"hami": "2.8"}, True),
        (None, {"hamiWebhook": False}, False),
    ],
)
def test_a_node_name_is_refused_where_hamis_webhook_is_asked(
    scheduler: str | None, settings: Object, *, refused: bool
) -> None:
    container = {"name": "main", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec = {"containers": [container], "nodeName": "n1", **({"schedulerName": scheduler} if scheduler else {})}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    (told,) = (each for each in found(body, read_stack(settings)) if each.rule == "gpu-node-name")
    assert ("HAMi's webhook refuses it" in told.message) == refused
    assert told.message.endswith("no scheduler hands it a card")


CARDS = ",".join(f"GPU-0{number}b0a9d8-4c5e-11ef-9a8b-0242ac120002" for number in range(8))


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("isolation-env", {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": CARDS}]}),
        ("dead-env", {"env": [{"name": "GPU_CORE_UTILIZATION_POLICY", "value": "x" * 300}]}),
        ("env-set-twice", {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": CARDS}] * 2}),
        ("driver-capabilities-incomplete", {"env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "video," * 60}]}),
        ("gpu-selection-annotation", {"annotations": {"nvidia.com/use-gpuuuid": CARDS.replace(",", ", ")}}),
        ("gpu-selection-annotation", {"annotations": {"nvidia.com/use-gpuuuid": CARDS[4:]}}),
        ("gpu-privileged", {"securityContext": {"privileged": True}}),
    ],
)
def test_messages_fit_a_warning_whatever_the_value(rule: str, parts: Object) -> None:
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
    kept = {key: part for key, part in parts.items() if key != "annotations"}
    container = {"name": "tensorflow-container", "image": "x:1", "resources": {"limits": limits}, **kept}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a-name-of-some-length", "annotations": parts.get("annotations", {})},
        "spec": {"containers": [container]},
    }
    told = [each.message for each in found(body, PLAIN) if each.rule == rule]
    assert told
    assert all(len(message) <= 200 for message in told), told


def test_the_last_entry_of_a_name_counts() -> None:
    entries = tuple(
        Env("CUDA_DISABLE_CONTROL", value, ("spec", "containers", 0, "env", n)) for n, value in enumerate("10")
    )
    container = Container("main", "x:1", "app", ("spec", "containers", 0), {"nvidia.com/gpu": 1}, env=entries)
    rule = next(rule for rule in all_rules() if rule.name == "isolation-env")
    assert list(rule.check(made(containers=(container,)), Stack())) == []
    assert rule.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("parts", "by_version"),
    [
        ({}, {None: HAMI, V28: HAMI, V29: HAMI, V210: HAMI}),
        ({"labels": {"hami.io/webhook": "ignore"}}, dict.fromkeys((None, V28, V29, V210), DEFAULT)),
        ({"role": "init"}, {None: HAMI, V28: DEFAULT, V29: DEFAULT, V210: HAMI}),
        ({"privileged": True}, {None: HAMI, V28: DEFAULT, V29: DEFAULT, V210: HAMI}),
    ],
)
def test_the_scheduler_that_hamis_webhook_writes(parts: Object, by_version: dict[tuple[int, ...] | None, str]) -> None:
    """Ground truth 7: what 2.8.3, 2.9.0 and 2.10.0 did; the label keeps the webhook away in all of them."""
    own = {"role": parts.get("role", "app"), "privileged": parts.get("privileged", False)}
    container = Container("c", "x", path=("spec", "containers", 0), limits={"nvidia.com/gpu": 1}, **own)
    pod_of = Pod(
        Ref("v1", "Pod", "default", "p"),
        ("metadata",),
        ("spec",),
        containers=(container,),
        labels=parts.get("labels", {}),
    )
    assert {hami: Stack(hami=hami).scheduler_of(pod_of) for hami in by_version} == by_version
