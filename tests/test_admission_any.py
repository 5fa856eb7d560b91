"""Whatever arrives is answered, with words that can be sent, and the linter would say the same."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from asked import RULES, STACK, Object, answer, deployment, job, knows, podgroup, request
from fixture import FIXTURES, stack_of
from generated import JSON, hostile, near_pods, pods, pointed
from hypothesis import assume, given
from hypothesis import strategies as st
from made import podgroup as group_value

from webhook import lint
from webhook.admission import decode, encode, judge, mutate
from webhook.config import Config
from webhook.kinds import templates
from webhook.model import Pod, PodGroup, Workload
from webhook.parse import parse
from webhook.review import Answer, Enforcement, Known, Request, VgpuEnv
from webhook.rule import Severity
from webhook.stack import Stack

AUDIT_KEY = re.compile(r"[a-z]{1,63}")
WORKLOADS = (
    deployment("g1"),
    job("train", "g1", completions=4),
    podgroup(minMember=4, minResources={"cpu": "4"}),
    *(
        yaml.safe_load(text)
        for name in ("gang-starts-in-stages", "ray-job-gang", "operator-overrides-label", "min-resources-unsatisfiable")
        for text in (FIXTURES / f"{name}.bad.yaml").read_text(encoding="utf-8").split("\n---\n")[:6]
    ),
)
KNOWN = st.builds(
    Known,
    st.integers(0, 5),
    st.none() | st.builds(group_value, st.just("g1"), members=st.integers(-1, 70)),
    st.booleans(),
    st.booleans(),
)


@st.composite
def near_workloads(draw: st.DrawFn) -> Object:
    """A workload or PodGroup in which one value was exchanged for another."""
    made: Any = copy.deepcopy(draw(st.sampled_from(WORKLOADS)))
    path = draw(st.sampled_from(list(pointed(made))))
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = draw(JSON)
    return made  # type: ignore[no-any-return] # the root stays a mapping


def objects() -> st.SearchStrategy[Object]:
    strange = hostile().filter(lambda value: isinstance(value, dict))
    return pods() | near_pods() | near_workloads() | strange


@st.composite
def requests(draw: st.DrawFn) -> Request:
    new, old = draw(objects()), draw(st.none() | objects())
    kinds = st.sampled_from(
        [("", "Pod"), ("apps", "Deployment"), ("batch", "Job"), ("scheduling.x-k8s.io", "PodGroup")]
    )
    group, kind = draw(kinds)
    if isinstance(new.get("kind"), str) and isinstance(new.get("apiVersion"), str):
        group, kind = new["apiVersion"].rpartition("/")[0], new["kind"]
    return request(new, old, group=group, kind=kind, version="v1", dry_run=draw(st.booleans()))


def assert_sound(said: Answer) -> None:
    assert len(said.warnings) <= 10
    assert len(set(said.warnings)) == len(said.warnings)
    for text in (*said.warnings, *(notice.message for notice in said.notices)):
        assert 0 < len(text) <= 200
        assert text.isprintable()
    assert all(line.isprintable() for line in said.message.split("\n"))
    assert said.allowed == (not said.message)
    assert all(AUDIT_KEY.fullmatch(key) and value.isprintable() for key, value in said.audit.items())
    assert said.failed == ()
    assert said.patch == ()


@given(requests(), st.sampled_from(["enforce", "warn"]), KNOWN | st.none())
def test_any_object_is_answered(asked: Request, mode: Any, known: Known | None) -> None:  # noqa: ANN401 - a Mode
    before = copy.deepcopy((asked.object, asked.old_object))
    said = judge(asked, RULES, STACK, Enforcement(), knows(known), mode)
    assert_sound(said)
    assert said.allowed or mode == "enforce"
    assert judge(asked, RULES, STACK, Enforcement(), knows(known), mode) == said
    assert (asked.object, asked.old_object) == before
    assert json.dumps(encode(asked, said)).isascii()


@given(requests(), KNOWN)
def test_nothing_that_the_index_knows_denies(asked: Request, known: Known) -> None:
    with_it = judge(asked, RULES, STACK, Enforcement(), knows(known), "enforce")
    without = judge(asked, RULES, STACK, Enforcement(), knows(None), "enforce")
    assert (with_it.allowed, with_it.message) == (without.allowed, without.message)


@given(objects())
def test_an_update_that_changes_nothing_is_never_denied(made: Object) -> None:
    group, kind = "", "Pod"
    if isinstance(made.get("kind"), str) and isinstance(made.get("apiVersion"), str):
        group, kind = made["apiVersion"].rpartition("/")[0], made["kind"]
    asked = request(made, copy.deepcopy(made), group=group, kind=kind, version="v1")
    assert answer(asked).allowed


@given(hostile() | near_pods())
def test_the_mutator_answers_any_pod(made: Any) -> None:  # noqa: ANN401 - any JSON
    said = mutate(request(made if isinstance(made, dict) else {}, kind="Pod", group=""), STACK, VgpuEnv())
    assert said.allowed
    assert said.warnings == ()
    assert said.failed == said.skipped == ()


@given(objects())
def test_a_review_survives_the_wire(made: Object) -> None:
    whole = {
        "apiVersion": "admission.k8s.io/v1beta1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "operation": "CREATE",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"resource": "pods"},
            "object": made,
        },
    }
    text = json.dumps(whole)
    assume("Infinity" not in text)  # Python's own word, no JSON
    assert decode(text.encode()).object == made


# The linter and the webhook agree


def arrivals(path: Path, stack: Stack) -> Iterator[Object]:
    """The objects of a fixture that could arrive, as HAMi's webhook leaves them."""
    for found in yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
        listed = isinstance(found, dict) and found.get("kind") == "List"
        for body in found["items"] if listed else [found]:
            ours = isinstance(body, dict) and (templates(body) or body.get("kind") == "PodGroup")
            if not ours or "uid" in (body.get("metadata") or {}) or "ownerReferences" in (body.get("metadata") or {}):
                continue
            pod = next(iter(parse(body, -1, stack, written=str).subjects), None)
            if isinstance(pod, Pod) and not pod.is_template:
                body["spec"]["schedulerName"] = stack.scheduler_of(pod)
            yield body


def told_by_linter(body: Object, stack: Stack) -> set[str]:
    """The rules that find an error in the object alone; those of gangs and of an installation need others, those of
    reading its text."""
    alone = tuple(rule for rule in RULES if not {Pod, PodGroup, Workload}.isdisjoint(rule.subjects))
    result = lint.lint([("x.json", [json.dumps(body, default=str).encode()])], Config(stack=stack), rules=alone)
    assert not result.unreadable
    return {item.finding.rule for item in result.findings if item.severity is Severity.ERROR}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.name)
def test_linter_and_webhook_find_the_same_errors(path: Path) -> None:
    stack = stack_of(path)
    for body in arrivals(path, stack):
        asked = request(json.loads(json.dumps(body, default=str)), namespace="")
        said = answer(asked, stack=stack, enforcement=Enforcement(suppressions_lift_denials=True))
        denying = set(re.findall(r"gangcheck explain (\S+?)(?:;|$)", said.message.rpartition("\n")[2]))
        assert denying == told_by_linter(body, stack), body
        assert said.failed == ()
