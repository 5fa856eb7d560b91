"""What a container asks for: its resources of one kind of cards, looked up as HAMi does, limits before requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from webhook.model import Container, Place, Pod
from webhook.quantity import Number, as_int64, canonical, quantity
from webhook.recall import recalled
from webhook.stack import Meaning, Stack

Half: TypeAlias = Literal["limits", "requests"]


class Ask(NamedTuple):
    """One resource of a container. `value` is as written in the half that counts; null there is 0, as for Kubernetes.

    `number` is that value exactly; None for what is none, a template's placeholder for instance. `unequal`: the request
    beside the limit is another number, which the API server refuses.
    """

    name: str
    half: Half
    value: object
    number: Number | None
    unequal: bool = False

    @property
    def int64(self) -> int | None:
        """What HAMi's AsInt64 makes of it, None where that fails."""
        return 0 if self.value is None else as_int64(self.value)

    @property
    def text(self) -> str:
        """As the user may know it: at admission `3k` stands for 3000."""
        return shown(self.value)


class Asked(NamedTuple):
    """What one container asks of one family of cards (see stack.Meaning).

    `device` are the resources that make HAMi take the container for one with a card; the priority alone does not
    (seen).
    """

    vendor: str
    family: str
    container: Container
    count: Ask | None = None  # type: ignore[assignment]  # tuple.count is not wanted here
    memory: Ask | None = None
    percentage: Ask | None = None
    cores: Ask | None = None
    priority: Ask | None = None
    device: tuple[Ask, ...] = ()

    @property
    def asks(self) -> tuple[Ask, ...]:
        """All that it asks for, the priority last."""
        return (*self.device, self.priority) if self.priority else self.device

    @property
    def is_part(self) -> bool:
        """Whether the container is but a part of one, as in a patch: what is absent from it may stand elsewhere."""
        return not self.container.image

    @property
    def is_unclear(self) -> bool:
        """Whether HAMi never reads it, or nobody can tell what: the API server refuses it, or a value is none yet."""
        return any(ask.number is None for ask in self.device) or any(map(is_refused, self.asks))

    def place(self, pod: Pod, ask: Ask, at: Literal["key", "value"] = "value") -> Place:
        return Place(pod.ref, (*self.container.path, "resources", ask.half, ask.name), at)


def is_refused(ask: Ask) -> bool:
    """Whether the API server takes no such Pod: extended resources are whole, not negative, and limited (seen)."""
    number = ask.number
    if number is None:
        return False
    return ask.half == "requests" or ask.unequal or type(number) is not int or number < 0


def asked(container: Container, stack: Stack) -> tuple[Asked, ...]:
    """What a container asks for, by family, in the order in which the families are named."""
    found: dict[str, dict[str, Ask]] = {}
    vendors: dict[str, str] = {}
    for meaning, ask in _asks(container, stack):
        found.setdefault(meaning.family, {}).setdefault(meaning.part, ask)
        vendors[meaning.family] = meaning.vendor
    return tuple(_asked(vendors[family], family, container, asks) for family, asks in found.items())


_DEVICE = ("count", "memory", "percentage", "cores")


def _asked(vendor: str, family: str, container: Container, asks: Mapping[str, Ask]) -> Asked:
    return Asked(vendor, family, container, **asks, device=tuple(asks[part] for part in _DEVICE if part in asks))


@recalled
def asking(pod: Pod, stack: Stack) -> tuple[Asked, ...]:
    """What all containers of a Pod ask for; also those with a priority alone."""
    names = stack.meanings.keys()
    return tuple(
        each
        for container in pod.containers
        if not (names.isdisjoint(container.limits) and names.isdisjoint(container.requests))
        for each in asked(container, stack)
    )


def _asks(container: Container, stack: Stack) -> Iterator[tuple[Meaning, Ask]]:
    limits, requests = container.limits, container.requests
    for name, value in limits.items():
        meaning = stack.meanings.get(name)
        if meaning is not None:
            number = _number(value)
            yield meaning, Ask(name, "limits", value, number, name in requests and _differ(value, requests[name]))
    if requests.keys() <= limits.keys():  # as where the API server has filled them in
        return
    for name, value in requests.items():
        meaning = stack.meanings.get(name)
        if meaning is not None and name not in limits:
            yield meaning, Ask(name, "requests", value, _number(value))


def _number(value: object) -> Number | None:
    return 0 if value is None else quantity(value)


def _differ(limit: object, request: object) -> bool:
    if limit == request:
        return False
    numbers = [_number(value) for value in (limit, request)]
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
