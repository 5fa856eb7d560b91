"""Which libc a container's image holds, told from its reference alone, and so whether HAMi's library can work in it.

The order of the questions is that of a study of 113,505 official tags and 204 other references (2026-08): the word
"alpine" alone misses half of the musl images and accuses a few glibc ones, so a table of repositories comes first
and words come last; what neither knows is unknown, and unknown is no finding. Nothing is read before the first GPU
container is met, and each distinct reference is judged once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from webhook.hamikeys import MODE
from webhook.images.references import Reference, reference
from webhook.images.table import listed
from webhook.images.words import UNKNOWN, Libc, LibcName, by_words, words
from webhook.isolation import DISABLE, has_card, parse_bool
from webhook.model import Container, Env, Place, Pod
from webhook.recall import recalled

if TYPE_CHECKING:
    from webhook.stack import Stack

__all__ = ["Hooked", "Libc", "LibcName", "Reference", "Table", "glibc_variant", "hooked", "libc", "reference"]

Table: TypeAlias = tuple[tuple[str, str], ...]


@lru_cache(maxsize=4096)
def libc(image: str, table: Table = (), mirrors: tuple[str, ...] = ()) -> Libc:
    """What the image of this reference holds.

    `table` has the user's own rows, pattern to libc; the first that matches answers and is certain. A pattern is a
    glob (`*`, `?`, `[…]`) over the whole reference as written or with its full name (`docker.io/library/python:3`),
    with or without its tag: `hub.corp/ml/*`, `*/tools:*-debug`.
    """
    ref = reference(image, mirrors)
    if ref is None:
        return UNKNOWN
    given = _given(image, ref, table)
    if given is not None:
        return given
    if not words(ref.tag).isdisjoint({"windows", "windowsservercore", "nanoserver"}):
        return UNKNOWN
    verdict = listed(ref) or by_words(ref)
    if ref.tag and ref.digest and verdict.why:
        # The digest decides what is pulled, and may be older than the tag beside it.
        return verdict._replace(confidence="low", why=f"{verdict.why}; by its tag, not its digest")
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


class Hooked(NamedTuple):
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


@recalled
def hooked(pod: Pod, stack: Stack) -> tuple[Hooked, ...]:
    """The containers that HAMi means to load its library into and whose image may not let it.

    On NVIDIA the device plugin mounts /etc/ld.so.preload into every container that gets a card, unless MIG is asked
    for or CUDA_DISABLE_CONTROL is true in its literal env (HAMi pkg/device-plugin server.go:832-884); on AMD it sets
    LD_AUDIT for memory and cores, from 2.10. How other vendors limit is their driver's matter: nothing is said.
    """
    return () if pod.finished or stack.is_foreign(pod) else tuple(_hooked(pod, stack))


def _hooked(pod: Pod, stack: Stack) -> Iterator[Hooked]:
    for container in pod.containers:
        if not container.limits or container.role == "ephemeral" or stack.device_names.isdisjoint(container.limits):
            continue
        verdict = libc(container.image, stack.images, stack.image_mirrors)
        if verdict.is_harmless:
            continue
        preload = _preloaded_by_hand(container)
        if has_card(container, stack) and (preload or not _is_switched_off(pod, container)):
            yield Hooked(pod, container, "nvidia", verdict, preload)
        elif _is_amd(container, stack):
            yield Hooked(pod, container, "amd", verdict, None)


def _is_amd(container: Container, stack: Stack) -> bool:
    names = stack.vendors.get("amd")
    if names is None or (stack.hami is not None and stack.hami < (2, 10)):
        return False
    return any(name in container.limits for name in (*names.memory, *names.percentage, *names.cores))


def _preloaded_by_hand(container: Container) -> Env | None:
    return next((env for env in container.env if env.name == "LD_PRELOAD" and "libvgpu" in (env.value or "")), None)


def _is_switched_off(pod: Pod, container: Container) -> bool:
    if pod.annotations.get(MODE) == "mig":
        return True
    return any(parse_bool(env.value or "") for env in container.env if env.name == DISABLE)
