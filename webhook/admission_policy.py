"""What the API server itself can hold while the server is away: `pod-group-annotation` as a ValidatingAdmissionPolicy.

It denies nothing that `/validate` would let through, and of what that denies only the mistake itself: the gang's name
under one of the two keys that Coscheduling ever had, as an annotation of a Pod or of the template in one of Kubernetes'
own workloads. What is misspelt, and what stands in operators' kinds, waits for the server.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from webhook.model import GROUP_LABEL
from webhook.registration import Configuration, Options, built_in, enforced, gang_changed
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
    spec: dict[str, Any] = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": list(built_in(stack))},
        "matchConditions": _named(_conditions(enforcement)),
        "variables": _named(_variables(stack)),
        "validations": [
            {
                "expression": " || ".join((*_RIGHT, *(_LIFTED if enforcement.suppressions_lift_denials else ()))),
                "message": f"the name of a gang stands in an annotation; {_WHY}",  # where the name has a line break
                "messageExpression": " + ".join(_MESSAGE),
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


def _conditions(enforcement: Enforcement) -> Terms:
    """Which objects may be denied at all. A Node owns its static Pods' mirrors, and runs them all the same."""
    of_node = "owner.kind == 'Node'" if enforcement.owned_pods == "deny" else "true"
    owned = f"object.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller && {of_node})"
    return {
        "new": f"request.operation == 'CREATE' || {_IS_NO_POD} || {gang_changed()}",
        "deniable": f"!has(object.metadata.ownerReferences) || !{owned}",
        **({"loud": f"!({_in_half('object', _SILENCED)})"} if enforcement.suppressions_lift_denials else {}),
    }


def _variables(stack: Stack) -> Terms:
    """`template` is the Pod or the Pod template. `before` is the name that was written there before an update and was
    a mistake then: it is no new one. Each is evaluated when it is asked for, and not before."""
    foreign = sorted(stack.foreign_schedulers - stack.coscheduling_schedulers)
    template, old = "variables.template", "variables.old"
    was, label = _value(old, "annotations", "variables.key"), _value(old, "labels", _quoted(GROUP_LABEL))
    return {
        "template": _template("object"),
        "old": _template("oldObject"),
        "scheduler": f"has({template}.spec.schedulerName) ? {template}.spec.schedulerName : ''",
        "foreign": f"variables.scheduler in {foreign}",
        "annotated": f"has({template}.metadata.annotations) && "
        f"{list(_KEYS)}.exists(key, key in {template}.metadata.annotations)",
        "key": f"{_quoted(GROUP_LABEL)} in {template}.metadata.annotations ? {' : '.join(map(_quoted, _KEYS))}",
        "written": f"{template}.metadata.annotations[variables.key]",
        "label": _value(template, "labels", _quoted(GROUP_LABEL)),
        "before": f"request.operation == 'UPDATE' && {was} != {label} ? {was} : ''",
        "silenced": _in_half(template, _SILENCED),
        "named": f"{_IS_NO_POD} ? 'the Pod template of this ' + object.kind : 'the Pod'",
    }


def _template(holder: str) -> str:
    """dyn: the API server checks expressions against every kind that is matched, and none has all three paths."""
    paths = {"pods": "", "cronjobs": ".spec.jobTemplate.spec.template"}
    choices = (f"request.resource.resource == '{name}' ? dyn({holder}){path}" for name, path in paths.items())
    return f"{' : '.join(choices)} : dyn({holder}).spec.template"


def _in_half(holder: str, key: str) -> str:
    return f"(has({holder}.metadata.annotations) && {key} in {holder}.metadata.annotations)"


def _value(holder: str, half: str, key: str) -> str:
    """What an object has under a key of its labels or annotations, or empty text."""
    field = f"{holder}.metadata.{half}"
    return f"(has({field}) && {key} in {field} ? {field}[{key}] : '')"


def _quoted(text: str) -> str:
    return f"'{text}'"


_IS_NO_POD = "request.resource.resource != 'pods'"
_SILENCED = _quoted(f"{PREFIX}{RULE}")
_LIFTED = ("variables.silenced",)
_RIGHT = (
    "!variables.annotated",
    "variables.foreign",
    "variables.written == ''",
    "variables.written == variables.label",
    "variables.written == variables.before",
)
"""Comparisons and no list: texts and what variables hold are no one type to the API server's compiler (seen)."""

_WHY = f"Coscheduling reads only the label {GROUP_LABEL}"
_MESSAGE = (
    "variables.named + ' names its gang ' + variables.written + ' in the annotation ' + variables.key",
    f"'; {_WHY}, so its members start one by one; move it to the labels there: {GROUP_LABEL}: '",
    f"variables.written + '; gangcheck explain {RULE}'",
)
