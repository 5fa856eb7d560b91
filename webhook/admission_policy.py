"""What the API server itself can hold while the server is away: `pod-group-annotation` as a ValidatingAdmissionPolicy.

It denies nothing that `/validate` would let through, and of what that denies only the mistake itself: the gang's name
under one of the two keys that Coscheduling ever had, as an annotation of a Pod. What is misspelt, and what stands in
a workload's template, waits for the server.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from webhook.model import GROUP_LABEL
from webhook.registration import Configuration, Options, enforced, gang_changed
from webhook.review import Enforcement
from webhook.stack import OLD_GROUP_LABEL, Stack
from webhook.suppress import PREFIX

Terms: TypeAlias = dict[str, str]
"""Expressions in CEL by their names."""

RULE = "pod-group-annotation"
NAME = f"gangcheck-{RULE}"

_API = "admissionregistration.k8s.io/v1"
_KEYS = (GROUP_LABEL, OLD_GROUP_LABEL)


def admission_policy(stack: Stack, options: Options, enforcement: Enforcement) -> tuple[Configuration, Configuration]:
    """The ValidatingAdmissionPolicy and its binding to the namespaces that `/validate` denies in.

    An expression that fails is ignored: what cannot be judged here is the server's to judge.
    """
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    spec: dict[str, Any] = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [{**pods, "scope": "Namespaced"}]},
        "matchConditions": _named(_conditions(stack, enforcement)),
        "variables": _named(_variables()),
        "validations": [
            {
                "expression": " || ".join(f"variables.written == {each}" for each in _RIGHT),
                "message": f"the Pod names its gang in an annotation; {_WHY}",  # where the name has a line break
                "messageExpression": _MESSAGE,
                "reason": "Forbidden",
            }
        ],
    }
    binding = {
        "policyName": NAME,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": enforced(options)},
    }
    return _object("ValidatingAdmissionPolicy", spec), _object("ValidatingAdmissionPolicyBinding", binding)


def _object(kind: str, spec: dict[str, Any]) -> Configuration:
    metadata = {"name": NAME, "labels": {"app.kubernetes.io/name": "gangcheck"}}
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}


def _named(terms: Terms) -> list[dict[str, str]]:
    return [{"name": name, "expression": expression} for name, expression in terms.items()]


def _conditions(stack: Stack, enforcement: Enforcement) -> Terms:
    """Which Pods the rule speaks of: those that Coscheduling may schedule. A Node owns its static Pods' mirrors."""
    foreign = sorted(stack.foreign_schedulers - stack.coscheduling_schedulers)
    owners = "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, {})"
    controller = "has(owner.controller) && owner.controller"
    of_node = f"{controller} && owner.kind == 'Node'"
    annotations = "has(object.metadata.annotations)"
    conditions = {
        "annotated": f"{annotations} && {list(_KEYS)}.exists(key, key in object.metadata.annotations)",
        "new": f"request.operation == 'CREATE' || {gang_changed()}",
        "ours": f"!has(object.spec.schedulerName) || !(object.spec.schedulerName in {foreign})",
        "deniable": f"!({owners.format(controller if enforcement.owned_pods == 'warn' else of_node)})",
    }
    if enforcement.suppressions_lift_denials:
        conditions["loud"] = f"!('{PREFIX}{RULE}' in object.metadata.annotations)"
    return conditions


def _variables() -> Terms:
    """`before` is the name that was written there before an update and was a mistake then; it is no new one."""
    new, old = "object", "oldObject"
    was_wrong = f"{_value(old, 'annotations', 'variables.key')} != {_value(old, 'labels', _quoted(GROUP_LABEL))}"
    return {
        "key": f"{_quoted(GROUP_LABEL)} in object.metadata.annotations ? {' : '.join(map(_quoted, _KEYS))}",
        "written": "object.metadata.annotations[variables.key]",
        "label": _value(new, "labels", _quoted(GROUP_LABEL)),
        "before": f"request.operation == 'UPDATE' && {was_wrong} ? {_value(old, 'annotations', 'variables.key')} : ''",
    }


def _value(holder: str, half: str, key: str) -> str:
    """What an object has under a key of its labels or annotations, or empty text."""
    field = f"{holder}.metadata.{half}"
    return f"(has({field}) && {key} in {field} ? {field}[{key}] : '')"


def _quoted(text: str) -> str:
    return f"'{text}'"


_RIGHT = ("''", "variables.label", "variables.before")
"""Three comparisons and no list: texts and what variables hold are no one type to the API server's compiler (seen)."""

_WHY = f"Coscheduling reads only the label {GROUP_LABEL}"
_MESSAGE = " + ".join(
    (
        "'the Pod names its gang ' + variables.written + ' in the annotation ' + variables.key",
        f"'; {_WHY}, so its members start one by one; move it to metadata.labels: {GROUP_LABEL}: '",
        f"variables.written + '; gangcheck explain {RULE}'",
    )
)
