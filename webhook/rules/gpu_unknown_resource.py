from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from webhook.model import Container, Place, Pod
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import VENDORS, Stack
from webhook.vgpu.wording import container_of

_NAME_ALIKE, _PART_ALIKE = 0.9, 0.8
"""How alike two names, and their parts behind the slash, must be: one letter of six, two of ten."""

_LONG = 6
"""Letters of a part that can be told from others; `gpu` is near to too many (`pgpu`, `vgpu`)."""

_OF_OTHERS = frozenset(f"huawei.com/Ascend{chip}" for chip in ("310", "310B", "910", "910B"))
"""Names of the vendors' own device plugins."""

_WORDS: Mapping[str, str] = {
    "gpus": "count",
    "gpucount": "count",
    "gpunum": "count",
    "gpumemory": "memory",
    "memory": "memory",
    "mem": "memory",
    "vram": "memory",
    "gpumempercentage": "percentage",
    "gpumempercent": "percentage",
    "gpumemorypercentage": "percentage",
    "mempercentage": "percentage",
    "gpucore": "cores",
    "gpucores": "cores",
    "cores": "cores",
    "core": "cores",
    "gpupriority": "priority",
}
"""What people write for NVIDIA's and AMD's names, without dashes and underscores."""


@rule(Pod, Severity.WARNING, evidence="read")
def gpu_unknown_resource(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container asks for a resource that is nearly called as one of HAMi's.

    HAMi reads the names of its device configuration and no others (pkg/device/*/device.go, all releases). To Kubernetes
    a misspelt one, `nvidia.com/gpumemory` or `nvidia.com/gpucroes`, is an extended resource of its own: the API server
    takes it, no node advertises it, and the Pod waits for ever with `Insufficient nvidia.com/gpumemory`. What was to be
    limited would not be.

    Where the installation renames resources (chart values resourceName, resourceMem …; `stack.resources` here), the
    old names are unknown in the same way.

    Silent about names of a vendor's domain that are like none of these, such as `nvidia.com/mig-1g.5gb`,
    `nvidia.com/gpu.shared` or `nvidia.com/pgpu`: other device plugins have them.
    """
    if pod.finished or stack.is_foreign(pod):
        return
    for container in pod.containers:
        for name in _asked(container, stack):
            meant = _renamed(name, stack) or _meant(name, tuple(stack.meanings))
            if meant and meant not in container.limits and meant not in container.requests:
                yield _finding(pod, container, name, meant)


def _asked(container: Container, stack: Stack) -> Iterator[str]:
    """The resources with a domain that are none of HAMi's, each once."""
    limits, known = container.limits, stack.meanings
    for half in (limits, container.requests):
        for name in half:
            if name not in known and "/" in name and name not in _OF_OTHERS and (half is limits or name not in limits):
                yield name


def _finding(pod: Pod, container: Container, name: str, meant: str) -> Finding:
    halves = {"limits": container.limits, "requests": container.requests}
    places = {
        half: Place(pod.ref, (*container.path, "resources", half, name), "key")
        for half, resources in halves.items()
        if name in resources
    }
    return Finding(
        next(iter(places.values())),
        f"{container_of(container, pod)} asks for {name}, which HAMi does not know: the Pod waits for a node with it",
        fix=f"write {meant}",
        edits=tuple(edit for half, place in places.items() for edit in _renaming(place, meant, halves[half][name])),
    )


def _renaming(place: Place, meant: str, value: object) -> tuple[Edit, Edit]:
    return Edit("remove", place), Edit("add", Place(place.ref, (*place.path[:-1], meant)), value)


def _renamed(name: str, stack: Stack) -> str:
    """What this installation calls a resource of HAMi's own name."""
    if stack.vendors is VENDORS:
        return ""
    for vendor, names in VENDORS.items():
        for part in ("count", "memory", "percentage", "cores", "priority"):
            own: tuple[str, ...] = getattr(stack.vendors.get(vendor), part, ())
            if name in getattr(names, part) and len(own) == 1:
                return own[0]
    return ""


@lru_cache(maxsize=1024)
def _meant(name: str, known: tuple[str, ...]) -> str:
    """The resource that a name is a slip of the pen for; empty for none."""
    domain, _, last = name.partition("/")
    domains = {each.partition("/")[0] for each in known}
    same = next((each for each in known if each.lower() == name.lower()), "")
    if same or domain not in domains:
        return same or _misspelt(name, known)
    part = _WORDS.get(last.lower().replace("-", "").replace("_", ""), "")
    for vendor in ("nvidia", "amd") if part else ():
        found = next(iter(getattr(VENDORS[vendor], part)), "")
        if found in known and found.startswith(f"{domain}/"):
            return found
    return _misspelt(name, tuple(each for each in known if each.startswith(f"{domain}/")))


def _misspelt(name: str, known: tuple[str, ...]) -> str:
    """A name that is a few letters away, or the same behind a misspelt domain, and of the same chip."""
    import difflib

    last, chip = name.partition("/")[2], _chip(name)
    for near in difflib.get_close_matches(name, known, n=3, cutoff=_NAME_ALIKE):
        other = near.partition("/")[2]
        alike = len(last) >= _LONG and difflib.SequenceMatcher(None, last, other).ratio() >= _PART_ALIKE
        if _chip(near) == chip and (last == other or alike):
            return near
    return ""


def _chip(name: str) -> list[str]:
    """What tells chips apart: the digits of a name with the capital behind them. 910, 910A and 910B4 are three."""
    return re.findall("[0-9]+[A-Z]?", name)
