from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.configfields import ALL_POINTS, DURATION, NUMBER, SWITCH, TEXT, WHOLE, Misfit, misfits
from webhook.installation.processes import scheduler_minor
from webhook.installation.profiles import COSCHEDULING, MULTI_POINT, POINTS, name_of, of_koordinator
from webhook.model import Path, Place, SchedulerConfig
from webhook.parse.verdicts import dotted
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_FIELDS_OF = 35
"""The minor version of Kubernetes whose fields are known here; later ones may have more."""

_POST_BIND_UNTIL = 26
"""The scheduler-plugins whose Coscheduling first lacks postBind (v0.26.7 pkg/coscheduling/coscheduling.go)."""


@rule(
    SchedulerConfig,
    Severity.ERROR,
    evidence="seen",
    over=("extender-misconfigured", "managed-resources", "profile-name-mismatch"),
    lint_only=True,
)
def scheduler_config_refused(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """The configuration has a field, a plugin or a value that kube-scheduler refuses at its start.

    kube-scheduler decodes its configuration strictly, validates it, and ends with exit code 1 at the first mistake (all
    seen on 1.35): an unknown field (`strict decoding error: unknown field "profiles[0].plugins.multipoint"`); a plugin
    that its image does not have (`PreFilterPlugin "CoScheduling" does not exist`); one schedulerName in two profiles
    (`Duplicate value`); httpTimeout as a number (`cannot unmarshal number into Go struct field
    Extender.extenders.httpTimeout of type string`) or without a unit (`time: missing unit in duration "30"`), text or a
    number in the place of a boolean (`leaderElect: "true"`), a name without quotes that YAML reads as a number; two
    extenders with a bindVerb (`only one extender can implement bind`); a resource that is managed twice. Then no Pod of
    that scheduler is placed.

    Coscheduling enabled where it does not act ends the start too (`plugin "Coscheduling" does not extend PostBindPlugin
    plugin`): scheduler-plugins' own examples had it at postBind up to 0.26, whose plugin no longer acts there (v0.26.7
    pkg/coscheduling/coscheduling.go; seen on 1.35). A plugin that is enabled twice at one point ends it as well
    (`already registered`).

    Of plugin names only those are judged that differ from Coscheduling in case or in one sign. Fields that are unknown
    here are no mistake for a kube-scheduler later than 1.35. Configurations of
    versions before v1 are the business of `coscheduling-args`.
    """
    if not config.api_version.endswith("/v1"):
        return
    later = ((config.process and scheduler_minor(config.process)) or 0) > _FIELDS_OF
    yield from (_misfit(config, each) for each in misfits(config.body) if each.wanted or not later)
    for index, profile in config.profiles:
        plugins = profile.get("plugins")
        if isinstance(plugins, Mapping) and not of_koordinator(profile):
            yield from _misspelt(config, ("profiles", index, "plugins"), plugins)
            yield from _out_of_place(config, ("profiles", index, "plugins"), plugins)
    yield from _twice(config)
    yield from _managed_twice(config)
    binders = [index for index, extender in config.extenders if extender.get("bindVerb")]
    for index in binders[1:]:
        yield Finding(
            config.place("extenders", index, "bindVerb"),
            "a second extender has a bindVerb: kube-scheduler does not start, since only one may bind",
            fix="remove bindVerb from all extenders but one",
            related=(Related(config.place("extenders", binders[0], "bindVerb"), "the first one"),),
        )


def _misfit(config: SchedulerConfig, found: Misfit) -> Finding:
    field, value = dotted(found.path), found.value
    if not found.wanted:
        return Finding(
            config.place(*found.path, at="key"),
            f"{field} is no field of a KubeSchedulerConfiguration: kube-scheduler does not start with it",
            fix=f"write {found.near}" if found.near else "remove it",
        )
    collection = isinstance(value, Mapping | list)
    return Finding(
        config.place(*found.path, at="key" if collection and isinstance(found.path[-1], str) else "value"),
        f"{field} is {_shown(value)}, and {found.wanted} belongs there: kube-scheduler does not start with it",
        fix=_written(str(found.path[-1]), value, found.wanted),
    )


def _shown(value: object) -> str:
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "a mapping"
    if isinstance(value, bool):
        return str(value).lower()
    return f'the text "{value}"' if isinstance(value, str) else str(value)


def _written(field: str, value: object, wanted: str) -> str:
    plain = _shown(value) if isinstance(value, bool | int | float) else str(value)
    if wanted == DURATION:
        return f"write {field}: {f'{plain}s' if plain.isdigit() else '30s'}"
    if wanted == TEXT and not isinstance(value, Mapping | list):
        return f'write {field}: "{plain}"'
    if (wanted == SWITCH and plain in {"true", "false"}) or (wanted in {WHOLE, NUMBER} and plain.isdigit()):
        return f"write {field}: {plain}, without quotes"
    return f"write {wanted} there"


def _out_of_place(config: SchedulerConfig, at: Path, plugins: Mapping[str, object]) -> Iterator[Finding]:
    """Coscheduling where it does not act, and any plugin twice at one point."""
    minor = scheduler_minor(config.process) if config.process else None
    for point, given in plugins.items():
        entries = given.get("enabled") if isinstance(given, Mapping) else None
        seen: set[str] = set()
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if not isinstance(name, str):
                continue
            place = config.place(*at, point, "enabled", index, "name")
            if name in seen:
                message = f"{name} is enabled twice at {point}: kube-scheduler does not start with it"
                yield Finding(place, message, fix="remove one of the two")
            seen.add(name)
            if name == COSCHEDULING and point in ALL_POINTS and point not in {MULTI_POINT, *POINTS}:
                yield from _no_such_point(place, str(point), minor)


def _no_such_point(place: Place, point: str, minor: int | None) -> Iterator[Finding]:
    until = _POST_BIND_UNTIL if point == "postBind" else 0
    if minor is not None and minor < until:
        return
    which = f"Coscheduling of scheduler-plugins 0.{until} and later" if until else "Coscheduling"
    yield Finding(
        place,
        f"{which} does not act at {point}: kube-scheduler does not start with it there",
        fix=f"remove it from {point}; plugins.multiPoint has it everywhere where it acts",
    )


def _managed_twice(config: SchedulerConfig) -> Iterator[Finding]:
    first: dict[str, Place] = {}
    for index, extender in config.extenders:
        managed = extender.get("managedResources")
        for at, entry in enumerate(managed if isinstance(managed, list) else ()):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if not isinstance(name, str):
                continue
            place = config.place("extenders", index, "managedResources", at, "name")
            if name in first:
                yield Finding(
                    place,
                    f"{name} is managed twice: kube-scheduler does not start with it",
                    fix="remove one of the two",
                    related=(Related(first[name], "the first one"),),
                )
            first.setdefault(name, place)


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
