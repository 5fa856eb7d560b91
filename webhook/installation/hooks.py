"""Webhook configurations of all inputs to what the input says around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.installation.texts import texts_in
from webhook.model import (
    Certificate,
    HookChain,
    HookConfiguration,
    HookSetting,
    Namespace,
    Object,
    Pod,
    Ref,
    Service,
    Subject,
    Workload,
    dig,
)

INJECTED_FROM = "cert-manager.io/inject-ca-from"
_INJECTORS = ("inject-ca", "inject-cabundle")
"""What is in the annotations by which cert-manager and OpenShift's service CA are asked to fill in a caBundle."""

_WRITING = (
    frozenset({"admissionregistration.k8s.io"}),
    frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}),
    frozenset({"update", "patch", "*"}),
)
"""What a role's rule names that is about writing webhook configurations: group, resources, verbs."""

_DRAFTED = ("system", "webhook-service")


class _World(NamedTuple):
    """The objects of a run by what webhook configurations ask them for."""

    configurations: list[HookConfiguration]
    services: dict[str, list[Service]]
    namespaces: dict[str, Mapping[str, str]]
    certificates: dict[tuple[str, str], list[Certificate]]
    roles: list[Object]
    pods: dict[str, list[Pod]]
    workloads: list[Workload]
    folders: Sequence[str]
    whole: bool

    def folder(self, ref: Ref) -> str:
        """The folder of an object's document; a whole system has but one."""
        known = not self.whole and 0 <= ref.document < len(self.folders)
        return self.folders[ref.document] if known else ""


def settings(
    subjects: Iterable[Subject], *, folders: Sequence[str] = (), whole: bool = False, now: int = 0
) -> Iterator[HookSetting | HookChain]:
    """Each webhook configuration with what is around it, and the chains of those that stand together.

    `folders` gives the folder of each document by its index: trees hold several clusters, so only the webhooks of one
    folder are a chain, unless the input is the `whole` system. Drafts are no part of either.
    """
    world = _sort(subjects, folders, whole=whole)
    for configuration in world.configurations:
        yield _setting(configuration, world, now)
    for together in _together(world):
        yield HookChain(tuple(together))


def _sort(subjects: Iterable[Subject], folders: Sequence[str], *, whole: bool) -> _World:
    world = _World([], {}, {}, {}, [], {}, [], folders, whole)
    for subject in subjects:
        if isinstance(subject, HookConfiguration):
            world.configurations.extend(() if _is_draft(subject) else (subject,))
        elif isinstance(subject, Service):
            world.services.setdefault(subject.ref.name, []).append(subject)
        elif isinstance(subject, Namespace):
            own = world.namespaces.get(subject.ref.name, {})
            world.namespaces[subject.ref.name] = {**own, **subject.labels}
        elif isinstance(subject, Certificate):
            world.certificates.setdefault((subject.ref.namespace, subject.ref.name), []).append(subject)
        elif isinstance(subject, Object) and subject.ref.kind == "ClusterRole":
            world.roles.append(subject)
        elif isinstance(subject, Pod):
            world.pods.setdefault(subject.ref.namespace, []).append(subject)
        elif isinstance(subject, Workload):
            world.workloads.append(subject)
    return world


def _is_draft(configuration: HookConfiguration) -> bool:
    """Whether it is as controller-gen writes it: kustomize gives it its Service's real name, its selectors and its
    caBundle by patches, so what it lacks says nothing."""
    return any(hook.endpoint and hook.endpoint[:2] == _DRAFTED for hook in configuration.hooks)


def _setting(configuration: HookConfiguration, world: _World, now: int) -> HookSetting:
    services = tuple(_services(configuration, world))
    behind = [service for service in services if _home(service) in _homes(configuration)]
    return HookSetting(
        configuration,
        services,
        world.namespaces,
        tuple(pod for service in behind for pod in _behind(service, world)),
        _certificate(configuration, world),
        _is_filled(configuration, world),
        world.whole,
        now,
    )


def _certificate(configuration: HookConfiguration, world: _World) -> Certificate | None:
    """The Certificate that the configuration names: that of its own folder, else the only one. A tree may hold one for
    each release of a program."""
    namespace, _, name = configuration.annotations.get(INJECTED_FROM, "").partition("/")
    known = world.certificates.get((namespace, name), [])
    near = [each for each in known if world.folder(each.ref) == world.folder(configuration.ref)] or known
    return near[-1] if near is not known or len(known) == 1 else None


def _services(configuration: HookConfiguration, world: _World) -> Iterator[Service]:
    """The Services that are called, and those of the same folder that have but their name."""
    homes = _homes(configuration)
    for name in sorted({name for _, name in homes}):
        for service in world.services.get(name, ()):
            if _home(service) in homes or world.folder(service.ref) == world.folder(configuration.ref):
                yield service


def _home(service: Service) -> tuple[str, str]:
    return service.ref.namespace, service.ref.name


def _homes(configuration: HookConfiguration) -> set[tuple[str, str]]:
    """The Services that its webhooks call, by namespace and name."""
    return {(hook.endpoint.namespace, hook.endpoint.name) for hook in configuration.hooks if hook.endpoint}


def _behind(service: Service, world: _World) -> Iterator[Pod]:
    """The Pods that a Service sends to; one without a selector has its endpoints from elsewhere."""
    for pod in world.pods.get(service.ref.namespace, ()) if service.selector else ():
        if service.selector.items() <= pod.labels.items():
            yield pod


def _is_filled(configuration: HookConfiguration, world: _World) -> bool:
    """Whether the input has something that may write this caBundle: an injector that an annotation asks, also that of
    a patch for the object (kubebuilder's webhookcainjection_patch.yaml), a role with
    the right to, or a workload that is told the configuration's name (kube-webhook-certgen's Jobs are)."""
    name = configuration.ref.name
    same = (each for each in world.configurations if (each.ref.kind, each.ref.name) == (configuration.ref.kind, name))
    if any(word in key for each in same for key in each.annotations for word in _INJECTORS):
        return True
    if any(_may_write(name, role.body) for role in world.roles):
        return True
    return any(_is_told(name, workload) for workload in world.workloads)


def _may_write(name: str, role: Mapping[str, object]) -> bool:
    """Whether a ClusterRole gives the right to write webhook configurations: this one, or all."""
    rules = role.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        wanted = zip(("apiGroups", "resources", "verbs"), _WRITING, strict=True)
        if all(not words.isdisjoint(texts_in(dig(rule, key))) for key, words in wanted):
            names = texts_in(dig(rule, "resourceNames"))
            if not names or name in names:
                return True
    return False


def _is_told(name: str, workload: Workload) -> bool:
    """Whether an argument or a variable of a container is the name, or ends with it after an equals sign."""
    for pod in workload.pods:
        for container in pod.containers:
            given = (dig(workload.body, *container.path, key) for key in ("command", "args"))
            texts = [text for words in given if isinstance(words, list) for text in words if isinstance(text, str)]
            texts.extend(each.value for each in container.env if each.value)
            if any(text == name or text.endswith(f"={name}") for text in texts):
                return True
    return False


def _together(world: _World) -> Iterator[list[HookConfiguration]]:
    """The configurations of each folder, one of each name: an object that is described twice is one object."""
    parts: dict[str, dict[tuple[str, str], HookConfiguration]] = {}
    for configuration in world.configurations:
        if not configuration.hooks:
            continue
        ref = configuration.ref
        parts.setdefault(world.folder(ref), {})[ref.kind, ref.name] = configuration
    return (list(part.values()) for part in parts.values())
