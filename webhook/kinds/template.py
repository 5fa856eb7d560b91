"""A Pod template's place and count, and how counts are read from fields that may hold anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from webhook.model import UNKNOWN, Count, Path, Stage, dig

Body: TypeAlias = Mapping[str, object]


class Template(NamedTuple):
    """Where a Pod template stands in its object and how many Pods it makes.

    `metadata` and `spec` are paths of its two halves; `role` is its name in the workload, empty where there is
    only one. `own` is True where `spec` is no PodSpec but the kind's own description of a Pod (Spark, Argo):
    then `containers` may be absent. `more` is the path of another metadata whose labels reach the Pods too,
    and `defaults` the path of a mapping whose schedulerName counts where the template names none.
    """

    metadata: Path
    spec: Path
    role: str = ""
    count: Count = UNKNOWN  # type: ignore[assignment] # the field hides tuple.count, which nobody calls
    own: bool = False
    more: Path = ()
    defaults: Path = ()


def template_at(path: Path, count: Count, role: str = "") -> Template:
    """The template at `path`, with the two halves of a PodTemplateSpec."""
    return Template((*path, "metadata"), (*path, "spec"), role, count)


def whole(value: object, default: int) -> int | None:
    """A count as Kubernetes reads it: its default where absent, None where it is templated or no count."""
    if value is None:
        return default
    if type(value) is int and value >= 0:
        return value
    return int(value) if type(value) is float and value >= 0 and value.is_integer() else None


def exactly(number: int | None, path: Path, *, stage: Stage | None = None, copies: int = 1) -> Count:
    """So many Pods; of an unknown number nothing is known but where it stands."""
    return Count(0, None, path, stage) if number is None else Count(number, number, path, stage, copies)


def times(number: int | None, other: int | None) -> int | None:
    return None if number is None or other is None else number * other


def mapping(body: object, *steps: str | int) -> Body:
    """The mapping at a path; an empty one where there is none."""
    found = dig(body, *steps)
    return found if isinstance(found, Mapping) else {}


def items(body: object, *steps: str | int) -> list[tuple[int, Body]]:
    """The mappings in the list at a path, with their indices."""
    found = dig(body, *steps)
    if not isinstance(found, list):
        return []
    return [(index, item) for index, item in enumerate(found) if isinstance(item, Mapping)]


def text(body: object, *steps: str | int) -> str:
    """The text at a path; empty where there is none."""
    found = dig(body, *steps)
    return found if isinstance(found, str) else ""


def levels(kind: str, body: Mapping[str, object]) -> Iterator[Path]:
    """Where metadata stands above the Pod templates, which no Pod gets: the object itself, and the Job templates in
    it."""
    yield ()
    if kind == "CronJob":
        yield ("spec", "jobTemplate")
    jobs = dig(body, "spec", "replicatedJobs")
    for index in range(len(jobs) if isinstance(jobs, list) else 0):
        yield ("spec", "replicatedJobs", index, "template")
