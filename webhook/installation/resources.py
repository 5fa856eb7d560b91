"""The names of HAMi's resources, as a device configuration or the chart's values give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from webhook.installation.texts import Unread, mapping_in
from webhook.model import DeviceConfig, Path, Place, Values

Use = Literal["count", "memory", "percentage", "cores", "priority"]


class Name(NamedTuple):
    """One resource's name, what it counts, and where it is given."""

    vendor: str
    use: Use
    name: str
    place: Place


_USES: Mapping[str, Use] = {
    "resourceCountName": "count",
    "resourceVCountName": "count",
    "resourceNameGCU": "count",
    "resourceNameDRSGCU": "count",
    "resourceNameVGCU": "count",
    "resourceName": "count",
    "resourceMemoryName": "memory",
    "resourceVMemoryName": "memory",
    "resourceNameGCUMemory": "memory",
    "resourceMemoryPercentageName": "percentage",
    "resourceNameVGCUPercentage": "percentage",
    "resourceCoreName": "cores",
    "resourceVCoreName": "cores",
    "resourceNameGCUCore": "cores",
    "resourcePriorityName": "priority",
}
"""The fields of a device configuration that name resources (HAMi v2.5.0 to v2.10.0, the yaml tags of pkg/device/*)."""

_LISTS: Mapping[str, tuple[str, Path]] = {
    "iluvatars": ("iluvatar", ()),
    "vnpus": ("ascend", ("configs",)),
}
"""Sections that hold a list of chips, with the vendor and the list's place in them (`vnpus` was the list itself)."""

VALUES: Mapping[str, tuple[str, Use, str]] = {
    "resourceName": ("nvidia", "count", "nvidia.com/gpu"),
    "resourceMem": ("nvidia", "memory", "nvidia.com/gpumem"),
    "resourceMemPercentage": ("nvidia", "percentage", "nvidia.com/gpumem-percentage"),
    "resourceCores": ("nvidia", "cores", "nvidia.com/gpucores"),
    "resourcePriority": ("nvidia", "priority", "nvidia.com/priority"),
    "mluResourceName": ("cambricon", "count", "cambricon.com/vmlu"),
    "mluResourceMem": ("cambricon", "memory", "cambricon.com/mlu.smlu.vmemory"),
    "mluResourceCores": ("cambricon", "cores", "cambricon.com/mlu.smlu.vcore"),
    "dcuResourceName": ("hygon", "count", "hygon.com/dcunum"),
    "dcuResourceMem": ("hygon", "memory", "hygon.com/dcumem"),
    "dcuResourceCores": ("hygon", "cores", "hygon.com/dcucores"),
    "metaxResourceName": ("metax", "count", "metax-tech.com/sgpu"),
    "metaxResourceMem": ("metax", "memory", "metax-tech.com/vmemory"),
    "metaxResourceCore": ("metax", "cores", "metax-tech.com/vcore"),
    "enflameResourceNameDRSGCU": ("enflame", "count", "enflame.com/drs-gcu"),
    "enflameResourceNameGCUMemory": ("enflame", "memory", "enflame.com/gcu-memory"),
    "enflameResourceNameGCUCore": ("enflame", "cores", "enflame.com/gcu-core"),
    "enflameResourceNameVGCU": ("enflame", "count", "enflame.com/vgcu"),
    "enflameResourceNameVGCUPercentage": ("enflame", "percentage", "enflame.com/vgcu-percentage"),
    "kunlunResourceName": ("kunlun", "count", "kunlunxin.com/xpu"),
    "kunlunResourceVCountName": ("kunlun", "count", "kunlunxin.com/vxpu"),
    "kunlunResourceVMemoryName": ("kunlun", "memory", "kunlunxin.com/vxpu-memory"),
    "iluvatarResourceName": ("iluvatar", "count", "iluvatar.ai/vgpu"),
    "iluvatarResourceMem": ("iluvatar", "memory", "iluvatar.ai/vcuda-memory"),
    "iluvatarResourceCore": ("iluvatar", "cores", "iluvatar.ai/vcuda-core"),
    "vastaiResourceName": ("vastai", "count", "vastaitech.com/va"),
    "birenResourceName": ("biren", "count", "birentech.com/gpu"),
}
"""The chart's values that name resources: whose, what it counts, and the chart's own name (charts/hami/values.yaml at
v2.5.0 to v2.10.0)."""

CONTENT = ("device-config", "content")


def device_names(devices: DeviceConfig) -> Iterator[Name]:
    """Every name that a device configuration gives."""
    return _names(devices.body, lambda path: devices.place(*path))


def value_names(values: Values) -> Iterator[Name]:
    """Every name that values give. A device configuration among them replaces all the others."""
    body = content_of(values)
    if body is not None:
        yield from _names(body, lambda path: values.place(*CONTENT, *path))
        return
    for key, (vendor, use, _) in VALUES.items():
        name = values.text(key)
        if name:
            yield Name(vendor, use, name, values.place(key))


def content_of(values: Values) -> Mapping[str, object] | None:
    """The device configuration that values carry as text (chart 2.10 and later); None for none."""
    text = values.text(*CONTENT)
    try:
        return mapping_in(text) if text.strip() else None
    except Unread:
        return None


def _names(body: Mapping[str, object], place: Callable[[Path], Place]) -> Iterator[Name]:
    for section, content in body.items():
        vendor, inner = _LISTS.get(section, (section, ()))
        for path, entry in _entries(content, (section,), inner):
            for key, use in _USES.items():
                name = entry.get(key)
                if isinstance(name, str) and name:
                    yield Name(vendor, use, name, place((*path, key)))


def _entries(content: object, path: Path, inner: Path) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """A section's mapping, or those of its list."""
    if isinstance(content, Mapping) and inner and inner[0] in content:
        content, path = content[inner[0]], (*path, *inner)
    if isinstance(content, Mapping):
        yield path, content
    for index, each in enumerate(content if isinstance(content, list) else ()):
        if isinstance(each, Mapping):
            yield (*path, index), each
