from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Duplicates, Place
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Duplicates, Severity.WARNING, evidence="read", lint_only=True)
def duplicate_object(twins: Duplicates, stack: Stack) -> Iterator[Finding]:
    """Two documents describe one object: the gang has fewer members than it seems.

    Kind, namespace and name are the object. `kubectl apply` of a Pod pasted four times under one name makes one Pod,
    the later documents only change it; under a PodGroup with minMember 4 it then waits for three that never come
    ("cannot find enough sibling pods", pkg/coscheduling/core/core.go:264). Documents with generateName are objects of
    their own. Files of different folders may be an overlay and its base and are not compared.
    """
    first, last, number = twins.refs[0], twins.refs[-1], len(twins.refs)
    if last.kind == "Pod":
        meant = f"that is one Pod, not {number} members"
    else:
        meant = "they are one object, and what is applied last counts"
    yield Finding(
        Place(last, ("metadata", "name")),
        f"{number} documents describe {last} in namespace {last.namespace}: {meant}",
        fix="give each a name of its own, or remove all but one",
        related=(Related(Place(first, ("metadata", "name")), "first described here"),),
    )
