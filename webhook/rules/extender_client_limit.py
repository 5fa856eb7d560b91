from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.flags import (
    IMAGE,
    RETRIES,
    Flag,
    Flags,
    client_limit,
    extender_flags,
    known_limit,
    lock_retry,
    runs_coscheduling,
    shows_coscheduling,
    version_of_hami,
)
from webhook.installation.releases import hami_extender
from webhook.model import Place, Release
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import DEFAULT_QPS, Stack


@rule(Release, Severity.WARNING, evidence="seen", lint_only=True)
def extender_client_limit(release: Release, stack: Stack) -> Iterator[Finding]:
    """Gangs are scheduled through HAMi's extender, whose API client is held to 5 requests per second.

    HAMi's client has client-go's default limit, 5 requests/s in bursts of 10, unless `--kube-qps` and `--kube-burst`
    say otherwise (flags from 2.6.0 on; pkg/util/client/options.go:30), and the chart does not set them. HAMi 2.10
    lets the members of a gang wait for the node's lock and asks for it every 100 ms. Under the limit these
    questions queue up, so each member takes 1.8 s instead of 0.1 s.

    Seen with HAMi 2.10.0, Coscheduling and one node whose lock was free 20 ms after each bind, retry 28s, httpTimeout
    30s; the seconds until the first and the last member were bound:

        members   default limit             --kube-qps=100 --kube-burst=200
        4         2.1 to 7.5                0.15 to 0.52
        8         4.2 to 17.1               0.4 to 1.2
        12        6.6 to 27.4               -
        16        never complete            0.8 to 2.9  (20/40: 1.2 to 9.0)

    The gang of 16 broke in four runs of four: 13, 15, 14 and 15 members were bound after 35 to 37 s, then none. Some
    binds take longer than httpTimeout; kube-scheduler gives up, Coscheduling takes the Pod out of its count, the
    extender binds it all the same, and a Pod bound that way is never counted. The others stay at `rejected due to
    timeout after waiting 10s at plugin Coscheduling` although 15 siblings run. Lowering minMember wakes them; a
    restart of kube-scheduler does only when the PodGroup is touched after it.

    Silent on HAMi up to 2.9, which does not wait for the lock, where the limit is raised or not to be seen, and where
    nothing shows that the scheduler has gangs: neither its configuration, nor its image, nor a declared
    coschedulingSchedulers.
    """
    flags, version = extender_flags(release), version_of_hami(release, stack)
    if (version is not None and version < RETRIES) or runs_coscheduling(release, stack) is not True:
        return
    if release.config and not hami_extender(release.config):
        return
    limit, retry = known_limit(flags, stack), lock_retry(flags, version).seconds
    if limit is None or limit > DEFAULT_QPS or (retry is not None and retry <= 0):
        return
    written = flags.last("kube-qps") if flags else None
    place = written.place if written else _place(release, flags)
    if place is None:
        return
    yield Finding(
        place,
        f"HAMi's extender keeps {_said(limit, flags, written)}: gangs take 1.8 s for each member on one node, and one "
        "of 16 is never complete",
        fix="add --kube-qps=100 and --kube-burst=200 to the extender (the chart's scheduler.extender.extraArgs)",
        related=tuple(_gangs(release)),
    )


def _place(release: Release, flags: Flags | None) -> Place | None:
    """Where the flags would be added, else the extender that kube-scheduler asks."""
    if flags is not None:
        return flags.place
    extender = hami_extender(release.config) if release.config else None
    return release.config.place("extenders", extender[0]) if release.config and extender else None


def _said(limit: float, flags: Flags | None, written: Flag | None) -> str:
    if written:
        return f"--kube-qps={limit:g}"
    if flags is None or client_limit(flags) is None:
        return f"its limit of {limit:g} requests/s (declared)"
    return "its default limit of 5 requests/s (no --kube-qps)"


def _gangs(release: Release) -> Iterator[Related]:
    """What shows that the scheduler has gangs."""
    if release.config:
        yield Related(release.config.place("profiles", at="key"), "Coscheduling is enabled here")
    elif release.values and shows_coscheduling(release):
        yield Related(release.values.place(*IMAGE), "this kube-scheduler is made for gangs")
