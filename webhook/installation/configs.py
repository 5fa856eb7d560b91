"""Scheduler and device configurations, wherever they stand: objects of their own, or text in ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.installation.texts import Unread, mapping_in, texts_of
from webhook.model import DeviceConfig, Malformed, Object, Path, Place, SchedulerConfig, dig

GROUP = "kubescheduler.config.k8s.io"
KIND = "KubeSchedulerConfiguration"
DEVICE_KEY = "device-config.yaml"
"""HAMi v2.10.0 charts/hami/templates/scheduler/device-configmap.yaml:10."""

VENDOR_KEYS = frozenset(
    {"nvidia", "cambricon", "hygon", "metax", "enflame", "mthreads", "iluvatars", "kunlun", "awsneuron", "amd"}
    | {"vastai", "biren", "vnpus"}
)
"""The sections of a device-config (HAMi v2.10.0 pkg/scheduler/config/config.go:76-90)."""

_VOLCANO = "volcano.sh/"


def scheduler_configs(objects: Iterable[Object]) -> Iterator[SchedulerConfig | Malformed]:
    """Every KubeSchedulerConfiguration, and what is no YAML where one was meant."""
    for each in objects:
        if each.ref.kind == KIND:
            yield SchedulerConfig(each.ref, (), each.body, each.ref.api_version)
        elif each.ref.kind == "ConfigMap":
            yield from _in_texts(each)


def _in_texts(config_map: Object) -> Iterator[SchedulerConfig | Malformed]:
    for path, text in texts_of(config_map):
        if GROUP not in text or KIND not in text:
            continue
        body = _read(config_map, path, text)
        if isinstance(body, Malformed):
            yield body
        elif body and body.get("kind") == KIND and str(body.get("apiVersion", "")).startswith(f"{GROUP}/"):
            yield SchedulerConfig(config_map.ref, path, body, str(body["apiVersion"]))


def device_configs(objects: Iterable[Object]) -> Iterator[DeviceConfig | Malformed]:
    """Every device-config.yaml in a ConfigMap, told by its key or by its sections."""
    for each in objects:
        for path, text in texts_of(each) if each.ref.kind == "ConfigMap" else ():
            if path[-1] != DEVICE_KEY and "resourceCountName" not in text:
                continue
            body = _read(each, path, text)
            if isinstance(body, Malformed):
                yield body
            elif body and is_device_config(body):
                yield DeviceConfig(each.ref, path, body)


def is_device_config(body: Mapping[str, object]) -> bool:
    """Whether it is one of HAMi's. Volcano's vGPU plugin has taken the format over; its scheduler reads that one, and
    names everything in its own domain (Project-HAMi/volcano-vgpu-device-plugin deployments/static)."""
    return not VENDOR_KEYS.isdisjoint(body) and not str(dig(body, "nvidia", "resourceCountName")).startswith(_VOLCANO)


def _read(config_map: Object, path: Path, text: str) -> Mapping[str, object] | Malformed | None:
    try:
        return mapping_in(text)
    except Unread as unread:
        fix = f"mend the text under {path[-1]}; its reader does not start with it"
        return Malformed(Place(config_map.ref, path), f"{config_map.ref} holds no YAML under {path[-1]}: {unread}", fix)
