"""The flags that HAMi's extender gets, from its container or from the values that the chart makes it of."""

from __future__ import annotations

from typing import NamedTuple

from webhook.installation.durations import seconds
from webhook.installation.processes import brings_coscheduling, has_placeholder, is_filled_in
from webhook.installation.profiles import is_enabled
from webhook.model import Place, Release, Values
from webhook.stack import DEFAULT_QPS, Stack

EXTRA = ("scheduler", "extender", "extraArgs")
"""The chart's value that the flags at the end come from; what is set there replaces the chart's own list."""

IMAGE = ("scheduler", "kubeScheduler", "image", "repository")
"""The chart's value that names kube-scheduler's image."""

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


class Retry(NamedTuple):
    """How long HAMi waits for a node's lock. `seconds` is None where nobody knows; `sure` is False where it is the
    default of HAMi 2.10 and that release, or that no flag changes it, is not to be seen."""

    seconds: float | None
    sure: bool = True
    written: Flag | None = None


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
    complete = all(isinstance(item, str) and not is_filled_in(item) for item in items)
    return Flags(tuple(_flags(values, items)), complete, place)


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
        found.append(Flag(name, value if equals else None, place, known=not has_placeholder(value)))
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


def known_limit(flags: Flags | None, stack: Stack) -> float | None:
    """Requests per second by the flag, else as declared, else by the flag's absence; None where nobody knows."""
    if flags is not None and flags.last("kube-qps"):
        return client_limit(flags)
    if stack.kube_qps is not None:
        return stack.kube_qps
    return client_limit(flags) if flags is not None else None


def lock_retry(flags: Flags | None, version: tuple[int, ...] | None) -> Retry:
    """How long a gang's member waits for a node's lock; HAMi up to 2.9 does not wait. `flags` are None where the input
    has none: they are then taken for the chart's, which leave the default as it is."""
    if version is not None and version < RETRIES:
        return Retry(0.0)
    flag = flags.last("node-lock-retry-timeout") if flags else None
    if flag is not None:
        return Retry(seconds(flag.value or "") if flag.known else None, written=flag)
    return Retry(DEFAULT_RETRY, sure=version is not None and (flags is None or flags.complete))


def runs_coscheduling(release: Release, stack: Stack) -> bool | None:
    """Whether the release's scheduler has gangs: by its configuration, else by its image, else by what is declared of
    schedulers of its name; None where nobody knows."""
    if release.config is not None:
        return is_enabled(release.config)
    return True if shows_coscheduling(release) or _is_declared(release, stack) else None


def shows_coscheduling(release: Release) -> bool:
    """Whether kube-scheduler's image is one that has Coscheduling in it."""
    if release.scheduler is not None:
        return brings_coscheduling(release.scheduler.container.image)
    return brings_coscheduling(release.values.text(*IMAGE) if release.values else "")


def _is_declared(release: Release, stack: Stack) -> bool:
    if "coscheduling_schedulers" not in stack.declared:
        return False  # the default names HAMi's scheduler too, which says nothing of this one
    flags = extender_flags(release)
    flag = flags.last("scheduler-name") if flags else None
    given = flag.value if flag and flag.known else None
    own = given or (release.values.text("schedulerName") if release.values else "") or stack.hami_scheduler
    return own in stack.coscheduling_schedulers
