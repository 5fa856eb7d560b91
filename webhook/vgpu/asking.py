"""What a container asks for: its resources of one kind of cards, looked up as HAMi does, limits before requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from webhook.model import Container, Place, Pod
from webhook.quantity import Number, as_int64, canonical, quantity
from webhook.stack import Meaning, Stack

Half = Literal["limits", "requests"]


class Ask(NamedTuple):
    """One resource of a container. `value` is as written in the half that counts; null there is 0, as for Kubernetes.

    `unequal`: the request beside the limit is another number, which the API server refuses.
    """

    name: str
    half: Half
    value: object
    unequal: bool = False

    @property
    def number(self) -> Number | None:
        """The exact number; None for what is none, a template's placeholder for instance."""
        return 0 if self.value is None else quantity(self.value)

    @property
    def int64(self) -> int | None:
        """What HAMi's AsInt64 makes of it, None where that fails."""
        return 0 if self.value is None else as_int64(self.value)

    @property
    def text(self) -> str:
        """As the user may know it: at admission `3k` stands for 3000."""
        return shown(self.value)


class Asked(NamedTuple):
    """What one container asks of one family of cards (see stack.Meaning)."""

    vendor: str
    family: str
    container: Container
    count: Ask | None = None  # type: ignore[assignment]  # tuple.count is not wanted here
    memory: Ask | None = None
    percentage: Ask | None = None
    cores: Ask | None = None
    priority: Ask | None = None

    @property
    def device(self) -> tuple[Ask, ...]:
        """The resources that make HAMi take the container for one with a card; the priority alone does not (seen)."""
        return tuple(ask for ask in (self.count, self.memory, self.percentage, self.cores) if ask)

    @property
    def asks(self) -> tuple[Ask, ...]:
        """All that it asks for, the priority last."""
        return (*self.device, self.priority) if self.priority else self.device

    def place(self, pod: Pod, ask: Ask, at: Literal["key", "value"] = "value") -> Place:
        return Place(pod.ref, (*self.container.path, "resources", ask.half, ask.name), at)


def asked(container: Container, stack: Stack) -> tuple[Asked, ...]:
    """What a container asks for, by family, in the order in which the families are named."""
    found: dict[str, dict[str, Ask]] = {}
    vendors: dict[str, str] = {}
    for meaning, ask in _asks(container, stack):
        found.setdefault(meaning.family, {}).setdefault(meaning.part, ask)
        vendors[meaning.family] = meaning.vendor
    return tuple(Asked(vendors[family], family, container, **asks) for family, asks in found.items())


def _asks(container: Container, stack: Stack) -> Iterator[tuple[Meaning, Ask]]:
    limits, requests = container.limits, container.requests
    for name, value in limits.items():
        meaning = stack.meanings.get(name)
        if meaning is not None:
            yield meaning, Ask(name, "limits", value, name in requests and _differ(value, requests[name]))
    for name, value in requests.items():
        meaning = stack.meanings.get(name)
        if meaning is not None and name not in limits:
            yield meaning, Ask(name, "requests", value)


def _differ(limit: object, request: object) -> bool:
    if limit == request:
        return False
    numbers = [0 if value is None else quantity(value) for value in (limit, request)]
    return None not in numbers and numbers[0] != numbers[1]


_SHORT = 40


def shown(value: object) -> str:
    """A quantity for a message: whole numbers that the API server shortened in full (`3k` as 3000), else as written."""
    if value is None:
        return "null"
    text = str(value).strip()
    number = quantity(value)
    is_short_form = text.endswith("k") and type(number) is int and canonical(number) == text
    return str(number) if is_short_form else text[:_SHORT]
