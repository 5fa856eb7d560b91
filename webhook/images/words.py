"""What the words of a reference say about the libc of its image, where no table knows it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from webhook.images.references import Reference

LibcName: TypeAlias = Literal["musl", "glibc", "uclibc", "none", "unknown"]
"""none: no libc at all, for static programs. unknown: nobody can tell from the reference."""


class Libc(NamedTuple):
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


_SAFE = (2, 34)
"""HAMi's AMD library asks for this glibc, its NVIDIA library for less (HAMi docs; HAMi-core README)."""

UNKNOWN = Libc("unknown")

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

GLIBC_WORDS = frozenset(
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


def words(text: str) -> set[str]:
    """Words between separators or before a digit: `12.4-ubuntu22.04` has ubuntu."""
    return set(re.findall(r"(?:^|(?<=[-_.]))(al2023|[a-z]+)(?=[-_.\d]|$)", text.lower()))


def by_words(ref: Reference) -> Libc:
    """What the words of the tag and of the name's last part say; never those of the host or of folders."""
    tag, last = ref.tag.lower(), ref.repository.rpartition("/")[2]
    tag_words = words(tag)
    both = tag_words | words(last)
    if not tag:
        return UNKNOWN
    if "glibc" not in both and last not in _MIXED and re.fullmatch(_ALPINE_VARIANT, tag):
        return Libc("musl", False, "low", "alpine in its tag", loud=True)
    if "musl" in both:
        return Libc("musl", False, "low", "musl in its name", loud=True)
    if "uclibc" in tag_words:
        return Libc("uclibc", False, "low", "uclibc in its tag")
    if _is_static(ref.repository, last, tag):
        return Libc("none", False, "low", "by its name")
    if not both.isdisjoint(GLIBC_WORDS) or re.fullmatch(_DISTROLESS, ref.repository):
        return Libc("glibc", True, "low", "by its name", glibc_version=glibc_version(ref))
    return _by_weak_words(ref, last, both)


def _is_static(repository: str, last: str, tag: str) -> bool:
    if re.fullmatch(r".*/(?:distroless|chainguard)/static[\w.-]*", repository) or last in {"pause", "scratch"}:
        return True
    return last.endswith("-static") or tag.endswith("-static") or "scratch" in words(tag)


def _by_weak_words(ref: Reference, last: str, both: set[str]) -> Libc:
    if "glibc" not in both and last == "alpine":
        return Libc("musl", False, "low", "by its name", loud=True)
    is_named_alpine = last.startswith("alpine-") or last.endswith("-alpine")
    if "glibc" not in both and (is_named_alpine or ref.repository.startswith("docker.io/alpine/")):
        return Libc("musl", False, "low", "alpine in its name")
    if "slim" in both:
        return Libc("glibc", True, "low", "slim in its tag")
    if "busybox" in both:
        # No busybox build of its makers holds libdl.so.2, and only those with glibc miss it.
        return Libc("unknown", False, "low", "busybox images differ")
    return UNKNOWN


def glibc_version(ref: Reference) -> tuple[int, int] | None:
    text = f"{ref.repository.rpartition('/')[2]}-{ref.tag}".lower()
    for word, number, minor in re.findall(r"(?:^|(?<=[-_.]))([a-z]+)[-_:]?(\d+)(\.\d+)?", text):
        releases = _RELEASES.get(word, {})
        version = releases.get(number + minor) or releases.get(number)
        if version:
            return version
        if word == "glibc" and minor:
            return int(number), int(minor[1:])
    return next((_CODE_NAMES[word] for word in sorted(words(ref.tag)) if word in _CODE_NAMES), None)
