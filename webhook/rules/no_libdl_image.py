from __future__ import annotations

from collections.abc import Iterator

from webhook.images import Hooked, hooked
from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="inferred", where=hooked)
def no_libdl_image(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container that gets a GPU has a glibc image without libdl.so.2, such as busybox.

    HAMi's preloaded library leads to NVIDIA's libcuda.so.1, and that to libdl.so.2. busybox's glibc build, which is its
    `latest` since 2022-12, holds the few glibc files that busybox itself needs and not this one. A dependency of a
    preloaded library that is missing is fatal for every program of the container, shell and probes included, with exit
    code 127 and `error while loading shared libraries: libdl.so.2: cannot open shared object file` (seen on busybox's
    root file system, with stand-ins that need what the real libraries need).

    By version: the library of HAMi 2.10 (built on UBI 8) most likely asks for libcuda.so.1 by itself and so cannot
    start; that of 2.9 and before was linked so that it needs libc alone: the programs start, and CUDA, which needs
    libdl.so.2 in any case, does not (both inferred from how they are built). The second is a note only.

    On AMD the library comes through LD_AUDIT: the loader reports the missing file and goes on without the limit.

    busybox's musl and uclibc builds are static and concern other rules. Tags differ: 1.28 to 1.33 were uclibc. A
    busybox of another registry is a note, as nobody can tell which build it is.
    """
    for item in hooked(pod, stack):
        if item.libc.has_libdl is not False or item.libc.libc not in {"glibc", "unknown"}:
            continue
        is_certain = item.libc.loud and not _starts(item, stack)
        yield Finding(
            item.place,
            _message(item, stack),
            fix="use a whole glibc image such as debian:12-slim or ubuntu:24.04, or ask for no GPU in this container",
            severity=None if is_certain else Severity.INFO,
            confidence=item.libc.confidence if is_certain else "low",
        )


def _starts(item: Hooked, stack: Stack) -> bool:
    return item.vendor == "nvidia" and stack.hami is not None and stack.hami < (2, 10)


def _message(item: Hooked, stack: Stack) -> str:
    lacking = "lacks" if item.libc.loud else "may lack"
    fact = f"{item.image} {lacking} libdl.so.2 ({item.libc.why})"
    if item.vendor == "amd":
        return f"{fact}: HAMi's AMD library cannot load there, so no limit holds for {item}"
    if _starts(item, stack):
        return f"{fact}: {item} starts, but CUDA cannot load, and from HAMi 2.10 on no program may start"
    when = "" if stack.hami else "from HAMi 2.10 on "
    return f"{fact}: {when}programs of {item} can die with `libdl.so.2: cannot open shared object file`"
