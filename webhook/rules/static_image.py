from __future__ import annotations

from collections.abc import Iterator

from webhook.images import hooked
from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.INFO, evidence="seen", where=hooked)
def static_image(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container that gets a GPU has an image for static programs, which HAMi's library never enters.

    HAMi's limits live in a library that the dynamic loader brings in. An image made from scratch, distroless/static or
    busybox's uclibc build has no loader and no libc: its programs are static, start as ever, and nothing is limited
    (seen; HAMi's SECURITY.md says the same). A static program can hardly use CUDA, which is itself loaded at run time,
    so most often this is a helper that holds a share of a card for nothing.

    It is a note, not a warning: the program inside may still be a dynamic one that brings its own loader.
    """
    for item in hooked(pod, stack):
        if item.libc.libc not in {"none", "uclibc"}:
            continue
        being = "is" if item.libc.loud else "looks like"
        yield Finding(
            item.place,
            f"{item.image} {being} an image for static programs ({item.libc.why}): HAMi's library never enters them, "
            f"so no GPU limit holds for {item}",
            fix="use an image with a dynamic glibc program, such as distroless/cc, or ask for no GPU in this container",
            confidence=item.libc.confidence if item.libc.loud else "low",
        )
