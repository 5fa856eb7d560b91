from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Place, RuntimeClassUse
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_SHOWN = 8


@rule(RuntimeClassUse, Severity.WARNING, evidence="seen", lint_only=True)
def runtime_class_missing(use: RuntimeClassUse, stack: Stack) -> Iterator[Finding]:
    """Pods name a RuntimeClass that the installation does not have: the API server refuses every one of them.

    `runtimeClassName` is checked when a Pod is created: `pods "x" is forbidden: pod rejected: RuntimeClass "nvidia" not
    found` (seen). HAMi's chart writes it into its device plugin's Pods, and with `devicePlugin.runtimeClassName` HAMi's
    webhook (2.6.0 and later) writes it into every GPU Pod that names none. The RuntimeClass itself comes from the chart
    only with `createRuntimeClass`, else from NVIDIA's GPU operator or by hand.

    Said only of a whole installation (`--whole`), where what is absent does not exist.
    """
    places: list[Place] = [*use.settings, *(pod.field("runtimeClassName") for pod in use.pods)]
    first, others = places[0], places[1:]
    who = "HAMi is told to give every GPU Pod" if use.settings else f"{use.pods[0]} names"
    more = f", and so do {len(others)} more," if others and not use.settings else ""
    yield Finding(
        first,
        f"{who} the RuntimeClass {use.name}{more or ','} which is not there: the API server refuses these Pods",
        fix=f"add a RuntimeClass {use.name} whose handler the container runtime knows, or leave runtimeClassName out",
        related=tuple(Related(place, "it is named here too") for place in others[:_SHOWN]),
    )
