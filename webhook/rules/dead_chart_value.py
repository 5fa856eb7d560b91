from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.installation.chartimages import IMAGES
from webhook.installation.chartkeys import NEWEST, OLDEST, is_free, keys, meant
from webhook.installation.flags import version_of_chart, version_text
from webhook.model import Path, Release, Values
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack, Version

_INSTEAD: Mapping[str, str] = {
    "devicePlugin.imagePullPolicy": "devicePlugin.image.pullPolicy",
    "devicePlugin.monitorctrPath": "devicePlugin.monitor.ctrPath",
    "devicePlugin.monitorimage": "devicePlugin.monitor.image",
    "devicePlugin.nvidianodeSelector": "devicePlugin.nvidiaNodeSelector",
    "devicePlugin.vgpuMonitor": "devicePlugin.monitor",
    "enflameResourceNameVGCU": "enflameResourceNameDRSGCU",
    "enflameResourceNameVGCUPercentage": "enflameResourceNameGCUMemory",
    "imagePullSecrets": "global.imagePullSecrets",
    "scheduler.extender.imagePullPolicy": "scheduler.extender.image.pullPolicy",
    "scheduler.kubeScheduler.imagePullPolicy": "scheduler.kubeScheduler.image.pullPolicy",
    "scheduler.kubeScheduler.imageTag": "scheduler.kubeScheduler.image.tag",
    "scheduler.patch.imagePullPolicy": "scheduler.patch.image.pullPolicy",
    "version": "global.imageTag",
}
"""Where a key's job went."""

_OVERWRITES: Version = (2, 9)
"""The first chart whose template reads `scheduler.overwriteEnv`; older ones write `overwriteEnv: false`."""

_MAPPINGS: Version = (2, 7)
_LONG_AGO: Version = (2, 8)
"""Keys of charts from here on may still be read where nobody knows the chart: told as information only."""

_OLD_ARGS = ("scheduler", "kubeScheduler", "extraArgs")
_OLD_DEFAULT = ["--policy-config-file=/config/config.json", "-v=4"]
_NEW_ARGS: Version = (1, 22)


@rule(Release, Severity.WARNING, evidence="read", lint_only=True)
def dead_chart_value(release: Release, stack: Stack) -> Iterator[Finding]:
    """A value for the hami chart that nothing reads: it has moved, is misspelt, or never had an effect.

    Helm takes any key and says nothing. Read by no program in any version from 2.5 to 2.10 are

    - `scheduler.nodeLockExpire`: it becomes the variable HAMI_NODELOCK_EXPIRE, which the extender reads and then
      overwrites with its flag's value (pkg/util/nodelock/nodelock.go:111-127, cmd/scheduler/main.go:112-115); what
      works is `--node-lock-timeout` in `scheduler.extender.extraArgs`.
    - `devicePlugin.disablecorelimit`: it becomes a flag, of which the device plugin reads `--config-file` alone
      (cmd/device-plugin/nvidia/vgpucfg.go:95-116); what works is `nvidia.disableCoreLimit` in the device
      configuration, which the chart renders in no version.

    The `registry` of an image has no effect beside `global.imageRegistry`, which takes its place for every image, the
    kube-scheduler's too (templates/_commons.tpl, 2.7.0 and later).

    `scheduler.overwriteEnv` has no effect up to 2.8.3, whose template writes false itself (v2.8.3
    templates/scheduler/device-configmap.yaml:21). `scheduler.kubeScheduler.extraArgs` is for Kubernetes below 1.22.

    Keys that moved: `scheduler.kubeScheduler.imageTag`, the `imagePullPolicy` of four images, `monitorimage`,
    `monitorctrPath`, `imagePullSecrets` and `version` with chart 2.7.0; `nvidianodeSelector` and `vgpuMonitor` with
    2.8.0; the `dra` sub-chart left with 2.10.0 (charts/hami/values.yaml and templates at each tag).

    Dots lead to a value on the command line (`--set scheduler.extender.extraArgs[0]=…`) and not in a file: a key that
    is written with them is one key of that name, which the chart does not have.

    A key that is newer than the chart is told only where the chart's version is known. A key that no chart has is told
    where it is a slip of the pen away from one, or where the chart's version is known. Silent on charts before 2.5.0,
    on keys that a chart newer than 2.10.0 may have brought, on values that repeat the default, on what the chart hands
    on as it is (labels, selectors, resources), and on `global`.
    """
    values = release.values
    if values is None:
        return
    version = version_of_chart(release, stack)
    if version is not None and version < OLDEST:
        return  # nobody has read those charts for the table
    yield from _without_effect(values, version, stack)
    told: set[str] = set()
    for path, _ in values.leaves():
        found = _first_dead(path, version)
        if found is not None and found.key not in told:
            told.add(found.key)
            severity = Severity.WARNING if found.sure else Severity.INFO
            at = values.place(*(found.path or found.key.split(".")), at="key")
            yield Finding(at, f"{found.key} {found.reason}", fix=found.cure, severity=severity)


class _Dead(NamedTuple):
    """A key that nothing reads, why, and what to do. `sure` is False where a chart of late still reads it; `path` are
    its steps where one of them has dots."""

    key: str
    reason: str
    cure: str
    sure: bool = True
    path: tuple[str, ...] = ()


def _first_dead(path: Path, version: Version | None) -> _Dead | None:
    """The first key on the way to a value that the chart does not read."""
    known = keys()
    for size in range(1, len(path) + 1):
        if not all(isinstance(step, str) for step in path[:size]):
            return None
        key = ".".join(map(str, path[:size]))
        between = known.get(key)
        if "." in str(path[size - 1]) and not is_free(".".join(map(str, path[: size - 1])) + ".x"):
            return _dotted(key, path[:size]) if between or is_free(key) else None
        if is_free(key):
            return None
        if between is None:
            return _unknown(key, version, beside=size > 1)
        first, last = between
        if last < NEWEST and (version is None or version[:2] > last[:2]):
            return _moved(key, last, sure=version is not None or last < _LONG_AGO)
        if ".image" in key and version is not None and version < _MAPPINGS:
            return None  # an image's mapping under a chart that wants text: chart-value-type says it
        if version is not None and len(version) > 2 and version < first:  # noqa: PLR2004 - 2.8 may be 2.8.3
            reason = f"came with chart {version_text(first)}, and this is {version_text(version)}: nothing reads it"
            return _Dead(key, reason, f"remove it, or use chart {version_text(first)} or later")
    return None


def _dotted(key: str, path: Path) -> _Dead:
    steps = tuple(map(str, path))
    dots = "is written with dots in one key, which are no path to Helm: nothing reads it"
    nested = f"{': {'.join(key.split('.'))}: …{'}' * key.count('.')}"
    return _Dead(key, dots, f"write it nested: {nested}", path=steps)


def _unknown(key: str, version: Version | None, *, beside: bool) -> _Dead | None:
    if version is not None and version > NEWEST:
        return None
    close = meant(key)
    if close:
        reason = f"is no key of the chart: nothing reads it; did you mean {' or '.join(close)}?"
        return _Dead(key, reason, f"write {close[0]}")
    if beside and version is not None:
        return _Dead(key, f"is no key of chart {version_text(version)}: nothing reads it", "remove it")
    return None


def _moved(key: str, last: Version, *, sure: bool) -> _Dead:
    instead = _INSTEAD.get(key)
    cure = f"write {instead}" if instead else "remove it"
    return _Dead(key, f"is read by charts up to {version_text(last)} only, later ones ignore it", cure, sure)


def _finding(values: Values, key: str, reason: str, cure: str) -> Finding:
    return Finding(values.place(*key.split("."), at="key"), f"{key} {reason}", fix=cure)


def _without_effect(values: Values, version: Version | None, stack: Stack) -> Iterator[Finding]:
    """Keys that the chart has and no program heeds, where they are not as in the chart."""
    expire = values.get("scheduler", "nodeLockExpire")
    if isinstance(expire, str) and expire not in {"5m", ""}:
        yield _finding(
            values,
            "scheduler.nodeLockExpire",
            f"({expire}) has no effect: HAMi overwrites it with --node-lock-timeout, 5m where that is not given",
            f"add --node-lock-timeout={expire} to scheduler.extender.extraArgs and keep the list's other entries",
        )
    if _is_true(values.get("devicePlugin", "disablecorelimit")):
        yield _finding(
            values,
            "devicePlugin.disablecorelimit",
            "has no effect: the device plugin reads no such flag",
            "set nvidia.disableCoreLimit: true in the device configuration",
        )
    if _is_true(values.get("scheduler", "overwriteEnv")) and (version is None or version < _OVERWRITES):
        which = f"chart {version_text(version)}" if version else "charts up to 2.8.3 (2.9.0 and later heed it)"
        yield _finding(
            values,
            "scheduler.overwriteEnv",
            f"has no effect in {which}: containers without a GPU keep NVIDIA_VISIBLE_DEVICES as it is",
            "use chart 2.9.0 or later",
        )
    yield from _registries(values)
    old = values.get(*_OLD_ARGS)
    if isinstance(old, list) and old not in ([], _OLD_DEFAULT) and (stack.kubernetes or _NEW_ARGS) >= _NEW_ARGS:
        yield _finding(
            values,
            ".".join(_OLD_ARGS),
            "is for Kubernetes below 1.22 only: later ones start kube-scheduler with extraNewArgs",
            "write scheduler.kubeScheduler.extraNewArgs, with --config=/config/config.yaml",
        )


def _registries(values: Values) -> Iterator[Finding]:
    """Registries that `global.imageRegistry` takes the place of (v2.7.0 and later, templates/_commons.tpl)."""
    shared = values.text("global", "imageRegistry")
    for key in IMAGES if shared else ():
        own = values.text(*key.split("."), "registry")
        if own and own not in {shared, IMAGES[key][0]}:
            yield _finding(
                values,
                f"{key}.registry",
                f"({own}) has no effect: global.imageRegistry is {shared}, and takes its place",
                "leave global.imageRegistry empty and name the registry of each image, or mirror this one there",
            )


def _is_true(value: object) -> bool:
    return str(value).lower() == "true"
