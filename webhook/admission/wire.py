"""AdmissionReview as JSON: the body of a call to a Request, an Answer to the body of the reply.

What stands around the object is judged strictly, since only an API server writes it; the object itself may be any
JSON object, and fields that nobody asks for are ignored.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from webhook.codec import dumps, loads
from webhook.errors import BadReview
from webhook.manifest.exact import DEPTH
from webhook.model import dig
from webhook.review import Answer, Body, Request

_VERSIONS = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
_SHOWN = 40
_DENIED = 403
"""HTTP status for the client. The API server makes 400 of anything below that (apiserver webhook/errors)."""


def decode(body: bytes) -> Request:
    """The request in a body of either version. Raises BadReview where it is none, and says what is wrong."""
    review = _read(body)
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise BadReview(f"this is no AdmissionReview: kind is {_shown(dig(review, 'kind'))}")
    version = review.get("apiVersion")
    if version not in _VERSIONS:
        raise BadReview(f"apiVersion is {_shown(version)}; known are {' and '.join(_VERSIONS)}")
    if not isinstance(review.get("request"), dict):
        raise BadReview(f"request is {_shown(review.get('request'))}; an AdmissionReview to answer has an object there")
    return _request(str(version), review["request"])


_TEXTS = (
    ("", "uid", True),
    ("", "operation", True),
    ("kind", "group", False),
    ("kind", "version", False),
    ("kind", "kind", True),
    ("resource", "resource", True),
    ("", "subResource", False),
    ("", "name", False),
    ("", "namespace", False),
    ("userInfo", "username", False),
)
"""What a request says as text: in which object of it, under which key, and whether it must be there."""


def _request(version: str, request: Body) -> Request:
    uid, operation, group, api_version, kind, resource, subresource, name, namespace, user = _texts(request)
    return Request(
        uid,
        version,
        operation,
        group,
        api_version,
        kind,
        resource,
        subresource,
        name,
        namespace,
        user,
        _switch(request, "dryRun"),
        _object(request, "object"),
        _object(request, "oldObject"),
    )


def _texts(request: Body) -> list[str]:
    """In one loop, since each review comes by here."""
    found = []
    for inside, key, needed in _TEXTS:
        holder = request.get(inside) if inside else request
        value = holder.get(key) if type(holder) is dict else None
        if type(value) is str and (value or not needed):
            found.append(value)
        elif value is None and not needed:
            found.append("")
        else:
            raise BadReview(f"request.{inside}{'.' if inside else ''}{key} is {_shown(value)}; wanted is text")
    return found


def _read(body: bytes) -> object:
    try:
        review = loads(body)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise BadReview(f"the body is no JSON: {error}") from None
    if body.count(b"{") + body.count(b"[") > DEPTH and _is_deep(review):
        raise _too_deep()
    return review


def _too_deep() -> BadReview:
    return BadReview(f"the body has more than {DEPTH} objects and lists inside each other")


def _is_deep(value: object) -> bool:
    """Level by level, not by recursion: what comes later walks the object."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH + 1):
        inside: list[Any] = []
        for each in level:
            for item in each.values() if type(each) is dict else each:
                if type(item) is dict or type(item) is list:
                    inside.append(item)  # noqa: PERF401 - a comprehension costs a frame for each object
        level = inside
        if not level:
            return False
    return True


def _switch(request: Body, key: str) -> bool:
    value = request.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise BadReview(f"request.{key} is {_shown(value)}; wanted is true or false")


def _object(request: Body, key: str) -> Body | None:
    value = request.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise BadReview(f"request.{key} is {_shown(value)}; wanted is an object")


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def encode(request: Request, answer: Answer) -> Mapping[str, object]:
    """The review that answers a request, in the version in which it came. v1beta1 has the same fields."""
    response: dict[str, object] = {"uid": request.uid, "allowed": answer.allowed}
    if not answer.allowed:
        response["status"] = {
            "status": "Failure",
            "message": answer.message,
            "reason": "Forbidden",
            "code": _DENIED,
        }
    if answer.patch and answer.allowed:
        response["patchType"] = "JSONPatch"
        response["patch"] = _patch(answer)
    if answer.warnings:
        response["warnings"] = list(answer.warnings)
    if answer.audit:
        response["auditAnnotations"] = dict(answer.audit)
    return {"apiVersion": request.review, "kind": "AdmissionReview", "response": response}


def _patch(answer: Answer) -> str:
    steps = [{"op": each.op, "path": each.path, "value": each.value} for each in answer.patch]
    return base64.b64encode(dumps(steps)).decode("ascii")
