"""What the cluster's HAMi shows of the stack: its Deployment, and the ConfigMaps that this mounts.

Verbs that the ServiceAccount needs, in HAMi's namespace alone: list on deployments, get on configmaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webhook.cluster.rest import Api, Body, Refused
from webhook.gather import gather
from webhook.installation.detecting import Shown, applied, detect
from webhook.model import Pod, Release, Subject
from webhook.parse import parse
from webhook.stack import Stack

_LISTED_AT_MOST = "500"
_NOT_FOUND = 404


class Seen(NamedTuple):
    """The stack with what the cluster shows filled in, what it shows, and the Deployments that it is read from."""

    stack: Stack
    shown: tuple[Shown, ...]
    releases: tuple[str, ...]


def see(api: Api, namespace: str, stack: Stack) -> Seen:
    """Read HAMi's installation in a namespace. Raises Refused or Unreachable, as all calls do."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    deployments = list(_subjects(api.get(path, {"limit": _LISTED_AT_MOST}), stack))
    mounted = _mounted(deployments)
    texts = [each for name in sorted(mounted) for each in _config_map(api, namespace, name, stack)]
    known = [*deployments, *texts]
    subjects = [*known, *gather(known)]
    shown = detect(subjects)
    releases = tuple(str(each.ref) for each in subjects if type(each) is Release and each.extender)
    return Seen(applied(stack, shown) if releases else stack, shown if releases else (), releases)


def _mounted(subjects: Iterable[Subject]) -> set[str]:
    """The ConfigMaps of the Pods that HAMi's extender runs in."""
    gathered = list(subjects)
    pods = {each.extender.pod.ref for each in gather(gathered) if type(each) is Release and each.extender}
    return {
        volume.config_map
        for each in gathered
        if type(each) is Pod and each.ref in pods
        for volume in each.volumes
        if volume.config_map
    }


def _config_map(api: Api, namespace: str, name: str, stack: Stack) -> Iterator[Subject]:
    """One ConfigMap; nothing where it is not there, which is HAMi's own business."""
    try:
        body = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}", {})
    except Refused as refused:
        if refused.status == _NOT_FOUND:
            return
        raise
    yield from _subjects({"apiVersion": "v1", "kind": "ConfigMap", **body}, stack)


def _subjects(body: Body, stack: Stack) -> Iterator[Subject]:
    yield from parse(body, 0, stack, written=lambda _path: "").subjects
