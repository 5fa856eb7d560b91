from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webhook.installation.profiles import COSCHEDULING, MULTI_POINT, name_of
from webhook.model import Path, SchedulerConfig
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_ROOT = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata",
        "parallelism",
        "leaderElection",
        "clientConnection",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "profiles",
        "extenders",
        "delayCacheUntilActive",
    }
)
_PROFILE = frozenset({"schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"})
_POINTS = frozenset(
    {"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit"}
    | {"preBind", "bind", "postBind", MULTI_POINT}
)
_EXTENDER = frozenset(
    {"urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb", "enableHTTPS", "tlsConfig"}
    | {"httpTimeout", "nodeCacheCapable", "managedResources", "ignorable"}
)
"""The fields of v1 (kubernetes v1.35.4 staging/src/k8s.io/kube-scheduler/config/v1/types.go)."""

_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
"""What Go's time.ParseDuration takes."""


@rule(SchedulerConfig, Severity.ERROR, evidence="seen", lint_only=True)
def scheduler_config_refused(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """The configuration has a field, a plugin or a value that kube-scheduler refuses at its start.

    kube-scheduler decodes its configuration strictly, validates it, and ends with exit code 1 at the first mistake (all
    seen on 1.35): an unknown field (`strict decoding error: unknown field "profiles[0].plugins.multipoint"`); a plugin
    that its image does not have (`PreFilterPlugin "CoScheduling" does not exist`); one schedulerName in two profiles
    (`Duplicate value`); httpTimeout as a number (`cannot unmarshal number into Go struct field
    Extender.extenders.httpTimeout of type string`) or without a unit (`time: missing unit in duration "30"`); two
    extenders with a bindVerb (`only one extender can implement bind`). Then no Pod of that scheduler is placed.

    Of plugin names only those are judged that differ from Coscheduling in case or in one sign. Configurations of
    versions before v1 are the business of `coscheduling-args`.
    """
    if not config.api_version.endswith("/v1"):
        return
    yield from _unknown(config, config.body, (), _ROOT)
    for index, profile in config.profiles:
        yield from _unknown(config, profile, ("profiles", index), _PROFILE)
        plugins = profile.get("plugins")
        if isinstance(plugins, Mapping):
            yield from _unknown(config, plugins, ("profiles", index, "plugins"), _POINTS)
            yield from _misspelt(config, ("profiles", index, "plugins"), plugins)
    yield from _twice(config)
    binders = []
    for index, extender in config.extenders:
        yield from _unknown(config, extender, ("extenders", index), _EXTENDER)
        yield from _timeout(config, ("extenders", index, "httpTimeout"), extender.get("httpTimeout"))
        binders.extend([index] if extender.get("bindVerb") else [])
    for index in binders[1:]:
        yield Finding(
            config.place("extenders", index, "bindVerb"),
            "a second extender has a bindVerb: kube-scheduler does not start, since only one may bind",
            fix="remove bindVerb from all extenders but one",
            related=(Related(config.place("extenders", binders[0], "bindVerb"), "the first one"),),
        )


def _unknown(
    config: SchedulerConfig, body: Mapping[str, object], path: Path, known: frozenset[str]
) -> Iterator[Finding]:
    lowered = {name.lower(): name for name in known}
    for key in body:
        if key in known:
            continue
        name = str(key).lower()
        near = lowered.get(name) or lowered.get(f"{name}s") or lowered.get(name.removesuffix("s"), "")
        yield Finding(
            config.place(*path, key, at="key"),
            f"{'.'.join(str(step) for step in (*path, key))} is no field of a KubeSchedulerConfiguration: "
            "kube-scheduler does not start with it",
            fix=f"write {near}" if near else "remove it",
        )


def _misspelt(config: SchedulerConfig, at: Path, plugins: Mapping[str, object]) -> Iterator[Finding]:
    for point, given in plugins.items():
        entries = given.get("enabled") if isinstance(given, Mapping) else None
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if isinstance(name, str) and name != COSCHEDULING and _letters(name) == COSCHEDULING.lower():
                yield Finding(
                    config.place(*at, point, "enabled", index, "name"),
                    f"there is no plugin {name}: kube-scheduler does not start with it",
                    fix=f"write {COSCHEDULING}",
                )


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalpha())


def _twice(config: SchedulerConfig) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, profile in config.profiles:
        name = name_of(profile)
        if name in first:
            yield Finding(
                config.place("profiles", index),
                f"two profiles have the name {name}: kube-scheduler does not start with them",
                fix="give each profile a schedulerName of its own, or make them one",
                related=(Related(config.place("profiles", first[name]), "the first one"),),
            )
        first.setdefault(name, index)


def _timeout(config: SchedulerConfig, path: Path, value: object) -> Iterator[Finding]:
    if value is None or (isinstance(value, str) and _DURATION.fullmatch(value)):
        return
    wanted = f"{value}s" if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else "30s"
    yield Finding(
        config.place(*path),
        f"httpTimeout is {value}, which is no duration: kube-scheduler does not start with it",
        fix=f"write httpTimeout: {wanted}",
    )
