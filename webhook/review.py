"""The values that pass between the doors of the webhook: what is asked, what is known, what is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from webhook.model import NOTHING, PodGroup

Body: TypeAlias = Mapping[str, object]


class Request(NamedTuple):
    """One AdmissionReview's request, as the API server sent it.

    `review` is the review's own apiVersion, answered in kind. `name` is empty on CREATE with generateName;
    `namespace` is the one to trust (the object may lack it). `object` and `old_object` are None where absent.
    """

    uid: str
    review: str
    operation: str
    group: str
    version: str
    kind: str
    resource: str
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    user: str = ""
    dry_run: bool = False
    object: Body | None = None
    old_object: Body | None = None


class Known(NamedTuple):
    """What the gang index knows of one group at this moment.

    `members` are the Pods that carry the label and are neither Succeeded nor Failed. `group` is Coscheduling's
    PodGroup, None where there is none. `quiet` is True when no PodGroup of the namespace has changed for
    5 seconds: only then may a missing PodGroup be mentioned, since one apply of PodGroup and Pods races the watch.
    `growing` is True when a member of the group came or went within the last 5 seconds: the gang is being made, and
    each of its Pods need not be told how many are still missing.
    """

    members: int
    group: PodGroup | None
    quiet: bool
    growing: bool = False


LookUp: TypeAlias = Callable[[str, str], Known | None]
"""(namespace, group name) -> what is known; None while the index is not in sync or too old: say nothing then."""


def nothing_known(namespace: str, name: str) -> Known | None:  # noqa: ARG001 - the shape of every LookUp
    """The look-up where no API server is there to ask."""
    return None


class Operation(NamedTuple):
    """One RFC 6902 operation. `path` is a JSON pointer, escaped."""

    op: Literal["add"]
    path: str
    value: object


class Notice(NamedTuple):
    """An Event to write on an object, because nobody would hear a warning. Never made on dry-run.

    `uid`, `api_version`, `kind`, `namespace`, `name` identify the object that the Event is about: the controller
    that made the Pod.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    message: str


class Answer(NamedTuple):
    """A verdict. `message` says why an object is denied; `warnings` are fit to be sent as they are.

    `audit` has short keys without a slash. `rules` names every rule that spoke, `failed` those that raised.
    `skipped` says which checks were left out and why ("index: stale"). `patch` is empty for no change.
    """

    allowed: bool = True
    message: str = ""
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = NOTHING
    patch: tuple[Operation, ...] = ()
    notices: tuple[Notice, ...] = ()
    rules: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How findings become verdicts. `owned_pods`: what a Pod with a controller gets for pod-group-annotation.
    `suppressions_lift_denials`: whether an ignore annotation lifts a denial, not only warnings.
    `events`: whether findings on owned Pods become Events.
    """

    owned_pods: Literal["deny", "warn"] = "deny"
    suppressions_lift_denials: bool = False
    events: bool = True


@dataclass(frozen=True, slots=True)
class VgpuEnv:
    """What the mutator injects beside schedulerName. `priority` is the default of CUDA_TASK_PRIORITY (libvgpu's
    own is 1); `core_policy` is GPU_CORE_UTILIZATION_POLICY, empty for none; `hide_gpus` sets
    NVIDIA_VISIBLE_DEVICES=none on containers of a GPU Pod that ask for no GPU. `strip_min_resources` is about
    PodGroups: whether a new one loses the names in minResources that no node advertises.
    """

    priority: Literal[0, 1] = 1
    core_policy: Literal["", "default", "force", "disable"] = ""
    hide_gpus: bool = False
    strip_min_resources: bool = False
