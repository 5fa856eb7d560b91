"""Subjects made by hand, for tests that need no manifest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from webhook.model import GROUP_LABEL, Container, Pod, PodGroup, Ref, Workload

V = TypeVar("V")

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


def replace(value: V, **fields: object) -> V:
    """A value with some fields changed, whatever kind of value it is."""
    changed: V = value._replace(**fields) if isinstance(value, tuple) else dataclasses.replace(value, **fields)  # type: ignore[attr-defined,type-var]
    return changed
