"""Objects of an installation that are about admission webhooks, to subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from webhook.hookrules import concerns_pods
from webhook.model import (
    Authorities,
    Certificate,
    Endpoint,
    Hook,
    HookConfiguration,
    HookRule,
    Namespace,
    Path,
    Quota,
    Ref,
    Requirement,
    RuntimeClass,
    Service,
    Subject,
    dig,
)
from webhook.parse.placeholders import templated
from webhook.parse.pods import Texts, labels_of

HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
HOOKS_GROUP = "admissionregistration.k8s.io"
_DEFAULT_PORT = 443
_NO_TEXTS: Texts = {}


def is_hook_configuration(ref: Ref) -> bool:
    return ref.kind in HOOKS and ref.api_version == f"{HOOKS_GROUP}/v1"


def hook_configuration(body: Mapping[str, object], ref: Ref, mended: Texts = _NO_TEXTS) -> HookConfiguration:
    """The configuration with those of its webhooks that are called for Pods or workloads; it may have none."""
    entries = body.get("webhooks")
    hooks = (
        _hook(entry, ("webhooks", index), mended)
        for index, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    )
    ours = tuple(hook for hook in hooks if any(map(concerns_pods, hook.rules)))
    return HookConfiguration(ref, ref.kind == HOOKS[0], ours, labels_of(body, mended)[1])


def _hook(entry: Mapping[str, object], path: Path, mended: Texts) -> Hook:
    timeout = entry.get("timeoutSeconds")
    return Hook(
        _text(entry.get("name")) or "",
        path,
        entry,
        tuple(_rules(entry.get("rules"), (*path, "rules"))),
        tuple(_requirements(entry.get("namespaceSelector"), (*path, "namespaceSelector"), mended)),
        tuple(_requirements(entry.get("objectSelector"), (*path, "objectSelector"), mended)),
        _text(entry.get("failurePolicy")),
        timeout if type(timeout) is int else None,
        _text(entry.get("reinvocationPolicy")),
        _endpoint(dig(entry, "clientConfig", "service")),
        _authorities(dig(entry, "clientConfig", "caBundle")),
    )


def _rules(entries: object, path: Path) -> Iterator[HookRule]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            groups, operations, resources = (_texts(entry.get(key)) for key in ("apiGroups", "operations", "resources"))
            yield HookRule(groups, operations, resources, _text(entry.get("scope")) or "*", (*path, index))


def _requirements(selector: object, path: Path, mended: Texts) -> Iterator[Requirement]:
    labels = dig(selector, "matchLabels")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        at = (*path, "matchLabels", key)
        yield Requirement(key, "In", (_text(value) or mended.get(at, ""),), at)
    expressions = dig(selector, "matchExpressions")
    for index, entry in enumerate(expressions if isinstance(expressions, list) else ()):
        if not isinstance(entry, dict):
            continue
        at = (*path, "matchExpressions", index)
        values = entry.get("values")
        texts = (
            _text(value) or mended.get((*at, "values", place), "")
            for place, value in enumerate(values if isinstance(values, list) else ())
        )
        yield Requirement(_text(entry.get("key")) or "", _text(entry.get("operator")) or "", tuple(texts), at)


def _endpoint(service: object) -> Endpoint | None:
    name, namespace = _text(dig(service, "name")), _text(dig(service, "namespace"))
    if not name or not namespace or templated(name) or templated(namespace):
        return None
    port = dig(service, "port")
    default = _DEFAULT_PORT if port is None else None
    return Endpoint(namespace, name, port if type(port) is int else default)


def _authorities(bundle: object) -> Authorities | None:
    if bundle is None or bundle == "":
        return None
    if not isinstance(bundle, str) or templated(bundle):
        return Authorities()
    from webhook.parse.authorities import authorities  # noqa: PLC0415 - few runs have one, and it brings datetime

    return authorities(bundle)


def _service(body: Mapping[str, object], ref: Ref) -> Service:
    entries = dig(body, "spec", "ports")
    ports = (dig(entry, "port") for entry in (entries if isinstance(entries, list) else ()))
    selector = dig(body, "spec", "selector")
    return Service(
        ref,
        tuple(port for port in ports if type(port) is int),
        selector if isinstance(selector, dict) else {},
        dig(body, "spec", "type") == "ExternalName",
    )


def _namespace(body: Mapping[str, object], ref: Ref) -> Namespace:
    return Namespace(ref, labels_of(body, _NO_TEXTS)[0])


def _certificate(body: Mapping[str, object], ref: Ref) -> Certificate:
    names = _texts(dig(body, "spec", "dnsNames"))
    secret = _text(dig(body, "spec", "secretName")) or ""
    return Certificate(ref, secret, names, dig(body, "spec", "isCA") is True)


def _quota(body: Mapping[str, object], ref: Ref) -> Quota:
    hard = dig(body, "spec", "hard")
    return Quota(ref, hard if isinstance(hard, dict) else {})


def _runtime_class(_: Mapping[str, object], ref: Ref) -> RuntimeClass:
    return RuntimeClass(ref)


_READERS: Mapping[tuple[str, str], Callable[[Mapping[str, object], Ref], Subject | None]] = {
    ("", "Service"): _service,
    ("", "Namespace"): _namespace,
    ("", "ResourceQuota"): _quota,
    ("cert-manager.io", "Certificate"): _certificate,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
}


def neighbour(body: Mapping[str, object], ref: Ref) -> Subject | None:
    """An object that others lean on, or that counts what Pods ask for; None where it is none."""
    reader = _READERS.get((ref.group, ref.kind))
    return reader(body, ref) if reader else None


def _text(value: object) -> str | None:
    return value if type(value) is str else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if type(item) is str) if isinstance(value, list) else ()
