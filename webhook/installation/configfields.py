"""The fields of a KubeSchedulerConfiguration of v1, and what of one does not fit them.

kubernetes v1.35.4 staging/src/k8s.io/kube-scheduler/config/v1/types.go, component-base/config/v1alpha1/types.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from webhook.installation.durations import seconds
from webhook.model import Path
from webhook.parse.placeholders import templated

_Shape: TypeAlias = "str | list[_Shape] | Mapping[str, _Shape]"
"""A scalar's kind, a list of one shape, or a mapping with these fields."""

TEXT, WHOLE, NUMBER, SWITCH, DURATION, ANY = "text", "a whole number", "a number", "true or false", "a duration", ""

ALL_POINTS = frozenset(
    {"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit"}
    | {"preBind", "bind", "postBind", "multiPoint"}
)
"""Where a profile has plugins."""

_PLUGINS: list[_Shape] = [{"name": TEXT, "weight": WHOLE}]
_PROFILE: Mapping[str, _Shape] = {
    "schedulerName": TEXT,
    "percentageOfNodesToScore": WHOLE,
    "plugins": {point: {"enabled": _PLUGINS, "disabled": _PLUGINS} for point in ALL_POINTS},
    "pluginConfig": [{"name": TEXT, "args": ANY}],
}
_EXTENDER: Mapping[str, _Shape] = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), TEXT),
    **dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), SWITCH),
    "weight": WHOLE,
    "httpTimeout": DURATION,
    "tlsConfig": {
        "insecure": SWITCH,
        **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"), TEXT),
    },
    "managedResources": [{"name": TEXT, "ignoredByScheduler": SWITCH}],
}
_CONFIGURATION: Mapping[str, _Shape] = {
    "apiVersion": TEXT,
    "kind": TEXT,
    "parallelism": WHOLE,
    "leaderElection": {
        "leaderElect": SWITCH,
        **dict.fromkeys(("leaseDuration", "renewDeadline", "retryPeriod"), DURATION),
        **dict.fromkeys(("resourceLock", "resourceName", "resourceNamespace"), TEXT),
    },
    "clientConnection": {
        **dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType"), TEXT),
        "qps": NUMBER,
        "burst": WHOLE,
    },
    **dict.fromkeys(("enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"), SWITCH),
    **dict.fromkeys(("percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds"), WHOLE),
    "profiles": [_PROFILE],
    "extenders": [_EXTENDER],
}


class Misfit(NamedTuple):
    """What does not fit. `wanted` is the kind that belongs there, empty for a field that is none; then `near` is the
    field that was probably meant, if there is one."""

    path: Path
    value: object
    wanted: str
    near: str = ""


def misfits(body: Mapping[str, object]) -> Iterator[Misfit]:
    """Every field of a configuration that is none, and every value that its field does not take. Null is none at all,
    and text that is filled in later may yet fit."""
    yield from _misfits(body, _CONFIGURATION, ())


def _misfits(value: object, shape: _Shape, path: Path) -> Iterator[Misfit]:
    if value is None or templated(value):
        return
    if isinstance(shape, str):
        if not _fits(value, shape):
            yield Misfit(path, value, shape)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield Misfit(path, value, "a list")
            return
        for index, item in enumerate(value):
            yield from _misfits(item, shape[0], (*path, index))
    elif not isinstance(value, Mapping):
        yield Misfit(path, value, "a mapping")
    else:
        for key, part in value.items():
            if key in shape:
                yield from _misfits(part, shape[key], (*path, key))
            else:
                yield Misfit((*path, key), part, "", _near(str(key), shape))


def _fits(value: object, kind: str) -> bool:
    if kind == DURATION:
        return isinstance(value, str) and seconds(value) is not None
    types = {TEXT: (str,), WHOLE: (int,), NUMBER: (int, float), SWITCH: (bool,)}.get(kind)
    return types is None or type(value) in types


def _near(key: str, known: Mapping[str, _Shape]) -> str:
    lowered = {name.lower(): name for name in known}
    name = key.lower()
    return lowered.get(name) or lowered.get(f"{name}s") or lowered.get(f"{name}d") or lowered.get(name.rstrip("s"), "")
