"""What holds in an installation: versions, names of schedulers and resources, operators' gang flags.

Everything has a default that fits HAMi's chart and scheduler-plugins' images as released; what differs is
declared in the configuration. None means that nobody said: rules then state both halves or stay silent.
Sources: HAMi v2.10.0 charts/hami/values.yaml and pkg/device/*; scheduler-plugins v0.34.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from webhook.hamikeys import opted_out
from webhook.model import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from webhook.model import Container, Pod

Version: TypeAlias = tuple[int, ...]

OLD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"
"""The label of scheduler-plugins v0.19 to v0.24, and of Koordinator to this day."""

FOREIGN_SCHEDULERS = frozenset(
    {
        "volcano",
        "koord-scheduler",
        "yunikorn",
        "kai-scheduler",
        "runai-scheduler",
        "godel-scheduler",
        "kube-batch",
        "binpacking-scheduler",
    }
)
"""Schedulers that bring a gang system of their own and never read Coscheduling's label."""

Part: TypeAlias = Literal["count", "memory", "percentage", "cores", "priority"]
"""What a resource name of a vendor counts."""

DEFAULT_QPS = 5.0
"""Requests per second of HAMi's extender where --kube-qps does not say otherwise: client-go's default
(k8s.io/client-go/rest/config.go DefaultQPS), with bursts of 10 (HAMi v2.10.0 pkg/util/client/options.go:30-31)."""

Operator: TypeAlias = Literal["training-operator", "mpi-operator", "kuberay", "trainer", "spark-operator"]


@dataclass(frozen=True, slots=True)
class Names:
    """The resource names of one vendor: the device count, and what only HAMi knows of (memory and cores)."""

    count: tuple[str, ...]
    memory: tuple[str, ...] = ()
    percentage: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    priority: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """Names that make HAMi take a Pod for a GPU Pod; the priority alone does not (seen)."""
        return (*self.count, *self.memory, *self.percentage, *self.cores)

    @property
    def annotated(self) -> tuple[str, ...]:
        """Names that HAMi keeps in node annotations: no node advertises them in its allocatable."""
        return (*self.memory, *self.percentage, *self.cores, *self.priority)


VENDORS: Mapping[str, Names] = {
    "nvidia": Names(
        count=("nvidia.com/gpu",),
        memory=("nvidia.com/gpumem",),
        percentage=("nvidia.com/gpumem-percentage",),
        cores=("nvidia.com/gpucores",),
        priority=("nvidia.com/priority",),
    ),
    "cambricon": Names(
        ("cambricon.com/vmlu",), ("cambricon.com/mlu.smlu.vmemory",), cores=("cambricon.com/mlu.smlu.vcore",)
    ),
    "hygon": Names(("hygon.com/dcunum",), ("hygon.com/dcumem",), cores=("hygon.com/dcucores",)),
    "metax": Names(
        ("metax-tech.com/gpu", "metax-tech.com/sgpu"),
        ("metax-tech.com/vmemory",),
        cores=("metax-tech.com/vcore",),
    ),
    "enflame": Names(
        ("enflame.com/gcu", "enflame.com/drs-gcu", "enflame.com/vgcu"),
        ("enflame.com/gcu-memory",),
        ("enflame.com/vgcu-percentage",),
        ("enflame.com/gcu-core",),
    ),
    "mthreads": Names(("mthreads.com/vgpu",), ("mthreads.com/sgpu-memory",), cores=("mthreads.com/sgpu-core",)),
    "iluvatar": Names(
        (
            "iluvatar.ai/vgpu",
            *(f"iluvatar.ai/{chip}-vgpu" for chip in ("MR-V100", "MR-V50", "BI-V150", "BI-V100")),
        ),
        (
            "iluvatar.ai/vcuda-memory",
            *(f"iluvatar.ai/{chip}.vMem" for chip in ("MR-V100", "MR-V50", "BI-V150", "BI-V100")),
        ),
        cores=(
            "iluvatar.ai/vcuda-core",
            *(f"iluvatar.ai/{chip}.vCore" for chip in ("MR-V100", "MR-V50", "BI-V150", "BI-V100")),
        ),
    ),
    "kunlun": Names(("kunlunxin.com/xpu", "kunlunxin.com/vxpu"), ("kunlunxin.com/vxpu-memory",)),
    "awsneuron": Names(("aws.amazon.com/neuron",), cores=("aws.amazon.com/neuroncore",)),
    "amd": Names(("amd.com/gpu",), ("amd.com/gpumem",), cores=("amd.com/gpucores",)),
    "vastai": Names(("vastaitech.com/va",)),
    "biren": Names(("birentech.com/gpu",)),
    "ascend": Names(
        tuple(f"huawei.com/Ascend{chip}" for chip in ("910A", "910B2", "910B3", "910B4", "910B4-1", "310P", "910C")),
        tuple(
            f"huawei.com/Ascend{chip}-memory" for chip in ("910A", "910B2", "910B3", "910B4", "910B4-1", "310P", "910C")
        ),
        cores=tuple(
            f"huawei.com/Ascend{chip}-core" for chip in ("910A", "910B2", "910B3", "910B4", "910B4-1", "310P", "910C")
        ),
    ),
}
"""HAMi's defaults by vendor at 2.10.0, with names that older releases used (reference: pkg/device/*)."""


class Meaning(NamedTuple):
    """What a resource name means: whose it is, which of the vendor's kinds of cards, and what it counts.

    `family` is the vendor's name, or the count's name where each chip has names of its own (Ascend, Iluvatar).
    """

    vendor: str
    family: str
    part: Part


def _meanings(vendors: Mapping[str, Names]) -> Iterator[tuple[str, Meaning]]:
    for vendor, names in vendors.items():
        by_chip = len(names.count) == len(names.memory) > 1
        for part in get_args(Part):
            for index, name in enumerate(getattr(names, part)):
                family = names.count[index] if by_chip and index < len(names.count) else vendor
                yield name, Meaning(vendor, family, part)


@dataclass(frozen=True, slots=True)
class Stack:
    """One installation, as far as it is known.

    `operators` maps an operator whose gang flag is on to the scheduler name that the flag gives (empty where
    it sets none). `mock_device_plugin` tells whether nodes publish gpumem and gpucores in their allocatable.
    `overwrite_env` and `gpu_core_policy` are what NVIDIA's part of HAMi's device configuration says (overwriteEnv,
    gpuCorePolicy): with them HAMi's webhook adds environment of its own. `default_memory`, `default_cores`,
    `default_gpu_num` and `memory_factor` stand there too: what HAMi takes where a Pod does not say, and how many MiB
    one unit of memory is.
    `injects_scheduler` is True where gangcheck's own mutating webhook is installed. `images` are the user's own
    rows, a glob over image references and the libc they hold (musl, glibc, uclibc, none, unknown); `image_mirrors`
    are prefixes of registries that copy others (see webhook/images). `declared` names the fields that somebody has
    set (`vendors.nvidia.count` for a name): what the input shows never overrules these.
    """

    hami: Version | None = None
    coscheduling: Version | None = None
    kubernetes: Version | None = None
    hami_scheduler: str = "hami-scheduler"
    coscheduling_schedulers: frozenset[str] = frozenset({"hami-scheduler", "scheduler-plugins-scheduler"})
    foreign_schedulers: frozenset[str] = FOREIGN_SCHEDULERS
    vendors: Mapping[str, Names] = field(default_factory=lambda: VENDORS)
    default_namespace: str = "default"
    operators: Mapping[str, str] = field(default_factory=dict)
    hami_webhook: bool = True
    force_overwrite_default_scheduler: bool = True
    mock_device_plugin: bool | None = None
    native_gang: bool | None = None
    overwrite_env: bool | None = None
    gpu_core_policy: str | None = None
    default_memory: int = 0
    default_cores: int = 0
    default_gpu_num: int = 1
    memory_factor: int = 1
    kube_qps: float | None = None
    permit_waiting_seconds: int | None = None
    injects_scheduler: bool = False
    images: tuple[tuple[str, str], ...] = ()
    image_mirrors: tuple[str, ...] = ()
    declared: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    device_names: frozenset[str] = field(init=False, repr=False, compare=False)
    annotated_names: frozenset[str] = field(init=False, repr=False, compare=False)
    meanings: Mapping[str, Meaning] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Gather the names of all vendors once: rules ask for them at every container."""
        devices = frozenset(name for names in self.vendors.values() for name in names.devices)
        annotated = frozenset(name for names in self.vendors.values() for name in names.annotated)
        object.__setattr__(self, "device_names", devices)
        object.__setattr__(self, "annotated_names", annotated)
        object.__setattr__(self, "meanings", dict(_meanings(self.vendors)))

    def requested(self, container: Container) -> Iterator[str]:
        """The device resources in a container's limits, in the order written; HAMi's webhook reads limits only."""
        return (name for name in container.limits if name in self.device_names)

    def wants_device(self, pod: Pod) -> bool:
        """Whether HAMi takes the Pod for a GPU Pod: any container or init container with a device in its limits.

        A value of 0 counts (seen: `nvidia.com/gpu: 0` is treated as a GPU Pod)."""
        names = self.device_names
        return any(not names.isdisjoint(container.limits) for container in pod.containers)

    def scheduler_of(self, pod: Pod) -> str:
        """The scheduler that will place the Pod once the webhooks have seen it.

        HAMi's webhook writes its own name on Pods that ask for a device and name no scheduler or the default
        one (HAMi pkg/scheduler/webhook.go:64-68,104-113, seen); a member without a device stays where it is,
        unless gangcheck's own mutating webhook is there to mend that. Both leave a Pod alone that opts out. HAMi's
        looks for devices in init containers and in privileged ones from 2.10 on (seen on 2.8.3 and 2.9.0).
        """
        if pod.scheduler and pod.scheduler != DEFAULT_SCHEDULER:
            return pod.scheduler
        if pod.live or opted_out(pod):
            return pod.scheduler or DEFAULT_SCHEDULER
        # An empty name is no way out: the API server fills in the default one before any webhook is asked.
        forced, wants = self.force_overwrite_default_scheduler, self.wants_device(pod)
        if forced and wants and (self.injects_scheduler or (self.hami_webhook and self._is_seen_to_want(pod))):
            return self.hami_scheduler
        if self.injects_scheduler and pod.group and DEFAULT_SCHEDULER not in self.coscheduling_schedulers:
            return self.hami_scheduler
        return DEFAULT_SCHEDULER

    def _is_seen_to_want(self, pod: Pod) -> bool:
        """Whether HAMi's webhook finds a device in a Pod that has one."""
        if self.hami is None or self.hami >= (2, 10):
            return True
        looked_at = (each for each in pod.containers if each.role == "app" and not each.privileged)
        return any(not self.device_names.isdisjoint(each.limits) for each in looked_at)

    def is_foreign(self, pod: Pod) -> bool:
        """Whether another scheduler with a gang system of its own owns the Pod: gang rules leave it alone."""
        return pod.scheduler in self.foreign_schedulers and pod.scheduler not in self.coscheduling_schedulers

    def is_coscheduled(self, pod: Pod) -> bool:
        """Whether the Pod goes to a scheduler that is known to run Coscheduling."""
        return self.scheduler_of(pod) in self.coscheduling_schedulers
