"""Image references taken apart and brought to one form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Reference(NamedTuple):
    """An image reference taken apart. `name` is the full name as written (`registry/path`), `repository` the name
    of the original where `name` is a known mirror's. `tag` is `latest` where neither tag nor digest is given, and
    empty where only a digest is."""

    registry: str
    name: str
    repository: str
    tag: str
    digest: str = ""


_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_GRAMMAR = (
    rf"((?:[A-Za-z0-9.-]+(?::\d+)?/)?{_PART}(?:/{_PART})*)"  # name, with a registry's host and port
    r"(?::(\w[\w.-]{0,127}))?"  # tag
    r"(?:@(\w+(?:[+._-]\w+)*:[0-9a-fA-F]{32,}))?"  # digest
)
"""The grammar of distribution's reference package. A template's braces or dollars never match it."""

_LONGEST = 1024

_LIBRARY_MIRRORS = (
    "public.ecr.aws/docker/library/",
    "mirror.gcr.io/library/",
    "docker.m.daocloud.io/library/",
    "docker.io/rancher/mirrored-library-",
)
"""Copies of Docker's official images that keep their tags (kueue's Dockerfile; rancher/image-mirror config.yaml)."""


def reference(image: str, mirrors: Sequence[str] = ()) -> Reference | None:
    """Take a reference apart, or None where the text is none (empty, templated, misspelt).

    `mirrors` are prefixes behind which somebody keeps copies: what follows is read as a reference of its own, so
    with `hub.corp/cache` the name `hub.corp/cache/python` is docker.io's python and
    `hub.corp/cache/quay.io/a/b` is `quay.io/a/b`.
    """
    match = re.fullmatch(_GRAMMAR, image, re.ASCII) if len(image) <= _LONGEST else None
    if match is None:
        return None
    written, tag, digest = match.groups(default="")
    name = _full_name(written)
    return Reference(
        registry=name.partition("/")[0],
        name=name,
        repository=_origin(name, mirrors),
        tag=tag or ("" if digest else "latest"),
        digest=digest,
    )


def _full_name(name: str) -> str:
    """`alpine` to `docker.io/library/alpine`: the first part is a host only where it looks like one."""
    host, slash, path = name.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost" or host != host.lower()):
        host, path = "docker.io", name
    host = host.lower()
    if host in {"index.docker.io", "registry-1.docker.io"}:
        host = "docker.io"
    if host == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return f"{host}/{path}"


def _origin(name: str, mirrors: Sequence[str]) -> str:
    for mirror in mirrors:
        prefix = mirror.rstrip("/") + "/"
        if name.startswith(prefix):
            return _full_name(name.removeprefix(prefix))
    for prefix in _LIBRARY_MIRRORS:
        if name.startswith(prefix):
            return f"docker.io/library/{name.removeprefix(prefix)}"
    _, cached, rest = name.partition("/dockerhub/library/")
    return f"docker.io/library/{rest}" if cached else name
