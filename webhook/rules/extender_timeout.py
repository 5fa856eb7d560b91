from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.durations import seconds
from webhook.installation.flags import (
    DEFAULT_RETRY,
    RETRIES,
    Flag,
    Flags,
    client_limit,
    extender_flags,
    lock_retry,
    runs_coscheduling,
    version_of_hami,
)
from webhook.installation.releases import hami_extender
from webhook.model import Place, Release
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import DEFAULT_QPS, Stack

_OMITTED = 5.0
"""Seconds that kube-scheduler waits for an extender where httpTimeout is absent (kubernetes
pkg/scheduler/extender.go DefaultExtenderTimeout)."""

_CHARTS = 30.0
"""Seconds that the chart writes, in all versions from 2.5 to 2.10 (charts/hami/templates/scheduler/configmap.yaml)."""

_MARGIN = 10.0


@rule(Release, Severity.ERROR, evidence="seen", lint_only=True)
def extender_timeout(release: Release, stack: Stack) -> Iterator[Finding]:
    """kube-scheduler gives HAMi's extender less time than the extender takes for a member of a gang.

    HAMi 2.10 holds the bind of a gang's member back while another Pod has the node's lock, up to
    `--node-lock-retry-timeout` (28 s; cmd/scheduler/main.go:80). kube-scheduler waits for the extender as long as
    `httpTimeout` says: the chart writes 30s, and without the field it is 5 s (kubernetes pkg/scheduler/extender.go).
    When kube-scheduler gives up first, Coscheduling takes the member out of its count, while HAMi's call goes on and
    binds the Pod all the same. A Pod that is bound late is never counted again, and the rest of the gang waits for
    ever. Seen with a lock that was free after 2 s and no httpTimeout: the last of four members was bound after
    kube-scheduler had given up; with one that was free after 8 s, all three that waited.

    So the order is: retry, then httpTimeout, and 10 s between them while HAMi keeps to its client's default limit of
    5 requests/s, which makes its polls late: with 28 s and 30 s one of three binds that waited ended in the time-out
    of kube-scheduler instead of HAMi's (seen). Where Coscheduling is enabled too, `extender-client-limit` says this.

    An error only where httpTimeout is absent and a longer retry is written out. Silent on HAMi up to 2.9, which does
    not wait for the lock, and on what is not in the input.
    """
    flags, version = extender_flags(release), version_of_hami(release, stack)
    if version is not None and version < RETRIES:
        return
    written = flags.last("node-lock-retry-timeout") if flags else None
    retry = lock_retry(flags, version) if flags else None
    extender = hami_extender(release.config) if release.config else None
    if release.config and extender:
        index, body = extender
        place = release.config.place("extenders", index, "httpTimeout")
        if body.get("httpTimeout") is None:
            yield from _omitted(place._replace(at="key"), written, retry)
            return
        limit = _seconds(body)
    elif release.config is None and release.values:
        place, limit = None, _CHARTS
    else:
        return
    if limit is not None and retry is not None and flags:
        yield from _order(place, limit, (retry, written), flags, release)


def _omitted(place: Place, written: Flag | None, retry: float | None) -> Iterator[Finding]:
    if retry is not None and retry <= _OMITTED:
        return
    explicit = written is not None and retry is not None
    waits = f"HAMi waits {_said(retry)} for a node's lock" if retry else "HAMi 2.10 waits 28 s for a node's lock"
    yield Finding(
        place,
        f"httpTimeout is absent, so kube-scheduler gives up after 5 s, and {waits}: members of gangs are bound late "
        "and never counted",
        fix=f"write httpTimeout: {_enough(retry or DEFAULT_RETRY)}",
        severity=Severity.ERROR if explicit else Severity.WARNING,
        related=(Related(written.place, "the time that HAMi waits"),) if written else (),
    )


def _order(
    place: Place | None, limit: float, waits: tuple[float, Flag | None], flags: Flags, release: Release
) -> Iterator[Finding]:
    """The retry against a httpTimeout that is there; `place` is None where it is the chart's own."""
    retry, written = waits
    slow = client_limit(flags) == DEFAULT_QPS and written is not None and runs_coscheduling(release) is not True
    where = place or (written.place if written else None)
    if where is None or not (retry >= limit or (slow and limit - retry < _MARGIN and retry > 0)):
        return
    short = f"--node-lock-retry-timeout is {_said(retry)} and httpTimeout {_said(limit)}"
    if retry >= limit:
        why = "kube-scheduler gives up before HAMi does, and members of gangs are bound late and never counted"
        fix = f"keep the retry 10 s below: --node-lock-retry-timeout={int(max(limit - _MARGIN, 1))}s"
    else:
        why = "with HAMi's default limit of 5 requests/s a bind that waits often ends in kube-scheduler's time-out"
        fix = f"add --kube-qps=100 and --kube-burst=200, or lower the retry to {int(max(limit - _MARGIN, 1))}s"
    at = written.place if written and (place is None or retry < limit) else where
    related = (Related(place, "httpTimeout is here"),) if place and at is not place else ()
    yield Finding(at, f"{short}: {why}", fix=fix, severity=Severity.WARNING, related=related)


def _seconds(extender: Mapping[str, object]) -> float | None:
    """The seconds of httpTimeout; None where it is no duration, which kube-scheduler refuses at start."""
    text = extender.get("httpTimeout")
    return seconds(text) if isinstance(text, str) else None


def _said(amount: float | None) -> str:
    return f"{amount or 0:g} s"


def _enough(retry: float) -> str:
    return f"{int(retry + _MARGIN)}s"
