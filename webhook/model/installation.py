"""What an installation consists of: its processes, configurations, values, rights and definitions."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Generic, Literal, NamedTuple, TypeVar

from webhook.model.places import Path, Place, Ref, dig
from webhook.model.pods import Container, Pod


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
