from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.profiles import COSCHEDULING, PRIORITY_SORT, Plugin, arguments_in, name_of, queue_sorts
from webhook.model import Path, SchedulerConfig
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack

_Profile = tuple[int, Mapping[str, object]]
"""A profile with its index."""


@rule(SchedulerConfig, Severity.ERROR, evidence="seen", lint_only=True)
def queue_sort_conflict(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """A scheduler profile has two plugins that sort the queue, or none, or its profiles sort differently.

    kube-scheduler has one queue for all its profiles, so exactly one plugin sorts it. PrioritySort is on by default,
    and Coscheduling sorts the queue too: with both, kube-scheduler ends at its start with `only one queue sort plugin
    required for profile with scheduler name "hami-scheduler", but got 2` (seen on 1.35; `got 0` where `*` is disabled
    and none enabled). Then no Pod of that scheduler is placed.

    Three ways of leaving PrioritySort out are the same, and all start (seen): `multiPoint.disabled` with PrioritySort;
    `queueSort` with Coscheduling enabled and `*` disabled; `queueSort.disabled` with PrioritySort where multiPoint
    enables Coscheduling.

    A second profile must have the very same `queueSort` block as the first, else the start ends with
    `profiles[1].plugins.queueSort: Invalid value: …: must be the same for all profiles` (seen; kubernetes v1.35.4
    pkg/scheduler/apis/config/validation/validation.go validateCommonQueueSort), the same plugin behind it (`different
    queue sort plugins for profile`, seen) and the same arguments for that plugin: Coscheduling's
    permitWaitingTimeSeconds cannot differ between profiles (`queueSort must be the same for all profiles`, seen).

    Silent for configurations older than v1beta3, which have no multiPoint.
    """
    if config.api_version.endswith(("v1beta1", "v1beta2")):
        return
    first: tuple[int, Mapping[str, object]] | None = None
    for index, profile in config.profiles:
        found = queue_sorts(profile)
        if len(found) != 1:
            yield _wrong_number(config, index, profile, found)
        elif first is None:
            first = (index, profile)
        else:
            yield from _different(config, first, (index, profile))


def _wrong_number(config: SchedulerConfig, index: int, profile: Mapping[str, object], found: list[Plugin]) -> Finding:
    name = name_of(profile)
    if not found:
        place = config.place("profiles", index, "plugins", "queueSort", at="key")
        message = f"profile {name} has no plugin that sorts the queue: kube-scheduler does not start"
        return Finding(place, message, fix="enable Coscheduling under plugins.queueSort")
    own = next((each.path for each in reversed(found) if each.path), ())
    what = " and ".join(_named(each) for each in found)
    return Finding(
        config.place("profiles", index, *own),
        f"profile {name} has {len(found)} plugins that sort the queue, {what}: kube-scheduler does not start",
        fix=f"disable {PRIORITY_SORT}: plugins.queueSort.disabled: [{{name: {PRIORITY_SORT}}}]",
        edits=tuple(_edits(config, ("profiles", index, "plugins"), profile, found)),
    )


def _named(plugin: Plugin) -> str:
    return plugin.name if plugin.path else f"{plugin.name} (on by default)"


def _edits(
    config: SchedulerConfig, plugins: Path, profile: Mapping[str, object], found: list[Plugin]
) -> Iterator[Edit]:
    """The cure as data, where the configuration is an object of its own and PrioritySort is the one too many."""
    names = sorted(each.name for each in found)
    if config.path or len(found) != 2 or PRIORITY_SORT not in names or _block(profile) is not None:  # noqa: PLR2004 - a pair
        return
    yield Edit("add", config.place(*plugins, "queueSort"), {"disabled": [{"name": PRIORITY_SORT}]})


def _block(profile: Mapping[str, object]) -> object:
    """The profile's `queueSort` as it is compared: empty lists are none."""
    plugins = profile.get("plugins")
    block = plugins.get("queueSort") if isinstance(plugins, Mapping) else None
    return {key: value for key, value in block.items() if value} or None if isinstance(block, Mapping) else block


def _different(config: SchedulerConfig, first: _Profile, other: _Profile) -> Iterator[Finding]:
    one, two = name_of(first[1]), name_of(other[1])
    plugins = [queue_sorts(profile)[0].name for _, profile in (first, other)]
    if _block(first[1]) != _block(other[1]) or plugins[0] != plugins[1]:
        yield Finding(
            config.place("profiles", other[0]),
            f"profiles {one} and {two} sort the queue differently: kube-scheduler does not start, since its profiles "
            "share one queue",
            fix=f"give {two} the same plugins.queueSort as {one}, and the same plugin at it",
            related=(Related(config.place("profiles", first[0]), "this profile sorts otherwise"),),
        )
    elif plugins[0] == COSCHEDULING and _args(first) != _args(other):
        own = next(arguments_in(*other), None)
        yield Finding(
            config.place(*(own.path if own else ("profiles", other[0]))),
            f"profiles {one} and {two} give {COSCHEDULING}, which sorts their one queue, different arguments: "
            "kube-scheduler does not start",
            fix=f"give {two} the same arguments for {COSCHEDULING} as {one}",
            related=(Related(config.place("profiles", first[0]), "this profile has others"),),
        )


_DEFAULTS = {"permitWaitingTimeSeconds": 60, "podGroupBackoffSeconds": 0, "podGroupRejectPercentage": 10}
"""scheduler-plugins v0.34.7 apis/config/v1/defaults.go."""


def _args(profile: _Profile) -> Mapping[str, object]:
    """Coscheduling's arguments with their defaults, as they are compared."""
    own = next(arguments_in(*profile), None)
    given = {key: value for key, value in own.body.items() if key in _DEFAULTS} if own else {}
    return {**_DEFAULTS, **given}
