from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.model import Argument, Process, Release
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""What Go's ParseBool takes for true."""


@rule(Release, Severity.ERROR, evidence="seen", lint_only=True)
def leader_election_changed(release: Release, stack: Stack) -> Iterator[Finding]:
    """The scheduler's leader election is switched off or renamed, while HAMi's extender waits for its lease.

    From HAMi 2.9 on the extender, started with `--leader-elect=true`, does nothing until kube-scheduler of its own Pod
    holds the lease `--leader-elect-resource-name` in `--leader-elect-resource-namespace` (pkg/util/leaderelection/
    leaderelection.go; pkg/scheduler/scheduler.go:443-457). A configuration without the block takes the defaults: the
    lease kube-system/kube-scheduler, for which it also competes with the cluster's own kube-scheduler. With another
    lease, or none, the extender never becomes leader: every Filter call hangs until httpTimeout, and since Pods are
    filtered one after the other, Pods without a GPU starve too; its own probes stay green, and the webhook's Service
    loses its endpoint (seen on 2.10).

    Silent up to HAMi 2.8, and where the extender is not told to elect a leader.
    """
    config, extender = release.config, release.extender
    if config is None or extender is None or not release.version or release.version.value < (2, 9):
        return
    flag = extender.argument("leader-elect")
    if flag is None or not flag.known or (flag.value is not None and flag.value not in _TRUE):
        return
    block = config.body.get("leaderElection")
    written = block if isinstance(block, Mapping) else {}
    overrides = config.process.argument("leader-elect", "leader-elect-resource-name") if config.process else None
    if overrides is not None:
        return
    problem = _problem(written, extender)
    if problem is None:
        return
    path = ("leaderElection",) if written else ()
    yield Finding(
        config.place(*path, at="key" if path else "value"),
        f"{problem}: HAMi's extender never becomes leader, and every Pod of this scheduler waits for its time-out",
        fix=_fix(extender),
        related=(Related(extender.of(flag), "the extender waits for the lease"),),
    )


def _problem(written: Mapping[str, object], extender: Process) -> str | None:
    if not written:
        return "the configuration has no leaderElection, so its lease is kube-system/kube-scheduler"
    if written.get("leaderElect", True) is False:
        return "leaderElection.leaderElect is false"
    for field, flag, default in (
        ("resourceName", "leader-elect-resource-name", "kube-scheduler"),
        ("resourceNamespace", "leader-elect-resource-namespace", "kube-system"),
    ):
        wanted = _known(extender.argument(flag))
        given = written.get(field) or default
        if wanted and isinstance(given, str) and given != wanted:
            return f"leaderElection.{field} is {given}, and the extender waits for {wanted}"
    return None


def _known(argument: Argument | None) -> str:
    return argument.value if argument and argument.known and argument.value else ""


def _fix(extender: Process) -> str:
    name = _known(extender.argument("leader-elect-resource-name")) or "NAME"
    namespace = _known(extender.argument("leader-elect-resource-namespace")) or "NAMESPACE"
    return (
        f"write leaderElection: {{leaderElect: true, resourceName: {name}, resourceNamespace: {namespace}}}, as the "
        "chart renders it"
    )
