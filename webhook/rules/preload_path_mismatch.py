from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.flags import version_of_hami, version_text
from webhook.model import Place, Process, Release, Values
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack, Version

_HOOK = ("global", "gpuHookPath")
_LIBRARY = ("devicePlugin", "libPath")
_USUAL = "/usr/local"
_WRITTEN: Version = (2, 10)
"""The first HAMi that writes ld.so.preload for the path in use (docker/vgpu-init.sh:68-74)."""


@rule(Release, Severity.WARNING, evidence="read", lint_only=True)
def preload_path_mismatch(release: Release, stack: Stack) -> Iterator[Finding]:
    """The folder that HAMi's library is put into is not the one that containers load it from: they have no limit.

    The device plugin mounts three things into every GPU container: the library from `<gpuHookPath>/vgpu` on the host,
    and `/etc/ld.so.preload`, which names it (pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go:848-884). The
    plugin's own Pod fills the host's folder `devicePlugin.libPath`. So libPath must be `<gpuHookPath>/vgpu`: else
    the runtime makes an empty folder where the library should be, ld.so says `cannot be preloaded: ignored`, and the
    container runs without any limit of memory or cores (HAMi issues 777 and 1346).

    Up to 2.9 ld.so.preload is a constant, `/usr/local/vgpu/libvgpu.so`, so any gpuHookPath but /usr/local has the same
    end; 2.10 writes the path in use.

    Read from the chart's values, and from a rendered device plugin (its HOOK_PATH and the host's folder behind its
    library mount). Silent where a part is absent and may come from elsewhere.
    """
    version = version_of_hami(release, stack)
    if release.values is not None:
        yield from _in_values(release.values, version)
    elif release.plugin is not None:
        yield from _rendered(release.plugin, version)


def _in_values(values: Values, version: Version | None) -> Iterator[Finding]:
    hook = _folder(values, _HOOK, _USUAL)
    library = _folder(values, _LIBRARY, f"{_USUAL}/vgpu")
    if hook is None or library is None or not (values.has(*_HOOK) or values.has(*_LIBRARY)):
        return
    at = values.place(*(_LIBRARY if values.text(*_LIBRARY) else _HOOK))
    related = (
        (Related(values.place(*_HOOK), "the hook path"),)
        if values.text(*_HOOK) and at.path[-1:] == ("libPath",)
        else ()
    )
    if library != f"{hook}/vgpu":
        yield Finding(
            at,
            f"devicePlugin.libPath is {library} but global.gpuHookPath is {hook}: containers look for the library in "
            f"{hook}/vgpu, find none, and run without any GPU limit",
            fix=f"write libPath: {hook}/vgpu",
            related=related,
        )
    elif hook != _USUAL:
        yield from _constant(values.place(*_HOOK), hook, version)


def _folder(values: Values, keys: tuple[str, ...], default: str) -> str | None:
    """A folder without its last slash; None where nobody knows."""
    written = values.get(*keys)
    if written is None:
        return None if values.partial else default
    return written.rstrip("/") if isinstance(written, str) and "{{" not in written else None


def _rendered(plugin: Process, version: Version | None) -> Iterator[Finding]:
    hook = next((each.value for each in plugin.container.env if each.name == "HOOK_PATH"), None)
    if not hook or "$(" in hook:
        return
    hook = hook.rstrip("/")
    mounted = next((each for each in plugin.container.mounts if each.target.rstrip("/") == f"{hook}/vgpu"), None)
    volume = next((each for each in plugin.pod.volumes if mounted and each.name == mounted.volume), None)
    if volume and volume.host_path and volume.host_path.rstrip("/") != f"{hook}/vgpu":
        yield Finding(
            Place(plugin.pod.ref, (*volume.path, "hostPath", "path")),
            f"the library is put into {volume.host_path} but HOOK_PATH is {hook}: containers look for it in "
            f"{hook}/vgpu, find none, and run without any GPU limit",
            fix=f"write {hook}/vgpu (the chart's devicePlugin.libPath)",
        )
    elif hook != _USUAL:
        index = next(index for index, each in enumerate(plugin.container.env) if each.name == "HOOK_PATH")
        yield from _constant(plugin.place("env", index, "value"), hook, version)


def _constant(place: Place, hook: str, version: Version | None) -> Iterator[Finding]:
    if version is not None and version >= _WRITTEN:
        return
    who = f"HAMi {version_text(version)}" if version else "HAMi up to 2.9 (not 2.10)"
    yield Finding(
        place,
        f"the hook path is {hook}, but {who} preloads /usr/local/vgpu/libvgpu.so whatever it is: containers run "
        "without any GPU limit",
        fix="write /usr/local (and libPath: /usr/local/vgpu), or use HAMi 2.10",
    )
