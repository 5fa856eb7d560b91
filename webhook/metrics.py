"""What the server counts and measures, for Prometheus. One registry a process; nothing here is global.

No label holds a name, a namespace or a user: they would be without bound, and say who runs what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

# Else there is a second series beside every counter, with the time at which it was made. There is no other switch.
disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE = CONTENT_TYPE_LATEST

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
"""Seconds. Most reviews end in the first four; 2 and 3 are the timeouts of the registered webhooks."""

OTHER = "other"
"""The label for a kind that we do not know: whoever calls could invent kinds without end."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of one process, to be counted up by whoever knows. `registry` renders them."""

    registry: CollectorRegistry
    reviews: Counter
    seconds: Histogram
    findings: Counter
    failures: Counter
    skipped: Counter
    patches_dropped: Counter
    refused: Counter
    overload: Counter
    late: Counter
    cut: Counter
    certificate_expiry: Gauge
    certificate_failures: Counter
    bundle_losses: Counter


def metrics(known_rules: Iterable[str] = ()) -> Metrics:
    """All metrics at zero; those of rules are there before a rule first speaks, so that rates have a start."""
    registry = CollectorRegistry()
    made = Metrics(
        registry,
        reviews=Counter(
            "gangcheck_reviews",
            "Reviews answered. verdict: allowed, warned, patched or denied.",
            ("entry", "operation", "kind", "verdict"),
            registry=registry,
        ),
        seconds=Histogram(
            "gangcheck_review_seconds",
            "Time from a whole request to its answer, without TLS and HTTP.",
            ("entry",),
            buckets=BUCKETS,
            registry=registry,
        ),
        findings=Counter("gangcheck_findings", "Reviews in which a rule spoke.", ("rule",), registry=registry),
        failures=Counter(
            "gangcheck_rule_failures",
            "Reviews in which a rule raised or did not get its turn in time; the others answered.",
            ("rule",),
            registry=registry,
        ),
        skipped=Counter("gangcheck_checks_skipped", "Checks that were left out, and why.", ("why",), registry=registry),
        patches_dropped=Counter(
            "gangcheck_patches_dropped",
            "Patches that did not apply in memory and were not sent. A bug of gangcheck.",
            registry=registry,
        ),
        refused=Counter(
            "gangcheck_refused",
            "Requests that got no verdict, by HTTP status; failurePolicy decided.",
            ("status",),
            registry=registry,
        ),
        overload=Counter(
            "gangcheck_overload", "Requests told to come back in a second (503): too many at once.", registry=registry
        ),
        late=Counter(
            "gangcheck_late",
            "Requests whose time was over before they were answered. waited: 503, had waited too long. "
            "answered: answered all the same.",
            ("how",),
            registry=registry,
        ),
        cut=Counter(
            "gangcheck_connections_cut",
            "Connections closed because the client stalled, by what it did not finish.",
            ("phase",),
            registry=registry,
        ),
        certificate_expiry=Gauge(
            "gangcheck_certificate_expiry_timestamp_seconds",
            "When the serving certificate expires, in seconds since 1970.",
            registry=registry,
        ),
        certificate_failures=Counter(
            "gangcheck_certificate_reload_failures",
            "Certificates that could not be used; the last good one stayed.",
            registry=registry,
        ),
        bundle_losses=Counter(
            "gangcheck_ca_bundle_losses",
            "Times that a webhook configuration was found without our authority, which was put back.",
            registry=registry,
        ),
    )
    for rule in known_rules:
        made.findings.labels(rule)
        made.failures.labels(rule)
    return made


def watch_requests(made: Metrics, in_flight: Callable[[], int]) -> None:
    """Show how many requests are being answered or wait for it."""
    Gauge("gangcheck_in_flight", "Requests being answered or waiting for it.", registry=made.registry).set_function(
        in_flight
    )


def watch_index(made: Metrics, size: Callable[[], int], age: Callable[[], float]) -> None:
    """Show how many objects the gang index holds, and for how many seconds it has heard nothing."""
    Gauge("gangcheck_index_objects", "Pods and PodGroups in the gang index.", registry=made.registry).set_function(size)
    Gauge(
        "gangcheck_index_age_seconds",
        "Seconds since the API server last spoke to the gang index; -1 before it first did. Above 90 no check that "
        "needs the index runs.",
        registry=made.registry,
    ).set_function(age)


def watch_authority(made: Metrics, expires: Callable[[], float]) -> None:
    """Show when the managed authority expires."""
    Gauge(
        "gangcheck_ca_expiry_timestamp_seconds",
        "When the youngest managed authority expires, in seconds since 1970; 0 while there is none.",
        registry=made.registry,
    ).set_function(expires)


def rendered(made: Metrics) -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest(made.registry)


class Described(NamedTuple):
    """A row of the README's table."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


def described(made: Metrics) -> Iterator[Described]:
    """Every metric with its type, labels and meaning, by name as Prometheus shows it."""
    labels = {item._name: tuple(item._labelnames) for item in _fields(made)}  # noqa: SLF001 - no public way
    for family in sorted(made.registry.collect(), key=lambda family: family.name):
        suffix = "_total" if family.type == "counter" else ""
        yield Described(family.name + suffix, family.type, labels.get(family.name, ()), family.documentation)


def _fields(made: Metrics) -> Iterator[Counter | Gauge | Histogram]:
    for name in Metrics.__slots__:
        value = getattr(made, name)
        if not isinstance(value, CollectorRegistry):
            yield value
