import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from webhook.hamikeys import (
    CARD_POLICY,
    MODE,
    NO_TYPE,
    NO_UUID,
    NODE_POLICY,
    NUMA,
    SELECTION,
    USE_TYPE,
    USE_UUID,
    WEIGHTS,
)
from webhook.isolation import parse_bool
from webhook.model import Pod
from webhook.parse.placeholders import templated
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack, Version
from webhook.vgpu.wording import excerpt


class _Fault(NamedTuple):
    """What HAMi makes of a bad value, and the right one: `certain` where it is plain what was meant."""

    end: str
    fix: str
    certain: str | None = None
    severity: Severity | None = None


_Judge: TypeAlias = Callable[[str, Version | None], _Fault | None]


@rule(Pod, Severity.WARNING, evidence="seen")
def gpu_selection_annotation(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """An annotation that chooses cards has a value that HAMi does not understand, or not as it looks.

    No event names the annotation. What HAMi does (v2.10.0 pkg/device/devices.go:693-738, pkg/device/nvidia/device.go:
    482-499, pkg/scheduler/policy/*, pkg/util/types.go:68-83):

    - `nvidia.com/use-gputype`, `nouse-gputype`: a comma list of parts of model names. A part that no card has: Pending
      with `CardTypeMismatch` (seen). `A10` also fits A100, `L4` also L40: info. Up to 2.9 blanks beside commas count,
      and an empty item fits every card, so `nouse-gputype: "T4,"` shuts out all of them; 2.10 trims and skips.
    - `nvidia.com/use-gpuuuid`, `nouse-gpuuuid`: a comma list of whole UUIDs. Up to 2.9 blanks count, and beside use-
      the other one is not read.
    - `nvidia.com/vgpu-mode`: must hold hami-core, mig or mps; else `CardTypeMismatch` on every card (a typo: seen).
    - `nvidia.com/numa-bind`: true as Go reads it (1, t, true …); anything else is off, silently.
    - `hami.io/gpu-scheduler-policy`: binpack, spread, from 2.7 topology-aware, from 2.10 mutex, numa and lists of them;
      else spread, silently. `hami.io/node-scheduler-policy`: binpack, spread; else binpack, silently.
    - `hami.io/device-scoring-weights`, from 2.10: `slot=1,core=2,memory=3`, whole numbers of which one is above 0; else
      Filter fails: `invalid hami.io/device-scoring-weights annotation` (seen). Up to 2.9 nothing reads it.
    - `metax-tech.com/sgpu-qos-policy`, `sgpu-app-class`: HAMi's webhook refuses other words (metax/sdevice.go:89-129).

    Where the version decides and nobody said it, both halves are told. Written under labels, none of these keys is
    read. Nothing is said of Pods without a device, of Pods of other systems' schedulers, and of values that are still
    to be filled in; no UUID or model is looked up.
    """
    if SELECTION.isdisjoint(pod.annotations) and SELECTION.isdisjoint(pod.labels):
        return
    chosen = [key for key in pod.annotations if key in SELECTION]
    misplaced = [key for key in pod.labels if key in SELECTION and key not in pod.annotations]
    if pod.live or stack.is_foreign(pod) or not stack.wants_device(pod):
        return
    for key in chosen:
        value, judge = pod.annotations[key], _JUDGES.get(key)
        fault = judge(value, stack.hami) if judge and not templated(value) else None
        if fault:
            yield _finding(pod, key, value, fault)
    for key in misplaced:
        yield _as_label(pod, key)
    if USE_UUID in chosen and NO_UUID in chosen and not _since(stack.hami, (2, 10)):
        yield _both(pod, stack)


def _finding(pod: Pod, key: str, value: str, fault: _Fault) -> Finding:
    place = pod.annotation(key, at="value")
    return Finding(
        place,
        f"{pod} has {key}: {excerpt(value)!r}: {fault.end}",
        fix=fault.fix,
        severity=fault.severity,
        edits=(Edit("replace", place, fault.certain),) if fault.certain is not None else (),
    )


def _as_label(pod: Pod, key: str) -> Finding:
    return Finding(
        pod.label(key),
        f"{pod} has {key} as a label; HAMi reads it only as an annotation",
        fix="move it to the annotations beside the labels",
    )


def _both(pod: Pod, stack: Stack) -> Finding:
    when = "" if stack.hami else " up to HAMi 2.9, 2.10 heeds both"
    return Finding(
        pod.annotation(NO_UUID),
        f"{pod} has both {USE_UUID} and {NO_UUID}: the latter is not read{when}",
        fix=f"remove {NO_UUID}, and leave its cards out of {USE_UUID}",
    )


def _since(hami: Version | None, release: Version) -> bool:
    """Whether HAMi is known to be of this release or a later one."""
    return hami is not None and hami >= release


def _types(value: str, hami: Version | None, *, excludes: bool) -> _Fault | None:
    items = value.split(",")
    words = [item.strip() for item in items if item.strip()]
    tidy = ",".join(words)
    if any(word.upper().startswith(("GPU-", "MIG-")) for word in words):
        key = NO_UUID if excludes else USE_UUID
        return _Fault("that is a card's UUID, and this one compares models", f"write it as {key}")
    fault = _untidy(value, tidy, hami, "it shuts out every card" if excludes else "it fits every card")
    if fault:
        return fault
    wide = [word for word in words if word.upper() in _WIDE]
    if not wide:
        return None
    also = _WIDE[wide[0].upper()]
    return _Fault(f"{wide[0]} also fits {also}", f"write more of the model's name, if {also} is not meant", None, _INFO)


_INFO = Severity.INFO
_WIDE = {"A2": "A2000", "A10": "A100", "L2": "L20", "L4": "L40", "H20": "H200", "T4": "T400"}
"""Short model names that are a part of longer ones."""


def _untidy(value: str, tidy: str, hami: Version | None, empty: str) -> _Fault | None:
    """Blanks and empty items, which HAMi up to 2.9 takes for a part of the list."""
    if (tidy == value and tidy) or _since(hami, (2, 10)):
        return None
    gap = "an empty item counts up to HAMi 2.9" if hami is None else "an empty item counts"
    blank = "blanks count up to HAMi 2.9, so it may fit no card" if hami is None else "blanks count, it may fit no card"
    empties = any(not item.strip() for item in value.split(","))
    if not tidy:
        return _Fault(f"{gap}: {empty}", "remove the annotation, or name what is meant")
    return _Fault(f"{gap}: {empty}" if empties else blank, f"write {tidy}", tidy)


def _use_type(value: str, hami: Version | None) -> _Fault | None:
    return _types(value, hami, excludes=False)


def _no_type(value: str, hami: Version | None) -> _Fault | None:
    return _types(value, hami, excludes=True)


def _uuids(value: str, hami: Version | None) -> _Fault | None:
    words = [item.strip() for item in value.split(",") if item.strip()]
    wrong = next((word for word in words if not word.startswith(("GPU-", "MIG-"))), "")
    if wrong:
        return _Fault(
            f"{excerpt(wrong)} is no UUID of a card, so it fits none", "write whole UUIDs, as nvidia-smi -L shows them"
        )
    if not words:
        end = "it is empty: up to HAMi 2.9 it fits no card" if hami is None else "it is empty and fits no card"
        return None if _since(hami, (2, 10)) else _Fault(end, "remove the annotation, or name the cards")
    return _untidy(value, ",".join(words), hami, "it fits no card")


def _mode(value: str, _hami: Version | None) -> _Fault | None:
    if any(mode in value for mode in _MODES):
        return None
    meant = value.strip().lower().replace("_", "-")
    certain = {"hamicore": "hami-core", "hami": "hami-core"}.get(meant, meant)
    right = certain if certain in _MODES else None
    return _Fault(
        "no card has that mode, so the Pod is Pending with CardTypeMismatch",
        f"write {right or 'hami-core, mig or mps'}",
        right,
    )


_MODES = ("hami-core", "mig", "mps")


def _numa(value: str, _hami: Version | None) -> _Fault | None:
    if parse_bool(value) is not None:
        return None
    meant = value.strip().lower()
    right = "true" if meant in {"yes", "on", "y", "true", "1"} else None
    off = meant in {"no", "off", "n", "false", "0", "none", ""}
    if off:
        return None
    return _Fault("HAMi takes that for false, silently", f"write {right or 'true or false'}", right)


def _card_policy(value: str, hami: Version | None) -> _Fault | None:
    words = [word.strip() for word in value.split(",")]
    known = {"binpack", "spread"} | ({"topology-aware"} if hami is None or hami >= (2, 7) else set())
    newer = {"mutex", "numa"}
    if set(words) <= known and len(words) == 1:
        return None
    if set(words) <= known | newer:
        if _since(hami, (2, 10)):
            return None
        when = "HAMi up to 2.9 takes that for spread, silently" if hami is None else "HAMi takes that for spread"
        return _Fault(when, "write binpack or spread", None, Severity.INFO if hami is None else None)
    return _unknown_word(value, known | newer if _since(hami, (2, 10)) else known, "spread")


def _node_policy(value: str, _hami: Version | None) -> _Fault | None:
    return None if value in {"binpack", "spread"} else _unknown_word(value, {"binpack", "spread"}, "binpack")


def _unknown_word(value: str, known: set[str], taken: str) -> _Fault:
    meant = value.strip().lower().replace("_", "-")
    right = meant if meant in known else None
    return _Fault(f"HAMi takes that for {taken}, silently", f"write {right or ' or '.join(sorted(known))}", right)


def _weights(value: str, hami: Version | None) -> _Fault | None:
    if hami is not None and hami < (2, 10):
        return _Fault("HAMi reads it from 2.10 on", "remove it, or upgrade HAMi")
    parts = [part.partition("=") for part in value.split(",")]
    names = sorted(name.strip() for name, _, _ in parts)
    numbers = [number.strip() for _, _, number in parts]
    whole = all(re.fullmatch(r"\+?[0-9]+", number) for number in numbers)
    if names == ["core", "memory", "slot"] and whole and any(int(number) for number in numbers):
        return None
    return _Fault(
        "HAMi's scheduler wants slot, core and memory, and fails on it: the Pod is Pending",
        "write slot=1,core=1,memory=1 with whole numbers, one of them above 0",
    )


def _one_of(*words: str) -> _Judge:
    def judge(value: str, _hami: Version | None) -> _Fault | None:
        if value in words:
            return None
        meant = value.strip().lower().replace("_", "-")
        right = meant if meant in words else None
        return _Fault("HAMi's webhook refuses the Pod", f"write {right or ', '.join(words)}", right)

    return judge


_JUDGES: dict[str, _Judge] = {
    USE_TYPE: _use_type,
    NO_TYPE: _no_type,
    USE_UUID: _uuids,
    NO_UUID: _uuids,
    MODE: _mode,
    NUMA: _numa,
    CARD_POLICY: _card_policy,
    NODE_POLICY: _node_policy,
    WEIGHTS: _weights,
    "metax-tech.com/sgpu-qos-policy": _one_of("best-effort", "fixed-share", "burst-share"),
    "metax-tech.com/sgpu-app-class": _one_of("online", "offline"),
}
