"""Label selectors, held against labels that may be known in part only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.model import Requirement

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The one label that every namespace carries: the API server keeps it (since Kubernetes 1.21)."""


def selects(selector: Iterable[Requirement], labels: Mapping[str, str], *, sealed: bool) -> bool | None:
    """Whether a selector takes something with these labels; None where nobody knows.

    `sealed`: there are no other labels. An absent label fits `NotIn` (apimachinery pkg/labels/selector.go Matches).
    """
    answers = [_fits(each, labels, sealed=sealed) for each in selector]
    if False in answers:
        return False
    return None if None in answers else True


def selects_namespace(
    selector: Iterable[Requirement], name: str, known: Mapping[str, Mapping[str, str]]
) -> bool | None:
    """Whether a namespaceSelector takes the namespace, as far as `known`, the labels of namespaces, tells."""
    own = known.get(name)
    return selects(selector, {**(own or {}), NAMESPACE_NAME: name}, sealed=own is not None)


def opts_in(selector: Iterable[Requirement]) -> bool:
    """Whether a selector takes only what carries a label for it."""
    return any(each.operator in {"In", "Exists"} for each in selector)


def _fits(each: Requirement, labels: Mapping[str, str], *, sealed: bool) -> bool | None:
    value = labels.get(each.key)
    if value is None:
        return each.operator in {"NotIn", "DoesNotExist"} if sealed and each.operator in _ANSWERS else None
    answer = _ANSWERS.get(each.operator)
    return None if answer is None else answer[value in each.values]


_ANSWERS: Mapping[str, tuple[bool, bool]] = {
    "In": (False, True),
    "NotIn": (True, False),
    "Exists": (True, True),
    "DoesNotExist": (False, False),
}
"""What an operator says of a label that is there: when its value is not among the requirement's, and when it is."""
