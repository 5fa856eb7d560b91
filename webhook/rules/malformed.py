from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Malformed
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Malformed, Severity.ERROR, evidence="seen")
def malformed(malformed: Malformed, stack: Stack) -> Iterator[Finding]:
    """A field holds something that Kubernetes cannot decode, or the object lacks what it must have.

    The API server refuses such an object as a whole: `Pod in version "v1" cannot be handled as a Pod: json: cannot
    unmarshal …`, `spec.minMember … must be of type integer`, `quantities must match the regular expression …`,
    `spec.containers: Required value` (all seen with 1.35.4). Judged are Pods, PodGroups and the kinds whose Pod
    templates are known, and of them the fields that the other rules read: containers, their names, env and resources,
    labels and annotations, the fields that say how many Pods there are, and a training job's runPolicy (read).

    Null stands for an absent field, as in Kubernetes, so `replicas: null` is no mistake. Text with a placeholder
    (`{{ .Values.n }}`, `${N}`) may become right and is left alone. A workload without a template, or a template
    without containers, may be a patch and is left alone; a Pod without containers, or `containers` with nothing in it,
    is not.
    """
    yield Finding(malformed.place, malformed.message, fix=malformed.fix)
