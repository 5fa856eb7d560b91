"""The objects that rules see: plain frozen values, made by `parse`, `kinds` and `gather`.

A rule asks for one of the subjects below by its type, and the type says how much of the world is known.
Paths are tuples of keys and list indices inside one object, from its root. Mappings in these values are
shared between threads and are never written to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

Path: TypeAlias = tuple[str | int, ...]

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""The only key that Coscheduling reads, and only under labels (scheduler-plugins pkg/util/podgroup.go:51-62)."""

GROUP_API = "scheduling.x-k8s.io"
"""API group of Coscheduling's PodGroup from scheduler-plugins v0.25 on."""

DEFAULT_SCHEDULER = "default-scheduler"

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The empty mapping, for defaults."""


class Ref(NamedTuple):
    """Which object a thing belongs to.

    `document` counts a run's documents from 0 (-1: not read from a file); `prefix` is where the object
    stands in its document: `("items", 3)` in a List, else `()`. `name` is empty where only generateName
    is given; two such objects are two objects.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    document: int = -1
    prefix: Path = ()

    @property
    def group(self) -> str:
        """The API group: `apps` of `apps/v1`, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else self.kind


class Place(NamedTuple):
    """Where in an object a finding stands; `at` tells whether the entry's key or its value is meant."""

    ref: Ref
    path: Path
    at: Literal["key", "value"] = "value"


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


class Workload(NamedTuple):
    """An object that makes Pods, with its templates. `body` is the whole object as read; rules read single
    fields of it with `dig`."""

    ref: Ref
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pods: tuple[Pod, ...]
    body: Mapping[str, object]


class PodGroup(NamedTuple):
    """An object of kind PodGroup of any API group (six systems have one).

    `min_member` is None where it is absent or templated (`templated` tells); `fields` are the keys of `spec`
    as written; `timeout` is scheduleTimeoutSeconds. `made_by` names the kind of its controller, if any.
    """

    ref: Ref
    min_member: int | None
    fields: Mapping[str, object] = NOTHING
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    min_resources: Mapping[str, object] = NOTHING
    timeout: int | None = None
    made_by: str = ""
    templated: bool = False

    @property
    def is_coscheduling(self) -> bool:
        return self.ref.group == GROUP_API

    def field(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        """A place in the PodGroup's spec."""
        return Place(self.ref, ("spec", *steps), at)


class Scaler(NamedTuple):
    """An autoscaler: what it scales in its namespace, and between which numbers of Pods (None: nobody knows)."""

    ref: Ref
    kind: str
    name: str
    least: int
    most: int | None


class Gang(NamedTuple):
    """All that the input says of one group name in one namespace. The roster is what was given: what is
    absent from the input is unknown, not wrong, unless `whole` says that nothing else exists.

    `members` carry the label; `strays` name the group by something that does not count (an annotation, an old or
    misspelt key, the workload's own metadata, the name with two letters swapped). `group` is Coscheduling's PodGroup;
    `foreign` are PodGroups of that name and namespace in other APIs. `namesakes` are Coscheduling PodGroups of this
    name in other namespaces, `elsewhere` the Pods of other namespaces (50 at most) that use this name. `near` are the
    names of Coscheduling PodGroups in this namespace that are a slip of the pen away. `workloads` are the objects that
    the members' templates stand in; of a group without members, the objects of
    its own name whose Pods name no group. `partial` is True at admission: the roster is that of one object, more
    members may come in others, and `group` is what the cluster held a moment ago.
    """

    namespace: str
    name: str
    group: PodGroup | None
    members: tuple[Pod, ...] = ()
    strays: tuple[Pod, ...] = ()
    foreign: tuple[PodGroup, ...] = ()
    namesakes: tuple[PodGroup, ...] = ()
    elsewhere: tuple[Pod, ...] = ()
    near: tuple[str, ...] = ()
    workloads: tuple[Workload, ...] = ()
    whole: bool = False
    partial: bool = False


class Member(NamedTuple):
    """A Pod on its way into the cluster, and what the cluster knew of its gang a moment ago: hearsay, which nothing is
    denied for.

    `group` is Coscheduling's PodGroup, None where there is none. `members` counts the siblings that are neither
    Succeeded nor Failed, without this Pod. `quiet` is True when no PodGroup of the namespace has changed for 5 seconds,
    `growing` when a sibling came or went within that time: then the gang is just being made.
    """

    pod: Pod
    group: PodGroup | None
    members: int
    quiet: bool
    growing: bool = False


class Duplicates(NamedTuple):
    """Two or more documents that describe one object (kind, namespace, name); the last one applied wins."""

    refs: tuple[Ref, ...]


class Malformed(NamedTuple):
    """A field that the API server could not decode. `message` states the value and what is wanted there."""

    place: Place
    message: str
    fix: str


class WrongScalar(NamedTuple):
    """YAML made a boolean, a number or a null of what Kubernetes wants as text. `written` is the text as it
    stands in the manifest (`on`, `20260901`), `value` what YAML made of it."""

    place: Place
    written: str
    value: object


class RepeatedKey(NamedTuple):
    """One mapping gives one key twice or more; the last one wins. Lines count in the file, from 1.

    `whole`: apiVersion and kind are both given again, so two objects stand in one document.
    """

    place: Place
    first_line: int
    second_line: int
    whole: bool = False


class StrangeKind(NamedTuple):
    """A kind that its API group does not have; `near` are kinds of that group a slip of the pen away, `home` is the
    apiVersion that has this very kind."""

    ref: Ref
    near: tuple[str, ...]
    home: str = ""


class Requirement(NamedTuple):
    """One line of a label selector: `In`, `NotIn`, `Exists` or `DoesNotExist`. An entry of matchLabels is an `In`."""

    key: str
    operator: str
    values: tuple[str, ...]
    path: Path


class HookRule(NamedTuple):
    """What a webhook is called for; `scope` is `*` where none is given."""

    groups: tuple[str, ...]
    operations: tuple[str, ...]
    resources: tuple[str, ...]
    scope: str
    path: Path


class Endpoint(NamedTuple):
    """The Service that a webhook is called at; `port` is None where it is no number."""

    namespace: str
    name: str
    port: int | None = 443

    @property
    def host(self) -> str:
        """The name that the API server wants in the certificate (apiserver pkg/util/webhook/client.go)."""
        return f"{self.name}.{self.namespace}.svc"


class Authorities(NamedTuple):
    """A caBundle: what keeps the API server from reading it (empty where nothing does), and when the last of its
    certificates expires, in seconds since 1970 (0: nobody knows)."""

    fault: str = ""
    expires: int = 0


class Hook(NamedTuple):
    """One webhook of a configuration that is called for Pods or for what makes Pods.

    `fields` is the entry as written and `path` its place. What is absent, or no text where text belongs, is None;
    empty selectors match everything. `authorities` is None where caBundle is absent or empty.
    """

    name: str
    path: Path
    fields: Mapping[str, object]
    rules: tuple[HookRule, ...] = ()
    namespaces: tuple[Requirement, ...] = ()
    objects: tuple[Requirement, ...] = ()
    failure_policy: str | None = None
    timeout: int | None = None
    reinvocation: str | None = None
    endpoint: Endpoint | None = None
    authorities: Authorities | None = None

    @property
    def fails_closed(self) -> bool:
        """Whether a request fails where no answer can be had; Fail is the default of v1."""
        return self.failure_policy is None or self.failure_policy == "Fail"

    @property
    def has_conditions(self) -> bool:
        """Whether CEL narrows down what reaches it, which we do not evaluate."""
        return bool(self.fields.get("matchConditions"))

    def __str__(self) -> str:
        return f"webhook {self.name}" if self.name else "a webhook without a name"


class HookConfiguration(NamedTuple):
    """A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1), with those
    of its webhooks that are called for Pods or for what makes Pods."""

    ref: Ref
    mutating: bool
    hooks: tuple[Hook, ...]
    annotations: Mapping[str, str] = NOTHING

    def field(self, hook: Hook, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        """A place in one of its webhooks."""
        return Place(self.ref, (*hook.path, *steps), at)


class Service(NamedTuple):
    """A Service: the ports that it offers, and whose Pods it sends to. `external`: it is but another host's name."""

    ref: Ref
    ports: tuple[int, ...]
    selector: Mapping[str, str] = NOTHING
    external: bool = False


class Namespace(NamedTuple):
    """A Namespace with the labels that its manifest gives it."""

    ref: Ref
    labels: Mapping[str, str]


class Certificate(NamedTuple):
    """cert-manager's Certificate: the Secret that it fills, and the names that it is for. `authority`: it signs others
    and serves nobody."""

    ref: Ref
    secret: str
    names: tuple[str, ...]
    authority: bool = False


class Quota(NamedTuple):
    """A ResourceQuota: what its namespace may have at most, by name as written (`limits.nvidia.com/gpumem`)."""

    ref: Ref
    hard: Mapping[str, object]


class RuntimeClass(NamedTuple):
    """A RuntimeClass, by its name."""

    ref: Ref


class HookSetting(NamedTuple):
    """A webhook configuration with what the input says around it; what it does not say is unknown unless `whole`.

    `services` are the Services that its webhooks call, and those of its folder that have but the same name.
    `namespaces` are the labels of the Namespaces of the input, by name. `servers` are the Pods behind its Services.
    `certificate` is the one that cert-manager takes the caBundle from. `filled` tells that something in the input may
    write its caBundle. `now` is the time in seconds since 1970 (0: nobody knows).
    """

    configuration: HookConfiguration
    services: tuple[Service, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = NOTHING
    servers: tuple[Pod, ...] = ()
    certificate: Certificate | None = None
    filled: bool = False
    whole: bool = False
    now: int = 0


class HookChain(NamedTuple):
    """The webhook configurations that stand together and, as far as the input tells, are in one cluster."""

    configurations: tuple[HookConfiguration, ...]


class RuntimeClassUse(NamedTuple):
    """A RuntimeClass that a whole installation names and does not have. `settings` are the places where HAMi is told to
    give it to every GPU Pod that names none, `pods` the Pods that name it themselves."""

    name: str
    pods: tuple[Pod, ...] = ()
    settings: tuple[Place, ...] = ()


class Object(NamedTuple):
    """An object that says something only together with others: a part of an installation (webhook/kinds/parts.py has
    the kinds). `body` is the whole object as read. Helm values have no apiVersion: their ref has the kind "Values".
    """

    ref: Ref
    body: Mapping[str, object]


F = TypeVar("F")


class Fact(NamedTuple, Generic[F]):
    """A value that the input shows, where it stands, and in words what tells it ("the tag of the extender's image")."""

    value: F
    place: Place
    source: str


class Argument(NamedTuple):
    """One flag of a command line. `value` is None for a switch that is given none (`--debug`).

    `path` is where the item with the flag stands in the object, `value_path` the one with the value: the same for
    `--flag=value`, the next one for `--flag value`. A value that is filled in later (`$(NAME)`) has `known` False.
    """

    flag: str
    value: str | None
    path: Path
    value_path: Path
    known: bool = True


class Process(NamedTuple):
    """A container's command line: what runs, with which flags.

    `program` is the command's last step ("kube-scheduler", "scheduler"), empty where the image's own entry point runs.
    `open` is True where not every argument could be told (a shell line): a flag that is not found is then unknown.
    """

    pod: Pod
    container: Container
    program: str
    arguments: tuple[Argument, ...] = ()
    open: bool = False

    def argument(self, *names: str) -> Argument | None:
        """The last one given of a flag's names (without dashes; `-` and `_` count as one), or None: the last wins."""
        wanted = {name.replace("_", "-") for name in names}
        found = [each for each in self.arguments if each.flag.replace("_", "-") in wanted]
        return found[-1] if found else None

    def place(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        """A place in the container: `("image",)`."""
        return Place(self.pod.ref, (*self.container.path, *steps), at)

    def of(self, argument: Argument) -> Place:
        """The place of an argument's value."""
        return Place(self.pod.ref, argument.value_path)


class SchedulerConfig(NamedTuple):
    """A KubeSchedulerConfiguration: an object of its own, or text inside a ConfigMap.

    `path` is where its root stands in the object: `()`, or `("data", "config.yaml")` inside a ConfigMap; the steps
    behind it go on inside the text. `process` is the kube-scheduler that reads it, where the input shows it.
    """

    ref: Ref
    path: Path
    body: Mapping[str, object]
    api_version: str
    process: Process | None = None

    def place(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        return Place(self.ref, (*self.path, *steps), at)

    @property
    def profiles(self) -> tuple[tuple[int, Mapping[str, object]], ...]:
        """The profiles that are mappings, each with its index."""
        return _mappings(self.body.get("profiles"))

    @property
    def extenders(self) -> tuple[tuple[int, Mapping[str, object]], ...]:
        """The extenders that are mappings, each with its index."""
        return _mappings(self.body.get("extenders"))


def _mappings(value: object) -> tuple[tuple[int, Mapping[str, object]], ...]:
    found = enumerate(value) if isinstance(value, list) else ()
    return tuple((index, item) for index, item in found if isinstance(item, Mapping))


class DeviceConfig(NamedTuple):
    """HAMi's device-config.yaml, the text that gives every resource its name; `path` as in SchedulerConfig."""

    ref: Ref
    path: Path
    body: Mapping[str, object]

    def place(self, *steps: str | int, at: Literal["key", "value"] = "value") -> Place:
        return Place(self.ref, (*self.path, *steps), at)


class Layer(NamedTuple):
    """Values from one source. `path` is where they stand in the object; `places` has the paths of single values that
    stand elsewhere (Argo CD's `parameters`), by the keys that lead to them in `body`."""

    body: Mapping[str, object]
    path: Path
    places: Mapping[Path, Path] = MappingProxyType({})


class Values(NamedTuple):
    """Values of the hami chart, as their user writes them: a values file, a HelmRelease of Flux, an Application of
    Argo CD. The first layer wins, mappings are merged. What is absent has the chart's default, which is not filled in.

    `partial`: more values come from elsewhere (valuesFrom, valueFiles), so what is absent is unknown.
    """

    ref: Ref
    layers: tuple[Layer, ...]
    partial: bool = False

    def get(self, *keys: str) -> object:
        """The value at a path of keys, None where it is absent. Of mappings the first layer's own entries alone."""
        return next((found for layer in self.layers if (found := dig(layer.body, *keys)) is not None), None)

    def has(self, *keys: str) -> bool:
        """Whether the key is written, also with nothing behind it."""
        return any(_holds(layer.body, keys) for layer in self.layers)

    def text(self, *keys: str) -> str:
        """The text at a path of keys; empty where there is none or it is no text."""
        found = self.get(*keys)
        return found if isinstance(found, str) else ""

    def place(self, *keys: str | int, at: Literal["key", "value"] = "value") -> Place:
        """Where the value stands that `get` gives; of an absent one the nearest that is written. The steps may go on
        into a list or a text."""
        layer = next(
            (each for each in self.layers if dig(each.body, *keys) is not None or _holds(each.body, keys)), None
        )
        layer = layer or max(self.layers, key=lambda each: _depth(each.body, keys))
        for size in range(len(keys), 0, -1):
            if keys[:size] in layer.places:
                return Place(self.ref, (*layer.places[keys[:size]], *keys[size:]), at)
        below = next((place for path, place in layer.places.items() if keys and path[: len(keys)] == keys), None)
        if below is not None:
            return Place(self.ref, below)
        return Place(self.ref, (*layer.path, *keys), at)

    def leaves(self) -> Iterator[tuple[Path, object]]:
        """Every value that is no mapping or an empty one, with the keys that lead to it; the first layer's wins."""
        seen: set[Path] = set()
        for layer in self.layers:
            for keys, value in _leaves(layer.body, ()):
                if keys not in seen:
                    seen.add(keys)
                    yield keys, value


def _holds(body: object, keys: tuple[str | int, ...]) -> bool:
    around = dig(body, *keys[:-1])
    return isinstance(around, Mapping) and keys[-1] in around if keys else True


def _depth(body: object, keys: tuple[str | int, ...]) -> int:
    return next((size for size in range(len(keys), 0, -1) if dig(body, *keys[:size]) is not None), 0)


def _leaves(body: Mapping[str, object], keys: Path) -> Iterator[tuple[Path, object]]:
    for key, value in body.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*keys, key))
        else:
            yield (*keys, key), value


class Release(NamedTuple):
    """One HAMi installation, as far as the input shows it: each part is None where it is not there, which says nothing.

    `name` and `namespace` are empty where unknown. `version` is that of HAMi's programs, `chart` that of the chart.
    `values` are the user's values; `scheduler` (kube-scheduler), `extender` and `plugin` (device plugin) the
    containers of rendered manifests or of a dump; `config` and `devices` what these read. `whole`: the input is the
    whole system, so what is absent does not exist.
    """

    ref: Ref
    name: str = ""
    namespace: str = ""
    version: Fact[tuple[int, ...]] | None = None
    chart: Fact[tuple[int, ...]] | None = None
    values: Values | None = None
    scheduler: Process | None = None
    extender: Process | None = None
    plugin: Process | None = None
    config: SchedulerConfig | None = None
    devices: DeviceConfig | None = None
    whole: bool = False


class Permission(NamedTuple):
    """One rule of a Role; `path` is where it stands in its object."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    path: Path = ()

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """Whether it gives the verb on every object of the resource (`podgroups`, `podgroups/status`); a rule with
        resourceNames does not (Kubernetes pkg/apis/rbac/v1/evaluation_helpers.go)."""
        if self.names or not {group, "*"}.intersection(self.groups) or not {verb, "*"}.intersection(self.verbs):
            return False
        return bool({resource, "*", f"*/{resource.partition('/')[2]}"}.intersection(self.resources))


class Grant(NamedTuple):
    """What one binding gives to its subjects. `namespace` is where it holds, empty for everywhere.

    `binding` is the RoleBinding or ClusterRoleBinding, `subjects` its subjects as read. `role` is the role's ref, None
    where the input does not hold it; `known` tells whether `permissions` are all of the role (it is in the input, is
    built into Kubernetes and known, or is missing in a whole installation).
    """

    binding: Ref
    namespace: str
    role_kind: str
    role_name: str
    role: Ref | None = None
    permissions: tuple[Permission, ...] = ()
    known: bool = False
    subjects: tuple[Mapping[str, object], ...] = ()

    def allows(self, group: str, resource: str, verb: str) -> bool:
        return any(each.allows(group, resource, verb) for each in self.permissions)


class Access(NamedTuple):
    """A ServiceAccount that a scheduler or a PodGroup controller runs as, and all that the input says of its rights.

    `processes` run as it. `grants` are those of bindings that name it, or a group it is in; `others` those of every
    other binding of the input. `configs` are what its schedulers read. What the input does not say is unknown, unless
    `whole`.
    """

    namespace: str
    name: str
    processes: tuple[Process, ...]
    grants: tuple[Grant, ...] = ()
    others: tuple[Grant, ...] = ()
    whole: bool = False
    configs: tuple[SchedulerConfig, ...] = ()

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """Whether a grant that holds everywhere gives the verb: what schedulers watch, they watch in all namespaces."""
        return any(not each.namespace and each.allows(group, resource, verb) for each in self.grants)


class GroupDefinition(NamedTuple):
    """What the input says of the kind PodGroup: one CustomResourceDefinition of that plural, or that there is none.

    `ref` is None where the input holds none of Coscheduling's group; `config` is the first configuration that enables
    Coscheduling, None for none. `own` tells whether the input holds the CRD of Coscheduling's group, this or another.
    """

    ref: Ref | None
    body: Mapping[str, object]
    config: SchedulerConfig | None
    own: bool
    whole: bool = False


class Suppression(NamedTuple):
    """One silencing of one rule, by a comment or an annotation. `known` tells whether such a rule exists,
    `used` whether it silenced anything, `near` what may have been meant."""

    place: Place
    rule: str
    known: bool
    used: bool
    near: tuple[str, ...] = ()
    line: int = 0
    column: int = 0


Subject: TypeAlias = (
    Pod
    | Workload
    | PodGroup
    | Scaler
    | Gang
    | Member
    | Duplicates
    | Malformed
    | WrongScalar
    | RepeatedKey
    | StrangeKind
    | Suppression
    | HookConfiguration
    | HookSetting
    | HookChain
    | Service
    | Namespace
    | Certificate
    | Quota
    | RuntimeClass
    | RuntimeClassUse
    | Object
    | SchedulerConfig
    | Release
    | Access
    | GroupDefinition
)


def pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def dig(body: object, *steps: str | int) -> object:
    """The value at a path of keys and indices, or None where any step is missing."""
    for step in steps:
        if type(body) is dict or isinstance(body, Mapping):  # asking an abstract class costs ten times as much
            body = body.get(step)
        elif isinstance(body, list) and isinstance(step, int) and -len(body) <= step < len(body):
            body = body[step]
        else:
            return None
    return body
