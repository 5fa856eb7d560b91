"""Text inside objects, read as the document that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from webhook.errors import Unreadable
from webhook.manifest import Chunk, Templated, first, read
from webhook.model import Object, Path, dig


class Unread(Exception):  # noqa: N818 - says what the text is
    """A text that is no YAML; the message says why and where, with lines counted in the text."""


@lru_cache(maxsize=64)
def mapping_in(text: str) -> Mapping[str, object] | None:
    """The mapping that a text's first document holds; None where it is another thing or a template. Raises Unread."""
    try:
        documents = read(Chunk(first(text).encode("utf-8", "replace"), 1))
    except Templated:
        return None
    except Unreadable as error:
        raise Unread(f"line {error.line or 1} of the text: {error}") from None
    data = documents[0].data if documents else None
    return data if isinstance(data, Mapping) else None


def texts_of(config_map: Object) -> Iterator[tuple[Path, str]]:
    """The texts of a ConfigMap, each with its path."""
    data = config_map.body.get("data")
    for key, text in data.items() if isinstance(data, Mapping) else ():
        if isinstance(text, str):
            yield ("data", key), text


def text_at(body: object, *steps: str | int) -> str:
    """The text at a path, empty where there is none or it is no text."""
    found = dig(body, *steps)
    return found if isinstance(found, str) else ""


def items_of(value: object) -> list[object]:
    """A list's items; none of what is no list."""
    return value if isinstance(value, list) else []


def texts_in(value: object) -> tuple[str, ...]:
    """The texts of a list; none of what is no list."""
    return tuple(item for item in items_of(value) if isinstance(item, str))
