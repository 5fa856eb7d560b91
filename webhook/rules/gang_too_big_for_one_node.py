from __future__ import annotations

from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import Gang, Pod, Workload, dig
from webhook.roster import quorum
from webhook.rule import Finding, Severity, rule
from webhook.stack import DEFAULT_QPS, Stack

_SAFE = 12
"""Members on one node that came through with the default limit (27 s); 16 failed in 4 of 4 runs, and came
through with 20 requests/s (seen)."""

_RETRY_SINCE = (2, 10)
_HOSTNAME = "kubernetes.io/hostname"


@rule(Gang, Severity.WARNING, evidence="seen")
def gang_too_big_for_one_node(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """More than 12 members of a gang may land on one node, where HAMi's extender binds them too slowly.

    HAMi 2.10's extender takes a lock per node and retries for up to 28 s, but its API client makes 5 requests/s unless
    --kube-qps says otherwise: about 1.8 s per member. With 16 members on one node some binds outlast the scheduler's
    30 s, kube-scheduler gives up and drops the Pod from the gang's count, the extender binds it all the same, and
    Coscheduling never counts it again: 13 to 15 of 16 were bound and the rest waited for ever, in 4 of 4 runs. 12
    members came through in 27 s. With --kube-qps=100 --kube-burst=200 (chart value scheduler.extender.extraArgs, keep
    its old entries) 16 took 2.9 s; 20/40 were enough too.

    Said of members that share cards, where minMember is over 12, and not where required anti-affinity or a topology
    spread keeps them apart. Info while the limit is unknown: neither declared, nor to be told from values, or from an
    extender, in the input whose flags are all there.
    """
    wanted = quorum(gang)
    raised = stack.kube_qps is not None and stack.kube_qps > DEFAULT_QPS
    no_retry = stack.hami is not None and stack.hami < _RETRY_SINCE
    if gang.group is None or wanted is None or wanted <= _SAFE or raised or no_retry:
        return
    workloads = {workload.ref: workload for workload in gang.workloads}
    close = [
        pod for pod in waiting(gang, stack) if _shares_cards(pod, stack) and not _spread(pod, workloads.get(pod.ref))
    ]
    number = sum(pod.count.least for pod in close)
    if number <= _SAFE:
        return
    known = stack.kube_qps is not None
    limit = "has its default API client limit" if known else "may have its default API client limit"
    yield Finding(
        gang.group.field("minMember"),
        f"{number} members of gang {gang.name} may land on one node, and HAMi's extender {limit} (5 requests/s): "
        f"over {_SAFE} some are bound too late to be counted and the rest waits for ever",
        fix="give the extender --kube-qps=100 --kube-burst=200, or spread the members over nodes",
        severity=Severity.WARNING if known else Severity.INFO,
    )


def _shares_cards(pod: Pod, stack: Stack) -> bool:
    """Whether the Pod asks for parts of cards: of whole ones few nodes have more than 12."""
    return any(name in stack.annotated_names for container in pod.containers for name in container.limits)


def _spread(pod: Pod, workload: Workload | None) -> bool:
    """Whether required rules keep members on different nodes. Of a bare Pod the spec is not at hand."""
    if workload is None:
        return False
    spec = dig(workload.body, *pod.spec)
    apart = dig(spec, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    spread = dig(spec, "topologySpreadConstraints")
    return any(
        dig(term, "topologyKey") == _HOSTNAME and dig(term, "whenUnsatisfiable") != "ScheduleAnyway"
        for terms in (apart, spread)
        if isinstance(terms, list)
        for term in terms
    )
