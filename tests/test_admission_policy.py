"""The rule that the API server holds alone denies nothing that `/validate` would let through."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from asked import LABEL, answer, owned_by, pod, request
from celpy.adapter import json_to_cel
from celpy.celtypes import MapType, StringType
from celpy.evaluation import CELEvalError
from hypothesis import given, settings
from hypothesis import strategies as st
from test_registration import program

from webhook.admission_policy import NAME, RULE, admission_policy
from webhook.registration import Options, configurations
from webhook.review import Enforcement
from webhook.stack import OLD_GROUP_LABEL, Stack

Object = dict[str, Any]

SETTLED = Stack()
USUAL = Enforcement()
LENIENT = Enforcement(owned_pods="warn", suppressions_lift_denials=True)
IGNORE = f"ignore.gangcheck.io/{RULE}"


@lru_cache(maxsize=8)
def spec_of(enforcement: Enforcement) -> Object:
    return dict(admission_policy(SETTLED, Options(), enforcement)[0]["spec"])


def denies(new: Object, old: Object | None = None, enforcement: Enforcement = USUAL) -> str:
    """What the policy says against an object, or nothing. As the API server does, an operation decides before the old
    object is looked at, and an expression that fails is ignored."""
    spec = spec_of(enforcement)
    known: Object = {
        "object": json_to_cel(new),
        # celpy evaluates both sides of an `or`, and all variables here: an object of that shape with nothing in it.
        "oldObject": json_to_cel(old or emptied(new)),
        "request": json_to_cel(
            {"operation": "UPDATE" if old else "CREATE", "resource": {"resource": f"{new['kind'].lower()}s"}}
        ),
    }
    if not all(bool(program(each["expression"]).evaluate(known)) for each in spec["matchConditions"]):
        return ""
    variables = MapType()
    for each in spec["variables"]:
        try:
            value = program(each["expression"]).evaluate(known | {"variables": variables})
        except CELEvalError:  # the API server evaluates a variable when it is asked for, and not before
            continue
        variables[StringType(each["name"])] = value
    known |= {"variables": variables}
    (validation,) = spec["validations"]
    if bool(program(validation["expression"]).evaluate(known)):
        return ""
    return str(program(validation["messageExpression"]).evaluate(known))


def emptied(body: Object) -> Object:
    """An object with the same way to its Pod template, and with nothing in that."""
    nothing: Object = {"metadata": {}, "spec": {}}
    match body["kind"]:
        case "Pod":
            return nothing
        case "CronJob":
            return {"metadata": {}, "spec": {"jobTemplate": {"spec": {"template": nothing}}}}
    return {"metadata": {}, "spec": {"template": nothing}}


def refuses(new: Object, old: Object | None = None, enforcement: Enforcement = USUAL) -> bool:
    """Whether /validate denies it, for this rule."""
    given = answer(request(new, old), enforcement=enforcement)
    return not given.allowed and RULE in given.message


def test_the_mistake_is_denied_and_its_cure_is_told() -> None:
    said = denies(pod(annotations={LABEL: "llama"}))
    assert said == (
        "the Pod names its gang llama in the annotation scheduling.x-k8s.io/pod-group; Coscheduling reads only the "
        "label scheduling.x-k8s.io/pod-group, so its members start one by one; move it to the labels there: "
        "scheduling.x-k8s.io/pod-group: llama; gangcheck explain pod-group-annotation"
    )


@pytest.mark.parametrize(
    "body",
    [
        pod(group="llama"),
        pod(group="llama", annotations={LABEL: "llama"}),
        pod(annotations={LABEL: ""}),
        pod(annotations={"other.example.com/pod-group": "x"}),
        pod(annotations={"scheduling.x-k8s.io/pod-grup": "llama"}),
        pod(annotations={LABEL: "x"}) | {"spec": {"schedulerName": "volcano", "containers": []}},
        pod(annotations={LABEL: "x"}, ownerReferences=owned_by("Node")),
    ],
)
def test_what_is_right_or_not_ours_or_only_like_it_passes(body: Object) -> None:
    assert not denies(body)


def test_the_policys_own_words_count() -> None:
    owned = pod(annotations={LABEL: "x"}, ownerReferences=owned_by())
    silenced = pod(annotations={LABEL: "x", IGNORE: "known"})
    assert [bool(denies(each)) for each in (owned, silenced)] == [True, True]
    assert [bool(denies(each, None, LENIENT)) for each in (owned, silenced)] == [False, False]


def test_an_old_mistake_is_no_new_one() -> None:
    before = pod(annotations={LABEL: "x"})
    assert not denies(pod(annotations={LABEL: "x"}, labels={"a": "b"}), before)
    assert not denies(pod(group="y", annotations={LABEL: "x"}), before)
    assert denies(pod(annotations={LABEL: "y"}), before)
    assert denies(pod(annotations={LABEL: "y"}), pod())


NAMES = st.sampled_from(["", "g", "h"])
HALF = st.dictionaries(st.sampled_from([LABEL, OLD_GROUP_LABEL, "app", "scheduling.x-k8s.io/pod-grup", IGNORE]), NAMES)
OWNERS = st.sampled_from([None, owned_by(), owned_by("Node"), owned_by("Job", controller=False), []])
SCHEDULERS = st.sampled_from([None, "", "default-scheduler", "hami-scheduler", "volcano", "koord-scheduler"])


@st.composite
def bodies(draw: st.DrawFn) -> Object:
    """Pods in every combination of what the rule looks at, half of the time without the mapping itself."""
    made = pod()
    metadata, spec = made["metadata"], made["spec"]
    for half in ("labels", "annotations"):
        metadata[half] = draw(HALF)
        if draw(st.booleans()) and not metadata[half]:
            del metadata[half]
    owners, scheduler = draw(OWNERS), draw(SCHEDULERS)
    if owners is not None:
        metadata["ownerReferences"] = owners
    spec.pop("schedulerName")
    if scheduler is not None:
        spec["schedulerName"] = scheduler
    return made


KINDS = ("Pod", "Job", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "CronJob")


def around(body: Object, kind: str) -> Object:
    """A workload of that kind with the Pod as its template; the owner is the workload's then."""
    if kind == "Pod":
        return body
    inner = {
        "metadata": {key: body["metadata"].get(key, {}) for key in ("labels", "annotations")},
        "spec": body["spec"],
    }
    own = {key: body["metadata"][key] for key in ("ownerReferences",) if key in body["metadata"]}
    spec: Object = {"template": inner}
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    api = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "w", "namespace": "team-a", **own}, "spec": spec}


ENFORCEMENTS = st.sampled_from([Enforcement(), LENIENT, replace(LENIENT, owned_pods="deny")])


@settings(max_examples=150, deadline=None)
@given(bodies(), st.sampled_from(KINDS), ENFORCEMENTS)
def test_a_new_object_is_denied_as_the_server_would(body: Object, kind: str, enforcement: Enforcement) -> None:
    """In both directions, but for misspelt keys, which only the server knows."""
    thing = around(body, kind)
    denied, refused = bool(denies(thing, None, enforcement)), refuses(thing, None, enforcement)
    assert denied <= refused
    if not {key for key in body["metadata"].get("annotations", ()) if "grup" in key}:
        assert denied == refused


@settings(max_examples=150, deadline=None)
@given(bodies(), bodies(), st.sampled_from(KINDS), ENFORCEMENTS)
def test_an_update_is_denied_at_most_where_the_server_would(
    new: Object, old: Object, kind: str, enforcement: Enforcement
) -> None:
    if kind == "Pod":
        new["spec"] = old["spec"]
    after, before = around(new, kind), around(old, kind)
    assert bool(denies(after, before, enforcement)) <= refuses(after, before, enforcement)


def test_a_template_is_named() -> None:
    said = denies(around(pod(annotations={LABEL: "llama"}), "CronJob"))
    assert said.startswith("the Pod template of this CronJob names its gang llama in the annotation ")


def test_the_binding_is_where_validate_denies() -> None:
    policy, binding = admission_policy(SETTLED, Options(), Enforcement())
    assert policy["metadata"]["name"] == binding["spec"]["policyName"] == NAME
    validating = configurations(SETTLED, Options())[1]
    enforcing = next(each for each in validating["webhooks"] if each["name"] == "pods.enforce.gangcheck.io")
    assert binding["spec"]["matchResources"]["namespaceSelector"] == enforcing["namespaceSelector"]
