from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.durations import lacks_unit, seconds
from webhook.installation.flags import Flag, extender_flags, runs_coscheduling, version_of_hami, version_text
from webhook.model import Release
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack, Version

TIMEOUT = "node-lock-timeout"
RETRY = "node-lock-retry-timeout"
_DURATIONS = {TIMEOUT: "5m", RETRY: "28s"}
"""The flags that take a Go duration, with their defaults (HAMi v2.10.0 cmd/scheduler/main.go:79-80)."""

_SINCE: Mapping[str, Version] = {
    "kube-qps": (2, 6, 0),
    "kube-burst": (2, 6, 0),
    "kube-timeout": (2, 6, 0),
    "profiling": (2, 6, 0),
    TIMEOUT: (2, 7, 0),
    "force-overwrite-default-scheduler": (2, 7, 0),
    "leader-elect": (2, 8, 0),
    "leader-elect-resource-name": (2, 8, 0),
    "leader-elect-resource-namespace": (2, 8, 0),
    "legacy-metrics": (2, 9, 0),
    RETRY: (2, 10, 0),
}
"""The first HAMi that knows a flag (cmd/scheduler/main.go at the tags v2.5.0 to v2.10.0)."""

_GONE = frozenset({"default-mem", "default-cores", "default-gpu"})
_GONE_SINCE: Version = (2, 10)


@rule(Release, Severity.ERROR, evidence="seen", lint_only=True)
def node_lock_flags(release: Release, stack: Stack) -> Iterator[Finding]:
    """A flag of HAMi's extender is unknown to this release, has no unit, or switches the node's lock off.

    The extender ends on a flag that it cannot read, and with it HAMi's webhook: `--node-lock-retry-timeout=28` ends
    with exit code 255 and `time: missing unit in duration "28"` (seen, 2.10.0), `--default-mem`, which did nothing up
    to 2.9, with `unknown flag` (seen, 2.10.0), and so does a flag newer than the image: `--kube-qps`, `--kube-burst`
    and `--kube-timeout` came with 2.6.0, `--node-lock-timeout` with 2.7.0, `--leader-elect…` with 2.8.0,
    `--legacy-metrics` with 2.9.0, `--node-lock-retry-timeout` with 2.10.0 (cmd/scheduler/main.go at each tag).

    `--node-lock-timeout=0` makes every lock look expired, so Pods take it from each other and two may get the same
    device (pkg/util/nodelock/nodelock.go:256). `--node-lock-retry-timeout=0` is legal and switches the waiting off:
    members of gangs then fail to bind and are tried again by kube-scheduler's queue, eight on one node took 52 s
    instead of 1.2 s (seen, with a raised client limit). That is worth a warning only where Coscheduling is enabled.

    Silent on other flags, on values that are filled in later, and on newer flags while the release is not known.
    """
    flags, version = extender_flags(release), version_of_hami(release, stack)
    for flag in flags.given if flags else ():
        name = flag.name.replace("_", "-")
        since = _SINCE.get(name)
        if since is not None and version is not None and version < since:
            yield _newer(flag, since, version)
        elif name in _GONE:
            yield from _gone(flag, version)
        elif name in _DURATIONS and flag.known:
            yield from _duration(flag, name, gangs=runs_coscheduling(release, stack) is True)


def _newer(flag: Flag, since: Version, version: Version) -> Finding:
    first = version_text(since)
    return Finding(
        flag.place,
        f"HAMi {version_text(version)} does not know --{flag.name}, which came with {first}: the extender ends with "
        "`unknown flag`, and HAMi's webhook with it",
        fix=f"remove --{flag.name}, or use HAMi {first} or later",
    )


def _gone(flag: Flag, version: Version | None) -> Iterator[Finding]:
    if version is not None and version < _GONE_SINCE:
        return
    known = version is not None
    ends = "the extender ends with `unknown flag`"
    yield Finding(
        flag.place,
        f"HAMi {version_text(version)} has no --{flag.name}: {ends}"  # type: ignore[arg-type]
        if known
        else f"HAMi up to 2.9 takes --{flag.name} and does nothing with it, 2.10 does not know it: {ends}",
        fix=f"remove --{flag.name}; the defaults stand in the device configuration (defaultMemory, defaultCores)",
        severity=Severity.ERROR if known else Severity.WARNING,
    )


def _duration(flag: Flag, name: str, *, gangs: bool) -> Iterator[Finding]:
    text = flag.value or ""
    amount = seconds(text)
    if amount is None:
        why = "has no unit" if lacks_unit(text) else "is no duration" if text else "has no value"
        shown = f"--{flag.name}={text}" if text else f"--{flag.name}"
        right = f"{text}s" if lacks_unit(text) else _DURATIONS[name]
        yield Finding(
            flag.place, f"{shown} {why}: the extender ends with exit code 255", fix=f"write --{flag.name}={right}"
        )
    elif amount <= 0 and name == TIMEOUT:
        yield Finding(
            flag.place,
            f"--{flag.name}={text} makes every node lock look expired: two Pods may be given the same device",
            fix=f"write --{flag.name}={_DURATIONS[name]}, or remove the flag",
        )
    elif amount <= 0:
        yield Finding(
            flag.place,
            f"--{flag.name}={text} switches the waiting for a node's lock off: a gang's members fail to bind and are "
            "tried again one by one",
            fix=f"write --{flag.name}={_DURATIONS[name]}, or remove the flag",
            severity=Severity.WARNING if gangs else Severity.INFO,
        )
