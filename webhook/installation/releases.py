"""Parts of all inputs to HAMi releases: which Deployment, ConfigMaps and values belong together.

A part is joined to another only where that is certain: by the name of the ConfigMap that a container mounts, or as the
only one there (in the same file first, then in the same folder). What is left out is unknown, which says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from webhook.installation import processes as run
from webhook.installation.resources import VALUES
from webhook.installation.values import Given
from webhook.model import DeviceConfig, Fact, Pod, Process, Ref, Release, SchedulerConfig, Workload, dig

FileOf = Callable[[Ref], str]
"""The file that an object stands in, with its folder; its document's, where a run has no files."""

C = TypeVar("C", SchedulerConfig, DeviceConfig)


class Parts(NamedTuple):
    """What a run holds of installations. `workloads` are the objects that the processes' Pods stand in."""

    schedulers: Sequence[Process]
    extenders: Sequence[Process]
    plugins: Sequence[Process]
    configs: Sequence[SchedulerConfig]
    devices: Sequence[DeviceConfig]
    given: Sequence[Given]
    workloads: Mapping[Ref, Workload]


def joined_configs(parts: Parts, file_of: FileOf) -> list[SchedulerConfig]:
    """The scheduler configurations, each with the kube-scheduler that reads it, where one does for certain."""
    readers: dict[int, Process] = {}
    for scheduler in parts.schedulers:
        config = _config_of(scheduler, parts, file_of)
        if config is not None:
            readers.setdefault(next(i for i, each in enumerate(parts.configs) if each is config), scheduler)
    return [each._replace(process=readers.get(index)) for index, each in enumerate(parts.configs)]


def _config_of(scheduler: Process, parts: Parts, file_of: FileOf) -> SchedulerConfig | None:
    """By the ConfigMap that `--config` leads into; a Pod without volumes is an excerpt, which reads the only one."""
    flag = scheduler.argument("config")
    if flag is None and scheduler.arguments and not scheduler.open:
        return None
    found = _mounted(scheduler, parts.configs, file_of)
    if found is None:
        return _only(parts.configs, scheduler.pod.ref, file_of)
    key = (flag.value or "").rpartition("/")[2] if flag else ""
    named = [each for each in found if each.path[-1:] == (key,)] or found
    return named[0] if len(named) == 1 else None


def _mounted(each: Process, known: Sequence[C], file_of: FileOf) -> Sequence[C] | None:
    """Those that stand in ConfigMaps that the container mounts; None where the Pod shows no ConfigMap at all."""
    maps = {volume.name: volume.config_map for volume in each.pod.volumes if volume.config_map}
    if not maps:
        return None
    names = {maps[mount.volume] for mount in each.container.mounts if mount.volume in maps}
    namespace = each.pod.ref.namespace
    found = [one for one in known if one.ref.name in names and one.ref.namespace == namespace and one.path]
    return _nearest(found, each.pod.ref, file_of)


def _nearest(known: Sequence[C], ref: Ref, file_of: FileOf) -> Sequence[C]:
    """Those of the same file, else of the same folder, else all: a folder may hold one installation several times."""
    file = file_of(ref)
    same = [each for each in known if file_of(each.ref) == file]
    folder = file.rpartition("/")[0]
    return same or [each for each in known if file_of(each.ref).rpartition("/")[0] == folder] or known


def _only(known: Sequence[C], ref: Ref, file_of: FileOf) -> C | None:
    reachable = [each for each in known if not each.path or each.ref.namespace == ref.namespace or not ref.namespace]
    candidates = _nearest(reachable, ref, file_of)
    return candidates[0] if len(candidates) == 1 else None


def releases(parts: Parts, configs: Sequence[SchedulerConfig], file_of: FileOf, *, whole: bool) -> Iterator[Release]:
    """Every HAMi installation: one for each extender, one for each set of values, and one for configurations of HAMi
    that belong to none of these."""
    made = [_rendered(each, parts, configs, file_of) for each in parts.extenders]
    taken = [release.config for release in made]
    free = [each for each in configs if not any(each is other for other in taken) and not each.process]
    taken_devices = [release.devices for release in made]
    devices = [each for each in parts.devices if not any(each is other for other in taken_devices)]
    made.extend([_valued(given, free, devices, parts, file_of) for given in parts.given])
    taken = [release.config for release in made]
    lonely = [each for each in free if serves_hami(each) and not any(each is other for other in taken)]
    made.extend([_alone(config, devices, file_of) for config in lonely])
    taken_devices = [release.devices for release in made]
    made.extend(
        Release(each.ref, namespace=each.ref.namespace, devices=each)
        for each in devices
        if not any(each is other for other in taken_devices)
    )
    return (release._replace(whole=whole) for release in made)


def serves_hami(config: SchedulerConfig) -> bool:
    """Whether an extender of the configuration is HAMi's."""
    return hami_extender(config) is not None


def hami_extender(config: SchedulerConfig) -> tuple[int, Mapping[str, object]] | None:
    """HAMi's extender in a configuration, with its index: it manages a resource that HAMi alone has, or, where those
    are renamed, extended resources from the port of HAMi's in the scheduler's own Pod (HAMi v2.10.0
    charts/hami/templates/scheduler/configmap.yaml), or as the only one beside HAMi's program. Others are there too:
    TopoLVM's and gpushare's listen on the same host."""
    managing = [(index, each, _managed(each)) for index, each in config.extenders]
    named = [(index, each) for index, each, names in managing if names & _names()]
    if named:
        return named[0]
    local = [
        (index, each)
        for index, each, names in managing
        if "127.0.0.1" in str(each.get("urlPrefix", "")) and any("/" in name for name in names)
    ]
    own = [found for found in local if str(found[1]["urlPrefix"]).rstrip("/") in _PREFIXES]
    if own:
        return own[0]
    return local[0] if len(config.extenders) == 1 and local and _beside_hami(config) else None


def _managed(extender: Mapping[str, object]) -> set[str]:
    managed = extender.get("managedResources")
    return {str(dig(item, "name")) for item in managed} if isinstance(managed, list) else set()


def _beside_hami(config: SchedulerConfig) -> bool:
    """Whether HAMi's extender runs in the Pod of the kube-scheduler that reads the configuration."""
    process = config.process
    return process is not None and any(run.is_extender(each) for each in run.processes([process.pod]))


_PREFIXES = frozenset({"https://127.0.0.1:443", "https://127.0.0.1", "http://127.0.0.1:80", "http://127.0.0.1"})


@cache
def _names() -> frozenset[str]:
    """The names of resources that HAMi's chart has, but for the one that NVIDIA's own device plugin has too."""
    return frozenset(usual for _, _, usual in VALUES.values()) - {"nvidia.com/gpu"}


def _rendered(extender: Process, parts: Parts, configs: Sequence[SchedulerConfig], file_of: FileOf) -> Release:
    """The release that an extender's Deployment shows."""
    ref = extender.pod.ref
    labels = _labels(extender, parts)
    scheduler = next((each for each in parts.schedulers if each.pod.ref == ref), None)
    config = next((each for each in configs if each.process and each.process.pod.ref == ref), None)
    mounted = _mounted(extender, parts.devices, file_of)
    devices = mounted[0] if mounted and len(mounted) == 1 else None
    if mounted is None:
        devices = _only(parts.devices, ref, file_of)
    instance = labels.get("app.kubernetes.io/instance", "")
    plugins = [
        each for each in parts.plugins if _instance(each, parts) == instance and each.pod.ref.namespace == ref.namespace
    ]
    chart = _chart_label(extender, parts)
    return Release(
        ref,
        instance,
        ref.namespace,
        version_of_image(extender) or chart,
        chart,
        scheduler=scheduler,
        extender=extender,
        plugin=plugins[0] if len(plugins) == 1 else None,
        config=config,
        devices=devices,
    )


def version_of_image(each: Process) -> Fact[tuple[int, ...]] | None:
    """HAMi's version by an image's tag; an image of another name may be versioned otherwise."""
    image = each.container.image
    version = run.version_of(run.image_tag(image)) if run.is_hami(each) else None
    return Fact(version, each.place("image"), f"the tag of the image of {each.container.name}") if version else None


def _labels(each: Process, parts: Parts) -> Mapping[str, str]:
    workload = parts.workloads.get(each.pod.ref)
    return {**each.pod.labels, **(workload.labels if workload else {})}


def _instance(each: Process, parts: Parts) -> str:
    return _labels(each, parts).get("app.kubernetes.io/instance", "")


def _chart_label(each: Process, parts: Parts) -> Fact[tuple[int, ...]] | None:
    """The chart's version by the label that Helm's own scheme has: `helm.sh/chart: hami-2.10.0`."""
    workload = parts.workloads.get(each.pod.ref)
    text = (workload.labels if workload else each.pod.labels).get("helm.sh/chart", "")
    version = run.version_of(text.removeprefix("hami-")) if text.startswith("hami-") else None
    if version is None:
        return None
    place = each.pod.label("helm.sh/chart", "value")
    if workload:
        place = place._replace(path=("metadata", "labels", "helm.sh/chart"))
    return Fact(version, place, "the chart's label")


def _valued(
    given: Given,
    configs: Sequence[SchedulerConfig],
    devices: Sequence[DeviceConfig],
    parts: Parts,
    file_of: FileOf,
) -> Release:
    """The release that values describe. A configuration beside them is theirs where there is one release alone."""
    alone = len(parts.given) == 1 and not parts.extenders
    ref = given.values.ref
    near = ref._replace(namespace=given.namespace)
    return Release(
        ref,
        given.name,
        given.namespace or given.values.text("namespaceOverride"),
        _version_of_values(given) or given.chart,
        given.chart,
        values=given.values,
        config=_only([each for each in configs if serves_hami(each)], near, file_of) if alone else None,
        devices=_only(devices, near, file_of) if alone else None,
    )


_TAGS = (("scheduler", "extender", "image", "tag"), ("global", "imageTag"), ("version",))
"""Where the tag of HAMi's images stands: charts from 2.7 on, and `version` up to 2.6.1
(charts/hami/templates/scheduler/deployment.yaml)."""


_NO_VERSION_KEY = (2, 7)


def _version_of_values(given: Given) -> Fact[tuple[int, ...]] | None:
    for keys in _TAGS:
        text = given.values.text(*keys)
        if text:
            version = run.version_of(text)
            if keys == ("version",) and version and version >= _NO_VERSION_KEY:
                return None
            return Fact(version, given.values.place(*keys), ".".join(keys)) if version else None
    return None


def _alone(config: SchedulerConfig, devices: Iterable[DeviceConfig], file_of: FileOf) -> Release:
    known = list(devices)
    same = [each for each in known if each.ref.namespace == config.ref.namespace]
    return Release(
        config.ref,
        namespace=config.ref.namespace if config.path else "",
        config=config,
        devices=_only(same or known, config.ref, file_of),
    )


def controllers(pods: Iterable[Pod]) -> Iterator[Process]:
    """The PodGroup controller of scheduler-plugins (its image `scheduler-plugins/controller`)."""
    for each in run.processes(pods):
        image = each.container.image.partition("@")[0]
        if "scheduler-plugins/controller" in image:
            yield each
