"""Kinds that say something only together with others: the parts of an installation."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model import dig

PARTS: Mapping[str, frozenset[str]] = {
    "": frozenset({"ConfigMap"}),
    "apiextensions.k8s.io": frozenset({"CustomResourceDefinition"}),
    "argoproj.io": frozenset({"Application", "ApplicationSet"}),
    "helm.cattle.io": frozenset({"HelmChart"}),
    "helm.toolkit.fluxcd.io": frozenset({"HelmRelease"}),
    "kubescheduler.config.k8s.io": frozenset({"KubeSchedulerConfiguration"}),
    "rbac.authorization.k8s.io": frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
}
"""By API group, whatever the version. An object of these is kept whole, as an Object, for `installation` to read.

A kind that is added here needs a word in `lint.WORDS` that each of its objects holds.
"""


_TEXTS = ("KubeSchedulerConfiguration", "resourceCountName")
_DEVICES = "device-config.yaml"


def is_part(group: str, kind: str, body: Mapping[str, object]) -> bool:
    """Whether an object is a part; of ConfigMaps those that hold a scheduler's or HAMi's configuration, of custom
    resource definitions those of PodGroups."""
    if kind not in PARTS.get(group, ()):
        return False
    if kind == "CustomResourceDefinition":
        return dig(body, "spec", "names", "kind") == "PodGroup"
    data = body.get("data") if kind == "ConfigMap" else None
    if not isinstance(data, Mapping):
        return kind != "ConfigMap"
    return _DEVICES in data or any(type(text) is str and any(each in text for each in _TEXTS) for text in data.values())


_SURE: Mapping[str, frozenset[str]] = {
    "": frozenset({"resourceMem", "resourceCores", "resourceMemPercentage", "resourcePriority", "mockDevicePlugin"}),
    "global": frozenset({"gpuHookPath", "managedNodeSelectorEnable"}),
    "scheduler": frozenset(
        {
            "admissionWebhook",
            "defaultSchedulerPolicy",
            "extender",
            "forceOverwriteDefaultScheduler",
            "kubeScheduler",
            "nodeLockExpire",
            "overwriteEnv",
        }
    ),
    "devicePlugin": frozenset(
        {
            "deviceCoreScaling",
            "deviceMemoryScaling",
            "deviceSplitCount",
            "disablecorelimit",
            "libPath",
            "nvidiaNodeSelector",
            "nvidianodeSelector",
            "preConfiguredDeviceMemory",
        }
    ),
}
"""Keys of the hami chart, by the key that they stand under, that no other known chart has there."""

_OWN = frozenset(
    {
        "createRuntimeClass",
        "device-config",
        "devicePlugin",
        "devices",
        "dra",
        "fullnameOverride",
        "global",
        "hami-dra",
        "imagePullSecrets",
        "legacyMetrics",
        "mockDevicePlugin",
        "nameOverride",
        "namespaceOverride",
        "podSecurityPolicy",
        "prometheus",
        "resourceCores",
        "resourceMem",
        "resourceMemPercentage",
        "resourceName",
        "resourcePriority",
        "runtimeClassName",
        "scheduler",
        "schedulerName",
        "version",
    }
)
_FAMILIES = ("mlu", "dcu", "metax", "enflame", "kunlun", "vastai", "biren", "iluvatar", "ascend")


def looks_like_values(body: Mapping[str, object]) -> bool:
    """Whether a mapping can only be values of the hami chart: it has keys of its own in their places, and most of its
    keys are the chart's. A path written as one key (`scheduler.extender.image`), which Helm does not read, counts as
    what it was meant for."""
    if not any(_holds(body, around, keys) for around, keys in _SURE.items()):
        return False
    own = sum(1 for key in body if key.partition(".")[0] in _OWN or key.startswith(_FAMILIES))
    return 2 * own > len(body)


def _holds(body: Mapping[str, object], around: str, keys: frozenset[str]) -> bool:
    inside = body.get(around) if around else body
    if isinstance(inside, Mapping) and not keys.isdisjoint(inside):
        return True
    return bool(around) and any(key.startswith(f"{around}.") and key.split(".")[1] in keys for key in body)
