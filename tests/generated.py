"""Pods out of hypothesis: sound ones as the API server sends them, near misses, and hostile ones.

`pods()` are sound. `near_pods()` are sound Pods with one value in them that is not what stands there. `hostile()` is
JSON of any shape, often with a Pod's keys in it. `pointed(pod)` lists the places of a Pod.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from webhook.model import GROUP_LABEL, Path
from webhook.stack import VENDORS

Object = dict[str, Any]

NAMES = st.sampled_from(["main", "sidecar", "init-data", "a", "w.0"])
GROUPS = st.sampled_from(["train", "train-2", "a.b", "My_Gang"])
SCHEDULERS = st.sampled_from(
    ["default-scheduler", "hami-scheduler", "scheduler-plugins-scheduler", "volcano", "kai-scheduler", "mine"]
)
NVIDIA = ["nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"]
OTHERS = sorted(name for vendor, names in VENDORS.items() if vendor != "nvidia" for name in names.devices)
RESOURCES = (
    st.sampled_from(NVIDIA)
    | st.sampled_from(["nvidia.com/priority", "cpu", "memory", "example.com/foo", "nvidia.com/mig-1g.5gb"])
    | st.sampled_from(OTHERS)
)
AMOUNTS = st.sampled_from(["0", "1", "2", "5", "50", "100", "3k", "16Gi", "1500m"])
ENV_NAMES = st.sampled_from(
    [
        "CUDA_TASK_PRIORITY",
        "GPU_CORE_UTILIZATION_POLICY",
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES",
        "CUDA_DISABLE_CONTROL",
        "PATH",
        "a/b~c",
    ]
)
KEYS = st.sampled_from(
    [
        "app",
        "hami.io/webhook",
        "hami.io/vgpu-node",
        "pod-group.scheduling.sigs.k8s.io",
        "kueue.x-k8s.io/pod-group-name",
        "gangcheck.io/injected",
        "example.com/a~b",
    ]
)
TEXTS = st.sampled_from(["", "ignore", "true", "x", "schedulerName", "ü,~/"])

SCALARS = st.none() | st.booleans() | st.integers(-3, 2**33) | st.floats(allow_nan=False) | st.text(max_size=4)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | KEYS, inner, max_size=3),
    max_leaves=8,
)


def _some(fields: dict[str, st.SearchStrategy[Any]], **required: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries(required, optional=fields)


def env_entries() -> st.SearchStrategy[Object]:
    literal = _some({"value": TEXTS}, name=ENV_NAMES)
    field = st.just({"fieldRef": {"fieldPath": "metadata.name"}})
    return literal | st.fixed_dictionaries({"name": ENV_NAMES, "valueFrom": field})


def resources() -> st.SearchStrategy[Object]:
    """Limits, and requests as the API server fills them in from those."""
    limits = st.dictionaries(RESOURCES, AMOUNTS, max_size=4)
    return limits.map(lambda found: {"limits": found, "requests": dict(found)}) | st.just({})


def containers() -> st.SearchStrategy[Object]:
    mount = st.fixed_dictionaries({"name": st.sampled_from(["host", "data"]), "mountPath": TEXTS})
    return _some(
        {
            "env": st.lists(env_entries(), max_size=3) | st.none(),
            "resources": resources() | st.none(),
            "securityContext": st.sampled_from([{"privileged": True}, {"privileged": False}, {}]),
            "volumeMounts": st.lists(mount, max_size=2),
            "envFrom": st.just([{"configMapRef": {"name": "settings"}}]),
        },
        name=NAMES,
        image=st.sampled_from(["registry.example.com/ml/torch:2.4", "alpine:3.20", "busybox"]),
    )


def volumes() -> st.SearchStrategy[Object]:
    paths = st.sampled_from(["/", "/dev", "/dev/nvidia0", "/device", "//dev/../dev/", "/var/lib", ""])
    host = paths.map(lambda path: {"hostPath": {"path": path}})
    return (host | st.just({"emptyDir": {}})).map(lambda source: {"name": "host", **source})


def pods() -> st.SearchStrategy[Object]:
    """Sound Pods, as a mutating webhook meets them on CREATE; a third of them are members of a gang."""
    labels = st.dictionaries(KEYS, TEXTS, max_size=2)
    members = st.tuples(labels, GROUPS).map(lambda both: {**both[0], GROUP_LABEL: both[1]})
    metadata = _some(
        {
            "labels": labels | members | st.none(),
            "annotations": st.dictionaries(KEYS, TEXTS, max_size=3) | st.none(),
            "name": st.just("w-0"),
        },
        namespace=st.just("default"),
    )
    spec = _some(
        {
            "initContainers": st.lists(containers(), max_size=2) | st.none(),
            "schedulerName": SCHEDULERS,
            "nodeName": st.sampled_from(["", "node-1"]),
            "volumes": st.lists(volumes(), max_size=2),
            "priorityClassName": st.just("high"),
            "schedulingGates": st.just([{"name": "example.com/wait"}]),
        },
        containers=st.lists(containers(), min_size=1, max_size=3),
    )
    return st.fixed_dictionaries(
        {"apiVersion": st.just("v1"), "kind": st.just("Pod"), "metadata": metadata, "spec": spec}
    )


def pointed(value: object, path: Path = ()) -> Iterator[Path]:
    """The places in a JSON value, the root left out."""
    entries: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    for step, inner in entries:
        yield (*path, step)
        yield from pointed(inner, (*path, step))


@st.composite
def near_pods(draw: st.DrawFn) -> Object:
    """A sound Pod in which one value was exchanged for another."""
    pod: Any = copy.deepcopy(draw(pods()))
    path = draw(st.sampled_from(list(pointed(pod))))
    holder = pod
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = draw(JSON)
    return pod  # type: ignore[no-any-return] # the root stays a mapping


def hostile() -> st.SearchStrategy[Any]:
    """JSON of any shape, with a Pod's keys where they do not belong."""
    keys = st.sampled_from(["metadata", "spec", "containers", "env", "resources", "limits", "annotations", "name"])
    strange = st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner, max_size=4),
        max_leaves=15,
    )
    return strange | st.fixed_dictionaries({"metadata": strange, "spec": strange})
