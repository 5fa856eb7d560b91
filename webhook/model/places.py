"""Objects and places in them, and what reading finds there: faults of the text, and rules that are silenced."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The empty mapping, for defaults."""


class Ref(NamedTuple):
    """Which object a thing belongs to.

    `document` counts a run's documents from 0 (-1: not read from a file); `prefix` is where the object
    stands in its document: `("items", 3)` in a List, else `()`. `name` is empty where only generateName
    is given; two such objects are two objects.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    document: int = -1
    prefix: Path = ()

    @property
    def group(self) -> str:
        """The API group: `apps` of `apps/v1`, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else self.kind


class Place(NamedTuple):
    """Where in an object a finding stands; `at` tells whether the entry's key or its value is meant."""

    ref: Ref
    path: Path
    at: Literal["key", "value"] = "value"


class Duplicates(NamedTuple):
    """Two or more documents that describe one object (kind, namespace, name); the last one applied wins."""

    refs: tuple[Ref, ...]


class Malformed(NamedTuple):
    """A field that the API server could not decode. `message` states the value and what is wanted there."""

    place: Place
    message: str
    fix: str


class WrongScalar(NamedTuple):
    """YAML made a boolean, a number or a null of what Kubernetes wants as text. `written` is the text as it
    stands in the manifest (`on`, `20260901`), `value` what YAML made of it."""

    place: Place
    written: str
    value: object


class RepeatedKey(NamedTuple):
    """One mapping gives one key twice or more; the last one wins. Lines count in the file, from 1.

    `whole`: apiVersion and kind are both given again, so two objects stand in one document.
    """

    place: Place
    first_line: int
    second_line: int
    whole: bool = False


class StrangeKind(NamedTuple):
    """A kind that its API group does not have; `near` are kinds of that group a slip of the pen away, `home` is the
    apiVersion that has this very kind."""

    ref: Ref
    near: tuple[str, ...]
    home: str = ""


class Suppression(NamedTuple):
    """One silencing of one rule, by a comment or an annotation. `known` tells whether such a rule exists,
    `used` whether it silenced anything, `near` what may have been meant."""

    place: Place
    rule: str
    known: bool
    used: bool
    near: tuple[str, ...] = ()
    line: int = 0
    column: int = 0


def pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def dig(body: object, *steps: str | int) -> object:
    """The value at a path of keys and indices, or None where any step is missing."""
    for step in steps:
        if type(body) is dict or isinstance(body, Mapping):  # asking an abstract class costs ten times as much
            body = body.get(step)
        elif isinstance(body, list) and isinstance(step, int) and -len(body) <= step < len(body):
            body = body[step]
        else:
            return None
    return body
