"""What is looked at for more than one message."""

from __future__ import annotations

from webhook.messages import Check

MEMBERS = Check(
    "the group's members: how many are alive, and which scheduler each goes to",
    "kubectl get pods -n {namespace} -l scheduling.x-k8s.io/pod-group={group} -o 'custom-columns="
    "NAME:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName,SCHEDULER:.spec.schedulerName'",
)
PODGROUP = Check("the PodGroup", "kubectl get podgroups.scheduling.x-k8s.io -n {namespace} {group} -o yaml")
EVENTS = Check("what else is said of the Pod", "kubectl events -n {namespace} --for pod/{pod}")
POD_LABELS = Check("the Pod's own labels", "kubectl get pod -n {namespace} {pod} --show-labels")
SCHEDULER_LOG = Check(
    "kube-scheduler's log", "kubectl logs -n {hami_namespace} deploy/hami-scheduler -c kube-scheduler --tail=200"
)
EXTENDER_LOG = Check(
    "the extender's log",
    "kubectl logs -n {hami_namespace} deploy/hami-scheduler -c vgpu-scheduler-extender --tail=200",
)
SCHEDULER_CONFIG = Check(
    "the scheduler's configuration", "kubectl get configmap -n {hami_namespace} hami-scheduler -o yaml"
)
EXTENDER_FLAGS = Check(
    "the flags that scheduler and extender run with",
    "kubectl get deploy -n {hami_namespace} hami-scheduler -o jsonpath='{.spec.template.spec.containers[*].command}'",
)
LOCK = Check(
    "who holds the node's lock, and since when",
    "kubectl get node {node} -o jsonpath='{.metadata.annotations.hami\\.io/mutex\\.lock}'",
)
DEVICE_PLUGIN = Check(
    "the device plugin on that node, which frees the lock",
    "kubectl get pods -n {hami_namespace} -o wide -l app.kubernetes.io/component=hami-device-plugin",
)
ACCESS = Check(
    "whether the scheduler may read PodGroups",
    "kubectl auth can-i list podgroups.scheduling.x-k8s.io --as=system:serviceaccount:{hami_namespace}:hami-scheduler",
)
CRD = Check("whether the CRD is there", "kubectl get crd podgroups.scheduling.x-k8s.io")
BOOKED = Check(
    "Pods that hold a booking without running: HAMi books a card when it filters, and a gang that is turned away "
    "later keeps it until the Pod is filtered again or deleted",
    "kubectl get pods -A -o 'custom-columns=NS:.metadata.namespace,NAME:.metadata.name,PHASE:.status.phase,"
    "NODE:.spec.nodeName,BOOKED:.metadata.annotations.hami\\.io/vgpu-node'",
)
