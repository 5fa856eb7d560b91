"""Objects of all inputs to gangs: who names which group, and what else bears that name."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

from webhook.gangkeys import unread_keys
from webhook.model import (
    GROUP_LABEL,
    Duplicates,
    Gang,
    HookConfiguration,
    Object,
    Pod,
    PodGroup,
    Ref,
    Scaler,
    Subject,
    Workload,
)
from webhook.surroundings import FolderOf, by_folder, by_nearest, nearness, one_per_folder

Key = tuple[str, str]
"""A gang's namespace and name."""

NEAR_MISSES_AT_MOST = 200
"""Above this many unused PodGroups in a namespace, only names that differ in case or separators are near."""

NAMESPACES_AT_MOST = 50
"""Other namespaces in which a gang's name is looked for: a name such as `train` may be in thousands."""


class _World(NamedTuple):
    """The objects of a run by what they are asked for.

    `namespaces` and `homes` tell in which namespaces a group name has members and PodGroups, `homeless` in which it has
    members and no PodGroup of any API. An object that is described several times is there as often.
    """

    members: Mapping[Key, list[Pod]]
    strays: Mapping[Key, list[Pod]]
    groups: Mapping[Key, list[PodGroup]]
    foreign: Mapping[Key, list[PodGroup]]
    workloads: Mapping[Ref, Workload]
    named: Mapping[Key, list[Workload]]
    namespaces: Mapping[str, list[str]]
    homes: Mapping[str, list[str]]
    homeless: Mapping[str, list[str]]
    unused: Mapping[str, list[str]]


def gather(
    subjects: Iterable[Subject], *, files: Sequence[str] = (), whole: bool = False, now: int = 0
) -> Iterator[Subject]:
    """Yield a Gang for every group name that a Pod carries or a Coscheduling PodGroup has, the Duplicates, and what
    the parts of an installation are put together to.

    `files` gives the file of each document by its index: only documents of one folder are told to be
    duplicates, since overlays repeat their base, and a gang of several folders is one for each of its PodGroups.
    `whole`: the input is the whole system, in which every object is there once. `now` is the time in seconds since
    1970 (0: nobody knows).
    """
    known = list(subjects)
    folders = [file.rpartition("/")[0] for file in files]

    def folder_of(subject: Pod | PodGroup) -> str:
        document = subject.ref.document
        return folders[document] if 0 <= document < len(folders) else ""

    yield from _duplicates(known, folders)
    yield from _installation(known, files, folders, whole=whole, now=now)
    world = _sort(known)
    wanted = set(world.members) | set(world.groups) | (set(world.strays) & set(world.foreign))
    for key in sorted(wanted):
        for setting in _settings(key, world, folder_of, whole=whole):
            yield _gang(key, world, _each_once(setting, folder_of), whole=whole)


def _installation(
    known: Sequence[Subject], files: Sequence[str], folders: Sequence[str], *, whole: bool, now: int
) -> Iterator[Subject]:
    """What is no gang: imported only where there is something of it, which in most runs there is not."""
    if any(type(subject) is HookConfiguration for subject in known):
        from webhook.installation import hooks

        yield from hooks.settings(known, folders=folders, whole=whole, now=now)
    parts: list[Subject] = []
    if any(shows_installation(subject) for subject in known):
        from webhook.installation import gathering

        parts.extend(gathering.installations(known, files=files, whole=whole))
        yield from parts
    if whole:
        from webhook.installation import runtimeclasses

        yield from runtimeclasses.missing([*known, *parts])


def shows_installation(subject: Subject) -> bool:
    """Whether it is a part of an installation: an Object, or a Pod with a scheduler or one of its extenders in it."""
    if type(subject) is Pod:
        return any("scheduler" in each.image or "scheduler" in each.name for each in subject.containers)
    return type(subject) is Object


def _sort(subjects: Iterable[Subject]) -> _World:
    members: dict[Key, list[Pod]] = defaultdict(list)
    strays: dict[Key, list[Pod]] = defaultdict(list)
    groups: dict[Key, list[PodGroup]] = defaultdict(list)
    foreign: dict[Key, list[PodGroup]] = defaultdict(list)
    workloads: dict[Ref, Workload] = {}
    named: dict[Key, list[Workload]] = defaultdict(list)
    scalers: list[Scaler] = []
    for subject in subjects:
        if type(subject) is Pod:
            if subject.group:
                members[subject.ref.namespace, subject.group].append(subject)
            else:
                for name in unread_names(subject):
                    strays[subject.ref.namespace, name].append(subject)
        elif type(subject) is Workload:
            workloads[subject.ref] = subject
            named[subject.ref.namespace, subject.ref.name].append(subject)
        elif type(subject) is PodGroup:
            key = (subject.ref.namespace, subject.ref.name)
            (groups if subject.is_coscheduling else foreign)[key].append(subject)
        elif type(subject) is Scaler:
            scalers.append(subject)
    _add_unlabelled_templates(workloads.values(), strays)
    if scalers:
        _scale(scalers, members, strays)
    _add_misspelt(members, groups, strays)
    return _World(
        members,
        strays,
        groups,
        foreign,
        workloads,
        named,
        _namespaces(members),
        _namespaces(groups),
        _namespaces(key for key in members if key not in groups and key not in foreign),
        _unused(groups, members),
    )


_Setting = tuple[PodGroup | None, Sequence[Pod], Sequence[Pod]]
"""A PodGroup, if there is one, with its members and strays."""


def _settings(key: Key, world: _World, folder_of: FolderOf, *, whole: bool) -> Iterable[_Setting]:
    """One gang, or one for each folder that holds its PodGroup: dev and prod are not added up. An overlay that changes
    nothing but the PodGroup says nothing of its members."""
    members, strays = world.members.get(key, []), world.strays.get(key, [])
    groups = one_per_folder(world.groups.get(key, ()), folder_of)
    if whole or len(groups) == 1 or key in world.foreign:
        return [(groups[-1] if groups else None, members, strays)]
    if not groups:
        parts = by_folder(members, folder_of)
        return [(None, part, [pod for pod in strays if folder_of(pod) == folder_of(part[0])]) for part in parts]
    found = list(
        zip(groups, by_nearest(members, groups, folder_of), by_nearest(strays, groups, folder_of), strict=True)
    )
    return [part for part in found if part[1] or part[2]] or [(groups[-1], [], [])]


def unread_names(pod: Pod) -> Iterator[str]:
    """The group names that a Pod without the label gives by a key that Coscheduling does not read.

    Those are Coscheduling's keys as annotations, the keys of older releases and near misses of either; keys of
    other systems (Kueue's pod-group-name, Volcano's group-name) name groups of their own.
    """
    for half, key in unread_keys(pod):
        yield pod.labels[key] if half == "labels" else pod.annotations[key]


def _add_unlabelled_templates(workloads: Iterable[Workload], strays: dict[Key, list[Pod]]) -> None:
    """A label on the workload alone names the group too, where Coscheduling does not look."""
    for workload in workloads:
        name = workload.labels.get(GROUP_LABEL, "")
        if name:
            strays[workload.ref.namespace, name].extend(pod for pod in workload.pods if not pod.group)


_ONE_TEMPLATE = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "Rollout"})
"""Kinds whose replicas, which an autoscaler sets, are the number of their Pods."""


def _scale(scalers: Iterable[Scaler], *rosters: dict[Key, list[Pod]]) -> None:
    """What an autoscaler scales has as many Pods as that says. Of several (dev and prod) the widest bounds count."""
    bounds: dict[tuple[str, str, str], tuple[int, int | None]] = {}
    for scaler in scalers:
        target = (scaler.ref.namespace, scaler.kind, scaler.name)
        least, most = bounds.get(target, (scaler.least, scaler.most))
        top = None if most is None or scaler.most is None else max(most, scaler.most)
        bounds[target] = (min(least, scaler.least), top)
    for roster in rosters:
        for pods in roster.values():
            pods[:] = [_scaled(pod, bounds.get((pod.ref.namespace, pod.ref.kind, pod.ref.name))) for pod in pods]


def _scaled(pod: Pod, bounds: tuple[int, int | None] | None) -> Pod:
    if bounds is None:
        return pod
    least, most = bounds if pod.ref.kind in _ONE_TEMPLATE else (0, None)
    return pod._replace(count=pod.count._replace(least=least, most=most))


def _add_misspelt(
    members: Mapping[Key, list[Pod]], groups: Mapping[Key, list[PodGroup]], strays: dict[Key, list[Pod]]
) -> None:
    """Members whose name is a PodGroup's but for two swapped letters, or one too many, are meant for that one."""
    for namespace, name in members:
        if (namespace, name) not in groups:
            for other in _typos(name):
                if (namespace, other) in groups:
                    strays[namespace, other].extend(members[namespace, name])


def _typos(name: str) -> Iterator[str]:
    """What was meant, if two neighbouring letters were swapped or one was written twice."""
    for at, (left, right) in enumerate(pairwise(name)):
        if left.isalpha() and right.isalpha():
            swapped = name[:at] + right + left + name[at + 2 :]
            yield name[:at] + name[at + 1 :] if left == right else swapped


def _each_once(setting: _Setting, folder_of: FolderOf) -> _Setting:
    """A setting in which every object is there once. What stands nearest to the PodGroup counts: a copy in another
    folder does not take its place, whatever that folder is called."""
    group, members, strays = setting

    def near(pod: Pod) -> tuple[int, int]:
        return nearness(folder_of(pod), folder_of(group)) if group else _as_near(pod)

    if not members or not strays:
        return group, _once(members, near), _once(strays, near)
    name = members[0].group
    each = _once([*strays, *members], near)
    return group, [pod for pod in each if pod.group == name], [pod for pod in each if pod.group != name]


def _once(pods: Sequence[Pod], near: Callable[[Pod], tuple[int, int]]) -> Sequence[Pod]:
    """One object described by several documents is one object: no patch counts, of the others the nearest, and of
    those as near the last."""
    if len(pods) <= 1:
        return pods
    last: dict[object, Pod] = {}
    for pod in pods:
        ref = pod.ref
        identity = (ref.kind, ref.name, pod.spec, pod.role) if ref.name else (ref.document, ref.prefix, pod.spec)
        known = last.get(identity)
        if known is None or (_has_image(pod) and (not _has_image(known) or near(pod) >= near(known))):
            last[identity] = pod
    return list(last.values())


def _namespaces(keys: Iterable[Key]) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for namespace, name in keys:
        by_name[name].append(namespace)
    return {name: sorted(namespaces) for name, namespaces in by_name.items()}


def _unused(groups: Mapping[Key, list[PodGroup]], members: Mapping[Key, list[Pod]]) -> dict[str, list[str]]:
    """The names of PodGroups without a member, by namespace."""
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for namespace, name in groups:
        if (namespace, name) not in members:
            by_namespace[namespace].append(name)
    return by_namespace


def _gang(key: Key, world: _World, setting: _Setting, *, whole: bool) -> Gang:
    namespace, name = key
    group, members, strays = setting
    return Gang(
        namespace,
        name,
        group,
        members=tuple(members),
        strays=tuple(strays),
        foreign=tuple(world.foreign.get(key, ())),
        namesakes=() if group else tuple(_namesakes(key, world)),
        elsewhere=tuple(_elsewhere(key, world)),
        near=() if group else _near(key, world),
        workloads=tuple(_workloads(members, world) if members else _unlabelled(key, world)),
        whole=whole,
    )


def _namesakes(key: Key, world: _World) -> Iterator[PodGroup]:
    namespace, name = key
    homes = islice(world.homes.get(name, ()), NAMESPACES_AT_MOST)
    return (world.groups[other, name][-1] for other in homes if other != namespace)


def _elsewhere(key: Key, world: _World) -> Iterator[Pod]:
    """The Pods that use this name in other namespaces, those with a PodGroup of the name before all others. Where the
    name has a PodGroup here, only those without one there: each PodGroup has members of its own."""
    namespace, name = key
    kinds = (world.homeless,) if key in world.groups else (world.homes, world.namespaces)
    places = (islice(found.get(name, ()), NAMESPACES_AT_MOST) for found in kinds)
    others = sorted(set(chain.from_iterable(places)) - {namespace})
    return (pod for other in others for pod in _once(world.members.get((other, name), []), _as_near))


def _as_near(_: Pod) -> tuple[int, int]:
    return (0, 0)


def _workloads(members: Iterable[Pod], world: _World) -> list[Workload]:
    if not world.workloads:
        return []
    refs = dict.fromkeys(pod.ref for pod in members if pod.is_template)
    return [world.workloads[ref] for ref in refs if ref in world.workloads]


def _unlabelled(key: Key, world: _World) -> list[Workload]:
    """The workloads of a memberless group's own name whose Pods name no group: those were meant, it seems."""
    named = world.named.get(key, [])
    return [workload for workload in named if not any(pod.group or any(unread_names(pod)) for pod in workload.pods)]


def _near(key: Key, world: _World) -> tuple[str, ...]:
    """Names a slip of the pen away: of a PodGroup that nobody names, or but for two letters of any."""
    namespace, name = key
    typos = [other for other in _typos(name) if (namespace, other) in world.groups]
    return tuple(dict.fromkeys((*typos, *_alike(name, world.unused.get(namespace, [])))))


def _alike(name: str, candidates: list[str]) -> tuple[str, ...]:
    """Names that look like this one. Numbers tell gangs apart (`run-1`, `run-2`) and are no slip."""
    if len(candidates) > NEAR_MISSES_AT_MOST:
        return tuple(sorted(other for other in candidates if _bare(other) == _bare(name)))
    import difflib

    close = difflib.get_close_matches(name, candidates, n=3, cutoff=0.75)
    return tuple(other for other in close if _letters(other) != _letters(name) or _bare(other) == _bare(name))


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(".", "")


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def _duplicates(subjects: Iterable[Subject], folders: Sequence[str]) -> Iterator[Duplicates]:
    """Gang members and PodGroups that one folder describes more than once; a patch without an image is none."""
    seen: dict[object, dict[tuple[int, object], Ref]] = defaultdict(dict)
    for subject in subjects:
        ref = _counted(subject)
        if ref is None:
            continue
        folder = folders[ref.document] if 0 <= ref.document < len(folders) else ""
        seen[folder, ref.group, ref.kind, ref.namespace, ref.name][ref.document, ref.prefix] = ref
    for refs in seen.values():
        if len(refs) > 1:
            yield Duplicates(tuple(refs.values()))


def _counted(subject: Subject) -> Ref | None:
    if isinstance(subject, PodGroup):
        return subject.ref if subject.ref.name else None
    if not isinstance(subject, Pod) or not subject.ref.name or not subject.group or subject.live:
        return None  # a running Pod that was dumped twice is no pasted one
    return subject.ref if _has_image(subject) else None


def _has_image(pod: Pod) -> bool:
    """Whether it is a whole Pod; what names no image is a patch of one."""
    return any(container.image for container in pod.containers)
