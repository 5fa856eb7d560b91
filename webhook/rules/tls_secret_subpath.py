from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Mount, Place, Pod
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_FILES = frozenset({"tls.crt", "tls.key"})
_SERVING = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "Rollout", "StatefulSet"})


@rule(Pod, Severity.WARNING, evidence="read", lint_only=True)
def tls_secret_subpath(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A TLS Secret is mounted file by file with subPath, so a renewed certificate never reaches the container.

    The kubelet keeps a mounted Secret up to date, but not a file of it that is mounted with subPath: that is bound to
    the file as it was when the container started (Kubernetes documentation, "Secrets": a container using a Secret as a
    subPath volume mount does not receive updates). Certificates of cert-manager, kube-webhook-certgen and the service
    CA are renewed in the Secret; the server goes on with the old one until it is made anew, and from its expiry on
    every call to it fails. For a webhook that means: all at once, weeks after the last change.

    Only `tls.crt` and `tls.key`, the keys of a TLS Secret, in containers of workloads that run for good. Init
    containers and Jobs are over before a renewal.
    """
    if pod.ref.kind not in _SERVING:
        return
    secrets = {volume.name: volume.secret for volume in pod.volumes if volume.secret}
    for container in pod.containers:
        files = [mount for mount in container.mounts if mount.volume in secrets and _file(mount) in _FILES]
        if container.role == "init" or not files:
            continue
        first, *others = files
        yield Finding(
            Place(pod.ref, (*first.path, "subPath")),
            f"container {container.name} of {pod} has {_file(first)} of Secret {secrets[first.volume]} by subPath: a "
            "renewed certificate never reaches it, and it serves the old one until it is made anew",
            fix="mount the whole Secret at a folder, without subPath, and read the files there",
            related=tuple(Related(Place(pod.ref, (*each.path, "subPath")), f"{_file(each)} too") for each in others),
        )


def _file(mount: Mount) -> str:
    return mount.sub_path.strip("/")
