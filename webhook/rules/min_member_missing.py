from __future__ import annotations

from collections.abc import Iterator

from webhook.model import PodGroup
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_MEANT = frozenset({"minavailable", "mincount", "minreplicas", "minmembers", "minmember", "mintaskmember", "minpods"})
"""What other gang systems call it (Volcano, Kubernetes, replica counts), in lower case without separators."""


@rule(PodGroup, Severity.ERROR, evidence="seen")
def min_member_missing(group: PodGroup, stack: Stack) -> Iterator[Finding]:
    """A PodGroup has no usable minMember, so it holds no Pod back and there is no gang.

    The CRD does not require minMember. Left out it is 0, and a quorum of 0 is always met: each member is bound as soon
    as it fits (0.01 to 0.04 s after its creation, seen), one by one, with no event that says so. A misspelt key such
    as `minAvailable` comes to the same: the API server drops it. kubectl refuses it by default (`strict decoding error:
    unknown field "spec.minAvailable"`); other clients and GitOps tools get at most a Warning header.

    0 and negative numbers are refused by the CRD of scheduler-plugins v0.29 and later (`spec.minMember in body should
    be greater than or equal to 1`). v0.21 to v0.28 take them, and then they mean no gang too.
    """
    if not group.is_coscheduling or group.made_by or group.templated:
        return
    if group.min_member is not None and group.min_member <= 0:
        yield Finding(
            group.field("minMember"),
            f"{group.ref} has minMember {group.min_member}: current CRDs refuse it, those before v0.29 take it as no "
            "gang at all",
            fix="set minMember to the number of Pods that must start together, at least 1",
        )
    elif group.min_member is None and group.fields.get("minMember") is None:
        yield _missing(group)


def _missing(group: PodGroup) -> Finding:
    key = _misspelt(group)
    if key:
        return Finding(
            group.field(key, at="key"),
            f"{group.ref} has {key}, which is no field of this PodGroup and is dropped; without minMember its Pods "
            "start one by one",
            fix=f"rename {key} to minMember",
        )
    place = group.field("minMember", at="key") if "minMember" in group.fields else group.field(at="key")
    return Finding(
        place,
        f"{group.ref} has no minMember: that counts as 0, so it holds nothing back and its Pods start one by one",
        fix="set spec.minMember to the number of Pods that must start together",
    )


def _misspelt(group: PodGroup) -> str:
    """The key that was meant to be minMember, if there is one that looks like it."""
    for key in group.fields:
        bare = key.lower().replace("_", "").replace("-", "")
        import difflib

        near = difflib.get_close_matches(bare, ["minmember"], n=1, cutoff=0.8)
        if key != "minMember" and (bare in _MEANT or near):
            return key
    return ""
