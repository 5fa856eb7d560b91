"""For every rule that may deny: an object with its mistake, as one may stand in a cluster before the webhooks do.

A case comes of itself from tests/rules/<rule>.bad.yaml: the first Pod template there at which the webhook names the
rule, and which the API server takes, becomes a Deployment; else a StatefulSet or PodGroup is taken as it is. Of a gang
the webhook sees one object at a time, so a rule about gangs may have nothing to say here: its Deployment must live on
all the same. Where none of that can be, add a row: to BY_HAND, a Deployment's parts, or to ELSEWHERE, why no such
object can be made and what holds the rule instead.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from objects import Object, container, template, workload

from webhook.admission import judge
from webhook.config import read_stack
from webhook.model import Gang, Member, Pod, PodGroup, Workload, dig
from webhook.parse import parse
from webhook.review import Enforcement, Request
from webhook.rule import Rule, Severity
from webhook.rules import all_rules

FIXTURES = Path(__file__).parents[1] / "rules"
CARD = "pod-group-annotation"
"""It denies Pods of controllers too, and has tests of its own."""

STACK = {"hami": "2.10", "injectsScheduler": True}
"""What the server under test is told: some rules are errors only where the version is known."""

BY_HAND: Mapping[str, Mapping[str, Any]] = {
    # "some-rule": {"labels": {...}, "annotations": {...}, "limits": {...}, "own_labels": {...}}
}

ELSEWHERE: Mapping[str, str] = {
    "min-available-unusable": "a field of the training operators' jobs, whose kinds this cluster lacks; "
    "tests/test_min_available.py updates one",
    # "some-rule": "the API server refuses every object with it; the linter's alone"
}

_JUDGED = {Pod, Workload, PodGroup, Gang, Member}


class Case(NamedTuple):
    """`verdict`: what a new object like this gets for it: denied, warned, or nothing. `beside` are its PodGroups."""

    rule: str
    thing: Object
    verdict: str
    beside: tuple[Object, ...] = ()

    @property
    def is_deployment(self) -> bool:
        return bool(self.thing["kind"] == "Deployment")


def demanded() -> list[Rule]:
    """The rules that may deny an object of the API server: those of reading may not, and the card's has its own."""
    rules = (rule for rule in all_rules() if rule.severity is Severity.ERROR and not rule.lint_only)
    return [rule for rule in rules if rule.name != CARD and not _JUDGED.isdisjoint(rule.subjects)]


def cases() -> dict[str, Case]:
    """By rule; what is demanded and is in neither this nor ELSEWHERE is missing."""
    found = ((rule.name, case_of(rule.name)) for rule in demanded() if rule.name not in ELSEWHERE)
    return {name: case for name, case in found if case}


def case_of(rule: str) -> Case | None:
    return next(iter(candidates(rule)), None)


def candidates(rule: str) -> list[Case]:
    """The best first: the API server may refuse some, which then can be no old mistake of any cluster."""
    things = [_by_hand(rule)] if rule in BY_HAND else [*deployments(rule), *as_they_are(rule)]
    judged = [Case(rule, thing, _verdict(thing, rule), tuple(groups(rule))) for thing in things]
    of_gangs = any(Gang in each.subjects for each in all_rules() if each.name == rule)
    verdicts = ("denied", "warned", "nothing") if of_gangs else ("denied", "warned")
    return [case for verdict in verdicts for case in judged if case.verdict == verdict]


def _by_hand(rule: str) -> Object:
    parts = dict(BY_HAND[rule])
    own = parts.pop("own_labels", {})
    thing = workload(
        "Deployment", "", rule, template(containers=[container(limits=parts.pop("limits", None))], **parts)
    )
    thing["metadata"]["labels"] = dict(own)
    return thing


def documents(rule: str) -> Iterator[Object]:
    file = FIXTURES / f"{rule}.bad.yaml"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    text = re.sub(r"\{\{.*?\}\}", "x", text)
    for found in yaml.load_all(text, Loader=yaml.CSafeLoader):
        listed = isinstance(found, dict) and found.get("kind") == "List"
        yield from (each for each in (found["items"] if listed else [found]) if isinstance(each, dict))


def deployments(rule: str) -> Iterator[Object]:
    """A Deployment round each Pod template of the bad manifest, with the labels of what it stands in."""
    for body in documents(rule):
        for pod in parse(body, -1, read_stack(STACK), written=str).subjects:
            if isinstance(pod, Pod) and not pod.live:
                yield _deployment(rule, body, pod)


UNKNOWN_HERE = (
    "activeDeadlineSeconds",
    "ephemeralContainers",
    "imagePullSecrets",
    "priorityClassName",
    "resourceClaims",
    "restartPolicy",
    "runtimeClassName",
    "serviceAccount",
    "serviceAccountName",
)
"""Fields that name what this cluster does not have, or that a Deployment may not have."""


def _deployment(rule: str, body: Object, pod: Pod) -> Object:
    spec: Any = copy.deepcopy(dig(body, *pod.spec))
    for key in UNKNOWN_HERE:
        spec.pop(key, None)
    # Nobody places it: a Pod that is bound would stay Terminating, for there is no kubelet.
    spec["nodeSelector"] = {"example.com/nowhere": "true"}
    for each in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        each.setdefault("image", "registry.example.com/ml/torch:2.4")
    made = {"metadata": {"labels": dict(pod.labels), "annotations": dict(pod.annotations)}, "spec": spec}
    thing = workload("Deployment", "", rule, made)
    if pod.is_template:
        thing["metadata"] |= {key: dict(body["metadata"].get(key) or {}) for key in ("labels", "annotations")}
    return thing


def as_they_are(rule: str) -> Iterator[Object]:
    for body in documents(rule):
        kind, api = body.get("kind"), body.get("apiVersion")
        if (kind, api) in {("StatefulSet", "apps/v1"), ("PodGroup", "scheduling.x-k8s.io/v1alpha1")}:
            made = copy.deepcopy(body)
            made["metadata"]["name"] = rule
            yield made


def groups(rule: str) -> Iterator[Object]:
    """The PodGroups of the bad manifest that this cluster has a kind for."""
    for body in documents(rule):
        if (body.get("kind"), body.get("apiVersion")) == ("PodGroup", "scheduling.x-k8s.io/v1alpha1"):
            yield copy.deepcopy(body)


def _verdict(thing: Object, rule: str) -> str:
    group, _, version = thing["apiVersion"].rpartition("/")
    made = copy.deepcopy(thing)
    made["metadata"]["namespace"] = "old"
    request = Request(
        "u",
        "admission.k8s.io/v1",
        "CREATE",
        group,
        version,
        thing["kind"],
        "x",
        name=rule,
        namespace="old",
        object=made,
    )
    answer = judge(request, all_rules(), read_stack(STACK), Enforcement())
    if rule not in answer.rules:
        return "nothing"
    return "denied" if f"gangcheck explain {rule}" in answer.message else "warned"


def job(deployment: Object) -> Object:
    """A Job of the same template."""
    thing = copy.deepcopy(deployment)
    own, body = thing["metadata"], thing["spec"]["template"]
    made = workload("Job", "", own["name"], body, parallelism=2, completions=4, backoffLimit=100)
    made["metadata"] |= {key: own[key] for key in ("labels", "annotations") if key in own}
    return made


def placed(thing: Object, namespace: str, name: str) -> Object:
    """The object in a namespace; a Deployment with two Pods, all of them exchanged at once."""
    thing = copy.deepcopy(thing)
    thing["metadata"] |= {"namespace": namespace, "name": name}
    if thing["kind"] in {"Deployment", "Job"}:
        thing["spec"]["template"]["metadata"]["labels"]["app"] = name
    if thing["kind"] == "Deployment":
        thing["spec"]["selector"]["matchLabels"]["app"] = name
        at_once = {"maxSurge": "100%", "maxUnavailable": "100%"}
        thing["spec"] |= {"replicas": 2, "strategy": {"type": "RollingUpdate", "rollingUpdate": at_once}}
    return thing
