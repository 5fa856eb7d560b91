"""What the package hands out."""

from typing import NamedTuple, TypeAlias

from webhook.errors import GangcheckError
from webhook.model import Path


class Chunk(NamedTuple):
    """One document's bytes, cut from a stream; `line` is the line of the file at which they begin."""

    data: bytes
    line: int


class Span(NamedTuple):
    """A place in the file: lines and columns count from 1, columns are characters, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Duplicate(NamedTuple):
    """A mapping entry that is written twice: both keys' places. The last one wins."""

    path: Path
    first: Span
    second: Span


class Document(NamedTuple):
    """One document as Kubernetes reads it, with the text it was read from.

    `line` and `column` are where `text` begins in its file; only JSON values that share a line have a
    column other than 1.
    """

    text: str
    line: int
    data: object
    duplicates: tuple[Duplicate, ...] = ()
    column: int = 1


class Templated(GangcheckError):  # noqa: N818 - reads as what it is: a templated document
    """The text is a template that was never rendered; `engine` is "Helm", "Go template" or "Jinja"."""

    def __init__(self, engine: str, line: int, column: int) -> None:
        super().__init__(f"a {engine} template, not rendered yet; render it first and give the result")
        self.engine = engine
        self.line = line
        self.column = column


Leaf: TypeAlias = tuple[int, int, None]
Branch: TypeAlias = "tuple[int, int, Entries]"
Node: TypeAlias = "tuple[int, int, Entries | None]"
"""Where a value stands in its text: start and end (character offsets), and what is inside a collection."""
Entries: TypeAlias = "dict[str, tuple[tuple[int, int], Node]] | list[Node]"
"""A mapping's entries, each with its key's offsets, or a sequence's items."""


class Tree(NamedTuple):
    """A text's value and where each part of it stands. `twice` has path, first key and second key."""

    data: object
    node: Node
    twice: tuple[tuple[Path, tuple[int, int], tuple[int, int]], ...] = ()
