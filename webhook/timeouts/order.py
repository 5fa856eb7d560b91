"""Which limits of a chain do not fit together, each with what it comes to and the cure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.model import PodGroup
from webhook.stack import DEFAULT_QPS
from webhook.timeouts import (
    BACKOFF,
    CALL,
    CLIENT_LIMIT,
    LOCK,
    NO_EXTENDER,
    PERMIT,
    REQUEST,
    RETRY,
    WEBHOOKS,
    Break,
    Link,
)

_MARGIN = 10.0
"""Seconds between HAMi's retry and httpTimeout where the extender's client is throttled (with 2 s one of three binds
that waited ended in the HTTP time-out, seen)."""

_SAFE = 12
"""Members of a gang on one node that were all bound with the default client limit (27 s); 16 were not (seen)."""

_BIND_SECONDS = 1.8
_FILTER_SECONDS = 0.4
_FAST_FILTER_SECONDS = 0.05
"""Seconds per member with the default limit of 5 requests/s, and with a raised one (seen)."""

Named = Mapping[str, Link]


def breaks(
    chain: Sequence[Link], groups: Sequence[tuple[PodGroup, Link]] = (), *, gangs: bool | None = None
) -> Iterator[Break]:
    """Every pair of limits that does not fit; what is unknown breaks nothing.

    `gangs` tells whether the scheduler has Coscheduling, None where nobody knows.
    """
    named = {link.name: link for link in chain}
    yield from _call(named, gangs=gangs)
    yield from _lock(named)
    yield from _backoff(named)
    yield from _webhooks(named)
    for group, wait in groups if gangs is not False else ():
        yield from _group(group, wait, named)


def _amount(named: Named, name: str) -> float | None:
    return named[name].seconds if name in named else None


def _is_throttled(named: Named) -> bool:
    limit = named[CLIENT_LIMIT].rate if CLIENT_LIMIT in named else None
    return limit is not None and limit <= DEFAULT_QPS


def _call(named: Named, *, gangs: bool | None) -> Iterator[Break]:
    if RETRY not in named or CALL not in named or named[CALL].value == NO_EXTENDER:
        return
    wait, call, throttled = named[RETRY], _amount(named, CALL), _is_throttled(named)
    sure = wait.seconds is not None
    retry = wait.seconds if sure else wait.possible
    if retry is not None and retry <= 0:
        return
    judged = gangs or (wait.origin == "input" if gangs is False else sure)
    if call is not None and retry is not None and retry >= call:
        yield _gives_up(retry, call, sure=sure)
    elif call is not None and retry is not None and call - retry < _MARGIN and throttled and judged:
        yield _late(retry, call, sure=sure, gangs=gangs)
        return
    if throttled and gangs:
        yield _slow(retry if call is None or retry is None else min(retry, call))


def _limits(retry: float, call: float, *, sure: bool) -> str:
    if not sure:
        return (
            f"from HAMi 2.10 on the default wait for a node's lock is {retry:g} s (--node-lock-retry-timeout), "
            f"kube-scheduler waits {call:g} s for HAMi"
        )
    return f"HAMi waits {retry:g} s for a node's lock (--node-lock-retry-timeout), kube-scheduler {call:g} s for HAMi"


def _gives_up(retry: float, call: float, *, sure: bool) -> Break:
    return Break(
        (RETRY, CALL),
        f"{_limits(retry, call, sure=sure)} (httpTimeout): kube-scheduler gives up first, the Pod is bound late and "
        "its gang never counts it",
        f"set httpTimeout to {retry + _MARGIN:g}s, or --node-lock-retry-timeout to {max(call - _MARGIN, 1):g}s",
        ("extender-timeout",),
        certain=sure,
    )


def _late(retry: float, call: float, *, sure: bool, gangs: bool | None) -> Break:
    return Break(
        (CLIENT_LIMIT, RETRY, CALL),
        f"{_limits(retry, call, sure=sure)} (httpTimeout): {call - retry:g} s between them are too few while HAMi's "
        "client is held to 5 requests/s, which makes its polls late",
        f"add --kube-qps=100 --kube-burst=200 to the extender, or set httpTimeout to {retry + _MARGIN:g}s",
        ("extender-client-limit", "extender-timeout"),
        certain=sure and gangs is True,
    )


def _slow(limit: float | None) -> Break:
    each = _FILTER_SECONDS + _BIND_SECONDS
    fit = f", so about {max(int(limit / each), 1)} members fit into {limit:g} s" if limit else ""
    return Break(
        (CLIENT_LIMIT, RETRY),
        f"HAMi's client is held to 5 requests/s: each member of a gang on one node takes {_FILTER_SECONDS:g} s to "
        f"be filtered and {_BIND_SECONDS:g} s to be bound instead of 0.1{fit}",
        "add --kube-qps=100 --kube-burst=200 to the extender",
        ("extender-client-limit",),
        certain=False,
    )


def _lock(named: Named) -> Iterator[Break]:
    age = _amount(named, LOCK)
    if age is None:
        return
    if age <= 0:
        yield Break(
            (LOCK,),
            f"--node-lock-timeout is {named[LOCK].value}: every lock counts as old, so Pods take it from each other",
            "set --node-lock-timeout to 5m",
            ("node-lock-flags",),
        )
        return
    held = max(_amount(named, RETRY) or 0, _amount(named, CALL) or 0)
    if age <= held:
        yield Break(
            (LOCK, RETRY, CALL),
            f"a lock is taken over after {age:g} s (--node-lock-timeout), while others wait {held:g} s for it: a lock "
            "that is still in use may be taken",
            "set --node-lock-timeout well above the other two, such as 5m",
            ("node-lock-flags",),
        )


def _backoff(named: Named) -> Iterator[Break]:
    seconds = _amount(named, BACKOFF)
    if seconds:
        yield Break(
            (BACKOFF,),
            f"podGroupBackoffSeconds is {seconds:g}: nothing wakes the group when they are over; 20 s became 327 s in "
            "a quiet cluster",
            "leave podGroupBackoffSeconds out",
            ("podgroup-backoff",),
        )


def _webhooks(named: Named) -> Iterator[Break]:
    total, allowed = _amount(named, WEBHOOKS), _amount(named, REQUEST)
    if total is not None and allowed is not None and total > allowed:
        yield Break(
            (WEBHOOKS, REQUEST),
            f"the webhooks of one Pod may take {total:g} s, and the API server gives a request {allowed:g}: when they "
            "hang, Pods are refused, with failurePolicy Ignore too",
            "set timeoutSeconds to 3 or less for each of them",
            ("webhook-long-timeout",),
        )


def _group(group: PodGroup, wait: Link, named: Named) -> Iterator[Break]:
    size, amount = group.min_member, wait.seconds
    if amount is not None and amount <= 0:
        yield Break(
            (wait.name, PERMIT),
            f"{group.ref} lets its members wait {amount:g} s for each other: a race that larger or slower gangs lose",
            "set scheduleTimeoutSeconds to 60",
            ("schedule-timeout-unusable",),
        )
        return
    if size is None or size <= 1 or CLIENT_LIMIT not in named:
        return
    needed = size * (_FILTER_SECONDS if _is_throttled(named) else _FAST_FILTER_SECONDS)
    if amount is not None and amount < needed:
        yield Break(
            (wait.name, CLIENT_LIMIT),
            f"{group.ref} lets its members wait {amount:g} s, and {size} GPU Pods take about {needed:.0f} s to pass "
            "HAMi's extender one by one: the first gives up before the last has come",
            f"set scheduleTimeoutSeconds to {max(60, 2 * round(needed))}, or raise --kube-qps and --kube-burst",
            ("schedule-timeout-unusable",),
            certain=False,
        )
    if size > _SAFE and _is_throttled(named) and _amount(named, RETRY) != 0:
        yield Break(
            (wait.name, CLIENT_LIMIT, RETRY, CALL),
            f"{group.ref} has minMember {size}: on one node {size} GPU Pods take about {size * _BIND_SECONDS:.0f} s to "
            f"bind ({_BIND_SECONDS:g} s each); {_SAFE} were bound within 28 s and 30 s, 16 never",
            "add --kube-qps=100 --kube-burst=200 to the extender, or spread the members over nodes",
            ("gang-too-big-for-one-node", "extender-client-limit"),
            certain=False,
        )
