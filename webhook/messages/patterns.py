"""Patterns of messages: the text as it is said, with variables in braces, to regular expressions.

`{pod}` is the name of an object; `{count:number}`, `{wait:duration}`, `{resource:resource}`, `{value:token}` (no space,
no quote) and `{error:text}` (to the end of the line) are what they say. A space stands for any white space, for
messages are wrapped on their way through terminals, YAML and chats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

_VARIABLE = re.compile(r"\{([a-z_]+)(?::([a-z]+))?\}")
_SLOT = re.compile(r"\{([a-z_]+)(?:\|([^{}]*))?\}")

# All are bounded: a megabyte without a space must not cost a quadratic search.
_KINDS: Mapping[str, str] = {
    "name": r"[<A-Za-z0-9](?:[-A-Za-z0-9._]{0,251}[A-Za-z0-9>])?",
    "number": r"-?\d{1,19}",
    "duration": r"-?(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s|µs|us|ns)){1,4}",
    "resource": r"[A-Za-z0-9](?:[-A-Za-z0-9._/]{0,315}[A-Za-z0-9])?",
    "token": r"[^\s\"\\]{1,315}",
    "text": r"[^\n]{1,1000}",
}


class Pattern(NamedTuple):
    """A compiled pattern. `anchor` is its longest piece of plain text, `weight` how much plain text it has in all."""

    anchor: str
    weight: int
    regex: re.Pattern[str]


@cache
def compiled(pattern: str) -> Pattern:
    """The pattern for a text whose lines are stripped and whose other runs of white space are one space."""
    pieces = list(_pieces(pattern))
    plain = [text for text, name, _ in pieces if not name]
    anchor = max((part for text in plain for part in text.split("'")), key=len)
    return Pattern(anchor, sum(map(len, plain)), re.compile("".join(_regex(*piece) for piece in pieces)))


def words(pattern: str) -> frozenset[str]:
    """The words of a pattern's plain text, in lower case."""
    return tokens(_VARIABLE.sub(" ", pattern))


def tokens(text: str) -> frozenset[str]:
    """The words of a text by which messages are told apart, in lower case."""
    return frozenset(re.findall(r"[a-z][a-z0-9]{2,40}", text.lower()))


def shown(pattern: str) -> str:
    """A pattern for people: its variables in capitals."""
    return _VARIABLE.sub(lambda match: _capitals(match[1]), pattern)


def fill(template: str, values: Mapping[str, str]) -> str:
    """A text with its variables filled: `{pod}` with the value or with POD, `{present|fewer}` with it or `fewer`."""
    return _SLOT.sub(lambda match: _known(values.get(match[1])) or _or_else(match[1], match[2]), template)


def _known(value: str | None) -> str | None:
    """A value, unless it is a placeholder itself (a guide's `<name>`), which a shell would take for a file."""
    return None if value is None or "<" in value or ">" in value else value


def variables(template: str) -> frozenset[str]:
    """The names of a template's variables."""
    return frozenset(match[1] for match in _SLOT.finditer(template))


def _or_else(name: str, default: str | None) -> str:
    return _capitals(name) if default is None else default


def _capitals(name: str) -> str:
    return name.upper().replace("_", "-")


def _pieces(pattern: str) -> Iterator[tuple[str, str, str]]:
    """Plain text and variables in turn: (text, "", "") or ("", name, kind)."""
    end = 0
    for match in _VARIABLE.finditer(pattern):
        if match.start() > end:
            yield pattern[end : match.start()], "", ""
        yield "", match[1], match[2] or "name"
        end = match.end()
    if end < len(pattern):
        yield pattern[end:], "", ""


def _regex(text: str, name: str, kind: str) -> str:
    if name:
        return f"(?P<{name}>{_KINDS[kind]})"
    # YAML doubles the single quotes of a text that it puts into single quotes.
    return re.escape(text).replace(r"\ ", r"[ \n]").replace("'", "''?")
