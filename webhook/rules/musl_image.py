from __future__ import annotations

from collections.abc import Iterator

from webhook.images import Hooked, glibc_variant, hooked
from webhook.model import Place, Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="seen", where=hooked)
def musl_image(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container that gets a GPU has a musl image (Alpine and its kin), where HAMi's limits do not exist.

    HAMi's library is built for glibc. On NVIDIA it is brought in by a mounted file, /etc/ld.so.preload (HAMi
    pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go:848-884, all versions from 2.5 on). musl's loader knows
    no such file: the container starts as if nothing were there, the share of the card is booked, and nothing holds the
    container to it (seen with musl 1.2.3 and 1.2.5). NVIDIA's driver libraries are glibc's too, so on plain musl CUDA
    itself does not load; with gcompat some programs run, and run without a limit.

    With LD_PRELOAD set by hand it is worse: musl obeys the variable, and every process of the container dies with exit
    code 127 and `Error relocating ...: dlvsym: symbol not found` (seen). HAMi never sets LD_PRELOAD itself.

    On AMD (memory and cores, from HAMi 2.10 on) the library comes through LD_AUDIT, which musl ignores as well (seen).

    Only containers that ask for a device are judged: the library is mounted into no other. The libc is told from the
    image's name: by a table of repositories read from their Dockerfiles, else by the words of its tag, which is a guess
    and marked so. A wrong guess about an image of your own is put right by a row under `images` in the configuration.
    """
    for item in hooked(pod, stack):
        if item.libc.libc != "musl":
            continue
        yield Finding(
            item.place,
            _message(item),
            fix=_fix(item),
            severity=None if item.libc.loud else Severity.INFO,
            confidence=item.libc.confidence if item.libc.loud else "low",
            related=(Related(Place(pod.ref, item.preload.path), "LD_PRELOAD is set here"),) if item.preload else (),
        )


def _message(item: Hooked) -> str:
    if item.preload:
        being = "is" if item.libc.loud else "may be"
        return (
            f"LD_PRELOAD names {item.preload.value} and {item.image} {being} musl: every process of {item} dies with "
            "`Error relocating …: dlvsym: symbol not found`"
        )
    ignored = "HAMi's /etc/ld.so.preload" if item.vendor == "nvidia" else "the LD_AUDIT that HAMi sets"
    being, holding = ("is", "holds") if item.libc.loud else ("may be", "would hold")
    return f"{item.image} {being} musl ({item.libc.why}), which ignores {ignored}: no GPU limit {holding} for {item}"


def _fix(item: Hooked) -> str:
    general = "ubuntu:24.04 or nvidia/cuda:…-ubuntu24.04" if item.vendor == "nvidia" else "ubuntu:24.04"
    variant = glibc_variant(item.container.image)
    cure = f"use {variant}" if variant else f"use an image built on glibc, such as {general}"
    return f"remove LD_PRELOAD, which HAMi does not need, and {cure}" if item.preload else cure
