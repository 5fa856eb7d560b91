"""Webhook configurations, and what they and Pods lean on: Services, Namespaces, certificates, quotas and the like."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from webhook.model.places import NOTHING, Path, Place, Ref
from webhook.model.pods import Pod


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
