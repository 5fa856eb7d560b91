"""What the profiles of a kube-scheduler add up to: which plugins stand at a point, and Coscheduling's arguments.

kube-scheduler merges a profile with its defaults and unfolds multiPoint (kubernetes v1.35.4
pkg/scheduler/apis/config/v1/default_plugins.go and pkg/scheduler/framework/runtime/framework.go
expandMultiPointPlugins): what a point enables itself stands there, then what multiPoint enables and the point does not
disable; `*` disables everything that is not enabled by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.model import Path, SchedulerConfig, dig

COSCHEDULING = "Coscheduling"
PRIORITY_SORT = "PrioritySort"
ALL = "*"

QUEUE_SORTS = frozenset({COSCHEDULING, PRIORITY_SORT, "QOSSort", "TopologicalSort"})
"""Plugins of kube-scheduler and scheduler-plugins v0.34.7 that sort the queue (cmd/scheduler/main.go)."""

POINTS = ("queueSort", "preFilter", "postFilter", "reserve", "permit")
"""Where Coscheduling acts (scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go:51-55)."""

MULTI_POINT = "multiPoint"

SIBLINGS = frozenset(
    {"CapacityScheduling", "CrossNodePreemption", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "NodeMetadata"}
    | {"NetworkOverhead", "NodeResourceTopologyMatch", "NodeResourcesAllocatable", "Peaks", "PodState", "QOSSort"}
    | {"PreemptionToleration", "SySched", "TargetLoadPacking", "TopologicalSort"}
)
"""The plugins that scheduler-plugins has beside Coscheduling (v0.34.7 cmd/scheduler/main.go, and those it left out)."""

_KOORDINATOR = frozenset(
    {"BatchResourceFit", "DefaultPreBind", "DeviceShare", "ElasticQuota", "LoadAwareScheduling", "NodeNUMAResource"}
    | {"Reservation", "ReservationNodeInfo"}
)
"""Plugins of Koordinator's scheduler alone, whose Coscheduling is another one: it has other arguments and reads the
PodGroups of scheduling.sigs.k8s.io (koordinator cmd/koord-scheduler/main.go, pkg/scheduler/plugins/coscheduling)."""


class Plugin(NamedTuple):
    """A plugin that stands at a point of a profile. `path` is its entry in the profile, empty for a default."""

    name: str
    path: Path = ()


class Arguments(NamedTuple):
    """One entry of `pluginConfig`: its arguments, and where the entry stands in the configuration."""

    body: Mapping[str, object]
    path: Path


def name_of(profile: Mapping[str, object]) -> str:
    """The scheduler's name that a profile serves; without one kube-scheduler takes default-scheduler."""
    name = profile.get("schedulerName")
    return name if isinstance(name, str) and name else "default-scheduler"


def queue_sorts(profile: Mapping[str, object]) -> list[Plugin]:
    """The plugins that sort the queue: kube-scheduler wants exactly one."""
    defaults = [] if _is_off(profile, MULTI_POINT, PRIORITY_SORT) else [Plugin(PRIORITY_SORT)]
    many = [*defaults, *(each for each in _listed(profile, MULTI_POINT, "enabled") if each.name in QUEUE_SORTS)]
    return _standing(profile, "queueSort", many)


def coscheduling_points(profile: Mapping[str, object]) -> tuple[str, ...]:
    """The points at which Coscheduling acts, in the order of a scheduling cycle. Koordinator's is another one."""
    if of_koordinator(profile):
        return ()
    many = [each for each in _listed(profile, MULTI_POINT, "enabled") if each.name == COSCHEDULING]
    return tuple(
        point for point in POINTS if any(each.name == COSCHEDULING for each in _standing(profile, point, many))
    )


def coscheduling_entry(profile: Mapping[str, object]) -> Path:
    """Where a profile enables Coscheduling first; empty where it does not."""
    points = (MULTI_POINT, *POINTS)
    found = (each for point in points for each in _listed(profile, point, "enabled") if each.name == COSCHEDULING)
    return next((each.path for each in found), ())


def is_enabled(config: SchedulerConfig) -> bool:
    """Whether any profile enables Coscheduling at any point."""
    return any(coscheduling_points(profile) for _, profile in config.profiles)


def arguments(config: SchedulerConfig) -> Iterator[Arguments]:
    """Coscheduling's arguments in every profile that gives some."""
    return (found for index, profile in config.profiles for found in arguments_in(index, profile))


def arguments_in(index: int, profile: Mapping[str, object], plugin: str = COSCHEDULING) -> Iterator[Arguments]:
    """A plugin's arguments in one profile, which is that of this index."""
    entries = profile.get("pluginConfig")
    if of_koordinator(profile):
        return
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        args = dig(entry, "args")
        if dig(entry, "name") == plugin and isinstance(args, Mapping):
            yield Arguments(args, ("profiles", index, "pluginConfig", at))


def of_koordinator(profile: Mapping[str, object]) -> bool:
    """Whether a profile is one of Koordinator's scheduler."""
    return names_any(profile, _KOORDINATOR)


def names_any(profile: Mapping[str, object], names: frozenset[str]) -> bool:
    """Whether a profile enables one of these plugins at any point, or has arguments for one."""
    plugins, config = profile.get("plugins"), profile.get("pluginConfig")
    points = plugins if isinstance(plugins, Mapping) else {}
    enabled = (dig(given, "enabled") for given in points.values())
    entries = (entry for found in (config, *enabled) for entry in (found if isinstance(found, list) else ()))
    found = (dig(entry, "name") for entry in entries)
    return any(isinstance(name, str) and name in names for name in found)


def _standing(profile: Mapping[str, object], point: str, many: list[Plugin]) -> list[Plugin]:
    own = _listed(profile, point, "enabled")
    if _is_off(profile, point, ALL):
        return own
    named = {each.name for each in own}
    return [*own, *(each for each in many if each.name not in named and not _is_off(profile, point, each.name))]


def _is_off(profile: Mapping[str, object], point: str, name: str) -> bool:
    return any(each.name in {name, ALL} for each in _listed(profile, point, "disabled"))


def _listed(profile: Mapping[str, object], point: str, which: str) -> list[Plugin]:
    entries = dig(profile, "plugins", point, which)
    named = enumerate(entries) if isinstance(entries, list) else ()
    found = ((index, dig(entry, "name")) for index, entry in named)
    return [Plugin(name, ("plugins", point, which, index)) for index, name in found if isinstance(name, str)]
