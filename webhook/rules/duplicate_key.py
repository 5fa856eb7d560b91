from __future__ import annotations

from collections.abc import Iterator

from webhook.model import RepeatedKey
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(RepeatedKey, Severity.ERROR, evidence="read")
def duplicate_key(repeated: RepeatedKey, stack: Stack) -> Iterator[Finding]:
    """One mapping gives the same key twice, and all that the first one holds is lost.

    A YAML mapping has each key once (YAML 1.2.2, 3.2.1.3). Clients that read leniently keep the last one and say
    nothing: with `labels` given twice, a pod-group label in the first is gone and the Pod belongs to no gang. Clients
    that read strictly (kubectl apply, since 1.27 by default, and kustomize) refuse the file: `key "labels" already set
    in map` (sigs.k8s.io/yaml, yaml.v2 decode.go).

    A key that also comes in by a merge (`<<`) is no duplicate: what is written out wins, as intended.
    """
    key = repeated.place.path[-1] if repeated.place.path else ""
    if repeated.whole:
        yield Finding(
            repeated.place,
            f"a second object begins in the same document: {key} is given again, on lines {repeated.first_line} and "
            f"{repeated.second_line}",
            fix=f"write a line --- between the objects, before line {repeated.second_line}",
        )
        return
    yield Finding(
        repeated.place,
        f"{key} is given twice in one mapping, on lines {repeated.first_line} and {repeated.second_line}: the first "
        "one is lost, or the file is refused",
        fix=f"keep one {key}, with what both hold",
    )
