"""Functions that remember: rules ask the same of the same object one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")
V = TypeVar("V")


def recalled(function: Callable[[S, T], V]) -> Callable[[S, T], V]:
    """The same pure function of two values, which remembers its last answer.

    Values are told by identity, which costs nothing, and are held so long that no other can take their place. The one
    slot is exchanged as a whole: threads that share it compute anew, never wrongly.
    """
    held: tuple[S, T, V] | None = None

    def asked(first: S, second: T) -> V:
        nonlocal held
        kept = held
        if kept is not None and kept[0] is first and kept[1] is second:
            return kept[2]
        answer = function(first, second)
        held = first, second, answer
        return answer

    return asked
