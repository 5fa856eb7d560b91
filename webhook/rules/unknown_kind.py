from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Place, StrangeKind
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(StrangeKind, Severity.WARNING, evidence="read")
def unknown_kind(strange: StrangeKind, stack: Stack) -> Iterator[Finding]:
    """An API group has no such kind: it is misspelt, or at home in another group.

    kubectl refuses it: `no matches for kind "Deploymnet" in version "apps/v1"`. Nothing else in the object is judged
    as its kind would be, so a slip here would hide every other mistake. Only groups whose kinds are all known are
    judged, Kubernetes' own ones and a few of gang operators, and only where a kind is a slip of the pen away or is well
    known in another group (a Deployment of v1, a Job of apps/v1): custom resources that nobody told us of are silent.
    """
    ref = strange.ref
    if strange.home:
        yield Finding(
            Place(ref, ("apiVersion",)),
            f"{ref.api_version} has no kind {ref.kind}, {strange.home} has one",
            fix=f"write apiVersion: {strange.home}",
        )
        return
    near = " or ".join(strange.near)
    yield Finding(
        Place(ref, ("kind",)),
        f"{ref.api_version} has no kind {ref.kind}, did you mean {near}?",
        fix=f"write kind: {strange.near[0]}",
    )
