"""The flags that HAMi's extender gets, from its container or from the values that the chart makes it of."""

from __future__ import annotations

from typing import NamedTuple

from webhook.installation.durations import seconds
from webhook.installation.processes import brings_coscheduling
from webhook.installation.profiles import is_enabled
from webhook.model import Place, Release, Values
from webhook.stack import DEFAULT_QPS, Stack

EXTRA = ("scheduler", "extender", "extraArgs")
"""The chart's value that the flags at the end come from; what is set there replaces the chart's own list."""

DEFAULT_RETRY = 28.0
"""Seconds (HAMi v2.10.0 cmd/scheduler/main.go:80)."""

RETRIES: tuple[int, ...] = (2, 10)
"""The first HAMi that tries again for a node's lock, and has a flag for how long."""


class Flag(NamedTuple):
    """One flag as given; `value` is None for a bare switch, `known` False where it is filled in later."""

    name: str
    value: str | None
    place: Place
    known: bool = True


class Flags(NamedTuple):
    """The extender's flags. `complete`: one that is not here is not given. `place` is where one would be added."""

    given: tuple[Flag, ...]
    complete: bool
    place: Place

    def last(self, name: str) -> Flag | None:
        """The flag that counts: of several the last."""
        return next((each for each in reversed(self.given) if each.name.replace("_", "-") == name), None)


def extender_flags(release: Release) -> Flags | None:
    """Those of the container where there is one, else those that the values add to the chart's; None where the input
    has neither."""
    extender = release.extender
    if extender is not None:
        given = tuple(Flag(each.flag, each.value, extender.of(each), each.known) for each in extender.arguments)
        return Flags(
            given, not extender.open, extender.place("args" if extender.container.args else "command", at="key")
        )
    values = release.values
    if values is None:
        return None
    items = values.get(*EXTRA)
    place = values.place(*EXTRA, at="key")
    if not isinstance(items, list):
        return Flags((), not values.partial and not values.has(*EXTRA), place)
    return Flags(tuple(_flags(values, items)), all(isinstance(item, str) for item in items), place)


def _flags(values: Values, items: list[object]) -> list[Flag]:
    """A chart's list of flags: every item is one, with its value behind `=` or as the next item."""
    found = []
    for index, item in enumerate(items):
        if not isinstance(item, str) or not item.startswith("-"):
            continue
        name, equals, value = item.lstrip("-").partition("=")
        place = values.place(*EXTRA, index)
        follower = items[index + 1] if index + 1 < len(items) else None
        if not equals and isinstance(follower, str) and not follower.startswith("-"):
            value, equals, place = follower, "=", values.place(*EXTRA, index + 1)
        found.append(Flag(name, value if equals else None, place, "$(" not in value and "{{" not in value))
    return found


def version_of_hami(release: Release, stack: Stack) -> tuple[int, ...] | None:
    """HAMi's version: what the release shows, else what the stack declares."""
    return release.version.value if release.version else stack.hami


def version_of_chart(release: Release, stack: Stack) -> tuple[int, ...] | None:
    """The chart's version; where only the programs' is known, that: both are released under one number."""
    return release.chart.value if release.chart else version_of_hami(release, stack)


def version_text(version: tuple[int, ...]) -> str:
    """A version as people write it: `2.10.0`."""
    return ".".join(map(str, version))


def client_limit(flags: Flags) -> float | None:
    """Requests per second that the extender allows itself; None where nobody knows."""
    flag = flags.last("kube-qps")
    if flag is None:
        return DEFAULT_QPS if flags.complete else None
    try:
        return float(flag.value or "") if flag.known else None
    except ValueError:
        return None


def lock_retry(flags: Flags, version: tuple[int, ...] | None) -> float | None:
    """Seconds that a gang's member waits for a node's lock; None where nobody knows. HAMi up to 2.9 does not wait."""
    if version is not None and version < RETRIES:
        return 0.0
    flag = flags.last("node-lock-retry-timeout")
    if flag is not None:
        return seconds(flag.value or "") if flag.known else None
    return DEFAULT_RETRY if flags.complete and version is not None else None


def runs_coscheduling(release: Release) -> bool | None:
    """Whether the release's scheduler has gangs: by its configuration, else by its image; None where nobody knows."""
    if release.config is not None:
        return is_enabled(release.config)
    if release.scheduler is not None:
        return True if brings_coscheduling(release.scheduler.container.image) else None
    repository = release.values.text("scheduler", "kubeScheduler", "image", "repository") if release.values else ""
    return True if brings_coscheduling(repository) else None
