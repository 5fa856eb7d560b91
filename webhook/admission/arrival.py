"""An object on its way into the cluster: what rules see of it, who made it, and what the cluster knows of its gang."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from webhook.gangkeys import operator_of
from webhook.gather import gather
from webhook.model import Gang, Malformed, Member, Path, Pod, PodGroup, Ref, Subject, Workload, WrongScalar, dig
from webhook.parse import parse
from webhook.review import Body, Known, LookUp, Request
from webhook.stack import Stack

_JUDGED = frozenset({Pod, Workload, PodGroup, Malformed, WrongScalar})
"""The subjects of one object that rules are asked about. A kind that has arrived exists, however strange its name."""


class Owner(NamedTuple):
    """The controller that made an object."""

    api_version: str
    kind: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Arrival(NamedTuple):
    """An object under review. `body` is the object with what the request knows better: kind and namespace.

    `owner` is its controller, if any; `made` tells whether it is an operator's PodGroup; `pod` is the Pod, where the
    object itself is one.
    """

    body: Body
    subjects: tuple[Subject, ...]
    owner: Owner | None
    made: bool
    pod: Pod | None

    @property
    def refs(self) -> frozenset[Ref]:
        """The object, and those that it wraps."""
        return frozenset(each.ref for each in self.subjects if isinstance(each, Pod | Workload | PodGroup))


class Heard(NamedTuple):
    """What the index said. `skipped` tells which questions it could not answer."""

    subjects: tuple[Subject, ...] = ()
    skipped: tuple[str, ...] = ()


def arrive(request: Request, body: Body, stack: Stack) -> Arrival:
    """Read one object of a request, whatever it looks like."""
    owner = _owner(body)
    known = _completed(request, body, owner)
    parsed = parse(known, -1, stack, written=lambda path: _written(known, path), namespace=request.namespace)
    subjects = tuple([each for each in parsed.subjects if type(each) in _JUDGED])
    made, pod = False, None
    for each in subjects:
        if type(each) is PodGroup:
            made = made or bool(each.made_by)
        elif type(each) is Pod and pod is None and _is_itself(each):
            pod = each
    return Arrival(known, subjects, owner, made, pod)


def _is_itself(pod: Pod) -> bool:
    """Whether a Pod is the object, not a template or a part of it."""
    return pod.ref.kind == "Pod" and not pod.is_template and not pod.ref.prefix


def _completed(request: Request, body: Body, owner: Owner | None) -> Body:
    """The object with what the request says of it, and of a new one without what the API server has just filled in.

    On CREATE validating webhooks see a uid and the status of a Pending Pod already (kubernetes pkg/registry/core/pod/
    strategy.go PrepareForCreate): that is no sign of a dump of a running object, not even beside a nodeName.
    """
    metadata = body.get("metadata")
    known: dict[str, object] = {**body, "apiVersion": _api_version(request), "kind": request.kind}
    if metadata is not None and not isinstance(metadata, dict):
        return known
    named = dict(metadata or {})
    if request.namespace:
        named["namespace"] = request.namespace
    name = _pattern(request, named, owner)
    if name:
        named["name"] = name
    if request.operation == "CREATE":
        named.pop("uid", None)
        named.pop("resourceVersion", None)
        if dig(body, "status", "phase") == "Pending":
            del known["status"]
    known["metadata"] = named
    return known


def _api_version(request: Request) -> str:
    version = request.version or "v1"
    return f"{request.group}/{version}" if request.group else version


def _pattern(request: Request, metadata: Body, owner: Owner | None) -> str:
    """`w-*` for an object whose name was or will be generated; empty where the object's own name is to stand.

    Owned Pods are called so even when the name is known: one text for all siblings is one Event. Names that rules
    compare with other names, a PodGroup's or those that operators copy, are left alone.
    """
    prefix = metadata.get("generateName")
    if not isinstance(prefix, str) or not prefix or request.kind == "PodGroup":
        return ""
    is_pod = request.kind == "Pod" and not request.group
    if metadata.get("name") and not (is_pod and owner):
        return ""
    named = operator_of(Ref(_api_version(request), request.kind, "", ""))
    return "" if named else f"{prefix}*"


def _written(body: Body, path: Path) -> str:
    """How a scalar stands in the review."""
    return json.dumps(dig(body, *path))


def _owner(body: Body) -> Owner | None:
    owners = dig(body, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            found = (owner.get(key) for key in ("apiVersion", "kind", "name", "uid"))
            return Owner(*(text if isinstance(text, str) else "" for text in found))
    return None


def hear(arrival: Arrival, look_up: LookUp) -> Heard:
    """Ask the index about the gangs that the object belongs to."""
    pod = arrival.pod
    if pod is None:
        gangs = _gangs(arrival)
        answers = [_ask(look_up, gang.namespace, gang.name) for gang in gangs]
        placed = tuple(map(_partial, gangs, answers))
        return Heard(placed, _skipped(answers))
    if not pod.group:
        return Heard()
    known = _ask(look_up, pod.ref.namespace, pod.group)
    if not isinstance(known, Known):
        return Heard((), _skipped([known]))
    return Heard((Member(pod, known.group, known.members, known.quiet, known.growing),))


def _gangs(arrival: Arrival) -> list[Gang]:
    """The gangs that one object brings members of. The rest of them may come in other objects."""
    if not any(isinstance(each, Pod) for each in arrival.subjects):
        return []
    return [each for each in gather(arrival.subjects) if isinstance(each, Gang) and each.members]


def _partial(gang: Gang, known: Known | str) -> Gang:
    """The gang with the PodGroup that the index knows.

    Only while no member is there: afterwards those may be of other objects, or this object's own from before, and no
    number can be told from a mistake.
    """
    group = gang.group
    if group is None and isinstance(known, Known) and known.members == 0:
        group = known.group
    return gang._replace(group=group, partial=True)


def _ask(look_up: LookUp, namespace: str, name: str) -> Known | str:
    """What is known of a gang, or why nothing is."""
    try:
        return look_up(namespace, name) or "index: not in sync"
    except Exception:  # noqa: BLE001 - without the index the object's own rules still answer
        return "index: failed"


def _skipped(answers: list[Known | str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_reasons(answers)))


def _reasons(answers: list[Known | str]) -> Iterator[str]:
    return (answer for answer in answers if isinstance(answer, str))
