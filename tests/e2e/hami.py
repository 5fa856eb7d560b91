"""HAMi 2.10's mutating webhook, played.

HAMi is not published as a Go module, so the real one cannot be built for the tests. What it does to a Pod was written
down from the real one, row by row; this is that table as a function. `decide` is pure and serves as test data too.
Not played: the quotas of namespaces (an API call) and runtimeClassName (off in the chart).
"""

import base64
import copy
import json
from dataclasses import dataclass
from typing import Any

SCHEDULER = "hami-scheduler"
COUNT = "nvidia.com/gpu"
MEMORY = "nvidia.com/gpumem"
PERCENTAGE = "nvidia.com/gpumem-percentage"
CORES = "nvidia.com/gpucores"
PRIORITY = "nvidia.com/priority"

_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


@dataclass(frozen=True, slots=True)
class Denied:
    """What the client is told, and the HTTP status it sees."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What an installation can set. The defaults are the chart's."""

    core_policy: str = ""  # gpuCorePolicy
    overwrite_env: bool = False  # overwriteEnv


def decide(pod: dict[str, Any], settings: Settings = Settings()) -> dict[str, Any] | Denied:
    """The Pod as HAMi leaves it, or its denial. The Pod that was handed in stays as it is."""
    pod = copy.deepcopy(pod)
    spec = pod["spec"]
    # The selectors of HAMi's registration do this in a cluster.
    if pod.get("metadata", {}).get("labels", {}).get("hami.io/webhook") == "ignore":
        return pod
    if spec.get("schedulerName", "") not in ("", "default-scheduler", SCHEDULER):
        return pod
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    devices = False
    for container in containers:
        denied = _wrong_percentage(container)
        if denied:
            return denied
        devices = _complete(container, settings) or devices
    if not devices:
        return pod
    privileged = [c["name"] for c in containers if (c.get("securityContext") or {}).get("privileged")]
    if privileged:
        return Denied(403, f"container {privileged[0]} is privileged")
    if spec.get("nodeName"):
        return Denied(403, "pod has node assigned")
    spec["schedulerName"] = SCHEDULER
    return pod


def _limits(container: dict[str, Any]) -> dict[str, Any]:
    limits: dict[str, Any] = (container.get("resources") or {}).get("limits") or {}
    return limits


def _whole(quantity: object) -> int:
    text = str(quantity)
    digits = text.rstrip("kMGi")
    if not digits.lstrip("-").isdigit():
        return 0  # `1500m`: the API server refuses it before or after the webhook
    return int(digits) * _SUFFIXES.get(text[len(digits) :], 1)


def _wrong_percentage(container: dict[str, Any]) -> Denied | None:
    limits = _limits(container)
    if PERCENTAGE not in limits or 0 <= _whole(limits[PERCENTAGE]) <= 100:
        return None
    # HAMi reports it as an error, not as a verdict: the client sees a server fault.
    value, name = _whole(limits[PERCENTAGE]), container["name"]
    said = f"invalid {PERCENTAGE} value {value} in container {name}: must be an integer between 0 and 100"
    return Denied(500, said)


def _complete(container: dict[str, Any], settings: Settings) -> bool:
    """Fills in what HAMi fills in; true where the container asks for a device."""
    limits = _limits(container)
    # Env entries are appended blindly: a name that is there already is there twice then, and HAMi's counts.
    if PRIORITY in limits:
        _append(container, "CUDA_TASK_PRIORITY", str(_whole(limits[PRIORITY])))
    if settings.core_policy not in ("", "default"):
        _append(container, "GPU_CORE_UTILIZATION_POLICY", settings.core_policy)
    if COUNT not in limits and not limits.keys() & {MEMORY, PERCENTAGE, CORES}:
        if settings.overwrite_env:
            _append(container, "NVIDIA_VISIBLE_DEVICES", "none")
        return False
    if COUNT not in limits:
        _ask(container, COUNT, "1")
    whole_card = PERCENTAGE not in limits and MEMORY not in limits
    if CORES not in limits and (whole_card or _whole(limits.get(PERCENTAGE, 0)) == 100):
        _ask(container, CORES, "100")
    return True


def _append(container: dict[str, Any], name: str, value: str) -> None:
    container.setdefault("env", []).append({"name": name, "value": value})


def _ask(container: dict[str, Any], resource: str, amount: str) -> None:
    container["resources"].setdefault("limits", {})[resource] = amount
    container["resources"].setdefault("requests", {})[resource] = amount


def patch(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """JSON Patch operations that make the one Pod of the other; coarser than HAMi's, with the same result."""
    changed = (key for key in after["spec"] if after["spec"][key] != before["spec"].get(key))
    return [{"op": "add", "path": f"/spec/{key}", "value": after["spec"][key]} for key in changed]


def answer(review: dict[str, Any]) -> dict[str, Any]:
    """An AdmissionReview in, an AdmissionReview of the same version out."""
    asked = review["request"]
    decided = decide(asked["object"])
    response: dict[str, Any] = {"uid": asked["uid"], "allowed": not isinstance(decided, Denied)}
    if isinstance(decided, Denied):
        response["status"] = {"code": decided.code, "message": decided.message}
    elif operations := patch(asked["object"], decided):
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}


def registration(client_config: dict[str, str], *, reinvocation: str = "Never") -> dict[str, Any]:
    """The MutatingWebhookConfiguration of HAMi's chart, release name hami, with a URL in place of its Service."""
    unless_ignored = {"matchExpressions": [{"key": "hami.io/webhook", "operator": "NotIn", "values": ["ignore"]}]}
    hook = {
        "name": "vgpu.hami.io",
        "admissionReviewVersions": ["v1beta1"],
        "clientConfig": client_config,
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "namespaceSelector": unless_ignored,
        "objectSelector": unless_ignored,
        "reinvocationPolicy": reinvocation,
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "*",
            },
        ],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hami-webhook"},
        "webhooks": [hook],
    }
