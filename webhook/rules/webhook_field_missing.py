from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webhook.model import Hook, HookConfiguration, Path, dig
from webhook.parse.placeholders import templated
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_REVIEWS = ("v1", "v1beta1")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "sideEffects": ("None", "NoneOnDryRun"),
    "failurePolicy": ("Ignore", "Fail"),
    "matchPolicy": ("Exact", "Equivalent"),
    "reinvocationPolicy": ("Never", "IfNeeded"),
}
_OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT", "*"})
_MAPPINGS = frozenset({"clientConfig", "service"})
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL}){{2,}}")
_LONGEST = 30

_Fault = tuple[Path, str, str]
"""Steps to the field, what is wrong with it, and the cure."""


@rule(HookConfiguration, Severity.ERROR, evidence="seen", lint_only=True)
def webhook_field_missing(configuration: HookConfiguration, stack: Stack) -> Iterator[Finding]:
    """A webhook lacks a field that admissionregistration.k8s.io/v1 wants, or has a value that it refuses.

    v1 has no defaults for what v1beta1 filled in: `sideEffects` must say None or NoneOnDryRun (Some and Unknown are
    gone), `admissionReviewVersions` must name v1 or v1beta1. The whole configuration is refused for one such webhook
    (seen; Kubernetes pkg/apis/admissionregistration/validation/validation.go), so none of its webhooks is ever called;
    under a deployment tool that goes on after an error, nobody hears of it.

    Checked: both of these, the name (a domain of three parts or more, in lower case), `clientConfig` (a url or a
    service with namespace and name, not both), its url (https, a host, and no user, query or fragment: Kubernetes
    v1.35 apiserver pkg/util/webhook/validation.go:39-62, ValidateWebhookURL), `failurePolicy`, `matchPolicy`,
    `reinvocationPolicy`, `timeoutSeconds` (1 to 30), and in each rule its operations, apiGroups, apiVersions and
    resources. Values of a wrong type are `malformed`'s; templated ones may yet be right, and so may all of a webhook
    whose name or Service is templated. A patch, which names no rules, is not judged.
    """
    for hook in configuration.hooks:
        if _is_template(hook):
            continue
        for path, wrong, cure in _faults(hook, mutating=configuration.mutating):
            yield Finding(
                configuration.field(hook, *path, at="key" if path[-1] in _MAPPINGS else "value"),
                f"{hook} {wrong}; the API server refuses {configuration.ref} as a whole",
                fix=cure,
            )


def _is_template(hook: Hook) -> bool:
    """Whether it is named by something that is filled in later: then what is absent may come with it."""
    service = dig(hook.fields, "clientConfig", "service")
    return any(map(templated, (hook.name, dig(service, "name"), dig(service, "namespace"))))


def _faults(hook: Hook, *, mutating: bool) -> Iterator[_Fault]:
    yield from _name(hook)
    yield from _reviews(hook.fields.get("admissionReviewVersions"))
    for field, allowed in _CHOICES.items():
        if field != "reinvocationPolicy" or mutating:
            yield from _choice(hook, field, allowed)
    if hook.timeout is not None and not 1 <= hook.timeout <= _LONGEST:
        yield ("timeoutSeconds",), f"has timeoutSeconds: {hook.timeout}", "write a number from 1 to 30"
    yield from _client(hook.fields.get("clientConfig"))
    for index, _ in enumerate(hook.rules):
        yield from _rule(hook, hook.rules[index].path[len(hook.path) :])


def _name(hook: Hook) -> Iterator[_Fault]:
    written = hook.fields.get("name")
    if written is None or written == "":
        yield ("name",), "is refused", "give it a name that is a domain, such as pods.policy.example.com"
    elif isinstance(written, str) and not templated(written) and not _NAME.fullmatch(written):
        wrong = "has a name that is no domain of three parts or more in lower case"
        yield ("name",), wrong, f"name it after a domain, such as {written.lower().strip('.')}.example.com"


def _reviews(versions: object) -> Iterator[_Fault]:
    path: Path = ("admissionReviewVersions",)
    if versions is None or versions == []:
        yield path, "has no admissionReviewVersions", "add admissionReviewVersions: [v1]"
        return
    texts = [item for item in versions if isinstance(item, str)] if isinstance(versions, list) else list(_REVIEWS)
    if not any(item in _REVIEWS or templated(item) for item in texts):
        wrong = f"has admissionReviewVersions {', '.join(texts) or 'of a wrong type'}, neither v1 nor v1beta1"
        yield path, wrong, "write admissionReviewVersions: [v1]"


def _choice(hook: Hook, field: str, allowed: tuple[str, ...]) -> Iterator[_Fault]:
    value = hook.fields.get(field)
    wanted = " or ".join(allowed)
    if value is None and field == "sideEffects":
        yield (
            (field,),
            "has no sideEffects",
            "add sideEffects: None (NoneOnDryRun where it writes, but not on a dry run)",
        )
    elif isinstance(value, str) and value not in allowed and not templated(value):
        yield (field,), f"has {field}: {value or 'nothing'}", f"write {field}: {wanted}"


def _client(client: object) -> Iterator[_Fault]:
    path: Path = ("clientConfig",)
    url, service = dig(client, "url"), dig(client, "service")
    if (url is None) == (service is None):
        both = "both url and service in clientConfig" if url is not None else "neither url nor service in clientConfig"
        yield path, f"has {both}", "give clientConfig a service with namespace and name, or a url"
        return
    wrong = url_fault(url) if isinstance(url, str) and not templated(url) else ""
    if wrong:
        yield (*path, "url"), f"has the url {url!r} in clientConfig, which {wrong}", "write url: https://HOST/PATH"
    for key in ("namespace", "name"):
        if isinstance(service, dict) and not service.get(key):
            yield (*path, "service"), f"has no {key} in clientConfig.service", f"add the Service's {key}"


def url_fault(url: str) -> str:
    """Why the API server refuses a webhook's URL, as what is said of the URL; empty where it takes it."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() != "https":
        return "does not begin with https://"
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host = rest.partition("/")[0]
    if not host:
        return "names no host"
    parts = (("@" in host, "a user"), (bool(query), "a query"), (bool(fragment), "a fragment"))
    return next((f"has {part} in it" for there, part in parts if there), "")


def _rule(hook: Hook, path: Path) -> Iterator[_Fault]:
    entry = dig(hook.fields, *path)
    for key in ("apiGroups", "apiVersions", "operations", "resources"):
        if not dig(entry, key):
            yield path, f"has a rule without {key}", f"add {key} to the rule"
    operations = dig(entry, "operations")
    for index, operation in enumerate(operations if isinstance(operations, list) else ()):
        if isinstance(operation, str) and operation not in _OPERATIONS and not templated(operation):
            known = "CREATE, UPDATE, DELETE, CONNECT or *"
            yield (*path, "operations", index), f"has a rule for the operation {operation}", f"write {known}"
