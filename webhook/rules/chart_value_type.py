from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.flags import version_of_chart, version_text
from webhook.model import Path, Release, Values
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack, Version

_TEXTS = (
    "devicePlugin.nvidiaNodeSelector",
    "devicePlugin.nvidianodeSelector",
    "devicePlugin.podAnnotations",
    "devicePlugin.service.annotations",
    "devicePlugin.service.labels",
    "global.annotations",
    "global.labels",
    "scheduler.nodeSelector",
    "scheduler.patch.nodeSelector",
    "scheduler.patch.podAnnotations",
    "scheduler.podAnnotations",
    "scheduler.service.annotations",
    "scheduler.service.labels",
)
"""Mappings that the templates hand on with `toYaml`, and whose values Kubernetes wants as text."""

_LISTS = (
    "devicePlugin.extraArgs",
    "devicePlugin.monitor.extraArgs",
    "scheduler.admissionWebhook.whitelistNamespaces",
    "scheduler.extender.extraArgs",
    "scheduler.kubeScheduler.extraArgs",
    "scheduler.kubeScheduler.extraNewArgs",
)
"""Lists of text, which the templates walk through with `range`."""

_SWITCHES = (
    "devicePlugin.createRuntimeClass",
    "devicePlugin.enabled",
    "devices.ascend.enabled",
    "devices.biren.enabled",
    "devices.enflame.enabled",
    "devices.iluvatar.enabled",
    "devices.kunlun.enabled",
    "devices.mthreads.enabled",
    "devices.vastai.enabled",
    "dra.enabled",
    "global.managedNodeSelectorEnable",
    "legacyMetrics",
    "mockDevicePlugin.enabled",
    "podSecurityPolicy.enabled",
    "prometheus.enabled",
    "scheduler.admissionWebhook.customURL.enabled",
    "scheduler.admissionWebhook.enabled",
    "scheduler.certManager.enabled",
    "scheduler.kubeScheduler.enabled",
    "scheduler.livenessProbe",
    "scheduler.patch.enabled",
)
"""Booleans that the templates ask with `if`."""

_OFF = frozenset({"false", "no", "off", "n", "0"})

_IMAGES = (
    "devicePlugin.image",
    "scheduler.extender.image",
    "scheduler.kubeScheduler.image",
    "scheduler.patch.image",
    "scheduler.patch.imageNew",
)
_TAGS = (
    "devicePlugin.image.tag",
    "devicePlugin.monitor.image.tag",
    "global.imageTag",
    "mockDevicePlugin.image.tag",
    "scheduler.extender.image.tag",
    "scheduler.kubeScheduler.image.tag",
    "scheduler.kubeScheduler.imageTag",
    "version",
)
_MAPPINGS: Version = (2, 7)
"""The first chart whose images are mappings of registry, repository and tag."""


@rule(Release, Severity.ERROR, evidence="read", lint_only=True)
def chart_value_type(release: Release, stack: Stack) -> Iterator[Finding]:
    """A value for the hami chart is of a type that its template, or Kubernetes behind it, does not take.

    `nvidiaNodeSelector: {gpu: on}` is a boolean to YAML. The template hands the mapping on as it is, and the API server
    refuses the DaemonSet (`cannot unmarshal bool into Go struct field PodSpec.spec.template.spec.nodeSelector of type
    string`): no device plugin runs. The same holds for annotations and labels.

    A list of arguments must be a list, and its items text: `range` over text ends the rendering, and an item that is a
    boolean or a number is refused in a container's command. A switch must be a boolean: Go's templates take every text
    that is not empty for true, `"false"` too. An image's tag must be text: `tag: 1.30` is the number 1.3.

    `image` of a component is a mapping (registry, repository, tag) from chart 2.7.0 on, and text before, with the tag
    beside it: a mapping under an older chart becomes the image `map[registry:…]` (so rendered by 2.6.1), text under a
    newer one ends the rendering. Told only where the chart's version is known.

    Read in charts/hami/templates at the tags v2.5.0 to v2.10.0. Silent on null, by which Helm removes a default.
    """
    values = release.values
    if values is None:
        return
    for key in _TEXTS:
        yield from _texts(values, key)
    for key in _LISTS:
        yield from _list(values, key)
    for key in _SWITCHES:
        yield from _switch(values, key)
    for key in _TAGS:
        yield from _tag(values, key)
    version = version_of_chart(release, stack)
    for key in _IMAGES if version is not None else ():
        yield from _image(values, key, version or ())


def _texts(values: Values, key: str) -> Iterator[Finding]:
    start: Path = tuple(key.split("."))
    for path, value in values.leaves():
        if path[: len(start)] != start or len(path) != len(start) + 1 or isinstance(value, str) or value is None:
            continue
        last = str(path[-1])
        yield Finding(
            values.place(*path),
            f"{key}.{last} is {_kind(value)}, and Kubernetes wants text there: the API server refuses the object",
            fix=f'write {last}: "on"' if value is True and last == "gpu" else "put the value in quotes",
        )


def _list(values: Values, key: str) -> Iterator[Finding]:
    path = key.split(".")
    found = values.get(*path)
    if isinstance(found, str) and found:
        yield Finding(
            values.place(*path),
            f"{key} is text, and the chart walks through a list: Helm cannot render it",
            fix=f'write a list: ["{found.split()[0] if found.split() else found}", …]',
        )
    for index, item in enumerate(found if isinstance(found, list) else ()):
        if not isinstance(item, str):
            yield Finding(
                values.place(*path, index),
                f"{key} has an item that is {_kind(item)}, and each must be text: the API server refuses the container",
                fix="put the item in quotes",
            )


def _switch(values: Values, key: str) -> Iterator[Finding]:
    path = key.split(".")
    found = values.get(*path)
    if isinstance(found, str) and found.lower() in _OFF:
        yield Finding(
            values.place(*path),
            f'{key} is the text "{found}", which the chart takes for true: any text is, but the empty one',
            fix=f"write {path[-1]}: false, without quotes",
        )


def _tag(values: Values, key: str) -> Iterator[Finding]:
    path = key.split(".")
    found = values.get(*path)
    if isinstance(found, float):
        yield Finding(
            values.place(*path),
            f"{key} is the number {found} to YAML: the chart makes it the tag {found}",
            fix="put the tag in quotes, as it is to be",
            severity=Severity.WARNING,
        )


def _image(values: Values, key: str, version: Version) -> Iterator[Finding]:
    path = key.split(".")
    found = values.get(*path)
    said = version_text(version)
    if isinstance(found, Mapping) and found and version < _MAPPINGS:
        yield Finding(
            values.place(*path, at="key"),
            f"{key} is a mapping, and chart {said} wants text: the image becomes `map[…]`, which no registry has",
            fix=f"write {path[-1]}: registry/repository, and the tag in its own key ({_tag_key(key)})",
        )
    elif isinstance(found, str) and found and version >= _MAPPINGS:
        yield Finding(
            values.place(*path),
            f"{key} is text, and chart {said} wants a mapping of registry, repository and tag: Helm cannot render it",
            fix=f"write {path[-1]}: {{registry: …, repository: …, tag: …}}",
        )


def _tag_key(key: str) -> str:
    return "scheduler.kubeScheduler.imageTag" if "kubeScheduler" in key else "version"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return f"a boolean ({str(value).lower()})"
    if isinstance(value, int | float):
        return f"a number ({value})"
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "empty"
