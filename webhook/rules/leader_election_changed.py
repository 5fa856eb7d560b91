from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.isolation import parse_bool
from webhook.model import Argument, Place, Process, Release, SchedulerConfig
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


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

    A flag of kube-scheduler goes before the configuration. HAMi's chart gave it all three up to 2.8; from 2.9 on the
    configuration alone has them (charts/hami/templates/scheduler/deployment.yaml at the tags), so what is left of the
    old flags, or added, counts.

    The extender's own two flags have no default (cmd/scheduler/main.go:84-85): without one of them it compares every
    lease with an empty name (leaderelection.go NewLeaderManager, read) and finds none.

    Silent up to HAMi 2.8, and where the extender is not told to elect a leader.
    """
    config, extender = release.config, release.extender
    if config is None or extender is None or not release.version or release.version.value < (2, 9):
        return
    flag = extender.argument("leader-elect")
    if flag is None or not flag.known or (flag.value is not None and not parse_bool(flag.value)):
        return
    nameless = next((name for _, name, _ in _LEASE if not extender.argument(name)), "")
    if nameless and not extender.open:
        yield Finding(
            extender.of(flag),
            f"HAMi's extender elects a leader without --{nameless}, so it waits for a lease that cannot be: it never "
            "becomes leader, and every Pod of this scheduler waits for its time-out",
            fix=f"add --{nameless} with what the scheduler's leaderElection has",
        )
        return
    problem = _problem(config, extender)
    if problem is None:
        return
    yield Finding(
        problem.place,
        f"{problem.what}: HAMi's extender never becomes leader, and every Pod of this scheduler waits for its time-out",
        fix=_fix(extender),
        related=(Related(extender.of(flag), "the extender waits for the lease"),),
    )


class _Problem(NamedTuple):
    """What of the election is otherwise than the extender has it, and where that stands."""

    what: str
    place: Place


def _problem(config: SchedulerConfig, extender: Process) -> _Problem | None:
    """Of every setting the scheduler's flag counts, else the configuration (kubernetes cmd/kube-scheduler/app/options/
    options.go ApplyLeaderElectionTo), else the default."""
    block = config.body.get("leaderElection")
    written = block if isinstance(block, Mapping) else {}
    here = config.place(*(("leaderElection",) if written else ()), at="key" if written else "value")
    process = config.process
    elects = process.argument("leader-elect") if process else None
    if process and elects:
        if elects.known and elects.value is not None and not parse_bool(elects.value):
            return _Problem(f"kube-scheduler has --leader-elect={elects.value}", process.of(elects))
    elif written.get("leaderElect", True) is False:
        return _Problem("leaderElection.leaderElect is false", here)
    for field, name, default in _LEASE:
        wanted, flag = _known(extender.argument(name)), process.argument(name) if process else None
        if process and flag:
            if wanted and _known(flag) not in {"", wanted}:
                what = f"kube-scheduler has --{name}={flag.value}, and the extender waits for {wanted}"
                return _Problem(what, process.of(flag))
            continue
        given = written.get(field) or default
        if not wanted or not isinstance(given, str) or given == wanted:
            continue
        if not written:
            return _Problem("the configuration has no leaderElection, so its lease is kube-system/kube-scheduler", here)
        absent = "" if written.get(field) else " (the default)"
        return _Problem(f"leaderElection.{field} is {given}{absent}, and the extender waits for {wanted}", here)
    return None


_LEASE = (
    ("resourceName", "leader-elect-resource-name", "kube-scheduler"),
    ("resourceNamespace", "leader-elect-resource-namespace", "kube-system"),
)
"""Fields of the configuration, the flags of both programs for them, and their defaults."""


def _known(argument: Argument | None) -> str:
    return argument.value if argument and argument.known and argument.value else ""


def _fix(extender: Process) -> str:
    name = _known(extender.argument("leader-elect-resource-name")) or "NAME"
    namespace = _known(extender.argument("leader-elect-resource-namespace")) or "NAMESPACE"
    return (
        f"write leaderElection: {{leaderElect: true, resourceName: {name}, resourceNamespace: {namespace}}}, as the "
        "chart renders it"
    )
