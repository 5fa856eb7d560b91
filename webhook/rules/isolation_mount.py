from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from webhook.isolation import limited
from webhook.model import Mount, Place, Pod
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack

_FOLDER = "/usr/local/vgpu"
_ENDS = {
    "/etc/ld.so.preload": "HAMi's library is not loaded, and no limit holds",
    "/overrideEnv": "HAMi's library takes its limits from that file",
    _FOLDER: "it covers HAMi's library and the file that its usage is counted in",
    "/tmp/vgpulock": "it covers the lock by which HAMi's library counts memory",  # noqa: S108 - HAMi's path
}
_ERRORS = frozenset({"/etc/ld.so.preload", "/overrideEnv"})


@rule(Pod, Severity.ERROR, evidence="read")
def isolation_mount(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A volume is mounted over a path that HAMi's limits rest on.

    Into every container that gets an NVIDIA card the device plugin mounts /etc/ld.so.preload, the library and a cache
    under /usr/local/vgpu, and /tmp/vgpulock (plugin/server.go:848-884, HAMi 2.5 to 2.10). A volume of the container's
    own at /etc/ld.so.preload leaves the library out, and no limit holds; HAMi-core sets whatever `NAME=value` lines
    stand in /overrideEnv over its own limits (src/multiprocess/multiprocess_memory_limit.c:152-176). Both are errors.
    At or below /usr/local/vgpu it hides the library or its cache, at /tmp/vgpulock the lock: warnings.

    Not run, so which of two mounts at one path wins is read: the volume is the container's own, as with environment.
    A volume above these paths (/usr/local, /etc, /tmp) is no harm, HAMi's mounts go on top. With gpuHookPath changed in
    the chart, the folder is another, of which nothing is known here. Containers without a card are left alone.
    """
    # Few Pods have such a mount at all, and whether a container is limited costs more to tell.
    found = [(each, mount, covered) for each in pod.containers for mount in each.mounts if (covered := _covered(mount))]
    held = limited(pod, stack) if found else ()
    for container, mount, covered in found:
        if container in held:
            yield Finding(
                Place(pod.ref, (*mount.path, "mountPath")),
                f"container {container.name} of {pod} mounts {_what(mount)} at {mount.target}: {_ENDS[covered]}",
                fix="mount it at another path",
                severity=None if covered in _ERRORS else Severity.WARNING,
                related=_volume(pod, mount),
                edits=(Edit("remove", Place(pod.ref, mount.path)),) if covered in _ERRORS else (),
            )


def _covered(mount: Mount) -> str:
    target = mount.target
    if not ("vgpu" in target or "ld.so.preload" in target or "overrideEnv" in target) or target[0] != "/":
        return ""
    path = normpath(f"/{target.lstrip('/')}")  # two slashes in front are one to Linux, and two to POSIX
    if path in _ENDS:
        return path
    return _FOLDER if path.startswith(f"{_FOLDER}/") else ""


def _what(mount: Mount) -> str:
    return f"volume {mount.volume}" if mount.volume else "a volume"


def _volume(pod: Pod, mount: Mount) -> tuple[Related, ...]:
    return tuple(
        Related(Place(pod.ref, volume.path), "the volume") for volume in pod.volumes if volume.name == mount.volume
    )[:1]
