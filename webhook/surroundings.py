"""Which of several PodGroups of one name a Pod belongs to, by the folders that they stand in.

Trees of manifests hold one gang several times: dev and prod, clusters, an overlay beside its base. Each folder with a
PodGroup of the name is a setting of its own, and a Pod belongs to the setting that its own folder is nearest to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from webhook.model import Pod, PodGroup

FolderOf = Callable[[Pod | PodGroup], str]


def one_per_folder(groups: Iterable[PodGroup], folder_of: FolderOf) -> list[PodGroup]:
    """The PodGroup of each folder; of two in one folder the last description counts."""
    return list({folder_of(group): group for group in groups}.values())


def by_nearest(pods: Iterable[Pod], groups: Sequence[PodGroup], folder_of: FolderOf) -> list[list[Pod]]:
    """The Pods of each PodGroup. Those as near to several are shared by these: overlays patch them, so nobody knows
    how many they are in each, but where a PodGroup stands beside or right above them, which is what is patched."""
    below: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        for folder in _upwards(folder_of(group)):
            below.setdefault(folder, []).append(index)
    parts: list[list[Pod]] = [[] for _ in groups]
    for pod in pods:
        around = next((folder for folder in _upwards(folder_of(pod)) if folder in below), "")
        nearest = below.get(around, [])
        for index in nearest:
            own = len(nearest) == 1 or folder_of(groups[index]) == around
            parts[index].append(pod if own else _of_unknown_number(pod))
    return parts


def nearness(folder: str, other: str) -> tuple[int, int]:
    """How near two folders are: by the steps of their paths that are the same, then by how few come after these in
    the first. The greater is the nearer."""
    steps = folder.split("/")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(steps, other.split("/"), strict=False))
    return sum(1 for _ in same), -len(steps)


def by_folder(pods: Iterable[Pod], folder_of: FolderOf) -> list[list[Pod]]:
    """The Pods of each folder, in the order in which the folders are met."""
    parts: dict[str, list[Pod]] = {}
    for pod in pods:
        parts.setdefault(folder_of(pod), []).append(pod)
    return list(parts.values())


def _upwards(folder: str) -> Iterator[str]:
    """A folder and all around it, up to the nameless one that is around every folder."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _of_unknown_number(pod: Pod) -> Pod:
    return pod._replace(count=pod.count._replace(least=0, most=None, stage=None))
