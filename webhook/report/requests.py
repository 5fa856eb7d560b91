"""What containers ask for and what HAMi reads of it, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.isolation import meets_webhook
from webhook.model import Place, Pod, Subject
from webhook.parse.placeholders import templated
from webhook.report import Style
from webhook.report.json_ import dump
from webhook.report.terminal import paint, visible
from webhook.result import Spot
from webhook.stack import Stack
from webhook.vgpu import Effective, Fate, Total, requests, shown, totals
from webhook.vgpu.wording import amount

SpotOf = Callable[[Place], Spot]

_TITLE, _UNSOUND = "1", "1;31"
_ASKED_AT_MOST = 60


class Asking(NamedTuple):
    """A Pod, or a template, that asks for GPUs. `foreign` is the scheduler's name where HAMi does not serve it."""

    pod: Pod
    effective: tuple[Effective, ...]
    totals: tuple[Total, ...]
    foreign: str


def askings(subjects: Sequence[Subject], stack: Stack) -> tuple[Asking, ...]:
    """The Pods and templates that ask for a GPU, in the order of the input."""
    pods = (subject for subject in subjects if isinstance(subject, Pod))
    found = ((pod, tuple(requests(pod, stack))) for pod in pods)
    return tuple(
        Asking(pod, effective, totals(pod, stack), _foreign(pod, stack)) for pod, effective in found if effective
    )


def _foreign(pod: Pod, stack: Stack) -> str:
    """The scheduler that will place the Pod, where that is none of HAMi's; empty where it is, or where nobody knows."""
    moves = stack.hami is not None and stack.hami < (2, 7) and meets_webhook(pod, stack)
    scheduler = stack.scheduler_of(pod)
    if scheduler == stack.hami_scheduler or templated(scheduler) or (moves and not stack.is_foreign(pod)):
        return ""
    return scheduler


def text(found: Sequence[Asking], spot: SpotOf, style: Style) -> str:
    """A table for each Pod: container, what it asks for, whose reading, and what it gets of each card."""
    if not found:
        return "No container asks for a GPU of HAMi's.\n"
    return "\n".join("\n".join(_table(asking, spot, style)) + "\n" for asking in found)


def json(found: Sequence[Asking], spot: SpotOf) -> str:
    """Version 1. `memory` is in MiB and null where a percentage counts, or nothing is booked."""
    return dump({"version": 1, "pods": [_described(asking, spot) for asking in found]})


def _table(asking: Asking, spot: SpotOf, style: Style) -> Iterator[str]:
    where = _place(asking.pod, asking.effective[0], spot)
    title = f"{visible(str(asking.pod))} ({visible(where.file)}:{where.span.line})"
    yield paint(title, _TITLE, on=style.color)
    if asking.foreign:
        yield f"  its scheduler {visible(asking.foreign)} is none that HAMi serves"
    rows = [
        ("container", "asks for", "read by", "gets", True),
        *(row for each in asking.effective for row in _rows(each)),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]  # type: ignore[arg-type] # the first four are texts
    for *cells, last, sound in rows:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"  {line}  {last if sound else paint(str(last), _UNSOUND, on=style.color)}"
    if len(asking.effective) > 1:
        for total in asking.totals:
            yield f"  {total.family}: the Pod books {_sum(total)} at once ({total.who})"


def _rows(effective: Effective) -> Iterator[tuple[str, str, str, str, bool]]:
    request = effective.asked
    role = "" if request.container.role == "app" else f" ({request.container.role})"
    name, asked = f"{visible(request.container.name)}{role}", _asked(effective)
    if not effective.readings:
        yield name, asked, "", "cannot be told", True
    for reading in effective.readings:
        yield name, asked, reading.who, _GETS.get(reading.fate) or amount(reading), reading.is_sound
        name = asked = ""


_GETS: Mapping[Fate, str] = {
    "unlimited": "no limit, 0 MiB booked",
    "unbooked": "0 MiB booked",
    "ignored": "nothing: the request is ignored",
    "none": "no card",
    "pending": "nothing: no card is as large",
    "denied": "nothing: the webhook denies the Pod",
    "refused": "nothing: the API server refuses the Pod",
}


def _asked(effective: Effective) -> str:
    """The resources with their numbers; a domain is written once: `nvidia.com/gpu 1, gpumem 4000`."""
    request, shown_domain = effective.asked, ""
    parts = []
    for ask in request.asks:
        domain, _, last = ask.name.partition("/")
        parts.append(f"{last if domain == shown_domain else ask.name} {ask.text}")
        shown_domain = domain
    line = visible(", ".join(parts))
    return line if len(line) <= _ASKED_AT_MOST else f"{line[: _ASKED_AT_MOST - 1]}…"


def _sum(total: Total) -> str:
    cards = f"{total.cards} card{'s' if total.cards > 1 else ''}"
    return cards if total.memory is None else f"{cards} and {total.memory} MiB"


def _place(pod: Pod, effective: Effective, spot: SpotOf) -> Spot:
    return spot(effective.asked.place(pod, effective.asked.device[0], "key"))


def _described(asking: Asking, spot: SpotOf) -> dict[str, object]:
    ref = asking.pod.ref
    return {
        "object": {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name},
        "role": asking.pod.role,
        "foreign": asking.foreign or None,
        "requests": [_request(asking.pod, each, spot) for each in asking.effective],
        "totals": [
            {"family": total.family, "cards": total.cards, "memory": total.memory, "by": total.who}
            for total in asking.totals
        ],
    }


def _request(pod: Pod, effective: Effective, spot: SpotOf) -> dict[str, object]:
    request, where = effective.asked, _place(pod, effective, spot)
    return {
        "container": request.container.name,
        "role": request.container.role,
        "vendor": request.vendor,
        "family": request.family,
        "asked": {ask.name: shown(ask.value) for ask in request.asks},
        "file": where.file,
        "line": where.span.line,
        "column": where.span.column,
        "readings": [
            {
                "by": reading.who,
                "fate": reading.fate,
                "cards": reading.cards,
                "memory": reading.memory,
                "percent": reading.percent,
                "cores": reading.cores,
            }
            for reading in effective.readings
        ],
    }
