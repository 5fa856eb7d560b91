from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.gangkeys import waiting
from webhook.model import GROUP_LABEL, Gang, Pod, Workload, dig
from webhook.roster import counted, plural, quorum
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

HASH_LABEL = "pod-template-hash"

_VERSION_LABELS = ("app.kubernetes.io/version", "version")
"""Labels whose value a new release changes."""

_RELEASE = re.compile(r"v?\d+(\.\d+)+([-._+].*)?|\d{6,}|[0-9a-f]{7,40}", re.IGNORECASE)
"""What is a release for sure: 1.4.2 and the like, a date or build number, a commit. `2` or `llama3` may stand in a
name by chance."""


@rule(Gang, Severity.WARNING, evidence="seen")
def rollout_renames_gang(gang: Gang, stack: Stack) -> Iterator[Finding]:
    """A rolling update renames the gang, and makes fewer new Pods at once than minMember.

    When the group's name carries the release (an image tag, a version label), the next rollout writes another name
    into the template. The new Pods are then a gang of their own, of which the rollout makes only maxSurge +
    maxUnavailable at first, and it goes on only when these are ready: with 4 replicas, minMember 4 and the default
    strategy (25 % each) 2 new Pods stay Pending beside 3 old ones, `current pods number: 2, minMember of group: 4`
    (seen). strategy Recreate, or maxSurge 100% with maxUnavailable 0, worked with a renamed group; so did a rolling
    update that keeps the name, though its Pods are then admitted one by one.

    Said only where the group's name holds the tag of the template's image or the value of its version label.
    """
    wanted = quorum(gang)
    deployments = {workload.ref: workload for workload in gang.workloads if workload.ref.kind == "Deployment"}
    if not deployments or gang.group is None or wanted is None or not waiting(gang, stack):
        return
    for pod in counted(gang):
        workload = deployments.get(pod.ref)
        if workload is None:
            continue
        release = _release_in(pod)
        new = _new_at_once(pod, workload)
        if not release or new is None or new >= wanted:
            continue
        yield Finding(
            pod.label(GROUP_LABEL),
            f"the name of gang {gang.name} holds the release {release}: a rollout of {pod} that changes it makes "
            f"{plural(new, 'Pod')} of a new gang with minMember {wanted} and stops there",
            fix="keep the group's name over releases, or set strategy.type: Recreate",
            related=(Related(gang.group.field("minMember"), f"minMember {wanted}"),),
        )


def _release_in(pod: Pod) -> str:
    """The image tag or version label of the template that stands in the name of its group; empty for none."""
    if pod.labels.get(HASH_LABEL) and _holds(pod.group, pod.labels[HASH_LABEL]):
        return pod.labels[HASH_LABEL]
    labels = (pod.labels.get(key, "") for key in _VERSION_LABELS)
    for release in (*labels, *(_tag(container.image) for container in pod.containers)):
        if _RELEASE.fullmatch(release) and _holds(pod.group, release):
            return release
    return ""


def _tag(image: str) -> str:
    """The tag of an image reference, without registry port or digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _holds(name: str, release: str) -> bool:
    """Whether a name holds a release as a part of its own, with or without the dots that many replace."""
    return f"-{_dashed(release)}-" in f"-{_dashed(name)}-"


def _dashed(text: str) -> str:
    return re.sub(r"[._+]", "-", text.lower())


def _new_at_once(pod: Pod, workload: Workload) -> int | None:
    """How many new Pods a rolling update makes before the first of them is ready; None where it makes all anew."""
    strategy = dig(workload.body, "spec", "strategy")
    if dig(strategy, "type") not in (None, "RollingUpdate") or pod.count.most is None:
        return None
    replicas = pod.count.most
    surge = _share(dig(strategy, "rollingUpdate", "maxSurge"), replicas)
    gone = _share(dig(strategy, "rollingUpdate", "maxUnavailable"), replicas)
    if surge is None or gone is None:
        return None
    return min(replicas, max(1, -(-surge // 100) + gone // 100))


def _share(value: object, replicas: int) -> int | None:
    """Hundredths of Pods: a number of them, or a percentage of the replicas, 25 % where nothing is said. None for
    what is neither. A surge is rounded up, what may be missing is rounded down (Kubernetes' own rule)."""
    if isinstance(value, int):
        return value * 100
    match = re.fullmatch(r"(\d+)%", "25%" if value is None else str(value))
    return int(match[1]) * replicas if match else None
