from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Hook, HookSetting, Place, Requirement
from webhook.rule import Edit, Finding, Severity, rule
from webhook.selectors import NAMESPACE_NAME
from webhook.stack import Stack

_MEANT = frozenset(
    {"name", "namespace", "namespaceName", "metadata.name", "kubernetes.io/name", "kubernetes.io/metadata.namespace"}
)
_ALIKE = 0.85


@rule(HookSetting, Severity.WARNING, evidence="read", lint_only=True)
def webhook_namespace_label(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A namespaceSelector picks by a label that namespaces do not carry, such as `name`.

    A selector sees labels, never the name itself. The one label that every namespace carries is
    `kubernetes.io/metadata.name`, which the API server keeps (since Kubernetes 1.21); `name` is there only where
    somebody puts it on each namespace by hand, an old habit. A label that is absent fits `NotIn`: a list of namespaces
    to exclude excludes none, kube-system and the webhook's own namespace among them. `In` and matchLabels pick none:
    the webhook is never called, without a word.

    A warning for `NotIn`, and for a key that is a slip of the pen for the right one. `In` with `name` is info unless
    the input is a whole installation: who opts in by a label mostly sets it somewhere. Silent where a Namespace of the
    input carries the label.
    """
    for hook in setting.configuration.hooks:
        for each in hook.namespaces:
            if each.operator not in {"In", "NotIn"} or not _is_meant(each.key) or _is_carried(each.key, setting):
                continue
            yield Finding(
                _place(each, setting),
                f"namespaces carry no label {each.key} of themselves: {_effect(hook, each)}",
                fix=f"use the key {NAMESPACE_NAME}, which every namespace has",
                severity=_severity(each, setting),
                edits=_edits(each, setting),
            )


def _is_meant(key: str) -> bool:
    """Whether a key is meant for the namespace's name, and is not its label."""
    if key == NAMESPACE_NAME or "name" not in key.lower():
        return False
    if key in _MEANT:
        return True
    import difflib

    return difflib.SequenceMatcher(None, key.lower(), NAMESPACE_NAME).ratio() >= _ALIKE


def _is_carried(key: str, setting: HookSetting) -> bool:
    return any(key in labels for labels in setting.namespaces.values())


def _effect(hook: Hook, each: Requirement) -> str:
    listed = ", ".join(each.values[:3]) + (" …" if len(each.values) > 3 else "")  # noqa: PLR2004 - enough to tell
    if each.operator == "NotIn":
        return f"{hook} is called for {listed} all the same"
    return f"{hook} is never called unless somebody labels {listed} so"


def _severity(each: Requirement, setting: HookSetting) -> Severity | None:
    perhaps = each.operator == "In" and each.key in _MEANT and not setting.whole
    return Severity.INFO if perhaps else None


def _is_expression(each: Requirement) -> bool:
    return each.path[-2] == "matchExpressions"


def _place(each: Requirement, setting: HookSetting) -> Place:
    steps = (*each.path, "key") if _is_expression(each) else each.path
    return Place(setting.configuration.ref, steps, "value" if _is_expression(each) else "key")


def _edits(each: Requirement, setting: HookSetting) -> tuple[Edit, ...]:
    if each.operator != "NotIn":
        return ()
    return (Edit("replace", _place(each, setting), NAMESPACE_NAME),)
