from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.installation.releases import hami_extender
from webhook.installation.resources import CONTENT, VALUES, Name, content_of, device_names, value_names
from webhook.model import Release, SchedulerConfig, Values, dig
from webhook.rule import Finding, Related, Severity, enumerated, rule
from webhook.stack import VENDORS, Stack

_NVIDIA = VENDORS["nvidia"]
_OLD = ("huawei.com/Ascend910B", "huawei.com/Ascend910B-memory")
_USUAL = frozenset((*(name for names in VENDORS.values() for name in (*names.count, *names.annotated)), *_OLD))
"""HAMi's own names, in all charts from 2.5 to 2.10 (charts/hami/templates/scheduler/device-configmap.yaml)."""

_CUSTOM: Mapping[str, str] = {
    "enflame": "devices.enflame.customresources",
    "kunlun": "devices.kunlun.customresources",
    "vastai": "devices.vastai.customresources",
    "biren": "devices.biren.customresources",
}
"""Vendors whose names in managedResources come from a list of their own (charts/hami/templates/_helpers.tpl)."""


@rule(Release, Severity.ERROR, evidence="seen", lint_only=True)
def managed_resources(release: Release, stack: Stack) -> Iterator[Finding]:
    """A name of HAMi's resources is not in the extender's managedResources, or not ignored by the scheduler there.

    HAMi keeps memory, cores, percentage and priority in annotations: no node advertises them. kube-scheduler leaves
    them to HAMi only where the extender's `managedResources` has the name with `ignoredByScheduler: true`. Otherwise
    it counts them itself, finds none, and every Pod that asks stays pending with `1 Insufficient nvidia.com/gpumem`
    (seen); where none of a Pod's names is in the list, HAMi is not asked at all (kubernetes pkg/scheduler/extender.go
    IsInterested).

    The chart makes the list of other values than the device configuration (templates/_helpers.tpl), so the two drift
    apart: `device-config.content`, or an edited device ConfigMap, changes the names and not the list; renaming
    Enflame's, Kunlun's, VastAI's or Biren's resources needs the new name in `devices.<vendor>.customresources` too.

    Held against the list are NVIDIA's five names, and of other vendors those that differ from HAMi's own: the chart
    lists no memory and cores of Cambricon and Moore Threads in any version, and leaves out what is not enabled. Silent
    where the list names none of the resources that are known, which may be called otherwise.
    """
    found = hami_extender(release.config) if release.config else None
    if release.config and found:
        yield from _in_config(release, release.config, *found, stack)
    elif release.values and not release.config:
        yield from _in_values(release.values)


def _in_config(
    release: Release, config: SchedulerConfig, index: int, extender: Mapping[str, object], stack: Stack
) -> Iterator[Finding]:
    managed = extender.get("managedResources")
    if not isinstance(managed, list):
        return
    entries = [(at, each) for at, each in enumerate(managed) if isinstance(dig(each, "name"), str)]
    listed = {each["name"] for _, each in entries}
    place = config.place("extenders", index, "managedResources", at="key")
    wanted = _wanted(release, listed, stack)
    missing = [each for each in wanted if each not in listed]
    if missing:
        yield Finding(
            place,
            f"managedResources lacks {enumerated(missing)}: kube-scheduler counts what no node advertises, and Pods "
            "that ask for it stay pending (`Insufficient …`)",
            fix=f"add {{name: {missing[0]}, ignoredByScheduler: true}}" + (" and the others" if missing[1:] else ""),
            related=tuple(_where(release, missing[0])),
        )
    annotated = set(_NVIDIA.annotated) | {each.name for each in _given(release) if each.use != "count"}
    for at, each in entries:
        if each["name"] in annotated and each.get("ignoredByScheduler") is not True:
            yield Finding(
                config.place("extenders", index, "managedResources", at, "ignoredByScheduler"),
                f"{each['name']} is not ignored by the scheduler, which finds it on no node: Pods that ask for it stay "
                "pending (`Insufficient …`)",
                fix="write ignoredByScheduler: true",
            )


def _where(release: Release, name: str) -> Iterator[Related]:
    return (Related(each.place, "the name is given here") for each in _given(release) if each.name == name)


def _given(release: Release) -> Sequence[Name]:
    if release.devices:
        return list(device_names(release.devices))
    return list(value_names(release.values)) if release.values else []


def _wanted(release: Release, listed: set[str], stack: Stack) -> list[str]:
    """The names that must be in the list: those of the input, else NVIDIA's as the stack has them."""
    given = _given(release)
    if release.devices:
        names = [each.name for each in given if each.vendor == "nvidia" or each.name not in _USUAL]
        return list(dict.fromkeys(names))
    nvidia = stack.vendors["nvidia"]
    own = {each.use: each.name for each in given if each.vendor == "nvidia"}
    names = [
        own.get(use, usual[0])  # type: ignore[call-overload]
        for use, usual in (
            ("count", nvidia.count),
            ("memory", nvidia.memory),
            ("percentage", nvidia.percentage),
            ("cores", nvidia.cores),
            ("priority", nvidia.priority),
        )
        if usual
    ]
    return names if listed.intersection(names) else []


def _in_values(values: Values) -> Iterator[Finding]:
    """What the chart would render: names of the device configuration against the list that it makes of other values."""
    if content_of(values) is not None:
        listed = _nvidia_listed(values)
        for each in value_names(values):
            if each.vendor == "nvidia" and each.name not in listed and not values.partial:
                key = next(key for key, found in VALUES.items() if found[:2] == ("nvidia", each.use))
                yield Finding(
                    each.place,
                    f"{'.'.join(CONTENT)} names {each.name}, and managedResources gets "
                    f"{values.text(key) or 'the usual name'} from {key}: Pods that ask for it stay pending",
                    fix=f"set {key}: {each.name} as well",
                )
        return
    for each in value_names(values):
        custom = _CUSTOM.get(each.vendor)
        if not custom or each.name in _USUAL:
            continue
        names = values.get(*custom.split("."))
        if each.name not in names if isinstance(names, list) else names is None and not values.partial:
            yield Finding(
                each.place,
                f"{each.name} is HAMi's name from here on, but managedResources has those of {custom}: Pods that ask "
                "for it stay pending",
                fix=f"put {each.name} into {custom} as well",
            )


def _nvidia_listed(values: Values) -> set[str]:
    """NVIDIA's names in the list that the chart renders: the values', else HAMi's own."""
    return {values.text(key) or usual for key, (vendor, _, usual) in VALUES.items() if vendor == "nvidia"}
