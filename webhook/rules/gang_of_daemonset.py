from __future__ import annotations

from collections.abc import Iterator

from webhook.model import GROUP_LABEL, Pod
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="inferred")
def gang_of_daemonset(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A DaemonSet's Pods are members of a gang, whose size is then the number of nodes.

    A DaemonSet has one Pod on each node that it may run on, and each Pod is tied to its node. How many members the
    gang has changes with the cluster: with fewer such nodes than minMember no Pod starts, not even on a node that has
    room; with more, those beyond minMember start alone; a node that is added or replaced later brings a member that
    starts alone as well. One full node holds back the Pods of all others. Coscheduling itself makes no exception for
    DaemonSets (pkg/coscheduling/core/core.go:255-266 counts Pods by their label).
    """
    if pod.ref.kind != "DaemonSet" or not pod.group or stack.is_foreign(pod):
        return
    yield Finding(
        pod.label(GROUP_LABEL),
        f"{pod} is a member of gang {pod.group}: a DaemonSet has one Pod per node, so the gang's size changes with "
        "the cluster and one full node holds all others back",
        fix="remove the label, or use a Job or a StatefulSet with podManagementPolicy: Parallel",
    )
