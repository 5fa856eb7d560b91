"""AdmissionReview in and out: what is read, what is refused and in which words, what is answered."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from asked import body_of, review_of
from generated import JSON
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import decode, encode
from webhook.errors import BadReview
from webhook.review import Answer, Operation, Request

REVIEW = review_of("R136-review-denied-from-controller.yaml")


def altered(**fields: object) -> bytes:
    return json.dumps({**REVIEW, "request": {**REVIEW["request"], **fields}}).encode()


def test_a_review_is_read() -> None:
    request = decode(altered(userInfo={"username": "eve"}, dryRun=True, name="x", oldObject={"a": 1}))
    assert (request.uid, request.review) == ("5f1c0000-0000-4000-8000-000000000001", "admission.k8s.io/v1")
    assert (request.group, request.version, request.kind, request.resource) == ("", "v1", "Pod", "pods")
    assert (request.operation, request.namespace, request.name) == ("CREATE", "team-a", "x")
    assert (request.user, request.dry_run, request.subresource) == ("eve", True, "")
    assert request.object == REVIEW["request"]["object"]
    assert request.old_object == {"a": 1}


def test_what_may_be_absent_is_empty() -> None:
    request = decode(altered(namespace=None, dryRun=None, object=None, userInfo=None, options={"kind": "x"}))
    assert (request.namespace, request.user, request.dry_run, request.object) == ("", "", False, None)


@pytest.mark.parametrize("version", ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"])
def test_either_version_is_answered_in_kind(version: str) -> None:
    request = decode(json.dumps({**REVIEW, "apiVersion": version}).encode())
    reply = encode(request, Answer())
    assert reply == {
        "apiVersion": version,
        "kind": "AdmissionReview",
        "response": {"uid": request.uid, "allowed": True},
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is no JSON: Expecting value"),
        (b"\xff\xfe{", "the body is no JSON"),
        (b'{"a": NaN}', "the body is no JSON: NaN is no number to JSON"),
        (b"[" * 100_000, "more than 200 objects and lists inside each other"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "more than 200 objects and lists inside each other"),
        (b"9" * 5000, "the body is no JSON"),
        (b"[]", "this is no AdmissionReview: kind is missing"),
        (b'{"kind": ["x"]}', "this is no AdmissionReview: kind is a list"),
        (b'{"kind": "Pod"}', 'this is no AdmissionReview: kind is "Pod"'),
        (json.dumps({"kind": "x" * 99}).encode(), f'kind is "{"x" * 39}…'),
        (b'{"kind": "AdmissionReview"}', "apiVersion is missing; known are admission.k8s.io/v1 and"),
        (json.dumps({**REVIEW, "apiVersion": {}}).encode(), "apiVersion is an object"),
        (json.dumps({**REVIEW, "request": None}).encode(), "request is missing; an AdmissionReview to answer has"),
        (json.dumps({**REVIEW, "request": []}).encode(), "request is a list"),
        (altered(uid=None), "request.uid is missing; wanted is text"),
        (altered(uid=""), 'request.uid is ""; wanted is text'),
        (altered(operation=3), "request.operation is 3; wanted is text"),
        (altered(kind="Pod"), "request.kind.kind is missing; wanted is text"),
        (altered(kind={"kind": "Pod", "group": []}), "request.kind.group is a list; wanted is text"),
        (altered(resource={}), "request.resource.resource is missing; wanted is text"),
        (altered(name=False), "request.name is false; wanted is text"),
        (altered(dryRun="yes"), 'request.dryRun is "yes"; wanted is true or false'),
        (altered(object=[1]), "request.object is a list; wanted is an object"),
        (altered(oldObject="x"), 'request.oldObject is "x"; wanted is an object'),
    ],
)
def test_what_is_no_review_is_told(body: bytes, said: str) -> None:
    with pytest.raises(BadReview) as caught:
        decode(body)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_a_review_or_told(body: bytes) -> None:
    with pytest.raises(BadReview):
        decode(body)


@given(st.dictionaries(st.sampled_from([*sorted(REVIEW["request"]), "dryRun", "userInfo", "subResource"]), JSON))
def test_any_field_is_read_or_told(fields: dict[str, Any]) -> None:
    try:
        request = decode(altered(**fields))
    except BadReview:
        return
    assert isinstance(request, Request)


def test_many_brackets_are_not_deep() -> None:
    assert decode(altered(object={"items": [{} for _ in range(500)]})).object


def test_a_denial_has_a_status() -> None:
    request = decode(body_of("R136-review-denied-from-controller.yaml"))
    said = Answer(allowed=False, message="no", warnings=("w",), audit={"verdict": "denied"}, patch=(_ADD,))
    assert encode(request, said)["response"] == {
        "uid": request.uid,
        "allowed": False,
        "status": {"status": "Failure", "message": "no", "reason": "Forbidden", "code": 403},
        "warnings": ["w"],
        "auditAnnotations": {"verdict": "denied"},
    }


_ADD = Operation("add", "/metadata/annotations/a~1b", "ü")


def test_a_patch_goes_with_its_type() -> None:
    response: Any = encode(decode(altered()), Answer(patch=(_ADD,)))["response"]
    assert response["patchType"] == "JSONPatch"
    steps = json.loads(base64.b64decode(response["patch"]))
    assert steps == [{"op": "add", "path": "/metadata/annotations/a~1b", "value": "ü"}]


def test_half_a_surrogate_pair_can_be_answered() -> None:
    request = decode(altered(uid="\ud83d"))
    assert json.dumps(encode(request, Answer(allowed=False, message="\ud83d"))).isascii()
