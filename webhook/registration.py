"""What the API server must know to call us: a stack to both webhook configurations.

Only objects with a GPU or a gang reach us, by match conditions in CEL; so everything else in the cluster does not
depend on us at all. A namespace's label `gangcheck.io/mode` picks between enforce (the default), warn and off, and in
the regime strict also strict.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from webhook.gangkeys import SYSTEM_NAMES
from webhook.kinds import TABLE, is_left_alone
from webhook.model import GROUP_API, GROUP_LABEL
from webhook.stack import Stack

Configuration: TypeAlias = dict[str, Any]
Rules: TypeAlias = Sequence[Mapping[str, object]]
FailurePolicy: TypeAlias = Literal["Ignore", "Fail"]

DOMAIN = "gangcheck.io"
MODE = f"{DOMAIN}/mode"
MUTATING = "zz-gangcheck"
"""Configurations are called in the order of their names, and HAMi's is `hami-webhook` (seen): ours comes after it."""
VALIDATING = "gangcheck"

MUTATE, VALIDATE, WARN = "/mutate", "/validate", "/validate/warn"

Regime: TypeAlias = Literal["normal", "warn-only", "strict"]
"""What namespaces may choose by their mode. normal: enforce, warn and off. warn-only: nothing is ever denied, off is
off. strict: strict as well, where no object is let through without a verdict."""

KUBERNETES_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")


@dataclass(frozen=True, slots=True)
class Reach:
    """How the API server finds the server: by its Service, or at a URL (`https://127.0.0.1:8443`) where one is given.

    `ca` is the certificate authority in PEM; empty where something else fills in the caBundle.
    """

    url: str = ""
    namespace: str = "gangcheck"
    service: str = "gangcheck"
    port: int = 443
    ca: bytes = b""


@dataclass(frozen=True, slots=True)
class Options:
    """What may differ between clusters.

    `excluded` are namespaces that never reach us, beside Kubernetes' own and ours: HAMi's. `failure_policy` is that
    of `/validate` alone; but for namespaces whose mode is strict nothing else may ever stop a Pod. With `events` a
    review may leave an Event behind, though never on a dry run. `repairs`: new PodGroups are mended too.
    """

    reach: Reach = field(default_factory=Reach)
    excluded: tuple[str, ...] = ("hami-system",)
    failure_policy: FailurePolicy = "Ignore"
    regime: Regime = "normal"
    mutate_seconds: int = 2
    validate_seconds: int = 3
    events: bool = True
    repairs: bool = False


@dataclass(frozen=True, slots=True)
class _Family:
    """Kinds that one set of conditions fits: their Pod templates stand at one path."""

    name: str
    rules: Rules
    conditions: Mapping[str, str]


def configurations(stack: Stack, options: Options = Options()) -> tuple[Configuration, Configuration]:
    """The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, ready for JSON or YAML."""
    families = _families(stack)
    validating = [_validate(family, door, options) for door in _doors(options) for family in families]
    return (
        _configuration("MutatingWebhookConfiguration", MUTATING, _mutating(stack, families[0], options)),
        _configuration("ValidatingWebhookConfiguration", VALIDATING, validating),
    )


def _configuration(kind: str, name: str, webhooks: list[Configuration]) -> Configuration:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "gangcheck"}},
        "webhooks": webhooks,
    }


def _mutating(stack: Stack, pods: _Family, options: Options) -> list[Configuration]:
    """Also in mode warn. What HAMi's opt-out covers, Pod or namespace, is not completed either (hami.md 2.1)."""
    opted_in = ("hami.io/webhook", "NotIn", "ignore")
    inject = _mutate("inject", pods, options, _expression(*opted_in))
    inject["objectSelector"] = {"matchExpressions": [_expression(*opted_in)]}
    return [inject, _mutate("repair", _repaired(stack), options)] if options.repairs else [inject]


def _mutate(name: str, family: _Family, options: Options, *namespaces: Configuration) -> Configuration:
    return {
        **_webhook(f"{name}.{DOMAIN}", family, MUTATE, options),
        "failurePolicy": "Ignore",
        "namespaceSelector": _namespaces(options, _expression(MODE, "NotIn", "off"), *namespaces),
        "objectSelector": {},
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": options.mutate_seconds,
    }


class _Door(NamedTuple):
    """One of the entries that every family has: which namespaces go through it, and where to."""

    name: str
    path: str
    mode: Configuration
    failure_policy: FailurePolicy


def _doors(options: Options) -> tuple[_Door, ...]:
    """No two share a namespace. A mode that is none of these is a slip of the pen, and enforces."""
    if options.regime == "warn-only":
        return (_Door("warn", WARN, _expression(MODE, "NotIn", "off"), "Ignore"),)
    strict = ("strict",) if options.regime == "strict" else ()
    return (
        _Door("enforce", VALIDATE, _expression(MODE, "NotIn", "warn", "off", *strict), options.failure_policy),
        *(_Door(mode, VALIDATE, _expression(MODE, "In", mode), "Fail") for mode in strict),
        _Door("warn", WARN, _expression(MODE, "In", "warn"), "Ignore"),
    )


def enforced(options: Options) -> Configuration:
    """The namespaceSelector of those whose objects may be denied, when the server cannot be asked as well."""
    return _namespaces(options, _expression(MODE, "NotIn", "warn", "off"))


def _validate(family: _Family, door: _Door, options: Options) -> Configuration:
    return {
        **_webhook(f"{family.name}.{door.name}.{DOMAIN}", family, door.path, options),
        "failurePolicy": door.failure_policy,
        "namespaceSelector": _namespaces(options, door.mode),
        "objectSelector": {},
        "sideEffects": "NoneOnDryRun" if options.events else "None",
        "timeoutSeconds": options.validate_seconds,
    }


def _webhook(name: str, family: _Family, path: str, options: Options) -> Configuration:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client_config(options.reach, path),
        "matchConditions": [{"name": key, "expression": cel} for key, cel in family.conditions.items()],
        "matchPolicy": "Equivalent",
        "rules": [dict(rule) for rule in family.rules],
    }


def _client_config(reach: Reach, path: str) -> Configuration:
    bundle = {"caBundle": base64.b64encode(reach.ca).decode()} if reach.ca else {}
    if reach.url:
        return {"url": f"{reach.url.rstrip('/')}{path}", **bundle}
    service = {"namespace": reach.namespace, "name": reach.service, "path": path, "port": reach.port}
    return {"service": service, **bundle}


def _namespaces(options: Options, *expressions: Configuration) -> Configuration:
    """Every namespace has the label `kubernetes.io/metadata.name`; the API server keeps it."""
    own = () if options.reach.url else (options.reach.namespace,)
    excluded = dict.fromkeys((*KUBERNETES_NAMESPACES, *own, *options.excluded))
    return {"matchExpressions": [_expression("kubernetes.io/metadata.name", "NotIn", *excluded), *expressions]}


def _expression(key: str, operator: str, *values: str) -> Configuration:
    return {"key": key, "operator": operator, "values": list(values)}


# Which kinds, and under which conditions.

_CREATE = ("CREATE",)
_BOTH = ("CREATE", "UPDATE")
_BUILT_IN = frozenset({"", "apps", "batch", "extensions"})
_LEFT_OUT = frozenset({"ClusterTrainingRuntime", "ClusterWorkflowTemplate", "Revision"})
"""Kinds without a namespace, which no selector could ever exempt; and one that Knative makes of its Service."""


def _families(stack: Stack) -> tuple[_Family, ...]:
    """Pods come first. A Pod's UPDATE reaches us only where it changes gangs: whatever HAMi and the scheduler write on
    it does not. An UPDATE of a workload must change what its author writes: status may stand in the same object."""
    template, job = ("spec", "template"), ("spec", "jobTemplate")
    return (
        _Family("pods", [_rule("", ("pods",), _CREATE, "v1")], {"gpu-or-gang": _ours(stack, ())}),
        _Family("gang-changes", [_rule("", ("pods",), ("UPDATE",), "v1")], {"gang-changed": gang_changed()}),
        _Family(
            "workloads",
            [
                _rule("", ("replicationcontrollers",), _BOTH, "v1"),
                _rule("apps", ("daemonsets", "deployments", "replicasets", "statefulsets"), _BOTH, "v1"),
                _rule("batch", ("jobs",), _BOTH, "v1"),
            ],
            {"changed": _changed(), "gpu-or-gang": _ours(stack, template, ())},
        ),
        _Family(
            "cronjobs",
            [_rule("batch", ("cronjobs",), _BOTH, "v1")],
            {"changed": _changed(), "gpu-or-gang": _ours(stack, (*job, *template), (), job)},
        ),
        _Family("podgroups", [_rule(GROUP_API, ("podgroups",), _BOTH)], {"changed": _changed()}),
        _Family("operators", _operator_rules(), {"changed": _changed()}),
    )


def _repaired(stack: Stack) -> _Family:
    """New PodGroups that ask for what no node advertises."""
    names = ", ".join(f"'{name}'" for name in sorted(stack.annotated_names))
    asks = f"{_has(('spec', 'minResources'))} && object.spec.minResources.exists(name, name in [{names}])"
    return _Family("podgroups", [_rule(GROUP_API, ("podgroups",), _CREATE)], {"asks-for-the-unadvertised": asks})


def built_in(stack: Stack) -> Rules:
    """The rules of Pods and of Kubernetes' own workloads, whose Pod templates stand in three places at most."""
    known = ("pods", "gang-changes", "workloads", "cronjobs")
    return [dict(rule) for family in _families(stack) if family.name in known for rule in family.rules]


def _rule(group: str, resources: Iterable[str], operations: Sequence[str], version: str = "*") -> Configuration:
    """A CRD may be absent, or come in any version."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "Namespaced",
    }


def _operator_rules() -> Rules:
    """The kinds of operators; a CRD's plural is its kind with an s, in all of them."""
    return [
        _rule(group, sorted(f"{kind.lower()}s" for kind in kinds if kind not in _LEFT_OUT), _BOTH)
        for group, kinds in sorted(TABLE.items())
        if group not in _BUILT_IN and not is_left_alone(group)
    ]


# CEL. What may be absent is asked for first: an expression that fails makes the API server skip us in silence.

_GANG_WORDS = "scheduling|pod-group|(sched|group).*k8s[.]io|k8s[.]io/.{3,5}group"
"""What is in every key that names a gang for Coscheduling, in any release or with up to two slips of the pen. Of a
key's three parts (`scheduling`, the rest of the domain, `pod-group`) two slips leave one whole, which is looked for."""


def _keys(stack: Stack) -> str:
    """A regular expression (RE2) that finds something in every key that names a gang, in all dialects, is HAMi's, or is
    a resource's name where only an annotation's can stand."""
    others = [_plain(key) for key in sorted(SYSTEM_NAMES) if not re.search(_GANG_WORDS, key)]
    return f"(?i){'|'.join([_GANG_WORDS, *others])}|^hami[.]io/|{_resources(stack)}"


def _resources(stack: Stack) -> str:
    """A regular expression that finds something in every resource of a domain that has a device in the stack."""
    domains = {name.partition("/")[0] for name in stack.device_names | stack.annotated_names}
    return f"^({'|'.join(map(_plain, sorted(domains)))})/"


def _plain(name: str) -> str:
    """A name as a regular expression; of its characters only the dot has a meaning there."""
    return name.replace(".", "[.]")


def _ours(stack: Stack, template: tuple[str, ...], *above: tuple[str, ...]) -> str:
    """Whether a Pod template, or an object above it, has a gang's key or one of HAMi's, or the template has a vendor's
    resource or a group of Kubernetes' own."""
    metadata, spec = (*template, "metadata"), (*template, "spec")
    marked = _any("half", ("labels", "annotations"), f"key, key.matches('{_keys(stack)}')")
    asks = _any("asked", ("limits", "requests"), f"key, key.matches('{_resources(stack)}')")
    contained = _any("kind", ("initContainers", "containers"), f"each, has(each.resources) && {asks('each.resources')}")
    terms = [f"{_has(path)} && {marked(_field(path))}" for path in (*((*up, "metadata") for up in above), metadata)]
    native = (f"has({_field((*spec, field))})" for field in ("schedulingGroup", "workloadRef"))
    terms.append(f"{_has(spec)} && ({' || '.join((contained(_field(spec)), *native))})")
    return " || ".join(f"({term})" for term in terms)


def _any(name: str, fields: tuple[str, ...], predicate: str) -> Callable[[str], str]:
    """Whether something in one of the fields, as far as a mapping has them, fits the predicate."""
    return lambda holder: f"{list(fields)}.exists({name}, {name} in {holder} && {holder}[{name}].exists({predicate}))"


def _field(path: tuple[str, ...]) -> str:
    return ".".join(("object", *path))


def _has(path: tuple[str, ...]) -> str:
    """Whether every step of a path into the object is there."""
    return " && ".join(f"has({_field(path[: end + 1])})" for end in range(len(path)))


def gang_changed() -> str:
    """Whether an UPDATE moves the object into another gang; `/` stands for none, since no gang can be called so."""
    new, old = (
        f"(half in {each} && '{GROUP_LABEL}' in {each}[half] ? {each}[half]['{GROUP_LABEL}'] : '/')"
        for each in ("object.metadata", "oldObject.metadata")
    )
    return f"['labels', 'annotations'].exists(half, {new} != {old})"


def _changed() -> str:
    """Whether an UPDATE changes what an author writes: the spec, the labels or the annotations."""
    specs = " != ".join(f"(has({each}.spec) ? {each}.spec : {{}})" for each in ("object", "oldObject"))
    new, old = (f"(half in {each}.metadata ? {each}.metadata[half] : {{}})" for each in ("object", "oldObject"))
    halves = f"['labels', 'annotations'].exists(half, {new} != {old})"
    return f"request.operation != 'UPDATE' || {specs} || {halves}"
