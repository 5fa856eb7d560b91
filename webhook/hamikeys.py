"""The annotations and labels that HAMi reads, and those that it writes for itself.

Sources: HAMi v2.10.0 pkg/util/types.go:19-83, pkg/device/*/device.go, pkg/scheduler/policy/*.
"""

from __future__ import annotations

import re

from webhook.model import Pod

OPT_OUT = "hami.io/webhook"
"""The label that keeps HAMi's webhook away from a Pod or a namespace, with the value `ignore` and no other
(charts/hami/templates/scheduler/webhook.yaml:52-56)."""

MODE = "nvidia.com/vgpu-mode"
NUMA = "nvidia.com/numa-bind"
USE_TYPE, NO_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
USE_UUID, NO_UUID = "nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"
CARD_POLICY = "hami.io/gpu-scheduler-policy"
NODE_POLICY = "hami.io/node-scheduler-policy"
WEIGHTS = "hami.io/device-scoring-weights"

_BY_VENDOR = {
    "amd.com": "gputype gpu-uuid",
    "cambricon.com": "mlutype gpuuuid",
    "hygon.com": "dcutype gpuuuid",
    "metax-tech.com": "gpuuuid",
    "mthreads.ai": "gpuuuid",
    "enflame.com": "gpuuuid",
    "baidu.com": "gpuuuid",
    "vastaitech.com": "va gpuuuid",
    "birentech.com": "biren gpuuuid",
    "aws.amazon.com": "neuron-uuid",
}
"""What follows `use-` and `nouse-` at each vendor; some domains differ from that of the resources."""

SELECTION = frozenset(
    {
        MODE,
        NUMA,
        USE_TYPE,
        NO_TYPE,
        USE_UUID,
        NO_UUID,
        CARD_POLICY,
        NODE_POLICY,
        WEIGHTS,
        "hami.io/use-xpu-uuid",
        "hami.io/no-use-xpu-uuid",
        "huawei.com/vnpu-mode",
        "metax-tech.com/sgpu-qos-policy",
        "metax-tech.com/sgpu-app-class",
        "metax-tech.com/sgpu-topology-aware",
        *(
            f"{domain}/{verb}-{what}"
            for domain, words in _BY_VENDOR.items()
            for what in words.split()
            for verb in ("use", "nouse")
        ),
    }
)
"""The annotations by which a Pod chooses its cards; HAMi reads them from the Pod alone."""

VGPU_NODE = "hami.io/vgpu-node"
"""The node that HAMi chose, as an annotation and as a label."""

_OWNED = re.compile(
    r"hami\.io/(vgpu-(node|time|mig-allocations)|bind-(time|phase)"
    r"|[a-z0-9]+(-[a-z0-9]+)*-(devices-to-allocate|devices-allocated|allocated))"
)


def is_owned(key: str) -> bool:
    """Whether HAMi's scheduler or device plugin writes an annotation itself."""
    return key.startswith("hami.io/") and _OWNED.fullmatch(key) is not None


def opted_out(pod: Pod) -> bool:
    return pod.labels.get(OPT_OUT) == "ignore"
