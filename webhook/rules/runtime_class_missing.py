from __future__ import annotations

from collections.abc import Iterator

from webhook.model import RuntimeClassUse
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
    first, *others = use.pods
    more = f", and so do {len(others)} more," if others else ""
    yield Finding(
        first.field("runtimeClassName"),
        f"{first}{more or ''} names the RuntimeClass {use.name}, which is not there: the API server refuses its Pods",
        fix=f"add a RuntimeClass {use.name} whose handler the container runtime knows, or leave runtimeClassName out",
        related=tuple(Related(pod.field("runtimeClassName"), f"{pod} names it too") for pod in others[:_SHOWN]),
    )
