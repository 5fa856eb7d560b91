"""What the parts of an installation show of the stack: versions, names and limits, each with where it stands.

What is declared in the configuration goes first, and what two parts of the input show differently is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.installation import processes as run
from webhook.installation.flags import EXTRA, client_limit, extender_flags, version_of_chart
from webhook.installation.profiles import arguments, coscheduling_points, name_of
from webhook.installation.releases import hami_extender
from webhook.installation.resources import CONTENT, VALUES, Name, content_of, device_names, value_names
from webhook.model import Fact, Place, Pod, Release, SchedulerConfig, Subject, Values, dig
from webhook.stack import VENDORS, Names, Stack

_HEEDS_OVERWRITE = (2, 9)
"""The first chart that passes `scheduler.overwriteEnv` on."""

_PERMIT_DEFAULT = 60
"""Seconds (scheduler-plugins v0.34.7 apis/config/v1/defaults.go PermitWaitingTimeSeconds)."""


class Shown(NamedTuple):
    """One field of the stack that the input shows. `name` is the field's, or `vendors.nvidia.count`.

    `facts` are all that say so; where they differ, `value` is that of none and `agreed` is False.
    """

    name: str
    value: object
    facts: tuple[Fact[object], ...]
    agreed: bool = True


def detect(subjects: Iterable[Subject]) -> tuple[Shown, ...]:
    """What the releases, configurations and Pods of a run show, in a fixed order of fields."""
    known = list(subjects)
    found: dict[str, list[Fact[object]]] = {}
    for name, fact in _facts(known):
        found.setdefault(name, []).append(fact)
    return tuple(_shown(name, _weighed(facts)) for name, facts in sorted(found.items()))


def _weighed(facts: list[Fact[object]]) -> list[Fact[object]]:
    """Values that are silent give way: they may be laid over others that give the flag (`helm -f a.yaml -f b.yaml`)."""
    return [fact for fact in facts if fact.source != _SILENT] or facts


def _shown(name: str, facts: list[Fact[object]]) -> Shown:
    if name == "coscheduling_schedulers":
        together = frozenset(name for fact in facts for name in _names_in(fact.value))
        return Shown(name, together, tuple(facts))
    differ = any(fact.value != facts[0].value for fact in facts)
    return Shown(name, None if differ else facts[0].value, tuple(facts), not differ)


def _names_in(value: object) -> Iterable[str]:
    return value if isinstance(value, frozenset) else ()


def applied(stack: Stack, shown: Sequence[Shown]) -> Stack:
    """The stack with what is shown filled in, where nobody has declared it."""
    fields: dict[str, object] = {}
    vendors: dict[str, Names] = dict(stack.vendors)
    for each in shown:
        if not each.agreed or each.name in stack.declared:
            continue
        if each.name.startswith("vendors."):
            _, vendor, use = each.name.split(".")
            if vendor in vendors:
                vendors[vendor] = replace(vendors[vendor], **{use: each.value})  # type: ignore[arg-type]
        else:
            fields[each.name] = each.value
    if "coscheduling_schedulers" in fields or "hami_scheduler" in fields:
        fields["coscheduling_schedulers"] = _schedulers(stack, fields)
    changed = {name: value for name, value in fields.items() if getattr(stack, name) != value}
    if vendors != dict(stack.vendors):
        changed["vendors"] = vendors
    return replace(stack, **changed) if changed else stack  # type: ignore[arg-type]


def _schedulers(stack: Stack, fields: Mapping[str, object]) -> frozenset[str]:
    """The schedulers that run Coscheduling: those known, HAMi's under the name that it has here, and those shown."""
    if "coscheduling_schedulers" in stack.declared:
        return stack.coscheduling_schedulers
    known = set(stack.coscheduling_schedulers)
    renamed = fields.get("hami_scheduler")
    if isinstance(renamed, str) and stack.hami_scheduler in known:
        known.discard(stack.hami_scheduler)
        known.add(renamed)
    return frozenset(known.union(_names_in(fields.get("coscheduling_schedulers"))))


def _facts(known: Sequence[Subject]) -> Iterator[tuple[str, Fact[object]]]:
    for subject in known:
        if type(subject) is Release:
            yield from _of_release(subject)
        elif type(subject) is SchedulerConfig:
            yield from _of_config(subject)
        elif type(subject) is Pod:
            yield from _of_pod(subject)


def _of_release(release: Release) -> Iterator[tuple[str, Fact[object]]]:
    if release.version:
        yield "hami", Fact(release.version.value, release.version.place, release.version.source)
    yield from _names_of_schedulers(release)
    yield from _of_flags(release)
    values, devices = release.values, release.devices
    if values:
        yield from _of_values(release, values)
    if devices:
        yield from _of_devices(devices.body, devices.place)
        yield from _resources(list(device_names(devices)))
    elif values:
        yield from _resources(list(value_names(values)) if content_of(values) else list(_renamed(values)))


def _names_of_schedulers(release: Release) -> Iterator[tuple[str, Fact[object]]]:
    """HAMi's scheduler by the extender's flag, else by the chart's value, else by the only profile that asks HAMi."""
    flags, values, config = extender_flags(release), release.values, release.config
    flag = flags.last("scheduler-name") if flags else None
    if flag and flag.value and flag.known:
        yield "hami_scheduler", Fact(flag.value, flag.place, "--scheduler-name of HAMi's extender")
    elif values and values.text("schedulerName"):
        yield "hami_scheduler", Fact(values.text("schedulerName"), values.place("schedulerName"), _VALUE)
    elif config and hami_extender(config) and len(config.profiles) == 1:
        index, profile = config.profiles[0]
        place = config.place("profiles", index, "schedulerName")
        yield "hami_scheduler", Fact(name_of(profile), place, "the only profile beside HAMi's extender")


def _of_flags(release: Release) -> Iterator[tuple[str, Fact[object]]]:
    flags = extender_flags(release)
    if flags is None:
        return
    force = flags.last("force-overwrite-default-scheduler")
    if force and force.known and force.value in {"true", "false", None}:
        yield "force_overwrite_default_scheduler", Fact(force.value != "false", force.place, f"--{force.name}")
    limit, given = client_limit(flags), flags.last("kube-qps")
    if limit is not None and given:
        yield "kube_qps", Fact(limit, given.place, "--kube-qps of HAMi's extender")
    elif limit is not None:
        yield "kube_qps", Fact(limit, flags.place, _NO_QPS if _is_written(release) else _SILENT)


def _is_written(release: Release) -> bool:
    """Whether the list of flags stands in the input, in whole."""
    return release.extender is not None or (release.values is not None and release.values.has(*EXTRA))


_NO_QPS = "no --kube-qps there: client-go's default"
_SILENT = "no extraArgs for HAMi's extender: client-go's default"
_VALUE = "the chart's value"
_SWITCHES: Mapping[str, tuple[str, ...]] = {
    "hami_webhook": ("scheduler", "admissionWebhook", "enabled"),
    "force_overwrite_default_scheduler": ("scheduler", "forceOverwriteDefaultScheduler"),
    "mock_device_plugin": ("mockDevicePlugin", "enabled"),
}


def _of_values(release: Release, values: Values) -> Iterator[tuple[str, Fact[object]]]:
    for name, keys in _SWITCHES.items():
        value = values.get(*keys)
        if isinstance(value, bool):
            yield name, Fact(value, values.place(*keys), _VALUE)
    chart = version_of_chart(release, Stack())
    on = str(values.get("scheduler", "overwriteEnv")).lower()
    if chart and chart >= _HEEDS_OVERWRITE and on in {"true", "false"}:
        yield "overwrite_env", Fact(on == "true", values.place("scheduler", "overwriteEnv"), _VALUE)
    policy = values.text("devices", "nvidia", "gpuCorePolicy")
    if policy:
        yield "gpu_core_policy", Fact(policy, values.place("devices", "nvidia", "gpuCorePolicy"), _VALUE)
    image = ("scheduler", "kubeScheduler", "image")
    if run.brings_coscheduling(values.text(*image, "repository")):
        version = run.version_of(values.text(*image, "tag"))
        if version:
            yield "coscheduling", Fact(version, values.place(*image, "tag"), "the tag of kube-scheduler's image")
    body = content_of(values)
    if body is not None:
        yield from _of_devices(body, lambda *keys: values.place(*CONTENT, *keys))


_NVIDIA: Mapping[str, tuple[str, type]] = {
    "overwrite_env": ("overwriteEnv", bool),
    "gpu_core_policy": ("gpuCorePolicy", str),
    "default_memory": ("defaultMemory", int),
    "default_cores": ("defaultCores", int),
    "default_gpu_num": ("defaultGPUNum", int),
    "memory_factor": ("memoryFactor", int),
}
"""Fields of the device configuration's NVIDIA section (HAMi v2.10.0 pkg/device/nvidia/device.go:94-128)."""


def _of_devices(body: Mapping[str, object], place: Callable[..., Place]) -> Iterator[tuple[str, Fact[object]]]:
    for name, (key, kind) in _NVIDIA.items():
        value = dig(body, "nvidia", key)
        if type(value) is kind:
            yield name, Fact(value, place("nvidia", key), "the device configuration")


def _resources(names: Sequence[Name]) -> Iterator[tuple[str, Fact[object]]]:
    """The names of each vendor by what they count. A configuration that has none but HAMi's own is as HAMi's."""
    by_use: dict[tuple[str, str], list[Name]] = {}
    for each in names:
        by_use.setdefault((each.vendor, each.use), []).append(each)
    for (vendor, use), found in by_use.items():
        if vendor not in VENDORS:
            continue
        usual: tuple[str, ...] = getattr(VENDORS[vendor], use)
        given = tuple(dict.fromkeys(each.name for each in found))
        first = next((each for each in found if each.name not in usual), found[0])
        value = usual if set(given) <= set(usual) else given
        yield f"vendors.{vendor}.{use}", Fact(value, first.place, "the names of resources")


def _renamed(values: Values) -> Iterator[Name]:
    """The names that values come to for each vendor that they rename something of: the chart's own for the rest."""
    for key, (vendor, use, usual) in VALUES.items():
        touched = any(values.text(other) for other, found in VALUES.items() if found[:2] == (vendor, use))
        if touched:
            yield Name(vendor, use, values.text(key) or usual, values.place(key))


def _of_config(config: SchedulerConfig) -> Iterator[tuple[str, Fact[object]]]:
    enabled = [(index, profile) for index, profile in config.profiles if coscheduling_points(profile)]
    if enabled:
        names = frozenset(name_of(profile) for _, profile in enabled)
        place = config.place("profiles", enabled[0][0], "schedulerName")
        yield "coscheduling_schedulers", Fact(names, place, "Coscheduling is enabled there")
        yield "permit_waiting_seconds", _permit(config, place)
    if config.process and run.brings_coscheduling(config.process.container.image):
        version = run.version_of(run.image_tag(config.process.container.image))
        if version:
            place = config.process.place("image")
            yield "coscheduling", Fact(version, place, "the tag of kube-scheduler's image")


def _permit(config: SchedulerConfig, place: Place) -> Fact[object]:
    for each in arguments(config):
        seconds = each.body.get("permitWaitingTimeSeconds")
        if type(seconds) is int and seconds >= 0:
            at = config.place(*each.path, "args", "permitWaitingTimeSeconds")
            return Fact(seconds, at, "permitWaitingTimeSeconds of Coscheduling")
    return Fact(_PERMIT_DEFAULT, place, "Coscheduling's default")


def _of_pod(pod: Pod) -> Iterator[tuple[str, Fact[object]]]:
    for container in pod.containers:
        if run.image_name(container.image) == "mock-device-plugin":
            place = Place(pod.ref, (*container.path, "image"))
            yield "mock_device_plugin", Fact(True, place, "HAMi's mock device plugin runs")
