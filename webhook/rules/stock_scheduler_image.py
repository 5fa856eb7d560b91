from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.processes import brings_coscheduling, image_name, image_tag, version_of
from webhook.installation.profiles import coscheduling_entry, is_enabled
from webhook.model import Place, Release, SchedulerConfig
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack

_STOCK_FOLDERS = ("registry.k8s.io", "k8s.gcr.io", "google_containers")
"""Where Kubernetes' own images are, and their mirrors: HAMi's chart takes the one of google_containers."""


@rule(SchedulerConfig | Release, Severity.ERROR, evidence="seen", lint_only=True)
def stock_scheduler_image(subject: SchedulerConfig | Release, stack: Stack) -> Iterator[Finding]:
    """The configuration enables Coscheduling, and the image is the stock kube-scheduler, which does not have it.

    Coscheduling is a plugin of scheduler-plugins, built into its own kube-scheduler. The stock one ends at its start
    with `initializing profiles: creating profile for scheduler name "hami-scheduler": PreFilterPlugin "Coscheduling"
    does not exist` (seen with an unknown plugin name on 1.35), so no Pod of that scheduler is placed. HAMi's chart
    takes the stock image in all versions unless `scheduler.kubeScheduler.image` is set (`kubeScheduler.image` and
    `imageTag` up to chart 2.6.1).

    An image called kube-scheduler in a registry of your own is told by its tag: v1.34.1 is Kubernetes' numbering,
    v0.34.7 that of scheduler-plugins; such a finding is a warning, since the plugin may have been built in.
    """
    if isinstance(subject, SchedulerConfig):
        if subject.process and is_enabled(subject):
            yield from _judged(subject.process.container.image, subject.process.place("image"), subject)
        return
    config, values = subject.config, subject.values
    if config is None or config.process or values is None or not is_enabled(config):
        return
    repository = values.text("scheduler", "kubeScheduler", "image", "repository")
    if not repository:
        return
    registry = values.text("scheduler", "kubeScheduler", "image", "registry")
    tag = values.text("scheduler", "kubeScheduler", "image", "tag")
    image = "/".join(part for part in (registry, repository) if part) + (f":{tag}" if tag else "")
    yield from _judged(image, values.place("scheduler", "kubeScheduler", "image", "repository"), config)


def _judged(image: str, place: Place, config: SchedulerConfig) -> Iterator[Finding]:
    version = version_of(image_tag(image))
    stock = any(folder in image for folder in _STOCK_FOLDERS)
    if image_name(image) != "kube-scheduler" or brings_coscheduling(image):
        return
    if not stock and (version is None or version[0] != 1):
        return
    index, profile = next((index, each) for index, each in config.profiles if coscheduling_entry(each))
    yield Finding(
        place,
        f"{image} is {'the' if stock else 'named and numbered as the'} stock kube-scheduler, without Coscheduling: it "
        "does not start with this configuration",
        fix=f"take registry.k8s.io/scheduler-plugins/kube-scheduler:{_tag(version)}",
        severity=None if stock else Severity.WARNING,
        confidence="high" if stock else "low",
        related=(
            Related(config.place("profiles", index, *coscheduling_entry(profile)), "Coscheduling is enabled here"),
        ),
    )


_RELEASES = {34: "v0.34.7", 33: "v0.33.5", 32: "v0.32.7", 31: "v0.31.8", 30: "v0.30.12", 29: "v0.29.7"}
"""Releases of scheduler-plugins by minor version (its README, "Compatibility Matrix")."""


def _tag(version: tuple[int, ...] | None) -> str:
    return _RELEASES.get(version[1] if version and len(version) > 1 else 34, "v0.34.7")
