"""Pods and Pod templates, with what is in them and how many are alive at once."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from webhook.model.places import NOTHING, Path, Place, Ref

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""The only key that Coscheduling reads, and only under labels (scheduler-plugins pkg/util/podgroup.go:51-62)."""

DEFAULT_SCHEDULER = "default-scheduler"


class Env(NamedTuple):
    """One environment entry; `value` is None where it comes from `valueFrom`."""

    name: str
    value: str | None
    path: Path


class Mount(NamedTuple):
    """What is mounted into a container: the volume's name, the path inside (`target`), and the part of the volume
    (`sub_path`, empty for the whole). `path` is where the entry stands in the object."""

    volume: str
    target: str
    path: Path
    sub_path: str = ""


class Volume(NamedTuple):
    """One volume of a Pod. `secret`, `host_path` and `config_map` are empty where it is of another type."""

    name: str
    path: Path
    secret: str = ""
    host_path: str = ""
    config_map: str = ""


class Container(NamedTuple):
    """One container of a Pod. `image` is empty where it is absent; limits and requests are as written.

    `sidecar` is a native one, an init container with restartPolicy Always. `privileged` is what its own
    securityContext says; a Pod's cannot say it.
    """

    name: str
    image: str
    role: Literal["app", "init", "sidecar", "ephemeral"]
    path: Path
    limits: Mapping[str, object] = NOTHING
    requests: Mapping[str, object] = NOTHING
    env: tuple[Env, ...] = ()
    privileged: bool = False
    mounts: tuple[Mount, ...] = ()
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


class Stage(NamedTuple):
    """Why Pods of a template come late: `first` of them are there at the start, the others wait.

    `after` are the roles of the templates whose Pods they wait for; empty where they wait for the first ones of
    their own. `seen` is True where the dead-lock with one group over all stages was seen on the real controller.
    `path` is the field that decides it (it may be absent: its default decides), `cure` what to write there.
    """

    first: int
    why: str
    cure: str
    path: Path
    seen: bool = False
    after: tuple[str, ...] = ()


class Count(NamedTuple):
    """How many Pods of a template are alive at once: from `least` to `most` (None: nobody knows offline).

    A suspended workload counts as if resumed. `path` is the field that says so, for a finding to point at.
    `copies` is how many separate sets of these Pods share the template's labels (JobSet or LWS replicas);
    `least` and `most` cover all copies.
    """

    least: int
    most: int | None
    path: Path = ()
    stage: Stage | None = None
    copies: int = 1


ONE = Count(1, 1)
UNKNOWN = Count(0, None)


class Pod(NamedTuple):
    """One Pod, or one Pod template with the object it stands in.

    `metadata` and `spec` are the paths of the template's two halves in the object (`("metadata",)` and
    `("spec",)` for a Pod). `role` is the template's name in its workload ("Worker", "head"), else empty.
    `scheduler`, `priority_class` and `node_name` are empty where the manifest does not say. `live` is True
    for a dump of a running object: what schedulers write there is no mistake.
    `native` is the group named by `schedulingGroup` or `workloadRef` (Kubernetes 1.35 and later), and
    `native_path` the field that names it. `gates` are the names of scheduling gates. `runtime_class` is empty where
    none is named; HAMi's webhook may fill it in. `account` is its ServiceAccount, empty for the namespace's default.
    """

    ref: Ref
    metadata: Path
    spec: Path
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    scheduler: str = ""
    priority_class: str = ""
    node_name: str = ""
    gates: tuple[str, ...] = ()
    native: str = ""
    native_path: Path = ()
    containers: tuple[Container, ...] = ()
    count: Count = ONE  # type: ignore[assignment]  # tuple.count is not wanted on a Pod
    role: str = ""
    live: bool = False
    finished: bool = False
    owner: str = ""
    volumes: tuple[Volume, ...] = ()
    runtime_class: str = ""
    account: str = ""

    @property
    def is_template(self) -> bool:
        return self.spec != ("spec",)

    @property
    def group(self) -> str:
        """The gang that Coscheduling takes this Pod for a member of; empty for none."""
        return self.labels.get(GROUP_LABEL, "")

    def label(self, key: str, at: Literal["key", "value"] = "key") -> Place:
        return Place(self.ref, (*self.metadata, "labels", key), at)

    def annotation(self, key: str, at: Literal["key", "value"] = "key") -> Place:
        return Place(self.ref, (*self.metadata, "annotations", key), at)

    def field(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        """A place in the Pod's spec."""
        return Place(self.ref, (*self.spec, *steps), at)

    def __str__(self) -> str:
        """How messages name it: `Pod/w-0`, `Job/train`, `PyTorchJob/ddp (Worker)`."""
        return f"{self.ref} ({self.role})" if self.role else str(self.ref)
