from __future__ import annotations

from collections.abc import Iterator

from webhook.images import Hooked, hooked
from webhook.model import Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_PROMISED = (2, 17)
_TRIED = (2, 27)
_AMD = (2, 34)


@rule(Pod, Severity.INFO, evidence="inferred", where=hooked)
def old_glibc_image(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A container that gets a GPU has an image whose glibc is older than HAMi's library may ask for.

    HAMi-core's README promises glibc 2.17 and later (up to 2.9.0 also "below 2.30"), so CentOS 6 is out: the loader
    refuses a library that asks for newer symbol versions, and a refused preload stops every program. From HAMi 2.10 the
    library is built on UBI 8 with glibc 2.28; its own examples run on Ubuntu 18.04 (2.27). Between 2.17 and that nobody
    is known to have tried: CentOS 7, Ubuntu 16.04 and Debian 9 should work by the README, and are worth a test before
    a large job. With a declared HAMi of 2.9 or earlier nothing is said of them.

    The AMD library (2.10 and later) asks for glibc 2.34: HAMi's guide rules out Ubuntu 20.04 and RHEL 8.

    The version is told from the distribution's release in the image's name or tag, and only there. What happens on an
    older one is inferred from how the loader works, not seen: hence a note.
    """
    for item in hooked(pod, stack):
        message = _message(item, stack)
        if message:
            wanted = "ubuntu:22.04 or later" if item.vendor == "amd" else "ubuntu:20.04 or later, or ubi8 or later"
            yield Finding(item.place, message, fix=f"use an image with a newer glibc: {wanted}", confidence="low")


def _message(item: Hooked, stack: Stack) -> str:
    version = item.libc.glibc_version
    if version is None:
        return ""
    has = f"{item.image} has glibc {version[0]}.{version[1]}"
    if item.vendor == "amd":
        return (
            f"{has}, and HAMi's AMD library asks for 2.34: the limits of {item} may not hold" if version < _AMD else ""
        )
    if version < _PROMISED:
        return f"{has}, and HAMi's library needs 2.17: programs of {item} may not start"
    is_early = stack.hami is not None and stack.hami < (2, 10)
    if version < _TRIED and not is_early:
        return (
            f"{has}; from HAMi 2.10 the library is built on 2.28 and promised for 2.17: try {item} before relying on it"
        )
    return ""
