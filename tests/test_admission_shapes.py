"""Every field of a Pod with values of every wrong type: always a verdict, and a denial only by a rule."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pod_shape
import pytest
from asked import RULES, STACK, owned_by
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import decode, encode
from webhook.app import Parts, create_app
from webhook.config import Config
from webhook.doors import entries
from webhook.metrics import metrics
from webhook.model import Path, dig
from webhook.review import Known
from webhook.rule import Severity

Object = dict[str, Any]

SHAPE = pod_shape.recorded()
WHOLE: Object = pod_shape.whole(SHAPE)
PLACES = sorted(pod_shape.paths(WHOLE), key=repr)
WRONG: tuple[Any, ...] = (None, True, -1, 10**30, 1.5, "", "\n\x00", [], [None], {"": None})
DENYING = {rule.name for rule in RULES if rule.severity is Severity.ERROR}


def a_pod() -> Object:
    """A whole Pod that is new, and nobody's."""
    made: Object = copy.deepcopy(WHOLE)
    made |= {"apiVersion": "v1", "kind": "Pod"}
    for key in ("uid", "resourceVersion", "ownerReferences"):
        del made["metadata"][key]
    del made["spec"]["nodeName"]
    return made


def with_owner() -> Object:
    made = a_pod()
    made["metadata"]["ownerReferences"] = owned_by()
    return made


def as_it_is() -> Object:
    return copy.deepcopy(WHOLE)


def template() -> Object:
    made = a_pod()
    inner = {"metadata": made["metadata"], "spec": made["spec"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {"template": inner}}


class Desk(NamedTuple):
    """The server's own app, without a socket; the index knows of a gang that is short."""

    client: FlaskClient
    lines: list[Mapping[str, object]]

    def ask(self, path: str, made: object, *, kind: str = "Pod", operation: str = "CREATE") -> Object:
        group = "apps" if kind == "Deployment" else ""
        asked = {
            "uid": "u",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "resource": {"group": group, "version": "v1", "resource": f"{kind.lower()}s"},
            "operation": operation,
            "namespace": "team-a",
            "object": made,
            "oldObject": a_pod() if operation == "UPDATE" else None,
        }
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked})
        self.lines.clear()
        response = self.client.post(path, data=body, content_type="application/json")
        assert response.status_code == 200, (response.status_code, response.text, self.lines)
        answer: Any = response.json
        return dict(answer["response"])


@pytest.fixture(scope="module")
def desk() -> Desk:
    lines: list[Mapping[str, object]] = []
    doors = entries(Config(stack=STACK), RULES, lambda _namespace, _name: Known(1, None, quiet=True))
    app = create_app(Parts(decode, encode, doors, metrics(), lines.append))
    return Desk(app.test_client(), lines)


def assert_is_verdict(said: Object, lines: list[Mapping[str, object]]) -> None:
    (line,) = lines
    assert "failed" not in line, line
    assert "skipped" not in line, line
    if said["allowed"]:
        assert "status" not in said
        return
    rules = set(line["rules"]) & DENYING  # type: ignore[call-overload] # a list of names
    assert any(f"gangcheck explain {rule}" in said["status"]["message"] for rule in rules), said


def exchanged(made: Object, path: Path, value: object) -> Object:
    holder = dig(made, *path[:-1])
    holder[path[-1]] = value  # type: ignore[index] # the place is one of paths()
    return made


def put(made: Object, path: Path, value: object) -> None:
    """As exchanged, where an earlier change has left the place."""
    holder: Any = dig(made, *path[:-1])
    step: Any = path[-1]
    if isinstance(holder, dict) or (isinstance(holder, list) and isinstance(step, int) and step < len(holder)):
        holder[step] = value


_UNREAD = frozenset(
    {
        "affinity",
        "ephemeralContainers",
        "items",
        "lifecycle",
        "livenessProbe",
        "managedFields",
        "readinessProbe",
        "startupProbe",
        "status",
        "topologySpreadConstraints",
    }
)
_READ_VOLUMES = frozenset({"name", "secret", "hostPath"})
_READ_CONTAINERS = frozenset({"name", "image", "env", "resources", "securityContext", "volumeMounts", "restartPolicy"})


def lean(value: Any, key: object = "") -> Any:  # noqa: ANN401 - any JSON
    """Without what no rule looks at, which is most of it."""
    if isinstance(value, list):
        return [lean(each, key) for each in value]
    if not isinstance(value, dict):
        return value
    read = {
        "volumes": _READ_VOLUMES,
        "containers": _READ_CONTAINERS,
        "initContainers": frozenset({"name", "resources"}),
    }
    left = value.keys() & read[key] if key in read else value.keys() - _UNREAD
    return {name: lean(value[name], name) for name in value if name in left}


def asked(desk: Desk, made: Object, *, kind: str = "Pod") -> Iterator[Object]:
    for path in ("/mutate", "/validate") if kind == "Pod" else ("/validate/warn",):
        said = desk.ask(path, made, kind=kind)
        assert_is_verdict(said, desk.lines)
        assert said["allowed"] or path == "/validate"
        yield said


def test_a_whole_pod_is_one_of_ours(desk: Desk) -> None:
    """Else nothing here would be asked of any rule."""
    mutated, judged = asked(desk, exchanged(a_pod(), ("spec", "schedulerName"), "default-scheduler"))
    assert mutated.get("patchType") == "JSONPatch"
    assert not judged["allowed"] or judged["warnings"]
    assert len(PLACES) > 900


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("base", [a_pod, with_owner, template], ids=lambda base: base.__name__)
def test_any_field_that_is_read_may_be_of_any_type(desk: Desk, base: Any, value: object) -> None:  # noqa: ANN401 - a maker
    made = lean(base())
    kind = str(made["kind"])
    for place in list(pod_shape.paths(made)):
        kept = dig(made, *place)
        list(asked(desk, exchanged(made, place, value), kind=kind))
        exchanged(made, place, kept)


_AT_ONCE = 16


@pytest.mark.parametrize("turn", range(len(WRONG)))
def test_every_field_may_be_of_any_type(desk: Desk, turn: int) -> None:
    """Some fields at once, since there are so many; over all turns each of them has had every value."""
    reviews = len(PLACES) // _AT_ONCE
    for start in range(reviews):
        made = as_it_is() if turn % 2 else a_pod()
        for place in sorted(PLACES[start::reviews], key=len, reverse=True):
            put(made, place, WRONG[(start + turn) % len(WRONG)])
        list(asked(desk, made))


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(WRONG)), min_size=2, max_size=12), st.booleans())
def test_many_fields_at_once(desk: Desk, changes: list[tuple[Path, object]], update: bool) -> None:  # noqa: FBT001 - drawn
    made = as_it_is()
    for place, value in changes:
        put(made, place, value)
    list(asked(desk, made))
    if update:
        assert_is_verdict(desk.ask("/validate", made, operation="UPDATE"), desk.lines)


@pytest.mark.parametrize("path", ["/mutate", "/validate", "/validate/warn"])
def test_the_object_itself_may_be_missing(desk: Desk, path: str) -> None:
    assert desk.ask(path, None)["allowed"]
    assert desk.ask(path, {})["allowed"]
