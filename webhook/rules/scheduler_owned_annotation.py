from __future__ import annotations

from collections.abc import Iterator

from webhook.hamikeys import VGPU_NODE, is_owned
from webhook.model import Place, Pod
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(Pod, Severity.ERROR, evidence="seen")
def scheduler_owned_annotation(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A manifest carries annotations or the label that HAMi's scheduler writes when it hands out cards.

    `hami.io/vgpu-node` (also as a label), `vgpu-time`, `bind-time`, `bind-phase` and, for each vendor,
    `…-devices-to-allocate`, `…-devices-allocated`, `…-allocated` (pkg/util/types.go:19-27 and each device's Init). They
    get into manifests from `kubectl get -o yaml`. HAMi's scheduler books whatever these say as soon as it sees the Pod,
    before it is scheduled (pkg/scheduler/scheduler.go:137-171): a card that nobody uses is full, also for a Pod of
    another scheduler (seen). The device plugin hands out exactly what they say (plugin/server.go:764-835), so the Pod
    picks its own card and share.

    HAMi up to 2.10 takes them without a word (seen); later ones refuse such Pods. Nothing is said of running Pods, and
    of objects that a controller made: what stands there is that one's to mend, and a Pod that is moved as a whole
    carries what a scheduler wrote.
    """
    if not (pod.annotations or VGPU_NODE in pod.labels) or pod.live or pod.finished or pod.owner:
        return
    places = [pod.annotation(key) for key in sorted(pod.annotations, key=_harm) if is_owned(key)]
    if VGPU_NODE in pod.labels:
        places.append(pod.label(VGPU_NODE))
    if not places:
        return
    first, *others = places
    rest = f" and {len(others)} more" if others else ""
    yield Finding(
        first,
        f"{pod} carries {first.path[-1]}{rest}, which HAMi's scheduler writes itself: {_effect(places)}",
        fix="remove it" if not others else f"remove it, and {_named(others)}",
        related=tuple(Related(place, "written by HAMi too") for place in others),
        edits=tuple(Edit("remove", place) for place in places),
    )


def _harm(key: str) -> tuple[bool, str]:
    """What books a card comes first."""
    return not key.endswith("allocated"), key


def _effect(places: list[Place]) -> str:
    books = any(str(place.path[-1]).endswith(("allocated", "allocate")) for place in places)
    return "it books a card that nobody uses" if books else "it will be taken for a Pod that has a card"


def _named(places: list[Place]) -> str:
    names = dict.fromkeys(str(place.path[-1]) for place in places)
    return ", ".join(names)
