"""The images that the hami chart would render of its values.

HAMi v2.7.0 to v2.10.0 charts/hami/templates/_commons.tpl: `registry/repository:tag`, and `global.imageRegistry` takes
the registry's place for every image. Up to 2.6.1 an image is text, with the tag of another key behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.model import Place, Values

IMAGES: Mapping[str, tuple[str, str]] = {
    "devicePlugin.image": ("docker.io", "projecthami/hami"),
    "devicePlugin.monitor.image": ("docker.io", "projecthami/hami"),
    "mockDevicePlugin.image": ("docker.io", "projecthami/mock-device-plugin"),
    "scheduler.extender.image": ("docker.io", "projecthami/hami"),
    "scheduler.kubeScheduler.image": ("registry.cn-hangzhou.aliyuncs.com", "google_containers/kube-scheduler"),
    "scheduler.patch.image": ("docker.io", "jettech/kube-webhook-certgen"),
    "scheduler.patch.imageNew": ("docker.io", "liangjw/kube-webhook-certgen"),
}
"""By the key of the chart's values: its registry and its repository there."""

ANY_TAG = "v0"
"""Stands for a tag that is not looked at here."""


class Rendered(NamedTuple):
    """An image's name as the chart would write it, with ANY_TAG. `place` is the value that makes it what it is."""

    key: str
    name: str
    place: Place


def rendered(values: Values, *, text: bool = False) -> Iterator[Rendered]:
    """The images whose names the values change. `text`: the chart is one up to 2.6.1, whose images are text: that of
    `patch` with its tag, all others without."""
    for key, usual in IMAGES.items():
        path = key.split(".")
        found = values.get(*path)
        if text and isinstance(found, str) and found:
            yield Rendered(key, found if "patch" in path else f"{found}:{ANY_TAG}", values.place(*path))
        elif not text and isinstance(found, Mapping):
            yield from _composed(values, key, usual)


def _composed(values: Values, key: str, usual: tuple[str, str]) -> Iterator[Rendered]:
    path = key.split(".")
    registry, repository = (values.get(*path, part) for part in ("registry", "repository"))
    shared = values.text("global", "imageRegistry")
    if registry is None and repository is None:
        return
    own = registry if isinstance(registry, str) else usual[0]
    name = repository if isinstance(repository, str) and repository else usual[1]
    around = shared or own
    changed = "repository" if isinstance(repository, str) and repository else "registry"
    yield Rendered(key, f"{around}/{name}:{ANY_TAG}" if around else f"{name}:{ANY_TAG}", values.place(*path, changed))


def doubled(values: Values) -> Iterator[Rendered]:
    """Images whose repository begins with a registry, behind the one that the chart puts before it."""
    for key, (usual, _) in IMAGES.items():
        path = key.split(".")
        repository = values.text(*path, "repository")
        host = repository.partition("/")[0]
        given = values.get(*path, "registry") is not None or values.text("global", "imageRegistry")
        if not given and not values.partial and "/" in repository and ("." in host or ":" in host):
            yield Rendered(key, f"{usual}/{repository}", values.place(*path, "repository"))
