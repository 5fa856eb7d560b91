"""What libyaml says of a text it cannot parse, in words that name the cure."""

from __future__ import annotations

import yaml

from webhook.errors import Unreadable
from webhook.manifest.lines import place

_KNOWN = (
    (
        "mapping values are not allowed",
        "a ':' where no key can stand; put a value that holds ': ' in quotes, or mend the indentation",
    ),
    (
        "block sequence entries are not allowed",
        "a '- ' where no list item can stand; begin it on a line of its own",
    ),
    (
        "did not find expected key",
        "this does not fit what stands above it; mend the indentation, or a quote before it",
    ),
    (
        "expected <block end>",
        "this does not fit what stands above it; mend the indentation, or a quote before it",
    ),
    (
        "did not find expected '-'",
        "this is no item of the list above it; mend the indentation or begin it with '- '",
    ),
    ("document start", "this does not belong to the document above it; mend the indentation"),
    (
        "could not find expected ':'",
        "a key without ':'; write 'key: value', or mend the indentation of a text over several lines",
    ),
    ("unexpected end of stream", "a quote is opened and never closed; close it"),
    ("unexpected document", "a quote or a bracket is still open where the document ends; close it"),
    ("did not find expected ',' or", "a '[' or '{' is not closed, or a ',' is missing"),
    ("expected ',' or", "a '[' or '{' is not closed, or a ',' is missing"),
    ("cannot start any token", "a value cannot begin with {char!r}; put it in quotes"),
    (
        "unknown escape character",
        "an escape that YAML does not know; write '\\\\' for a backslash, or use single quotes",
    ),
    (
        "hexdecimal",
        "an escape with too few hexadecimal digits; write '\\\\' for a backslash, or use single quotes",
    ),
    (
        "hexadecimal",
        "an escape with too few hexadecimal digits; write '\\\\' for a backslash, or use single quotes",
    ),
    ("Unicode character escape", "an escape that is no character; write the character itself"),
    ("alphabetic or numeric character", "an '&' or '*' without a name; put a value that begins so in quotes"),
    (
        "undefined tag handle",
        "a '!' begins a tag here, and its handle is not defined; put the value in quotes",
    ),
    (
        "comment or line break",
        "'|' and '>' take only an indentation digit, '+', '-' and a comment; begin the text on the next line",
    ),
    ("found a tab", "a tab; YAML indents with spaces"),
)


def fault(text: str, message: str, offset: int) -> Unreadable:
    """An error at a place of `text`, whose first line is line 1."""
    return Unreadable(message, *place(text, min(offset, len(text))))


def explain(text: str, error: yaml.YAMLError) -> Unreadable:
    """What the parser says, said again for the person who wrote the text."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if mark is None:
        return Unreadable(f"no YAML: {problem}", 1, 1)
    if "unexpected end of stream" in problem or "unexpected document" in problem:
        mark = getattr(error, "context_mark", None) or mark  # where the quote opens, not where the text ends
    char = text[mark.index : mark.index + 1]
    if char == "\t":
        return fault(text, "a tab; YAML indents with spaces", mark.index)
    for part, words in _KNOWN:
        if part in problem:
            return fault(text, words.format(char=char) if "{char" in words else words, mark.index)
    return fault(text, f"no YAML: {problem}", mark.index)
