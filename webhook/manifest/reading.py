"""A chunk of bytes to documents: JSON by JSON's rules, plain YAML by the quick reader, the rest exactly.

The exact readers are imported when a text needs one: plain manifests, which most are, start faster without.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from webhook.errors import Unreadable
from webhook.manifest import quick
from webhook.manifest.cutting import LIMIT
from webhook.manifest.decoding import decode
from webhook.manifest.lines import place
from webhook.manifest.values import Chunk, Document, Duplicate, Span, Templated, Tree

_LEAD = "\\A(\\.\\.\\.[^\r\n]*(?:\r\n|\r|\n|\\Z))?\ufeff?(---[ \t]*(?:\r\n|\r|\n))?\ufeff?"


def read(chunk: Chunk) -> tuple[Document, ...]:
    """The documents of a chunk: none where it is empty, several only where JSON values follow each other."""
    if len(chunk.data) > LIMIT:
        message = f"a document of more than {LIMIT >> 20} MiB; split it, or leave the file out"
        raise Unreadable(message, chunk.line, 1)
    try:
        text, line = _text(chunk)
    except Unreadable as error:
        _moved(error, chunk.line, 1)
    try:
        return _documents(text, line)
    except Templated as error:
        raise Templated(error.engine, error.line + line - 1, error.column) from error.__cause__
    except Unreadable as error:
        _moved(error, line, 1)


@lru_cache(maxsize=8)
def tree(text: str) -> Tree | None:
    """A document's value and where each part stands. A few are kept: one document has several findings, and holds
    others as text."""
    from webhook.manifest import exact, jsontext

    return jsontext.scan(text) if is_json(text) else exact.build(text)


def is_json(text: str) -> bool:
    """Whether a document's text was read by JSON's rules."""
    if not _looks_like_json(text):
        return False
    from webhook.manifest import jsontext

    try:
        jsontext.values(text)
    except jsontext.NotJson:
        return False
    return True


def _looks_like_json(text: str) -> bool:
    return text.lstrip(" \t\r\n")[:1] in {"{", "["}


def span_at(document_line: int, document_column: int, text: str, start: int, end: int) -> Span:
    """Offsets in a document's text as a place in its file."""
    line, column = place(text, start)
    end_line, end_column = place(text, end)
    shift, end_shift = (document_column - 1 if at == 1 else 0 for at in (line, end_line))
    return Span(document_line + line - 1, column + shift, document_line + end_line - 1, end_column + end_shift)


def _text(chunk: Chunk) -> tuple[str, int]:
    """The chunk's text without byte order marks and without the `...` of the document before it."""
    text = decode(chunk.data)
    if text[:1] not in {".", "-", "\ufeff"} or (text[0] == "-" and "\ufeff" not in text):
        return text, chunk.line
    lead = re.match(_LEAD, text)
    ended, begun = lead.groups() if lead else (None, None)
    if not lead or ("\ufeff" not in lead[0] and not ended):
        return text, chunk.line
    return (begun or "") + text[lead.end() :], chunk.line + (1 if ended else 0)


def _documents(text: str, line: int) -> tuple[Document, ...]:
    found = _json(text, line) if _looks_like_json(text) else None
    if found is not None:
        return found
    if not text or text.isspace():
        return ()
    value = quick.load(text)
    if value is not quick.GIVE_UP:
        return (Document(text, line, value),)
    return _exact(text, line)


def _json(text: str, line: int) -> tuple[Document, ...] | None:
    """The documents of a JSON text, or None where it is none: a flow mapping of YAML begins alike."""
    from webhook.manifest import jsontext

    try:
        values = jsontext.values(text)
    except jsontext.NotJson:
        return None
    if len(values) == 1:
        _start, _end, data, twice = values[0]
        return (_document(text, line, 1, data, twice=twice),)
    documents = []
    for start, end, data, twice in values:
        at, column = place(text, start)
        documents.append(_document(text[start:end], line + at - 1, column, data, twice=twice))
    return tuple(documents)


def _document(text: str, line: int, column: int, data: object, *, twice: bool) -> Document:
    duplicates: tuple[Duplicate, ...] = ()
    if twice:
        from webhook.manifest import jsontext

        duplicates = _duplicates(jsontext.scan(text), text, line, column)
    return Document(text, line, data, duplicates, column)


def _exact(text: str, line: int) -> tuple[Document, ...]:
    from webhook.manifest import exact, templates

    try:
        found = exact.build(text)
    except Unreadable as error:
        template = templates.templated(text)
        if template is not None:
            raise template from error
        raise
    if found is None:
        return ()
    return (Document(text, line, found.data, _duplicates(found, text, line, 1)),)


def _duplicates(found: Tree, text: str, line: int, column: int) -> tuple[Duplicate, ...]:
    return tuple(
        Duplicate(path, span_at(line, column, text, *first), span_at(line, column, text, *second))
        for path, first, second in found.twice
    )


def _moved(error: Unreadable, line: int, column: int) -> NoReturn:
    """The same error with its place counted in the file."""
    at = error.line or 1
    shift = column - 1 if at == 1 else 0
    raise Unreadable(str(error), at + line - 1, (error.column or 1) + shift) from error
