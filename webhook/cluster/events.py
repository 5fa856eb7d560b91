"""Events as the API server takes them, on which object they go, and which were said already (pure)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from webhook.model import dig
from webhook.review import Notice

AGAIN_AFTER = 600.0
"""Seconds until the same thing is said again of the same object: an Event lives an hour."""
MOST_PER_OBJECT = 5
"""Different messages for one reason on one object within that time; client-go's own limit is ten."""

_REMEMBERED = 4096
_NAME_AT_MOST = 200
_MESSAGE_AT_MOST = 1024

Topic: TypeAlias = tuple[str, str]
"""The uid of an object and a reason."""


class Owner(NamedTuple):
    """An object that an Event may go on."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Recent:
    """What was said of late, by object and reason: each message with the time, oldest first."""

    said: dict[Topic, dict[str, float]] = field(default_factory=dict)


def is_news(recent: Recent, topic: Topic, message: str, now: float) -> bool:
    """Whether to say it, and if so remembers it. Not if it was said a short while ago, or too much else was."""
    while len(recent.said) >= _REMEMBERED and topic not in recent.said:
        recent.said.pop(next(iter(recent.said)))
    before = recent.said.pop(topic, {})
    known = {text: when for text, when in before.items() if now - when < AGAIN_AFTER}
    recent.said[topic] = known  # last in order, so that the first is the one that was silent for longest
    if message in known or len(known) >= MOST_PER_OBJECT:
        return False
    known[message] = now
    return True


def forget(recent: Recent, topic: Topic, message: str) -> None:
    """It was not said after all."""
    recent.said.get(topic, {}).pop(message, None)


def controller(metadata: object) -> Owner | None:
    """The owner that controls the object with this metadata, if any."""
    owners = dig(metadata, "ownerReferences") if isinstance(metadata, Mapping) else None
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, Mapping) and owner.get("controller") is True:
            found = Owner(*(str(owner.get(key) or "") for key in ("apiVersion", "kind", "name", "uid")))
            return found if all(found) else None
    return None


def collection(api_version: str, resource: str, namespace: str) -> str:
    """The path of a namespaced resource."""
    return f"/{'apis' if '/' in api_version else 'api'}/{api_version}/namespaces/{namespace}/{resource}"


def resource_of(kind: str, discovered: Mapping[str, Any]) -> str | None:
    """The resource of a kind in an APIResourceList, None where there is none in a namespace."""
    found = discovered.get("resources")
    for each in found if isinstance(found, list) else ():
        name = str(dig(each, "name") or "")
        if name and "/" not in name and dig(each, "kind") == kind:
            return name if dig(each, "namespaced") is True else None
    return None


def event(notice: Notice, owner: Owner, now: datetime, instance: str) -> Mapping[str, Any]:
    """A core/v1 Event about the owner.

    Its name is made from what it says: replicas that say the same at once write one Event, the others are told that
    it is there (409).
    """
    said = f"{owner.uid}\n{notice.reason}\n{notice.message}"
    digest = hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    name = owner.name[:_NAME_AT_MOST].rstrip("-.")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{digest}", "namespace": notice.namespace},
        "involvedObject": {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "namespace": notice.namespace,
            "name": owner.name,
            "uid": owner.uid,
        },
        "reason": notice.reason,
        "message": notice.message[:_MESSAGE_AT_MOST],
        "type": "Warning",
        "count": 1,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "source": {"component": "gangcheck"},
        "reportingComponent": "gangcheck",
        "reportingInstance": instance,
    }
