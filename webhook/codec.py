"""JSON between bytes and values, for reviews: orjson's speed, and the standard library's word where they differ.

orjson refuses what an API server never sends, some of which the standard library takes (half a surrogate pair), and
its errors name other things: whatever it refuses is asked of the standard library once more. A whole number beyond
64 bits becomes a float, as it does in Go (apimachinery's util/json).
"""

from __future__ import annotations

import json

import orjson


def loads(body: bytes) -> object:
    """The value in a body. Raises ValueError for what is no JSON, RecursionError for what is nested too deep."""
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body, parse_constant=_no_number)


def dumps(value: object) -> bytes:
    """A value of dicts with text as keys, lists, text and numbers, on one line."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number to JSON")
