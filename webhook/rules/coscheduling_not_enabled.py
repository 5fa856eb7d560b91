from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.processes import brings_coscheduling
from webhook.installation.profiles import (
    COSCHEDULING,
    POINTS,
    SIBLINGS,
    arguments,
    coscheduling_entry,
    coscheduling_points,
    name_of,
    names_any,
)
from webhook.installation.releases import serves_hami
from webhook.model import SchedulerConfig
from webhook.rule import Finding, Related, Severity, enumerated, rule
from webhook.stack import Stack

_WHY = {
    "permit": "members are not held back until the gang is complete",
    "reserve": "members that were turned away stay counted, so the others start without them",
    "preFilter": "members of a gang that is too small are tried one by one, and wait for the time-out",
    "postFilter": "members go on waiting when one of them fits nowhere",
}
_LOUD = frozenset({"permit", "reserve"})
"""Without these there is no gang; without the others it is slower (scheduler-plugins README, "Config")."""


@rule(SchedulerConfig, Severity.ERROR, evidence="seen", lint_only=True)
def coscheduling_not_enabled(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """The scheduler is made for gangs, but no profile of its configuration enables Coscheduling, or not everywhere.

    HAMi's chart renders a profile without plugins, in all versions from 2.5 to 2.10, and has no value that would add
    some (charts/hami/templates/scheduler/configmap.yaml): Coscheduling is written into the ConfigMap by hand, and the
    next `helm upgrade` takes it out again. kube-scheduler then starts as if nothing were missing, and the members of
    every gang are placed one by one. The same happens with a `pluginConfig` entry for Coscheduling alone: it starts,
    and there is no gang (seen).

    Coscheduling acts at five points. Without `permit` nothing holds a member back: of three members with room for
    two, two are placed. Without `reserve` a member that was turned away stays counted, and the next one starts as if
    the gang were complete (both seen on 1.35, and both errors). Without `preFilter` or `postFilter` gangs work, but
    wait for time-outs where they could be told at once (info; scheduler-plugins v0.34.7
    pkg/coscheduling/coscheduling.go). It need not sort the queue: a gang of three was placed without (seen).

    What is said rests on what is there: arguments for Coscheduling, or an image of scheduler-plugins under HAMi's
    scheduler (a warning under another one, where nothing else tells what the image is for). A
    stock kube-scheduler without Coscheduling is an installation without gangs, and nothing is wrong with it; nor is it
    with scheduler-plugins where another of its plugins is enabled, for which the image may have been taken.
    """
    profiles = [(index, profile, coscheduling_points(profile)) for index, profile in config.profiles]
    if any(points for _, _, points in profiles):
        for index, profile, points in profiles:
            yield from _gaps(config, index, profile, points)
        return
    configured = next(arguments(config), None)
    if configured:
        yield Finding(
            config.place(*configured.path, "name"),
            f"{COSCHEDULING} has arguments here, but no profile enables it: gangs are placed one by one, silently",
            fix=_fix(),
        )
    elif config.process and brings_coscheduling(config.process.container.image) and _for_gangs(config):
        index, profile = config.profiles[0]
        yield Finding(
            config.place("profiles", index),
            f"{config.process.container.image} brings {COSCHEDULING}, but profile {name_of(profile)} does not enable "
            "it: gangs are placed one by one, silently",
            fix=f"{_fix()}; a `helm upgrade` of HAMi's chart takes it out again",
            severity=None if serves_hami(config) or name_of(profile) == stack.hami_scheduler else Severity.WARNING,
            related=(Related(config.process.place("image"), "this image is made for gangs"),),
        )


def _for_gangs(config: SchedulerConfig) -> bool:
    """Whether nothing but gangs explains the image: no other plugin of it is enabled."""
    return bool(config.profiles) and not any(names_any(profile, SIBLINGS) for _, profile in config.profiles)


def _fix() -> str:
    return f"enable it: plugins.multiPoint.enabled: [{{name: {COSCHEDULING}}}], and disable PrioritySort at queueSort"


def _gaps(
    config: SchedulerConfig, index: int, profile: Mapping[str, object], points: tuple[str, ...]
) -> Iterator[Finding]:
    missing = [point for point in POINTS[1:] if point not in points] if points else []
    if not missing:
        return
    loud = [point for point in missing if point in _LOUD]
    said = loud or missing
    yield Finding(
        config.place("profiles", index, *coscheduling_entry(profile)),
        f"{COSCHEDULING} is missing at {enumerated(missing)} of profile {name_of(profile)}: "
        + "; ".join(_WHY[point] for point in said),
        fix=f"enable it once for all: plugins.multiPoint.enabled: [{{name: {COSCHEDULING}}}]",
        severity=Severity.ERROR if loud else Severity.INFO,
    )
