"""Plain block YAML to data in one pass over its lines; gives up on whatever it does not know for certain.

What it knows is what manifests are made of: block mappings and lists, one-line scalars, simple one-line flow
collections, `|` and `|-` texts, comments. A text it gives up on is read by `exact`. The law, held by
differential tests: where this reader gives a value, `exact` gives the same.
"""

from __future__ import annotations

import re
from itertools import islice
from operator import length_hint
from typing import Any

from webhook.manifest import flow
from webhook.manifest.scalars import WORDS, number

GIVE_UP: Any = object()
"""No answer: read exactly. (None is an answer: the value null.)"""

_DEPTH = 150  # well under what `exact` refuses, with room for flow collections

_ODD = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
"""Control characters, tabs, NEL, LS, PS, byte order marks: each has rules of its own. (Named one by one: the
complement of what is common takes ten times as long to compile, at every start.)"""

_BLOCK = frozenset("|>")
_UNFOLDED = frozenset(("", " "))
_COMMON = bytes([10, *range(32, 127)])

_START = re.compile(r"(?: *+(?:#[^\n]*+)?+\n)*+(?:---(?: ++#[^\n]*+| *+)\n)?+")

_LINE = re.compile(
    r"""
    ([ ]*+)                                  # the indentation
    (?:
      (-[ ]++)?+                             # a list's item begins
      (?:([A-Za-z_][A-Za-z0-9_./-]{0,400}+):(?:[ ]++|(?=\n)))?+   # a plain key; libyaml takes 1,024 characters
      (?:
        ([^\s\-?:,\[\]{}#&*!|>'"%@`0-9+.]    # a plain scalar that is no number, on one line
         [^:#\n]*+(?:(?::(?=\S)|(?<!\ )\#)[^:#\n]*+)*+)
       |([0-9][^:#\n]*+(?:(?::(?=\S)|(?<!\ )\#)[^:#\n]*+)*+       # one that begins as a number, or with a quote
         |"[^"\\\n]*+"[ ]*+ | '[^'\n]*+'[ ]*+
         |[+.-](?=[^\s\#])[^:#\n]*+(?:(?::(?=\S)|(?<!\ )\#)[^:#\n]*+)*+
         |[\[{][^#\n]*+                      # a flow collection
         |[|>]-?+[ ]*+)                      # a block scalar's header
      )?+
      (?:(?<![^ \n])\#[^\n]*+)?+\n           # a comment
    | ([^\n]*+\n)                            # anything else
    )
    """,
    re.VERBOSE,
)


_QUOTED_KEY = r"""(?x)(-[ ]++)?+(?:"([^"\\\n]{0,400}+)"|'([^'\n]{0,400}+)'):(?:[ ]++|(?=\n))
    (?:
      ([^\s\-?:,\[\]{}#&*!|>'"%@`0-9+.][^:#\n]*+(?:(?::(?=\S)|(?<!\ )\#)[^:#\n]*+)*+)
     |([0-9][^:#\n]*+
       |"[^"\\\n]*+"[ ]*+ | '[^'\n]*+'[ ]*+)
    )?+
    (?:(?<![^ \n])\#[^\n]*+)?+\n"""


def load(text: str) -> Any:  # noqa: ANN401 - the value of a document
    """The document's value, or GIVE_UP."""
    if _odd(text):
        text = text.replace("\r\n", "\n")
        if _odd(text):
            return GIVE_UP
    if "{{" in text:
        return GIVE_UP
    ended = text.endswith("\n")
    if not ended:
        text += "\n"
    start = _START.match(text).end()  # type: ignore[union-attr] # it matches always
    return _lines(text[start:] if start else text, ended=ended)


def _odd(text: str) -> bool:
    if text.isascii():
        return bool(text.encode().translate(None, _COMMON))  # six times faster than the pattern
    return re.search(_ODD, text) is not None


def _lines(text: str, *, ended: bool) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912, PLR0915
    """One loop with its state in locals: it runs for every line, and a call costs as much as a line does.

    A collection is told by a code: twice its column, and one more for a list, since a list may stand at the
    column of the mapping it belongs to. The root is a mapping left of everything, with one key.
    """
    found = _LINE.findall(text)
    rows = iter(found)
    lines: list[str] = []
    words = WORDS
    item: Any
    new: Any
    root: dict[str, Any] = {"": None}
    held: Any = root
    code = -1
    waits: str | None = ""  # the key whose value may follow on deeper lines
    stack: list[tuple[Any, int]] = []
    for indent, dash, key, word, value, other in rows:
        if other:
            match = re.match(_QUOTED_KEY, other)
            if match is None:
                return GIVE_UP
            dash, double, single, word, value = match.groups("")  # noqa: PLW2901
            key = double or single  # noqa: PLW2901
            if not key:
                return GIVE_UP
        at = 2 * len(indent)
        if dash:
            at += 1
            if waits is not None and at > code:
                if len(stack) > _DEPTH:
                    return GIVE_UP
                stack.append((held, code))
                held[waits] = new = []
                held, code = new, at
            else:
                while code > at:
                    held, code = stack.pop()
                if code != at:
                    return GIVE_UP
            waits = None
            if key:
                stack.append((held, code))
                held.append(new := {})
                held, code = new, at - 1 + 2 * len(dash)
        elif not key:
            if not (word or value):
                continue
            if not waits or at <= code or value[:1] in _BLOCK:
                return GIVE_UP
            del held[waits]  # its value stands alone on a deeper line
            key = waits  # noqa: PLW2901
        elif at > code:
            if waits is None or len(stack) > _DEPTH:
                return GIVE_UP
            stack.append((held, code))
            held[waits] = new = {}
            held, code = new, at
        elif at < code:
            while code > at:
                held, code = stack.pop()
            if code != at:
                return GIVE_UP

        if word:
            if word[-1] == " ":
                word = word.rstrip(" ")  # noqa: PLW2901
            item = words.get(word, word)
        elif value:
            if value[-1] == " ":
                value = value.rstrip(" ")  # noqa: PLW2901
            first = value[0]
            if first in "\"'":
                item = value[1:-1]
            elif first in "[{":
                try:
                    item = flow.load(value)
                except flow.Unknown:
                    return GIVE_UP
            elif first in "|>":
                lines = lines or text.split("\n")
                line = len(found) - length_hint(rows)
                item, after = _block(lines, line, code >> 1, folds=first == ">")
                whole = ended or after < len(found)  # else its last line has no line break to keep
                if after == line or not (whole or lines[after - 1].strip(" ")):
                    return GIVE_UP
                if value == first and whole:
                    item += "\n"
                next(islice(rows, after - line, after - line), None)
            else:
                item = number(value)
        elif key:
            if key in held or key in words:
                return GIVE_UP
            held[key] = None
            waits = key
            continue
        else:
            return GIVE_UP
        if not key:
            held.append(item)
            continue
        if key in held or key in words:
            return GIVE_UP
        held[key] = item
        waits = None
    return GIVE_UP if held is root else root[""]


def _block(lines: list[str], start: int, column: int, *, folds: bool) -> tuple[str, int]:
    """A block scalar's text without its last line break, and the line after it; `start` where it is not plain.

    libyaml (scanner.c, yaml_parser_scan_block_scalar): the first line that is not blank sets the indentation.
    """
    depth = 0
    at = start
    for at in range(start, len(lines)):
        line = lines[at]
        bare = line.lstrip(" ")
        if not bare:
            if line and not depth:
                return "", start  # blanks before the text may set a deeper indentation
            continue
        indent = len(line) - len(bare)
        if not depth:
            depth = indent
            if depth <= column:
                return "", start
        elif indent < depth:
            break
    if not depth:
        return "", start
    rows = [line[depth:] for line in lines[start:at]]
    if not folds:
        return "\n".join(rows).rstrip("\n"), at
    text = _folded(rows)
    return (text, at) if text else ("", start)


def _folded(rows: list[str]) -> str:
    """One paragraph; nothing where a line is blank or indented further, since such lines are not folded."""
    while not rows[-1]:
        rows.pop()
    return "" if any(row[:1] in _UNFOLDED for row in rows) else " ".join(rows)
