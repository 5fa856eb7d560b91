from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.configs import GROUP
from webhook.installation.processes import scheduler_minor
from webhook.installation.profiles import Arguments, arguments
from webhook.installation.releases import serves_hami
from webhook.model import Place, SchedulerConfig
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_FIELDS: Mapping[str, int] = {
    "permitWaitingTimeSeconds": 0,
    "podGroupBackoffSeconds": 26,
    "podGroupRejectPercentage": 34,
}
"""Arguments in v1, each with its first release (scheduler-plugins v0.25 to v0.34 apis/config/v1/types.go)."""

_GONE: Mapping[str, int] = {"v1alpha1": 19, "v1alpha2": 20, "v1beta1": 23, "v1beta2": 28, "v1beta3": 29}
"""From which minor version on kube-scheduler, stock or of scheduler-plugins, does not know a version of its API
(register.go of each tag)."""

_TYPE = frozenset({"apiVersion", "kind"})
_ALL = 100


@rule(SchedulerConfig, Severity.ERROR, evidence="seen", lint_only=True)
def coscheduling_args(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """Arguments of Coscheduling, or the version of their configuration, that this kube-scheduler refuses.

    kube-scheduler decodes its configuration strictly and ends at its start with exit code 1 (each seen on
    scheduler-plugins of Kubernetes 1.35): an unknown argument (`strict decoding error: … unknown field
    "permitWaitingTimeSecond"`); text or a duration where a number belongs (`cannot unmarshal string into Go struct
    field CoschedulingArgs.permitWaitingTimeSeconds of type int64`); -5 seconds (`must be greater than 0`; 0 is
    taken); a podGroupRejectPercentage outside 0 to 100; `apiVersion: kubescheduler.config.k8s.io/v1beta3` for the
    configuration or for the arguments (`no kind "KubeSchedulerConfiguration" is registered for version …`).

    v1 has permitWaitingTimeSeconds, podGroupBackoffSeconds (from scheduler-plugins 0.26) and podGroupRejectPercentage
    (from 0.34). deniedPGExpirationTimeSeconds and kubeConfigPath are of v1beta1 and v1beta2. The API's versions went
    away with v1beta1 in 1.23, v1beta2 in 1.28, v1beta3 in 1.29. Where the scheduler's version is not known, an old
    API version is a warning: the image beside the configuration tells it, the stack's declaration, and for HAMi's
    scheduler the image of the input's only release; another scheduler's image tells nothing.

    Silent on the arguments of Koordinator's Coscheduling, which is another plugin.
    """
    minor = _minor(config, stack)
    version = config.api_version.rpartition("/")[2]
    if version in _GONE:
        yield from _old_version(config, version, minor)
        return
    if version != "v1":
        return
    for found in arguments(config):
        yield from _arguments(config, found, minor)


def _minor(config: SchedulerConfig, stack: Stack) -> int | None:
    known = scheduler_minor(config.process) if config.process else None
    if known is not None:
        return known
    # A version that another scheduler of the input shows is HAMi's scheduler's, or somebody's.
    shown = stack.coscheduling if "coscheduling" in stack.declared or serves_hami(config) else None
    return shown[1] if shown and len(shown) > 1 else None


def _old_version(config: SchedulerConfig, version: str, minor: int | None) -> Iterator[Finding]:
    gone = _GONE[version]
    if minor is not None and minor < gone:
        return
    place = config.place("apiVersion")
    who = f"kube-scheduler 1.{minor}" if minor is not None else f"kube-scheduler from 1.{gone} on"
    yield Finding(
        place,
        f"{config.api_version} is unknown to {who}, which does not start with it",
        fix=f"write {GROUP}/v1, and go through the arguments of the plugins",
        severity=None if minor is not None else Severity.WARNING,
        edits=() if config.path else (Edit("replace", place, f"{GROUP}/v1"),),
    )


def _arguments(config: SchedulerConfig, found: Arguments, minor: int | None) -> Iterator[Finding]:
    for key, value in found.body.items():
        place = config.place(*found.path, "args", str(key))
        if key in _TYPE:
            yield from _type(key, value, place)
        elif key not in _FIELDS:
            yield _unknown(key, config.place(*found.path, "args", str(key), at="key"))
        elif minor is not None and minor < _FIELDS[key]:
            yield Finding(
                config.place(*found.path, "args", key, at="key"),
                f"{key} is unknown to scheduler-plugins 0.{minor}, which does not start with it: it came with "
                f"0.{_FIELDS[key]}",
                fix=f"remove it, or take an image of scheduler-plugins 0.{_FIELDS[key]} or later",
            )
        else:
            yield from _value(key, value, place)


def _type(key: str, value: object, place: Place) -> Iterator[Finding]:
    wanted = {"apiVersion": f"{GROUP}/v1", "kind": "CoschedulingArgs"}[key]
    if value != wanted:
        yield Finding(
            place,
            f"arguments of {key} {value} are unknown to kube-scheduler, which does not start with them",
            fix=f"write {key}: {wanted}, or leave it out",
        )


def _unknown(key: str, place: Place) -> Finding:
    near = next((name for name in _FIELDS if name.lower().rstrip("s") == key.lower().rstrip("s")), "")
    return Finding(
        place,
        f"Coscheduling has no argument {key}: kube-scheduler does not start with it",
        fix=f"write {near}" if near else f"remove it; there are {', '.join(_FIELDS)}",
    )


def _value(key: str, value: object, place: Place) -> Iterator[Finding]:
    if value is None:
        return
    if type(value) is not int:
        yield Finding(
            place,
            f"{key} is {value!r}, which is no whole number: kube-scheduler does not start with it",
            fix="write seconds as a whole number, without a unit or quotes"
            if key.endswith("Seconds")
            else "write a whole number from 0 to 100",
        )
    elif value < 0:
        yield Finding(
            place, f"{key} is {value}: kube-scheduler does not start with a negative one", fix="write 0 or more"
        )
    elif key.endswith("Percentage") and value > _ALL:
        yield Finding(
            place, f"{key} is {value}, above 100: kube-scheduler does not start with it", fix="write 0 to 100"
        )
