"""Which keys the hami chart has, by its version.

Made from charts/hami/values.yaml and every `.Values` of the templates at the tags v2.5.0 to v2.10.0. A key belongs to
all versions between its first and its last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

Version = tuple[int, ...]
Range = tuple[Version, Version]

_KEYS: Mapping[Range, str] = {
    ((2, 5, 0), (2, 6, 1)): """
        devicePlugin.imagePullPolicy devicePlugin.monitorctrPath devicePlugin.monitorimage imagePullSecrets
        scheduler.extender.imagePullPolicy scheduler.kubeScheduler.imagePullPolicy scheduler.kubeScheduler.imageTag
        scheduler.patch.imagePullPolicy version
    """,
    ((2, 5, 0), (2, 7, 0)): """
        iluvatarResourceCore iluvatarResourceMem iluvatarResourceName
    """,
    ((2, 5, 0), (2, 7, 1)): """
        devicePlugin.nvidianodeSelector devicePlugin.nvidianodeSelector.gpu devicePlugin.vgpuMonitor
        devicePlugin.vgpuMonitor.resources
    """,
    ((2, 5, 0), (2, 10, 0)): """
        dcuResourceCores dcuResourceMem dcuResourceName devicePlugin devicePlugin.deviceCoreScaling
        devicePlugin.deviceMemoryScaling devicePlugin.deviceSplitCount devicePlugin.disablecorelimit
        devicePlugin.extraArgs devicePlugin.image devicePlugin.libPath devicePlugin.migStrategy
        devicePlugin.passDeviceSpecsEnabled devicePlugin.pluginPath devicePlugin.podAnnotations devicePlugin.resources
        devicePlugin.runtimeClassName devicePlugin.service devicePlugin.service.httpPort devicePlugin.tolerations
        devicePlugin.updateStrategy devicePlugin.updateStrategy.rollingUpdate
        devicePlugin.updateStrategy.rollingUpdate.maxUnavailable devicePlugin.updateStrategy.type devices
        devices.ascend devices.ascend.customresources devices.ascend.enabled devices.ascend.extraArgs
        devices.ascend.image devices.ascend.imagePullPolicy devices.ascend.nodeSelector
        devices.ascend.nodeSelector.ascend devices.ascend.tolerations devices.mthreads
        devices.mthreads.customresources devices.mthreads.enabled fullnameOverride global global.annotations
        global.gpuHookPath global.labels global.managedNodeSelector global.managedNodeSelector.usage
        global.managedNodeSelectorEnable mluResourceCores mluResourceMem mluResourceName nameOverride
        podSecurityPolicy podSecurityPolicy.enabled resourceCores resourceMem resourceMemPercentage resourceName
        resourcePriority scheduler scheduler.admissionWebhook scheduler.admissionWebhook.customURL
        scheduler.admissionWebhook.customURL.enabled scheduler.admissionWebhook.customURL.host
        scheduler.admissionWebhook.customURL.path scheduler.admissionWebhook.customURL.port
        scheduler.admissionWebhook.failurePolicy scheduler.admissionWebhook.reinvocationPolicy
        scheduler.admissionWebhook.whitelistNamespaces scheduler.defaultSchedulerPolicy
        scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy
        scheduler.extender scheduler.extender.extraArgs scheduler.extender.image scheduler.extender.resources
        scheduler.kubeScheduler scheduler.kubeScheduler.enabled scheduler.kubeScheduler.extraArgs
        scheduler.kubeScheduler.extraNewArgs scheduler.kubeScheduler.image scheduler.kubeScheduler.resources
        scheduler.leaderElect scheduler.livenessProbe scheduler.metricsBindAddress scheduler.nodeLabelSelector
        scheduler.nodeName scheduler.nodeSelector scheduler.overwriteEnv scheduler.patch scheduler.patch.image
        scheduler.patch.imageNew scheduler.patch.nodeSelector scheduler.patch.podAnnotations
        scheduler.patch.priorityClassName scheduler.patch.runAsUser scheduler.patch.tolerations
        scheduler.podAnnotations scheduler.service scheduler.service.annotations scheduler.service.httpPort
        scheduler.service.labels scheduler.service.monitorPort scheduler.service.schedulerPort scheduler.tolerations
        schedulerName
    """,
    ((2, 6, 0), (2, 10, 0)): """
        devicePlugin.createRuntimeClass devicePlugin.service.annotations devicePlugin.service.labels
        devicePlugin.service.type devices.enflame devices.enflame.customresources devices.enflame.enabled
        devices.nvidia devices.nvidia.gpuCorePolicy devices.nvidia.libCudaLogLevel metaxResourceCore metaxResourceMem
        metaxResourceName namespaceOverride scheduler.certManager scheduler.certManager.enabled
        scheduler.patch.enabled scheduler.replicas scheduler.service.httpTargetPort
        scheduler.service.monitorTargetPort scheduler.service.type
    """,
    ((2, 7, 0), (2, 9, 0)): """
        enflameResourceNameVGCU enflameResourceNameVGCUPercentage
    """,
    ((2, 7, 0), (2, 10, 0)): """
        devicePlugin.enabled devicePlugin.image.pullPolicy devicePlugin.image.pullSecrets devicePlugin.image.registry
        devicePlugin.image.repository devicePlugin.image.tag devicePlugin.monitor devicePlugin.monitor.ctrPath
        devicePlugin.monitor.image devicePlugin.monitor.image.pullPolicy devicePlugin.monitor.image.pullSecrets
        devicePlugin.monitor.image.registry devicePlugin.monitor.image.repository devicePlugin.monitor.image.tag
        devicePlugin.monitor.resyncInterval devices.awsneuron devices.awsneuron.customresources devices.kunlun
        devices.kunlun.customresources devices.kunlun.enabled global.imagePullSecrets global.imageRegistry
        global.imageTag kunlunResourceName kunlunResourceVCountName kunlunResourceVMemoryName metaxsGPUTopologyAware
        scheduler.admissionWebhook.enabled scheduler.extender.image.pullPolicy scheduler.extender.image.pullSecrets
        scheduler.extender.image.registry scheduler.extender.image.repository scheduler.extender.image.tag
        scheduler.forceOverwriteDefaultScheduler scheduler.kubeScheduler.image.pullPolicy
        scheduler.kubeScheduler.image.pullSecrets scheduler.kubeScheduler.image.registry
        scheduler.kubeScheduler.image.repository scheduler.kubeScheduler.image.tag scheduler.nodeLockExpire
        scheduler.patch.image.pullPolicy scheduler.patch.image.pullSecrets scheduler.patch.image.registry
        scheduler.patch.image.repository scheduler.patch.image.tag scheduler.patch.imageNew.pullPolicy
        scheduler.patch.imageNew.pullSecrets scheduler.patch.imageNew.registry scheduler.patch.imageNew.repository
        scheduler.patch.imageNew.tag
    """,
    ((2, 7, 1), (2, 10, 0)): """
        devices.amd devices.amd.customresources devices.iluvatar devices.iluvatar.customresources
        devices.iluvatar.enabled
    """,
    ((2, 8, 0), (2, 9, 0)): """
        dra dra.enabled hami-dra hami-dra.drivers hami-dra.drivers.nvidia hami-dra.drivers.nvidia.containerDriver
        hami-dra.drivers.nvidia.enabled hami-dra.drivers.nvidia.image hami-dra.drivers.nvidia.image.repository
        hami-dra.drivers.nvidia.image.tag hami-dra.monitor hami-dra.monitor.enabled
    """,
    ((2, 8, 0), (2, 10, 0)): """
        devicePlugin.deviceListStrategy devicePlugin.extraEnvs devicePlugin.gdrcopyEnabled devicePlugin.gdsEnabled
        devicePlugin.gpuOperatorToolkitReady devicePlugin.gpuOperatorToolkitReady.enabled
        devicePlugin.gpuOperatorToolkitReady.hostPath devicePlugin.mofedEnabled devicePlugin.monitor.extraArgs
        devicePlugin.monitor.extraEnvs devicePlugin.monitor.resources devicePlugin.nodeConfiguration
        devicePlugin.nodeConfiguration.config devicePlugin.nodeConfiguration.externalConfigName
        devicePlugin.nvidiaDriverRoot devicePlugin.nvidiaHookPath devicePlugin.nvidiaNodeSelector
        devicePlugin.nvidiaNodeSelector.gpu mockDevicePlugin mockDevicePlugin.enabled mockDevicePlugin.image
        mockDevicePlugin.image.pullPolicy mockDevicePlugin.image.pullSecrets mockDevicePlugin.image.registry
        mockDevicePlugin.image.repository mockDevicePlugin.image.tag mockDevicePlugin.tag
    """,
    ((2, 8, 3), (2, 10, 0)): """
        devicePlugin.preConfiguredDeviceMemory
    """,
    ((2, 9, 0), (2, 10, 0)): """
        devices.ascend.hamiVnpuCore devices.ascend.runtimeClassName devices.vastai devices.vastai.customresources
        devices.vastai.enabled legacyMetrics prometheus prometheus.enabled
        scheduler.admissionWebhook.namespaceSelector scheduler.admissionWebhook.namespaceSelector.matchExpressions
        scheduler.admissionWebhook.namespaceSelector.matchLabels scheduler.admissionWebhook.objectSelector
        scheduler.admissionWebhook.objectSelector.matchExpressions
        scheduler.admissionWebhook.objectSelector.matchLabels vastaiResourceName
    """,
    ((2, 10, 0), (2, 10, 0)): """
        birenResourceName device-config device-config.content devicePlugin.enableNumaTopology
        devicePlugin.gpuOperatorToolkitReady.securityContext
        devicePlugin.gpuOperatorToolkitReady.securityContext.privileged
        devicePlugin.gpuOperatorToolkitReady.securityContext.runAsUser devicePlugin.hostNetwork devicePlugin.hostPID
        devicePlugin.monitor.securityContext devicePlugin.monitor.securityContext.allowPrivilegeEscalation
        devicePlugin.monitor.securityContext.capabilities devicePlugin.monitor.securityContext.capabilities.add
        devicePlugin.monitor.securityContext.capabilities.drop devicePlugin.securityContext
        devicePlugin.securityContext.allowPrivilegeEscalation devicePlugin.securityContext.capabilities
        devicePlugin.securityContext.capabilities.add devicePlugin.securityContext.capabilities.drop
        devicePlugin.securityContext.privileged devices.biren devices.biren.customresources devices.biren.enabled
        enflameResourceNameDRSGCU enflameResourceNameGCUCore enflameResourceNameGCUMemory
        scheduler.admissionWebhook.manageNamespaceSelector
    """,
}
"""Dotted keys by the first and the last chart that has them."""

OLDEST: Version = (2, 5, 0)
NEWEST: Version = (2, 10, 0)

_FREE = (
    "devicePlugin.extraEnvs",
    "devicePlugin.gpuOperatorToolkitReady.securityContext",
    "devicePlugin.monitor.extraEnvs",
    "devicePlugin.monitor.resources",
    "devicePlugin.monitor.securityContext",
    "devicePlugin.nvidiaNodeSelector",
    "devicePlugin.nvidianodeSelector",
    "devicePlugin.podAnnotations",
    "devicePlugin.resources",
    "devicePlugin.securityContext",
    "devicePlugin.service.annotations",
    "devicePlugin.service.labels",
    "devicePlugin.updateStrategy",
    "devicePlugin.vgpuMonitor.resources",
    "devices.ascend.nodeSelector",
    "global",
    "hami-dra",
    "scheduler.admissionWebhook.namespaceSelector",
    "scheduler.admissionWebhook.objectSelector",
    "scheduler.extender.resources",
    "scheduler.kubeScheduler.resources",
    "scheduler.nodeLabelSelector",
    "scheduler.nodeSelector",
    "scheduler.patch.nodeSelector",
    "scheduler.patch.podAnnotations",
    "scheduler.podAnnotations",
    "scheduler.service.annotations",
    "scheduler.service.labels",
)
"""Keys under which anything may stand: the chart hands it on, or (`global`) other charts share it."""


@lru_cache(maxsize=1)
def keys() -> Mapping[str, Range]:
    """Every key with the first and the last chart that has it."""
    return {key: between for between, text in _KEYS.items() for key in text.split()}


def is_free(key: str) -> bool:
    """Whether a key stands inside of what the chart does not look at."""
    return any(key.startswith(f"{free}.") for free in _FREE)


def meant(key: str) -> tuple[str, ...]:
    """The keys that a key which no chart has may be meant for: beside it one a slip of the pen away, or else the only
    one of the chart that ends as it does."""
    import difflib

    around, _, last = key.rpartition(".")
    beside = [other.rpartition(".")[2] for other in keys() if other.rpartition(".")[0] == around]
    same = [other for other in beside if other.lower() == last.lower()]
    close = same or difflib.get_close_matches(last, beside, n=2, cutoff=_ALIKE)
    if close:
        return tuple(f"{around}.{other}" if around else other for other in close)
    elsewhere = [other for other in keys() if other.rpartition(".")[2] == last]
    return tuple(elsewhere) if len(elsewhere) == 1 and len(last) >= _TELLING else ()


_ALIKE = 0.85
_TELLING = 8
"""Letters of a key that is told by its name alone; `tag` or `enabled` may stand anywhere."""
