"""The kinds of API groups, complete enough to tell a slip of the pen from a kind we have not heard of.

Kubernetes' own groups are those of 1.37 with what older releases had; a served List of each kind is known too.
OpenShift's first kinds stand in the core group.
"""

from __future__ import annotations

from collections.abc import Mapping

_RBAC = "ClusterRole ClusterRoleBinding Role RoleBinding"

GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(kinds.split())
    for group, kinds in {
        "v1": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume"
        " PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
        " Config Status Eviction Scale DeleteOptions Preferences PodExecOptions PodLogOptions SerializedReference"
        " Template DeploymentConfig BuildConfig Build Route ImageStream ImageStreamTag ImageStreamImport Image Project"
        " ProjectRequest SecurityContextConstraints User Group Identity OAuthClient Policy RangeAllocation",
        "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet Scale DeploymentRollback",
        "batch": "CronJob Job JobTemplate ScheduledJob",
        "extensions": "DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy PodSecurityPolicy ReplicaSet"
        " Scale ThirdPartyResource Job HorizontalPodAutoscaler",
        "autoscaling": "HorizontalPodAutoscaler Scale",
        "policy": "Eviction PodDisruptionBudget PodSecurityPolicy",
        "rbac.authorization.k8s.io": _RBAC,
        "networking.k8s.io": "Ingress IngressClass NetworkPolicy IPAddress ServiceCIDR ClusterCIDR",
        "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
        "scheduling.k8s.io": "PriorityClass Workload PodGroup CompositePodGroup",
        "coordination.k8s.io": "Lease LeaseCandidate",
        "discovery.k8s.io": "EndpointSlice",
        "node.k8s.io": "RuntimeClass",
        "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
        " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy"
        " MutatingAdmissionPolicyBinding",
        "apiextensions.k8s.io": "CustomResourceDefinition ConversionReview",
        "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice"
        " PodSchedulingContext ResourceClass ResourceClaimParameters ResourceClassParameters ResourcePoolStatusRequest",
        "scheduling.x-k8s.io": "PodGroup ElasticQuota",
        "jobset.x-k8s.io": "JobSet",
        "leaderworkerset.x-k8s.io": "LeaderWorkerSet",
        "ray.io": "RayCluster RayCronJob RayJob RayService",
        "trainer.kubeflow.org": "TrainJob ClusterTrainingRuntime TrainingRuntime",
    }.items()
}


HOMES: Mapping[str, str] = {
    "Pod": "v1",
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), "apps/v1"),
    **dict.fromkeys(("CronJob", "Job"), "batch/v1"),
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
}
"""Where a kind is at home that is written with another group's apiVersion."""


def known_kinds(api_version: str) -> tuple[str, ...]:
    """The kinds of an apiVersion's group; empty for a group that is not known whole."""
    group, slash, _ = api_version.rpartition("/")
    return GROUPS.get(group if slash else api_version, ())
