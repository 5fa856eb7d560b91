"""What training operators say where their way of starting Pods and a gang do not get on.

Sources: MPI operator 0.6.0, JobSet 0.10.1, KubeRay 1.5.0, LeaderWorkerSet 0.7.0, as run.
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import MEMBERS, PODGROUP

OPERATORS: tuple[Message, ...] = (
    Message(
        "mpi-waits-for-workers",
        ("Waiting for workers {namespace}/{name} to start",),
        "the MPI operator's log",
        "The MPIJob {namespace}/{name} creates its launcher only when all workers are ready "
        "(launcherCreationPolicy: WaitForWorkersReady). Where minMember counts the launcher too the workers never "
        "start.",
        (Check("set runPolicy.schedulingPolicy.minAvailable to the number of workers"), MEMBERS),
        ("gang-starts-in-stages",),
        "sometimes",
        "while workers start; for ever it is a deadlock",
        source="seen with MPI operator 0.6.0",
    ),
    Message(
        "jobset-in-order",
        ("in order startup policy is in progress", "StartupPolicyInProgress"),
        "condition StartupPolicyInProgress of the JobSet",
        "The JobSet starts its jobs one after another. A gang over all of them waits for Pods that are not created "
        "until the first ones run.",
        (Check("use startupPolicy AnyOrder, or a PodGroup for each replicated job"), MEMBERS),
        ("gang-starts-in-stages",),
        "sometimes",
        "while an earlier job starts",
        source="seen with JobSet 0.10.1",
    ),
    Message(
        "mpi-foreign-podgroup",
        (
            'Resource "{group}" of Kind "PodGroup" already exists and is not managed by MPIJob',
            'of Kind "PodGroup" already exists and is not managed by MPIJob',
        ),
        "event ErrResourceExists of the MPIJob",
        "The MPI operator makes a PodGroup of the job's name itself and finds one that is not its own: it creates no "
        "Pods.",
        (PODGROUP, Check("delete or rename your PodGroup; minMember goes to runPolicy.schedulingPolicy.minAvailable")),
        ("operator-overrides-label",),
        source="seen with MPI operator 0.6.0",
    ),
    Message(
        "ray-job-unsupported",
        (
            "currently only RayCluster is supported, got *v1.RayJob",
            "currently only RayCluster is supported, got {kind:token}",
            "currently only RayCluster is supported",
        ),
        "KubeRay's log, again and again",
        "With --batch-scheduler=scheduler-plugins KubeRay makes gangs of RayClusters only; a RayJob with the gang's "
        "label gets no Pods at all.",
        (Check("take the label off the RayJob, or use a RayCluster with the label and submit the job to it"),),
        ("ray-job-gang",),
        source="seen with KubeRay 1.5.0",
    ),
    Message(
        "lws-worker-set",
        ("Failed to create worker statefulset for leader pod {pod}", "Failed to create worker statefulset"),
        "event FailedCreate of the LeaderWorkerSet",
        "The controller tried too early and tries again.",
        (MEMBERS,),
        normal="sometimes",
        normal_when="once, at the start; it was seen although the gang was bound",
        source="seen with LeaderWorkerSet 0.7.0",
    ),
)
