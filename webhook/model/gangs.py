"""What makes Pods, the PodGroups, and the gangs that they come to."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from webhook.model.places import NOTHING, Place, Ref
from webhook.model.pods import Pod

GROUP_API = "scheduling.x-k8s.io"
"""API group of Coscheduling's PodGroup from scheduler-plugins v0.25 on."""


class Workload(NamedTuple):
    """An object that makes Pods, with its templates. `body` is the whole object as read; rules read single
    fields of it with `dig`."""

    ref: Ref
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pods: tuple[Pod, ...]
    body: Mapping[str, object]


class PodGroup(NamedTuple):
    """An object of kind PodGroup of any API group (six systems have one).

    `min_member` is None where it is absent or templated (`templated` tells); `fields` are the keys of `spec`
    as written; `timeout` is scheduleTimeoutSeconds. `made_by` names the kind of its controller, if any.
    """

    ref: Ref
    min_member: int | None
    fields: Mapping[str, object] = NOTHING
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    min_resources: Mapping[str, object] = NOTHING
    timeout: int | None = None
    made_by: str = ""
    templated: bool = False

    @property
    def is_coscheduling(self) -> bool:
        return self.ref.group == GROUP_API

    def field(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        """A place in the PodGroup's spec."""
        return Place(self.ref, ("spec", *steps), at)


class Scaler(NamedTuple):
    """An autoscaler: what it scales in its namespace, and between which numbers of Pods (None: nobody knows)."""

    ref: Ref
    kind: str
    name: str
    least: int
    most: int | None


class Gang(NamedTuple):
    """All that the input says of one group name in one namespace. The roster is what was given: what is
    absent from the input is unknown, not wrong, unless `whole` says that nothing else exists.

    `members` carry the label; `strays` name the group by something that does not count (an annotation, an old or
    misspelt key, the workload's own metadata, the name with two letters swapped). `group` is Coscheduling's PodGroup;
    `foreign` are PodGroups of that name and namespace in other APIs. `namesakes` are Coscheduling PodGroups of this
    name in other namespaces, `elsewhere` the Pods of other namespaces (50 at most) that use this name; where there is a
    `group`, only those of namespaces without a PodGroup of the name. `near` are the names of Coscheduling PodGroups in
    this namespace that are a slip of the pen away. `workloads` are the objects that the members' templates stand in; of
    a group without members, the objects of its own name whose Pods name no group. `partial` is True at admission: the
    roster is that of one object, more members may come in others, and `group` is what the cluster held a moment ago.
    """

    namespace: str
    name: str
    group: PodGroup | None
    members: tuple[Pod, ...] = ()
    strays: tuple[Pod, ...] = ()
    foreign: tuple[PodGroup, ...] = ()
    namesakes: tuple[PodGroup, ...] = ()
    elsewhere: tuple[Pod, ...] = ()
    near: tuple[str, ...] = ()
    workloads: tuple[Workload, ...] = ()
    whole: bool = False
    partial: bool = False


class Member(NamedTuple):
    """A Pod on its way into the cluster, and what the cluster knew of its gang a moment ago: hearsay, which nothing is
    denied for.

    `group` is Coscheduling's PodGroup, None where there is none. `members` counts the siblings that are neither
    Succeeded nor Failed, without this Pod. `quiet` is True when no PodGroup of the namespace has changed for 5 seconds,
    `growing` when a sibling came or went within that time: then the gang is just being made.
    """

    pod: Pod
    group: PodGroup | None
    members: int
    quiet: bool
    growing: bool = False
