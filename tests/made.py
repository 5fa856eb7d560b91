"""Subjects made by hand, for tests that need no manifest."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model import GROUP_LABEL, Container, Pod, PodGroup, Ref, Workload

GPU = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}


def pod(
    name: str = "w-0",
    group: str = "",
    *,
    namespace: str = "default",
    scheduler: str = "",
    limits: Mapping[str, object] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    document: int = 0,
    live: bool = False,
) -> Pod:
    """One Pod with one container; a member of `group` where that is given."""
    own = {GROUP_LABEL: group} if group else {}
    container = Container("main", "registry.example.com/ml/torch:2.4", "app", ("spec", "containers", 0), limits or {})
    return Pod(
        Ref("v1", "Pod", namespace, name, document),
        ("metadata",),
        ("spec",),
        {**own, **(labels or {})},
        annotations or {},
        scheduler,
        containers=(container,),
        live=live,
    )


def podgroup(
    name: str, *, namespace: str = "default", api: str = "scheduling.x-k8s.io/v1alpha1", members: int = 2
) -> PodGroup:
    return PodGroup(Ref(api, "PodGroup", namespace, name, 1), members, {"minMember": members})


def workload(member: Pod, labels: Mapping[str, str] | None = None) -> Workload:
    """The workload that a template stands in."""
    return Workload(member.ref, labels or {}, {}, (member,), {})
