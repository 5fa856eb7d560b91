from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Place, Quota
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_LIMITS, _REQUESTS = "limits.", "requests."


@rule(Quota, Severity.WARNING, evidence="read", lint_only=True)
def quota_prefix(quota: Quota, stack: Stack) -> Iterator[Finding]:
    """A ResourceQuota counts a GPU resource under a name that HAMi does not read.

    HAMi holds namespaces to a quota of memory and cores, per card and with its defaults, and reads it under one name
    only: `limits.nvidia.com/gpumem`, `limits.nvidia.com/gpucores` and the like of other vendors (pkg/device/quota.go:
    186-207, from 2.7.0 on; over quota seen as `exceeding resource quota` on 2.10). Under `requests.` it is nothing to
    HAMi. Kubernetes counts it there, but only what manifests say: a container that asks for two cards of 4000 MiB
    counts 4000, one that asks for a whole card nothing.

    The count of cards is Kubernetes' affair, and of extended resources it counts `requests.` only:
    `requests.nvidia.com/gpu` is right and `limits.nvidia.com/gpu` is read by nobody. HAMi reads no quota of percentages
    and priorities at all.

    Silent where the right name stands beside the other one, and about memory and cores where HAMi up to 2.6 is known,
    which reads no quota at all.
    """
    reads = stack.hami is None or stack.hami >= (2, 7)
    for key, value in quota.hard.items():
        prefix = next((each for each in (_LIMITS, _REQUESTS) if key.startswith(each)), "")
        name = key.removeprefix(prefix)
        meaning = stack.meanings.get(name)
        counts = meaning is not None and meaning.part == "count"
        if meaning is None or not (counts or reads):
            continue
        right = f"{_REQUESTS if counts else _LIMITS}{name}"
        if meaning.part in {"percentage", "priority"}:
            yield _unread(quota, key, stack.vendors[meaning.vendor].memory)
        elif key != right and right not in quota.hard:
            yield _finding(quota, key, right, value, "Kubernetes counts" if counts else "HAMi reads")


def _place(quota: Quota, key: str) -> Place:
    return Place(quota.ref, ("spec", "hard", key), "key")


def _finding(quota: Quota, key: str, right: str, value: object, reader: str) -> Finding:
    place = _place(quota, key)
    return Finding(
        place,
        f"{quota.ref} has {key}; {reader} {right}",
        fix=f"write {right}",
        edits=(Edit("remove", place), Edit("add", Place(quota.ref, ("spec", "hard", right)), value)),
    )


def _unread(quota: Quota, key: str, memory: tuple[str, ...]) -> Finding:
    instead = f"{_LIMITS}{memory[0]}" if memory else "the cards"
    return Finding(_place(quota, key), f"{quota.ref} has {key}, which HAMi does not read", fix=f"count {instead}")
