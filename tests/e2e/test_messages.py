"""`gangcheck why` over what the real scheduler, API server and kubectl print, as people pipe it."""

import json

import pytest
import yaml
from apiserver import ControlPlane, Object, kubectl, made, wait_for, why_pending
from controlplane import NotStarted, scheduler
from gangs import told
from objects import member, pod, pod_group
from test_scheduler_configs import REFUSED

from webhook.messages.answering import Answer, reply
from webhook.messages.own import own
from webhook.messages.table import TABLE
from webhook.rules import all_rules

pytestmark = pytest.mark.e2e_slow  # a scheduler is started for each of them

KNOWN = (*TABLE, *own(all_rules()))


def answers(text: str) -> dict[str, Answer]:
    return {answer.message.name: answer for answer in reply(text, KNOWN).answers}


def printed(control: ControlPlane, *arguments: str, stdin: str | None = None) -> str:
    done = kubectl(control, *arguments, stdin=stdin)
    return done.stdout + done.stderr


@pytest.fixture
def short(control: ControlPlane, namespace: str) -> Object:
    """A Pod of a gang that lacks two."""
    lonely = member(namespace, "w-0", "train")
    made(control, pod_group(namespace, "train", minMember=3), lonely)
    told(control, lonely, "cannot find enough sibling pods")
    wait_for(lambda: "FailedScheduling" in printed(control, "describe", "pod", "w-0", "-n", namespace))
    return lonely


@pytest.mark.parametrize(
    "command",
    [
        ("describe", "pod", "w-0", "-n", "NAMESPACE"),
        ("get", "events", "-n", "NAMESPACE"),
        ("get", "events", "-A"),
        ("events", "-n", "NAMESPACE"),
        ("get", "pod", "w-0", "-n", "NAMESPACE", "-o", "yaml"),
        ("get", "pods", "-n", "NAMESPACE", "-o", "json"),
    ],
    ids=" ".join,
)
def test_a_gang_that_is_short(control: ControlPlane, namespace: str, short: Object, command: tuple[str, ...]) -> None:
    said = printed(control, *(part.replace("NAMESPACE", namespace) for part in command))
    hits = [hit.values for hit in answers(said)["not-enough-siblings"].hits if hit.values["pod"] == "w-0"]
    assert {(values["present"], values["wanted"]) for values in hits} == {("1", "3")}
    # The tail of the same message tells the namespace and the group, or what stands around it does.
    assert (namespace, "train") in {(values.get("namespace"), values.get("group")) for values in hits}


def test_a_group_that_is_not_there(control: ControlPlane, namespace: str) -> None:
    lonely = member(namespace, "w-0", "nobody")
    made(control, lonely)
    told(control, lonely, "PodGroup not found")
    wait_for(lambda: "FailedScheduling" in printed(control, "describe", "pod", "w-0", "-n", namespace))
    hit = answers(printed(control, "describe", "pod", "w-0", "-n", namespace))["podgroup-not-found"].hits[-1]
    assert {"namespace": namespace, "pod": "w-0", "group": "nobody"}.items() <= hit.values.items()


def test_an_ordinary_pod_says_it_found_no_group(control: ControlPlane, namespace: str) -> None:
    ordinary = pod(namespace, "a", scheduler="hami-scheduler", nodeSelector={"nowhere": "yes"})
    made(control, ordinary)
    said = wait_for(lambda: why_pending(control, ordinary))
    assert "no-pod-group" in answers(said)
    assert answers(said)["no-pod-group"].message.normal == "yes"


@pytest.mark.parametrize("mistake", REFUSED)
def test_why_a_scheduler_does_not_start(control: ControlPlane, mistake: str) -> None:
    rule, _, profiles, more = REFUSED[mistake]
    with pytest.raises(NotStarted) as refused, scheduler(control, "why", profiles, more):
        pass
    told_by = [answer.message for answer in answers(str(refused.value)).values()]
    assert rule in {name for message in told_by for name in message.rules}, str(refused.value)[-600:]


def pod_text(namespace: str, **more: object) -> str:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}}
    container = {"name": "c", "image": "registry.example.com/a:1", **more}
    return yaml.safe_dump({**body, "spec": {"containers": [container]}})


def group_text(namespace: str, **spec: object) -> str:
    return json.dumps(pod_group(namespace, "g", **spec))


@pytest.mark.parametrize(
    ("row", "resources"),
    [
        ("limit-missing", {"requests": {"nvidia.com/gpu": 1}}),
        ("request-unequal-limit", {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}}),
        ("quantity-no-integer", {"limits": {"nvidia.com/gpu": "1.5"}}),
        ("quantity-negative", {"limits": {"nvidia.com/gpu": "-1"}}),
        ("quantity-unreadable", {"limits": {"nvidia.com/gpumem": "16 GB"}}),
    ],
)
def test_what_the_api_server_says_of_pods(
    control: ControlPlane, namespace: str, row: str, resources: dict[str, object]
) -> None:
    assert row in answers(printed(control, "apply", "-f", "-", stdin=pod_text(namespace, resources=resources)))


@pytest.mark.parametrize(
    ("row", "spec"),
    [
        ("min-member-too-small", {"minMember": 0}),
        ("min-member-type", {"minMember": "3"}),
        ("podgroup-field-unknown", {"minAvailable": 3}),
    ],
)
def test_what_the_api_server_says_of_groups(
    control: ControlPlane, namespace: str, row: str, spec: dict[str, object]
) -> None:
    assert row in answers(printed(control, "apply", "-f", "-", stdin=group_text(namespace, **spec)))


def test_a_label_that_is_no_text(control: ControlPlane, namespace: str) -> None:
    text = pod_text(namespace).replace("  name: p\n", "  name: p\n  labels: {scheduling.x-k8s.io/pod-group: 2024}\n")
    assert "label-no-string" in answers(printed(control, "apply", "-f", "-", stdin=text))


def test_names_that_cannot_be(control: ControlPlane, namespace: str) -> None:
    text = group_text(namespace, minMember=2).replace('"g"', '"My_Group"')
    assert "podgroup-name-invalid" in answers(printed(control, "apply", "-f", "-", stdin=text))
    text = pod_text(namespace).replace("  name: p\n", f"  name: p\n  labels: {{a: {'x' * 64}}}\n")
    assert "label-too-long" in answers(printed(control, "apply", "-f", "-", stdin=text))


def test_a_group_of_the_old_api(control: ControlPlane, namespace: str) -> None:
    text = group_text(namespace, minMember=2).replace("scheduling.x-k8s.io", "scheduling.sigs.k8s.io")
    assert "podgroup-kind-unknown" in answers(printed(control, "apply", "-f", "-", stdin=text))
