"""Files, folders and stdin: which are read, which are left out and why, and their bytes in blocks.

The only module of the linter that opens files. In a folder, names that end in .yaml, .yml or .json are read, hidden
files and folders and node_modules are not; what is named is read whatever its name. Nothing that could block is
opened, and nothing is read twice.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.errors import Unreadable
from webhook.result import NotRead, Skipped

SUFFIXES = (".yaml", ".yml", ".json")

BLOCK = 1 << 18
"""Bytes read at once: the largest that is free of charge, and a stream of any length costs no more memory."""

_KUSTOMIZATIONS = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_UNVISITED = frozenset({"node_modules"})
_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Names of open files, as shells give them for `<(command)`; only these may be pipes."""


class Source(NamedTuple):
    """A file to read. `name` is how reports show it: as given, or below the folder that was given, with forward
    slashes, relative to the working directory where it is inside. `path` is None for stdin."""

    name: str
    path: str | None


Found = Source | Skipped | NotRead
Exclude = Callable[[str], bool]


@dataclass(slots=True, eq=False, repr=False)
class _Walk:
    """What has been visited, by real path, and the links that wait until everything without a link is visited: a
    file has its own name in reports, not a link's."""

    exclude: Exclude
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)


def find(paths: Sequence[str], exclude: Exclude = lambda _name: False, stdin_name: str = "<stdin>") -> Iterator[Found]:
    """The files of the paths, `-` being stdin. What is left out or cannot be read comes with its reason."""
    walk = _Walk(exclude)
    for path in dict.fromkeys(paths):
        if path == "-":
            yield Source(stdin_name, None)
        else:
            yield from _named(path, walk)
    while walk.links:
        yield from _linked(walk.links.pop(0), walk)


def blocks(source: Source) -> Iterator[bytes]:
    """A file's bytes. Raises Unreadable with what to do."""
    try:
        if source.path is None:
            yield from _stdin()
            return
        with open(source.path, "rb", buffering=0) as file:
            while block := file.read(BLOCK):
                yield block
    except OSError as error:
        raise Unreadable(reason(error)) from error


def _stdin() -> Iterator[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise Unreadable("stdin is closed; give it a file: gangcheck lint - < FILE")
    while block := sys.stdin.buffer.read(BLOCK):
        yield block


def reason(error: OSError) -> str:
    """What went wrong with a file, and what to do."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder; it is misspelt, or was removed meanwhile"
    if isinstance(error, PermissionError):
        return "permission denied; make it readable, or leave it out with exclude in .gangcheck.yaml"
    return (error.strerror or str(error)).lower()


def shown(path: str) -> str:
    """A path as reports show it: below the working directory without it, and with every character printable."""
    name = os.path.normpath(path) if path else "''"
    if os.path.isabs(name):
        here = os.path.join(os.getcwd(), "")
        name = name.removeprefix(here) if name != here.rstrip(os.sep) else "."
    name = name.replace(os.sep, "/")
    return name if name.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def _named(path: str, walk: _Walk) -> Iterator[Found]:
    """A path of the command line: links are followed, the name does not matter."""
    name = shown(path)
    try:
        mode = os.stat(path).st_mode
        real = os.path.realpath(path, strict=not path.startswith(_STREAMS))
    except (OSError, ValueError) as error:
        yield _missing(path, error)
        return
    if walk.exclude(name):
        yield Skipped(name, 0, "excluded by the configuration")
    elif stat.S_ISDIR(mode):
        yield from _folder(path, real, walk)
    elif stat.S_ISREG(mode) or path.startswith(_STREAMS):
        yield from _file(path, real, walk)
    else:
        yield NotRead(name, 0, 0, _irregular(mode))


def _missing(path: str, error: OSError | ValueError) -> NotRead:
    if isinstance(error, ValueError):
        return NotRead(shown(path), 0, 0, "no file can have this name")
    if isinstance(error, FileNotFoundError) and os.path.islink(path):
        target = shown(os.readlink(path))
        return NotRead(shown(path), 0, 0, f"a link to {target}, which does not exist; mend or remove the link")
    return NotRead(shown(path), 0, 0, reason(error))


def _irregular(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    kind = next((name for test, name in kinds if test(mode)), "a device")
    return f"{kind}, no regular file; it is not opened (pipe its content to: gangcheck lint -)"


def _file(path: str, real: str, walk: _Walk) -> Iterator[Found]:
    if real in walk.files:
        return
    walk.files.add(real)
    if os.path.basename(path) in _KUSTOMIZATIONS:
        yield Skipped(shown(path), 0, "a kustomization; lint its output: kustomize build | gangcheck lint -")
    else:
        yield Source(shown(path), path)


def _folder(path: str, real: str, walk: _Walk) -> Iterator[Found]:
    """A folder and all below it, in the order of names, without recursion: depth costs nothing."""
    todo = [(path, real)]
    while todo:
        path, real = todo.pop()
        if real in walk.folders:
            continue
        walk.folders.add(real)
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield NotRead(shown(path), 0, 0, reason(error))
            continue
        inner: list[tuple[str, str]] = []
        for entry in entries:
            try:
                yield from _entry(entry, os.path.join(real, entry.name), inner, walk)
            except OSError as error:
                yield NotRead(shown(entry.path), 0, 0, reason(error))
        todo.extend(reversed(inner))


def _entry(entry: os.DirEntry[str], real: str, inner: list[tuple[str, str]], walk: _Walk) -> Iterator[Found]:
    """One entry of a folder; folders go to `inner`, links wait."""
    name = entry.name
    is_folder = entry.is_dir(follow_symlinks=False)
    if name.startswith(".") or not (is_folder or _is_wanted(name) or entry.is_symlink()):
        return
    if (is_folder and name in _UNVISITED) or walk.exclude(shown(entry.path)):
        return
    if entry.is_symlink():
        walk.links.append(entry.path)
    elif is_folder:
        inner.append((entry.path, real))
    elif entry.is_file(follow_symlinks=False):
        yield from _file(entry.path, real, walk)
    else:
        yield NotRead(shown(entry.path), 0, 0, _irregular(entry.stat(follow_symlinks=False).st_mode))


def _is_wanted(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) or name in _KUSTOMIZATIONS


def _linked(path: str, walk: _Walk) -> Iterator[Found]:
    """A link that was met in a folder. One to a folder around it would lead round in circles, or to the whole disk."""
    wanted = _is_wanted(os.path.basename(path))
    try:
        mode = os.stat(path).st_mode
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        if wanted:
            yield _missing(path, error)
        return
    if stat.S_ISDIR(mode):
        around = os.path.realpath(os.path.dirname(path))
        if os.path.join(around, "").startswith(os.path.join(real, "")):
            yield Skipped(shown(path), 0, f"a link to {shown(real)}, a folder that it is in")
        else:
            yield from _folder(path, real, walk)
    elif not wanted:
        return
    elif stat.S_ISREG(mode):
        yield from _file(path, real, walk)
    else:
        yield NotRead(shown(path), 0, 0, _irregular(mode))


def find_config(start: str, name: str) -> str | None:
    """The configuration of a file or folder: the nearest `name` in its folder or one above it."""
    folder = os.path.realpath(start)
    while True:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def read_text(path: str) -> str:
    """A configuration's text. Raises Unreadable with what to do."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{shown(path)}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{shown(path)}: no UTF-8 text; save it as UTF-8") from error
