from collections.abc import Iterator
from typing import NamedTuple

from webhook.installation.profiles import name_of
from webhook.model import Place, Release, SchedulerConfig
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


class _Said(NamedTuple):
    """A scheduler's name, who says it and where."""

    name: str
    who: str
    place: Place


@rule(Release, Severity.ERROR, evidence="read", lint_only=True)
def profile_name_mismatch(release: Release, stack: Stack) -> Iterator[Finding]:
    """HAMi sends its Pods to a scheduler's name that no profile of its kube-scheduler serves.

    HAMi's webhook writes the name of its flag `--scheduler-name` on GPU Pods, which the chart fills from
    `schedulerName` (charts/hami/templates/scheduler/deployment.yaml; configmap.yaml renders one profile of that
    name). In a configuration edited by hand the two can part: the Pods then carry a name that nobody serves, and stay
    Pending without any event. Further profiles do no harm; HAMi's webhook leaves Pods that name them alone (2.7 and
    later).
    """
    config = release.config
    if config is None or not config.profiles:
        return
    served = [name_of(profile) for _, profile in config.profiles]
    for said in _names(release):
        if said.name not in served:
            yield _finding(said, served, config)
            return


def _names(release: Release) -> Iterator[_Said]:
    flag = release.extender.argument("scheduler-name") if release.extender else None
    if release.extender and flag and flag.value and flag.known:
        yield _Said(flag.value, "HAMi's extender is told --scheduler-name=", release.extender.of(flag))
    if release.values and release.values.text("schedulerName"):
        place = release.values.place("schedulerName")
        yield _Said(release.values.text("schedulerName"), "the chart's schedulerName is ", place)


def _finding(said: _Said, served: list[str], config: SchedulerConfig) -> Finding:
    index = config.profiles[0][0]
    names = ", ".join(served)
    return Finding(
        config.place("profiles", index, "schedulerName"),
        f"{said.who}{said.name}, but kube-scheduler serves only {names}: GPU Pods go to a name that nobody serves, and "
        "stay Pending without an event",
        fix=f"write schedulerName: {said.name} in the profile",
        related=(Related(said.place, "GPU Pods get this name"),),
    )
