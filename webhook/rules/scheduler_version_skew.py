from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.processes import image_name, image_tag, is_kube_scheduler, scheduler_minor, version_of
from webhook.model import Access, Place, Release
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

NEWEST = 34
"""The minor version of the newest released scheduler-plugins, v0.34.7 (its README, "Compatibility Matrix")."""


@rule(Access | Release, Severity.WARNING, evidence="read", lint_only=True)
def scheduler_version_skew(subject: Access | Release, stack: Stack) -> Iterator[Finding]:
    """The kube-scheduler's version does not go with the cluster's.

    kube-scheduler may be of the API server's minor version or one older, never newer (Kubernetes, "Version Skew
    Policy"). scheduler-plugins' v0.34.7 is a kube-scheduler 1.34: it goes with clusters of 1.34 and 1.35. No released
    image goes with 1.36 and later. Outside of this range fields, defaults and rights may be missing on either side.

    Speaks only where the cluster's version is declared or shown (`stack: {kubernetes: "1.35"}`).
    """
    cluster = stack.kubernetes[1] if stack.kubernetes and len(stack.kubernetes) > 1 else None
    if cluster is None:
        return
    if isinstance(subject, Access):
        for each in subject.processes:
            minor = scheduler_minor(each) if is_kube_scheduler(each) else None
            if minor is not None:
                yield from _judged(each.container.image, minor, cluster, each.place("image"))
        return
    if subject.values is None or subject.scheduler:
        return
    keys = ("scheduler", "kubeScheduler", "image")
    repository, tag = subject.values.text(*keys, "repository"), subject.values.text(*keys, "tag")
    version = version_of(tag)
    if version and len(version) > 1:
        image = f"{repository or 'kube-scheduler'}:{tag}"
        yield from _judged(image, version[1], cluster, subject.values.place(*keys, "tag"))


def _judged(image: str, minor: int, cluster: int, place: Place) -> Iterator[Finding]:
    if minor in {cluster, cluster - 1}:
        return
    side = "newer than" if minor > cluster else "more than one minor version older than"
    yield Finding(
        place,
        f"{image_name(image)}:{image_tag(image)} is a kube-scheduler 1.{minor}, {side} the cluster's 1.{cluster}; "
        f"1.{cluster} and 1.{cluster - 1} go with it",
        fix=_fix(cluster, plugins="scheduler-plugins" in image),
    )


def _fix(cluster: int, *, plugins: bool) -> str:
    if not plugins:
        return f"take the image of v1.{cluster}"
    if cluster - 1 > NEWEST:
        return f"build scheduler-plugins for 1.{cluster}: its newest release, v0.{NEWEST}, ends at 1.{NEWEST + 1}"
    return f"take scheduler-plugins v0.{min(cluster, NEWEST)}"
