"""Everything that an input shows of an installation to its chains of time limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.installation.flags import runs_coscheduling, version_of_hami
from webhook.installation.profiles import is_enabled
from webhook.model import HookChain, PodGroup, Release, SchedulerConfig, Subject
from webhook.stack import Stack
from webhook.timeouts import PERMIT, Chain
from webhook.timeouts.links import group_link, links, scheduler_links, webhook_links
from webhook.timeouts.order import breaks


def chains(subjects: Sequence[Subject], stack: Stack) -> Iterator[Chain]:
    """A chain for each HAMi release and each other scheduler with Coscheduling that the input shows, else that of the
    defaults; beside them that of the webhooks."""
    groups = [each for each in subjects if type(each) is PodGroup and each.is_coscheduling and not each.templated]
    found = [each for each in subjects if type(each) is Release and _has_limits(each)]
    others = [each for each in subjects if type(each) is SchedulerConfig and is_enabled(each)]
    others = [each for each in others if not any(each == release.config for release in found)]
    releases = found or ((None,) if not others else ())
    alone = len(releases) + len(others) == 1
    for release in releases:
        yield _chain(release, groups if alone else (), stack)
    for config in others:
        yield _of_scheduler(config, groups if alone else (), stack)
    if groups and not alone:  # nobody knows which of them places which gang
        waits = [(group, group_link(group, None)) for group in groups]
        yield Chain("PodGroups", None, tuple(link for _, link in waits), tuple(breaks((), waits)))
    for hooks in (each for each in subjects if type(each) is HookChain):
        met = tuple(webhook_links(hooks))
        if met:
            yield Chain("webhooks of Pods", None, met, tuple(breaks(met)))


def _has_limits(release: Release) -> bool:
    return any((release.config, release.values, release.extender, release.scheduler))


def _chain(release: Release | None, groups: Sequence[PodGroup], stack: Stack) -> Chain:
    chain = list(links(release, stack))
    permit = next((link for link in chain if link.name == PERMIT), None)
    waits = [(group, group_link(group, permit)) for group in groups]
    version = version_of_hami(release, stack) if release else stack.hami
    gangs = runs_coscheduling(release, stack) if release else None
    every = (*chain, *(link for _, link in waits))
    return Chain(_title(release), version, every, tuple(breaks(chain, waits, gangs=gangs)))


def _of_scheduler(config: SchedulerConfig, groups: Sequence[PodGroup], stack: Stack) -> Chain:
    """The chain of a scheduler with Coscheduling that HAMi has no part in."""
    chain = list(scheduler_links(config, stack))
    permit = next((link for link in chain if link.name == PERMIT), None)
    waits = [(group, group_link(group, permit)) for group in groups]
    every = (*chain, *(link for _, link in waits))
    return Chain(f"kube-scheduler ({config.ref})", None, every, tuple(breaks(chain, waits, gangs=True)))


def _title(release: Release | None) -> str:
    if release is None:
        return ""
    where = f" in {release.namespace}" if release.namespace else ""
    return f"HAMi release {release.name}{where}" if release.name else f"HAMi{where} ({release.ref})"
