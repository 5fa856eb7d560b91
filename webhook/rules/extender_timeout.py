from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.durations import seconds
from webhook.installation.flags import (
    RETRIES,
    Retry,
    extender_flags,
    known_limit,
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

    An error only where httpTimeout is absent and a longer retry is written out. Where flags are not in the input, and
    where HAMi's release is not known, the default of 2.10 is what httpTimeout is held against. Silent on HAMi up to
    2.9, which does not wait for the lock, on a retry that is filled in later, and on flags without a configuration.
    """
    version = version_of_hami(release, stack)
    if version is not None and version < RETRIES:
        return
    retry = lock_retry(extender_flags(release), version)
    if retry.seconds is None:
        return
    extender = hami_extender(release.config) if release.config else None
    if release.config and extender:
        index, body = extender
        place = release.config.place("extenders", index, "httpTimeout")
        if body.get("httpTimeout") is None:
            yield from _omitted(place._replace(at="key"), retry.seconds, retry)
        elif (limit := _seconds(body)) is not None:
            yield from _order(place, limit, retry.seconds, retry, slow=_is_slow(release, stack))
    elif release.config is None and release.values:
        yield from _order(None, _CHARTS, retry.seconds, retry, slow=_is_slow(release, stack))


def _is_slow(release: Release, stack: Stack) -> bool:
    """Whether the client's limit makes polls late and no other rule says so."""
    limit = known_limit(extender_flags(release), stack)
    return limit is not None and limit <= DEFAULT_QPS and runs_coscheduling(release, stack) is not True


def _omitted(place: Place, amount: float, retry: Retry) -> Iterator[Finding]:
    if amount < _OMITTED:
        return
    yield Finding(
        place,
        f"httpTimeout is absent, so kube-scheduler gives up after {_said(_OMITTED)}, and {_who(retry)} waits "
        f"{_said(amount)} for a node's lock: members of gangs are bound late and never counted",
        fix=f"write httpTimeout: {_enough(amount)}",
        severity=Severity.ERROR if retry.written else Severity.WARNING,
        related=(Related(retry.written.place, "the time that HAMi waits"),) if retry.written else (),
    )


def _order(place: Place | None, limit: float, amount: float, retry: Retry, *, slow: bool) -> Iterator[Finding]:
    """The retry against a httpTimeout that is there; `place` is None where it is the chart's own."""
    if retry.written is None:
        if place is not None and amount >= limit:
            yield _too_short(place, limit, amount, retry)
        return
    if not (amount >= limit or (slow and limit - amount < _MARGIN and amount > 0)):
        return
    short = f"--node-lock-retry-timeout is {_said(amount)} and httpTimeout {_said(limit)}"
    if amount >= limit:
        why = "kube-scheduler gives up before HAMi does, and members of gangs are bound late and never counted"
        fix = f"keep the retry 10 s below: --node-lock-retry-timeout={int(max(limit - _MARGIN, 1))}s"
    else:
        why = "with HAMi's default limit of 5 requests/s a bind that waits often ends in kube-scheduler's time-out"
        fix = f"add --kube-qps=100 and --kube-burst=200, or lower the retry to {int(max(limit - _MARGIN, 1))}s"
    at = place if place and amount >= limit else retry.written.place
    related = (Related(place, "httpTimeout is here"),) if place and at is not place else ()
    yield Finding(at, f"{short}: {why}", fix=fix, severity=Severity.WARNING, related=related)


def _too_short(place: Place, limit: float, amount: float, retry: Retry) -> Finding:
    return Finding(
        place,
        f"httpTimeout is {_said(limit)}, and {_who(retry)} waits {_said(amount)} for a node's lock: kube-scheduler "
        "gives up before HAMi does, and members of gangs are bound late and never counted",
        fix=f"write httpTimeout: {_enough(amount)}",
        severity=Severity.WARNING,
    )


def _who(retry: Retry) -> str:
    return "HAMi" if retry.sure else "HAMi 2.10"


def _seconds(extender: Mapping[str, object]) -> float | None:
    """The seconds of httpTimeout; None where it is no duration, which kube-scheduler refuses at start."""
    text = extender.get("httpTimeout")
    return seconds(text) if isinstance(text, str) else None


def _said(amount: float) -> str:
    return f"{amount:g} s"


def _enough(retry: float) -> str:
    return f"{int(retry + _MARGIN)}s"
