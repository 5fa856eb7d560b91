"""How one release of HAMi reads a request, and which releases read alike.

Sources: HAMi v2.6.1, v2.8.3, v2.9.0, v2.10.0 pkg/scheduler/webhook.go and pkg/device/*; what was seen is marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from webhook.hamikeys import opted_out
from webhook.model import DEFAULT_SCHEDULER, Container, Pod
from webhook.stack import Stack, Version

Fate: TypeAlias = Literal[
    "exclusive", "shared", "unlimited", "unbooked", "ignored", "none", "pending", "denied", "refused"
]
"""What becomes of a container's request.

exclusive: a whole card that nobody else gets. shared: its part of a card. unlimited: 0 MiB are booked and nothing holds
the container to any. unbooked: 0 MiB are booked, and what limits it then is the vendor's affair. ignored: HAMi sees no
request. none: 0 cards. pending: no card is as large, it waits for ever. denied: HAMi's webhook refuses the Pod.
refused: the API server does.
"""

LARGEST = 1024 * 1024
"""MiB: no card has a TiB of memory, not even scaled as HAMi may scale it. That much is a mistake of units."""

INT32 = 2**31


class Reading(NamedTuple):
    """What HAMi takes a container's request for. Numbers are those of each card.

    `memory` is in MiB; None where `percent` of the card's memory counts, or nothing is booked. `cores` are percent of
    a card's cores; 0 is no limit. `who` are the releases that read it so: "HAMi", "HAMi up to 2.9", "HAMi from 2.10",
    or the one that the stack names.
    """

    fate: Fate
    cards: int = 0
    memory: int | None = None
    percent: int | None = None
    cores: int = 0
    who: str = "HAMi"

    @property
    def is_sound(self) -> bool:
        """Whether the container gets what it asks for and is held to it."""
        return self.fate in {"exclusive", "shared"}


IGNORED = Reading("ignored")
REFUSED = Reading("refused", who="Kubernetes")

_ERAS: tuple[tuple[Version, str, str], ...] = (
    ((2, 6), "", "2.6"),
    ((2, 8), "2.7", "2.8"),
    ((2, 9), "2.9", "2.9"),
    ((2, 10), "2.10", ""),
)
"""Releases that read alike: one of them, the first and the last."""


T = TypeVar("T")


def by_release(read: Callable[[Version], T], hami: Version | None) -> Iterator[tuple[T, str]]:
    """What one release makes of something, or all releases, oldest first, where nobody knows which is there; with who
    they are. Neighbours that agree are one."""
    if hami is not None:
        yield read(hami), f"HAMi {'.'.join(map(str, hami))}"
        return
    answers = [read(version) for version, _, _ in _ERAS]
    start = 0
    for index, answer in enumerate(answers):
        if index + 1 == len(answers) or answers[index + 1] != answer:
            yield answer, _releases(_ERAS[start][1], _ERAS[index][2])
            start = index + 1


def _releases(first: str, last: str) -> str:
    if not first:
        return f"HAMi up to {last}" if last else "HAMi"
    if not last:
        return f"HAMi from {first}"
    return f"HAMi {first}" if first == last else f"HAMi {first} to {last}"


class Defaults(NamedTuple):
    """What NVIDIA's part of HAMi's device configuration says (see Stack)."""

    memory: int = 0
    cores: int = 0
    cards: int = 1
    factor: int = 1


class Where(NamedTuple):
    """All that a reading depends on beside the request: the installation, the Pod and the container's role.

    `webhook`: HAMi's webhook is there and does not pass the Pod over by its label. `scheduler` is whose the Pod is when
    it meets that webhook.
    """

    hami: Version | None
    webhook: bool
    forced: bool
    scheduler: Literal["default", "hami", "other"]
    role: str
    privileged: bool
    defaults: Defaults


def where(pod: Pod, container: Container, stack: Stack) -> Where:
    is_default = pod.scheduler in {"", DEFAULT_SCHEDULER}
    return Where(
        stack.hami,
        stack.hami_webhook and not pod.live and not opted_out(pod),
        stack.force_overwrite_default_scheduler,
        "default" if is_default else "hami" if pod.scheduler == stack.hami_scheduler else "other",
        container.role,
        container.privileged,
        Defaults(stack.default_memory, stack.default_cores, stack.default_gpu_num, stack.memory_factor),
    )


def is_completed(at: Where, version: Version) -> bool:
    """Whether HAMi's webhook will go over the container: it adds a count, and cores for a bare count.

    2.7.0 to 2.8.3 skip every Pod that names a scheduler, HAMi's own too (pkg/scheduler/webhook.go:63-66, seen); init
    containers are gone over from 2.10 on, and up to 2.9 a privileged container is not (seen).
    """
    if not at.webhook or at.role == "ephemeral":
        return False
    if version < (2, 10) and (at.role != "app" or at.privileged):
        return False
    if version < (2, 7):
        return True
    return at.forced if at.scheduler == "default" else version >= (2, 9) and at.scheduler == "hami"


def is_counted(at: Where, version: Version) -> bool:
    """Whether HAMi's scheduler looks at the container at all: init containers from 2.9 on (pkg/device/devices.go
    Resourcereqs), ephemeral ones never."""
    return at.role == "app" or (at.role != "ephemeral" and version >= (2, 9))


def as_int32(number: int) -> int:
    """Go's cast: what is beyond 32 bits wraps round."""
    return (number + INT32) % (2 * INT32) - INT32
