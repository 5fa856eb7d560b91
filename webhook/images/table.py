"""What images.tsv says of a reference: repositories and tags whose Dockerfiles were read."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple, cast

from webhook.images.references import Reference
from webhook.images.words import GLIBC_WORDS, Libc, LibcName, glibc_version, words


class _Row(NamedTuple):
    tags: str
    libc: LibcName
    has_libdl: bool | None
    why: str
    changed: str
    seen: str

    def matches(self, tag: str) -> bool:
        return self.tags == ".*" or re.fullmatch(self.tags, tag) is not None


class _Index(NamedTuple):
    """Lines of the table by the names in them; `prefixes` are names that end in a star, without it."""

    lines: tuple[str, ...]
    names: dict[str, list[int]]
    prefixes: list[tuple[str, int]]


@cache
def _index() -> _Index:
    import pkgutil  # noqa: PLC0415 - read at need; importlib.resources would cost start-up 11 ms more for the same

    data = pkgutil.get_data("webhook", "images.tsv") or b""
    lines = tuple(line for line in data.decode().splitlines() if not line.startswith("#"))
    index = _Index(lines, {}, [])
    for number, line in enumerate(lines):
        for name in line.partition("\t")[0].split(" "):
            if name.endswith("*"):
                index.prefixes.append((name[:-1], number))
            else:
                index.names.setdefault(name, []).append(number)
    return index


@lru_cache(maxsize=1024)
def _rows(name: str) -> tuple[_Row, ...]:
    """The rows that speak of a repository, in the table's order."""
    index = _index()
    found = list(index.names.get(name, ()))
    found += [number for prefix, number in index.prefixes if name.startswith(prefix) and "/" not in name[len(prefix) :]]
    return tuple(_row(index.lines[number]) for number in sorted(set(found)))


def _row(line: str) -> _Row:
    _, tags, libc_name, libdl, why, changed, seen, _ = line.split("\t")
    has_libdl = {"yes": True, "no": False}.get(libdl)
    return _Row(tags, cast("LibcName", libc_name), has_libdl, why, changed, seen)


def listed(ref: Reference) -> Libc | None:
    """The table's answer. A mirror's own rows come before those of what it mirrors."""
    for name in dict.fromkeys((ref.name, ref.repository)):
        rows = _rows(name)
        row = next((row for row in rows if row.matches(ref.tag)), None) if ref.tag else _for_every_tag(rows)
        if row is not None and not _is_doubtful(row, ref):
            return _told(row, ref)
    return None


def _for_every_tag(rows: tuple[_Row, ...]) -> _Row | None:
    """The row that holds whatever the tag is: all that a digest alone can be asked for."""
    answers = {(row.libc, row.has_libdl) for row in rows}
    return next((row for row in rows if row.tags == ".*"), None) if len(answers) == 1 else None


def _is_doubtful(row: _Row, ref: Reference) -> bool:
    """A row says "musl, whatever the tag", yet this tag names a glibc distribution: a variant newer than the row."""
    return row.libc == "musl" and row.tags == ".*" and not words(ref.tag).isdisjoint(GLIBC_WORDS)


def _told(row: _Row, ref: Reference) -> Libc:
    no_libdl = row.libc == "glibc" and row.has_libdl is False
    why = _why(row, ref)
    return Libc(
        row.libc,
        row.has_libdl,
        confidence="low" if row.changed else "high",
        why=f"{why}; {_before(row.changed)}" if row.changed else why,
        # A tag that changed its libc is told one step softer; a crash of every program stays a warning.
        loud=no_libdl or not row.changed,
        glibc_version=glibc_version(ref) if row.libc == "glibc" else None,
    )


def _why(row: _Row, ref: Reference) -> str:
    """What the row knows, said so that it is true of old tags too: Dockerfiles were read as they are now."""
    named = re.search(r"alpine[-_.]?\d+(?:\.\d+)*", ref.tag.lower()) if row.libc == "musl" else None
    if named:
        return f"{named[0]} in its tag"
    read = f", read {row.seen}" if row.seen else ""
    if row.libc == "glibc" or not row.why.startswith("built on "):
        return f"{row.why}{read}"
    base = re.sub(r"(?<=:)\d[\w.]*-", "*-", row.why)
    base = re.sub(r"(alpine|debian)(?:\d[\d.]*|[: ](?:latest|edge|\d[\d.]*))", r"\1", base)
    if row.libc == "musl" and "alpine" in ref.tag.lower():
        return f"{ref.repository.rpartition('/')[2]}'s alpine tags are {base}{read}"
    return f"{base}{read}"


def _before(changed: str) -> str:
    """`1: uclibc 2016-02, glibc 2022-12` to `tag 1 was uclibc before 2022-12`."""
    tag, _, history = changed.partition(": ")
    *_, before, now = history.split(", ")
    return f"tag {tag} was {before.split()[0]} before {now.split()[1]}"
