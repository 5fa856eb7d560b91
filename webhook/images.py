"""Which libc a container's image holds, told from its reference alone, and so whether HAMi's library can work in it.

The order of the questions is that of a study of 113,505 official tags and 204 other references (2026-08): the word
"alpine" alone misses half of the musl images and accuses a few glibc ones, so a table of repositories comes first
and words come last; what neither knows is unknown, and unknown is no finding. Nothing is read before the first GPU
container is met, and each distinct reference is judged once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from webhook.model import Container, Env, Place, Pod

if TYPE_CHECKING:
    from webhook.stack import Stack

LibcName: TypeAlias = Literal["musl", "glibc", "uclibc", "none", "unknown"]
"""none: no libc at all, for static programs. unknown: nobody can tell from the reference."""

Table: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """An image reference taken apart. `name` is the full name as written (`registry/path`), `repository` the name
    of the original where `name` is a known mirror's. `tag` is `latest` where neither tag nor digest is given, and
    empty where only a digest is."""

    registry: str
    name: str
    repository: str
    tag: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Libc:
    """What an image holds. `has_libdl` is None where nobody knows; `glibc_version` is known of old distributions only.

    `confidence` is high where the user's table or a Dockerfile says so, low where a word in the name does.
    `loud` tells whether to warn or only to note. `why` is short enough for a message.
    """

    libc: LibcName
    has_libdl: bool | None = None
    confidence: Literal["high", "low"] = "low"
    why: str = ""
    loud: bool = False
    glibc_version: tuple[int, int] | None = None

    @property
    def is_harmless(self) -> bool:
        """Whether there is nothing to say about it: most images of GPU containers end here."""
        if self.libc == "glibc":
            return self.has_libdl is not False and (self.glibc_version or _SAFE) >= _SAFE
        return self.libc == "unknown" and self.has_libdl is not False


@dataclass(frozen=True, slots=True)
class Hooked:
    """A container that HAMi means to load its library into. `preload` is an LD_PRELOAD of that library by hand."""

    pod: Pod
    container: Container
    vendor: Literal["nvidia", "amd"]
    libc: Libc
    preload: Env | None

    @property
    def place(self) -> Place:
        return Place(self.pod.ref, (*self.container.path, "image"))

    @property
    def image(self) -> str:
        """The image as messages show it: of a digest only the beginning."""
        name, at, digest = self.container.image.partition("@")
        return f"{name}{at}{digest[:15]}…" if at else name

    def __str__(self) -> str:
        return f"container {self.container.name} of {self.pod}"


_SAFE = (2, 34)
"""HAMi's AMD library asks for this glibc, its NVIDIA library for less (HAMi docs; HAMi-core README)."""

_UNKNOWN = Libc("unknown")


# References


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


# The table


@dataclass(frozen=True, slots=True)
class _Row:
    tags: str
    libc: LibcName
    has_libdl: bool | None
    why: str
    changed: str

    def matches(self, tag: str) -> bool:
        return self.tags == ".*" or re.fullmatch(self.tags, tag) is not None


@dataclass(frozen=True, slots=True)
class _Index:
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
    return _Row(tags, cast("LibcName", libc_name), has_libdl, f"{why}, {seen}" if seen else why, changed)


def _listed(ref: Reference) -> Libc | None:
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
    return row.libc == "musl" and row.tags == ".*" and not _words(ref.tag).isdisjoint(_GLIBC_WORDS)


def _told(row: _Row, ref: Reference) -> Libc:
    no_libdl = row.libc == "glibc" and row.has_libdl is False
    return Libc(
        row.libc,
        row.has_libdl,
        confidence="low" if row.changed else "high",
        why=f"{row.why}; {_before(row.changed)}" if row.changed else row.why,
        # A tag that changed its libc is told one step softer; a crash of every program stays a warning.
        loud=no_libdl or not row.changed,
        glibc_version=_glibc_version(ref) if row.libc == "glibc" else None,
    )


def _before(changed: str) -> str:
    """`1: uclibc 2016-02, glibc 2022-12` to `tag 1 was uclibc before 2022-12`."""
    tag, _, history = changed.partition(": ")
    *_, before, now = history.split(", ")
    return f"tag {tag} was {before.split()[0]} before {now.split()[1]}"


# Words


_CODE_NAMES = {
    "wheezy": (2, 13),
    "jessie": (2, 19),
    "stretch": (2, 24),
    "buster": (2, 28),
    "bullseye": (2, 31),
    "bookworm": (2, 36),
    "trixie": (2, 41),
    "precise": (2, 15),
    "trusty": (2, 19),
    "xenial": (2, 23),
    "bionic": (2, 27),
    "focal": (2, 31),
    "jammy": (2, 35),
    "noble": (2, 39),
}
_ENTERPRISE_LINUX = {"5": (2, 5), "6": (2, 12), "7": (2, 17), "8": (2, 28), "9": (2, 34), "10": (2, 39)}
_AMAZON_LINUX = {"1": (2, 17), "2018.03": (2, 17), "2": (2, 26), "2023": (2, 34)}
_RELEASES = {
    "debian": {
        "7": (2, 13),
        "8": (2, 19),
        "9": (2, 24),
        "10": (2, 28),
        "11": (2, 31),
        "12": (2, 36),
        "13": (2, 41),
    },
    "ubuntu": {
        "12.04": (2, 15),
        "14.04": (2, 19),
        "16.04": (2, 23),
        "18.04": (2, 27),
        "20.04": (2, 31),
        "22.04": (2, 35),
        "24.04": (2, 39),
    },
    "amazonlinux": _AMAZON_LINUX,
    "amzn": _AMAZON_LINUX,
    **dict.fromkeys(("centos", "ubi", "rockylinux", "almalinux", "oraclelinux"), _ENTERPRISE_LINUX),
}
"""The glibc that each release ships and never changes (the distributions' package lists)."""

_GLIBC_WORDS = frozenset(
    {
        *_CODE_NAMES,
        *_RELEASES,
        *("squeeze", "forky", "sid", "lunar", "mantic", "oracular", "plucky", "questing", "resolute"),
        *("fedora", "al2023", "photon", "wolfi", "cuda", "cudnn", "rocm"),
    }
)
"""Words that stood for a usable glibc in 39,586 of 39,586 tags but `busybox:ubuntu*` of 2014."""

_MIXED = frozenset({"alpine-glibc", "micromamba", "miniconda3", "anaconda3", "clickhouse-server"})
"""Say alpine in their tags and have a glibc for the programs that matter, whatever registry they are copied to."""

_ALPINE = r"alpine(?:\d+(?:\.\d+)*)?"
_ALPINE_VARIANT = rf"(?:.*[-_.])?{_ALPINE}|{_ALPINE}[-_.].*|v?\d.*[-_.]{_ALPINE}[-_.].*"
"""Takes 26,654 of 26,764 official alpine tags and leaves branch names such as `fix-alpine-dns-7f3a` alone."""

_DISTROLESS = r".*/distroless/(?:base|cc|java|python|nodejs)[\w-]*"


def _words(text: str) -> set[str]:
    """Words between separators or before a digit: `12.4-ubuntu22.04` has ubuntu."""
    return set(re.findall(r"(?:^|(?<=[-_.]))(al2023|[a-z]+)(?=[-_.\d]|$)", text.lower()))


def _by_words(ref: Reference) -> Libc:
    """What the words of the tag and of the name's last part say; never those of the host or of folders."""
    tag, last = ref.tag.lower(), ref.repository.rpartition("/")[2]
    tag_words, name_words = _words(tag), _words(last)
    words = tag_words | name_words
    if not tag:
        return _UNKNOWN
    if "glibc" not in words and last not in _MIXED and re.fullmatch(_ALPINE_VARIANT, tag):
        return Libc("musl", False, "low", "alpine in its tag", loud=True)
    if "musl" in words:
        return Libc("musl", False, "low", "musl in its name", loud=True)
    if "uclibc" in tag_words:
        return Libc("uclibc", False, "low", "uclibc in its tag")
    if _is_static(ref.repository, last, tag):
        return Libc("none", False, "low", "by its name")
    if not words.isdisjoint(_GLIBC_WORDS) or re.fullmatch(_DISTROLESS, ref.repository):
        return Libc("glibc", True, "low", "by its name", glibc_version=_glibc_version(ref))
    return _by_weak_words(ref, last, words)


def _is_static(repository: str, last: str, tag: str) -> bool:
    if re.fullmatch(r".*/(?:distroless|chainguard)/static[\w.-]*", repository) or last in {"pause", "scratch"}:
        return True
    return last.endswith("-static") or tag.endswith("-static") or "scratch" in _words(tag)


def _by_weak_words(ref: Reference, last: str, words: set[str]) -> Libc:
    if "glibc" not in words and last == "alpine":
        return Libc("musl", False, "low", "by its name", loud=True)
    is_named_alpine = last.startswith("alpine-") or last.endswith("-alpine")
    if "glibc" not in words and (is_named_alpine or ref.repository.startswith("docker.io/alpine/")):
        return Libc("musl", False, "low", "alpine in its name")
    if "slim" in words:
        return Libc("glibc", True, "low", "slim in its tag")
    if "busybox" in words:
        # No busybox build of its makers holds libdl.so.2, and only those with glibc miss it.
        return Libc("unknown", False, "low", "busybox images differ")
    return _UNKNOWN


def _glibc_version(ref: Reference) -> tuple[int, int] | None:
    text = f"{ref.repository.rpartition('/')[2]}-{ref.tag}".lower()
    for word, number, minor in re.findall(r"(?:^|(?<=[-_.]))([a-z]+)[-_:]?(\d+)(\.\d+)?", text):
        releases = _RELEASES.get(word, {})
        version = releases.get(number + minor) or releases.get(number)
        if version:
            return version
        if word == "glibc" and minor:
            return int(number), int(minor[1:])
    return next((_CODE_NAMES[word] for word in sorted(_words(ref.tag)) if word in _CODE_NAMES), None)


# The verdict


@lru_cache(maxsize=4096)
def libc(image: str, table: Table = (), mirrors: tuple[str, ...] = ()) -> Libc:
    """What the image of this reference holds.

    `table` has the user's own rows, pattern to libc; the first that matches answers and is certain. A pattern is a
    glob (`*`, `?`, `[…]`) over the whole reference as written or with its full name (`docker.io/library/python:3`),
    with or without its tag: `hub.corp/ml/*`, `*/tools:*-debug`.
    """
    ref = reference(image, mirrors)
    if ref is None:
        return _UNKNOWN
    given = _given(image, ref, table)
    if given is not None:
        return given
    if not _words(ref.tag).isdisjoint({"windows", "windowsservercore", "nanoserver"}):
        return _UNKNOWN
    verdict = _listed(ref) or _by_words(ref)
    if ref.tag and ref.digest and verdict.why:
        # The digest decides what is pulled, and may be older than the tag beside it.
        return replace(verdict, confidence="low", why=f"{verdict.why}; by its tag, not its digest")
    return verdict


def _given(image: str, ref: Reference, table: Table) -> Libc | None:
    if not table:
        return None
    from fnmatch import fnmatchcase  # noqa: PLC0415 - only for those who have rows of their own

    bare = image.partition("@")[0].removesuffix(f":{ref.tag}")
    texts = (image, bare, ref.name, f"{ref.name}:{ref.tag}", ref.repository, f"{ref.repository}:{ref.tag}")
    for pattern, name in table:
        if any(fnmatchcase(text, pattern) for text in texts):
            return Libc(cast("LibcName", name), name == "glibc" or None, "high", "the configuration says so", loud=True)
    return None


_SLIM = frozenset({"python", "node", "ruby", "rust"})
"""Official images whose Debian variant without compilers is called slim."""


def glibc_variant(image: str) -> str:
    """The same image built on glibc, where its name tells: `python:3.12-alpine3.20` to `python:3.12-slim`; or empty."""
    ref = reference(image)
    match = re.fullmatch(r"(?:(.+)[-_.])?alpine[-_.]?(?:\d+(?:\.\d+)*)?", ref.tag) if ref else None
    if ref is None or match is None:
        return ""
    name = image.partition("@")[0].removesuffix(f":{ref.tag}")
    kept = [match.group(1)] if match.group(1) else []
    if ref.repository.removeprefix("docker.io/library/") in _SLIM:
        kept.append("slim")
    variant = f"{name}:{'-'.join(kept) or 'latest'}"
    verdict = libc(variant)
    return variant if verdict.confidence == "high" and verdict.is_harmless else ""


# Containers


def hooked(pod: Pod, stack: Stack) -> Iterator[Hooked]:
    """The containers that HAMi means to load its library into and whose image may not let it.

    On NVIDIA the device plugin mounts /etc/ld.so.preload into every container that gets a card, unless MIG is asked
    for or CUDA_DISABLE_CONTROL is true in its literal env (HAMi pkg/device-plugin server.go:832-884); on AMD it sets
    LD_AUDIT for memory and cores, from 2.10. How other vendors limit is their driver's matter: nothing is said.
    """
    if pod.finished or stack.is_foreign(pod):
        return
    for container in pod.containers:
        if not container.limits or container.role == "ephemeral" or stack.device_names.isdisjoint(container.limits):
            continue
        verdict = libc(container.image, stack.images, stack.image_mirrors)
        if verdict.is_harmless:
            continue
        preload = _preloaded_by_hand(container)
        if _is_nvidia(container, stack) and (preload or not _is_switched_off(pod, container)):
            yield Hooked(pod, container, "nvidia", verdict, preload)
        elif _is_amd(container, stack):
            yield Hooked(pod, container, "amd", verdict, None)


def _is_nvidia(container: Container, stack: Stack) -> bool:
    names = stack.vendors.get("nvidia")
    if names is None:
        return False
    counts = [str(container.limits[name]) for name in names.count if name in container.limits]
    if counts:
        return any(count != "0" for count in counts)
    # HAMi's webhook adds a count of one where only memory or cores are asked for (nvidia/device.go:398-414).
    return any(name in container.limits for name in names.devices)


def _is_amd(container: Container, stack: Stack) -> bool:
    names = stack.vendors.get("amd")
    if names is None or (stack.hami is not None and stack.hami < (2, 10)):
        return False
    return any(name in container.limits for name in (*names.memory, *names.percentage, *names.cores))


def _preloaded_by_hand(container: Container) -> Env | None:
    return next((env for env in container.env if env.name == "LD_PRELOAD" and "libvgpu" in (env.value or "")), None)


def _is_switched_off(pod: Pod, container: Container) -> bool:
    if pod.annotations.get("nvidia.com/vgpu-mode") == "mig":
        return True
    values = {env.value for env in container.env if env.name == "CUDA_DISABLE_CONTROL"}
    return not values.isdisjoint({"1", "t", "T", "true", "TRUE", "True"})  # what Go's ParseBool takes for true
