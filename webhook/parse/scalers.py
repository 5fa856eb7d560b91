"""Autoscalers, which decide how many Pods a workload of the input has, whatever its replicas say."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model import Ref, Scaler, dig

_KINDS: Mapping[tuple[str, str], tuple[str, int, str, int | None]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): ("minReplicas", 1, "maxReplicas", None),
    ("keda.sh", "ScaledObject"): ("minReplicaCount", 0, "maxReplicaCount", 100),
}
"""The fields of the least and the most Pods, each with its default (KAPI autoscaling/v2 types.go; KEDA's CRD)."""


def scaler(body: Mapping[str, object], ref: Ref) -> Scaler | None:
    """The autoscaler that an object is; None where it is none, or does not say what it scales."""
    fields = _KINDS.get((ref.group, ref.kind))
    name = dig(body, "spec", "scaleTargetRef", "name")
    if fields is None or type(name) is not str:
        return None
    low, least, high, most = fields
    kind = dig(body, "spec", "scaleTargetRef", "kind")
    return Scaler(
        ref,
        kind if type(kind) is str and kind else "Deployment",
        name,
        _number(dig(body, "spec", low), least) or 0,
        _number(dig(body, "spec", high), most),
    )


def _number(value: object, default: int | None) -> int | None:
    if value is None:
        return default
    return value if type(value) is int and value >= 0 else None
