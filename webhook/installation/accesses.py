"""Roles and bindings of all inputs to what a ServiceAccount may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from webhook.installation.texts import items_of, text_at, texts_in
from webhook.model import Access, Grant, Object, Permission, Process, Ref, SchedulerConfig, dig

RBAC = "rbac.authorization.k8s.io"

_EVERYTHING = (Permission(("*",), ("*",), ("*",)),)
_BUILT_IN: Mapping[str, tuple[Permission, ...]] = {
    "cluster-admin": _EVERYTHING,
    "system:kube-scheduler": (),
    "system:volume-scheduler": (),
    "system:auth-delegator": (),
    "extension-apiserver-authentication-reader": (),
}
"""Roles of Kubernetes that no input holds (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go). Those with no
permission here have none on anything outside Kubernetes' own API groups."""


def accesses(
    objects: Iterable[Object],
    running: Sequence[Process],
    configs: Sequence[SchedulerConfig],
    default_namespace: str,
    *,
    whole: bool = False,
) -> Iterator[Access]:
    """The access of every ServiceAccount that these processes run as."""
    rbac = [each for each in objects if each.ref.group == RBAC]
    grants = list(_grants(rbac, default_namespace, whole=whole))
    accounts: dict[tuple[str, str], list[Process]] = {}
    for each in running:
        accounts.setdefault((each.pod.ref.namespace, each.pod.account or "default"), []).append(each)
    for (namespace, name), found in accounts.items():
        own = tuple(each for each in grants if _names(each, namespace, name))
        others = tuple(each for each in grants if each not in own)
        read = tuple(each for each in configs if each.process in found)
        yield Access(namespace, name, tuple(found), own, others, whole, read)


def _grants(rbac: list[Object], default_namespace: str, *, whole: bool) -> Iterator[Grant]:
    roles = {_key(each.ref): each for each in rbac if each.ref.kind in {"ClusterRole", "Role"}}
    for binding in rbac:
        if binding.ref.kind not in {"ClusterRoleBinding", "RoleBinding"}:
            continue
        kind, name = text_at(binding.body, "roleRef", "kind"), text_at(binding.body, "roleRef", "name")
        namespace = binding.ref.namespace or default_namespace if binding.ref.kind == "RoleBinding" else ""
        role = roles.get((kind, namespace if kind == "Role" else "", name))
        subjects = tuple(each for each in items_of(binding.body.get("subjects")) if isinstance(each, Mapping))
        permissions, known = _permissions(kind, name, role, rbac)
        absent = whole and role is None and not is_built_in(kind, name)
        found = role.ref if role else None
        yield Grant(binding.ref, namespace, kind, name, found, permissions, known or absent, subjects)


def _key(ref: Ref) -> tuple[str, str, str]:
    return ref.kind, ref.namespace if ref.kind == "Role" else "", ref.name


def _permissions(kind: str, name: str, role: Object | None, rbac: list[Object]) -> tuple[tuple[Permission, ...], bool]:
    if role is not None:
        return tuple(_rules(role, rbac)), True
    built_in = _BUILT_IN.get(name) if kind == "ClusterRole" else None
    return built_in or (), built_in is not None


def is_built_in(kind: str, name: str) -> bool:
    """Whether Kubernetes makes the role itself, so that no input holds it; what is no role's name is none to miss."""
    if kind not in {"Role", "ClusterRole"} or not name:
        return True
    return name.startswith("system:") or name in _BUILT_IN or (kind == "ClusterRole" and name in _FOR_USERS)


_FOR_USERS = frozenset({"admin", "edit", "view"})


def _rules(role: Object, rbac: list[Object]) -> Iterator[Permission]:
    """A role's own rules, and those of the ClusterRoles that it aggregates: what an aggregating role lists itself is
    overwritten (kubernetes pkg/controller/clusterroleaggregation)."""
    selectors = items_of(dig(role.body, "aggregationRule", "clusterRoleSelectors"))
    if not selectors:
        yield from _own_rules(role)
        return
    for other in rbac:
        labels = dig(other.body, "metadata", "labels")
        known = labels if isinstance(labels, Mapping) else {}
        if other.ref.kind == "ClusterRole" and other is not role and any(_selects(each, known) for each in selectors):
            yield from (each._replace(path=()) for each in _own_rules(other))


def _own_rules(role: Object) -> Iterator[Permission]:
    for index, item in enumerate(items_of(role.body.get("rules"))):
        fields = (texts_in(dig(item, key)) for key in ("apiGroups", "resources", "verbs", "resourceNames"))
        groups, resources, verbs, names = fields
        if resources and verbs:
            yield Permission(groups, resources, verbs, names, ("rules", index))


def _selects(selector: object, labels: Mapping[str, object]) -> bool:
    """A label selector (apimachinery pkg/apis/meta/v1/helpers.go LabelSelectorAsSelector)."""
    wanted = dig(selector, "matchLabels")
    if isinstance(wanted, Mapping) and any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(each, labels) for each in items_of(dig(selector, "matchExpressions")))


def _meets(expression: object, labels: Mapping[str, object]) -> bool:
    key, operator = text_at(expression, "key"), text_at(expression, "operator")
    values = items_of(dig(expression, "values"))
    held = labels.get(key)
    return {
        "In": held in values and key in labels,
        "NotIn": key not in labels or held not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }.get(operator, False)


def _names(grant: Grant, namespace: str, name: str) -> bool:
    """Whether a binding's subjects name the ServiceAccount, as itself, as a user, or by a group that it is in."""
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"}
    for subject in grant.subjects:
        kind, called = text_at(subject, "kind"), text_at(subject, "name")
        if (
            kind == "ServiceAccount"
            and called == name
            and (text_at(subject, "namespace") or grant.namespace) == namespace
        ):
            return True
        if kind == "User" and called == f"system:serviceaccount:{namespace}:{name}":
            return True
        if kind == "Group" and called in groups:
            return True
    return False
