from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.gangkeys import OLD_GROUP_API
from webhook.installation.processes import reads_old_group, scheduler_minor
from webhook.installation.profiles import coscheduling_entry
from webhook.model import GROUP_API, GroupDefinition, Place, Ref, SchedulerConfig, dig
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(GroupDefinition, Severity.ERROR, evidence="seen", lint_only=True)
def podgroup_crd(definition: GroupDefinition, stack: Stack) -> Iterator[Finding]:
    """The cluster has no PodGroup kind for Coscheduling, an old one, or one that takes a minMember of 0.

    Coscheduling waits at its start for the list of podgroups.scheduling.x-k8s.io. Without that CustomResourceDefinition
    the scheduler never becomes ready and places no Pod at all, also none without a group, and there is no event: only
    its log repeats `failed to list scheduling.x-k8s.io/v1alpha1, Resource=podgroups: the server could not find the
    requested resource`. It goes on by itself once the kind is there (seen: after 7.6 s). An error where the input is a
    whole installation and holds none; of a part of one nothing can be told.

    scheduler-plugins up to 0.24 had the kind in the group scheduling.sigs.k8s.io, which 0.25 and later do not read
    (warning, unless the image or the configuration is of that age; Koordinator has that group to this day). Definitions
    up to 0.28 do not refuse a minMember of 0 or below, which means no gang, without a word (warning;
    manifests/coscheduling/crd.yaml of each release).
    """
    if definition.ref is None:
        if definition.whole and definition.config:
            yield _absent(definition.config)
        return
    group = dig(definition.body, "spec", "group")
    if group == OLD_GROUP_API and definition.config and not definition.own and not _of_old_times(definition.config):
        yield Finding(
            Place(definition.ref, ("spec", "group")),
            f"this is the PodGroup of scheduler-plugins up to 0.24 ({OLD_GROUP_API}); Coscheduling of 0.25 and later "
            f"reads {GROUP_API}, and without it places no Pod at all",
            fix="apply the CustomResourceDefinition of your scheduler-plugins release",
            severity=Severity.WARNING,
        )
    elif group == GROUP_API:
        yield from _loose(definition.ref, definition.body)


def _of_old_times(config: SchedulerConfig) -> bool:
    """Whether this is scheduler-plugins up to 0.24: by its image, else by a version of the configuration's API that
    none of the later ones takes."""
    if config.process and scheduler_minor(config.process) is not None:
        return reads_old_group(config.process)
    return config.api_version.endswith(("alpha1", "alpha2", "beta1"))


def _absent(config: SchedulerConfig) -> Finding:
    index, profile = next((index, each) for index, each in config.profiles if coscheduling_entry(each))
    return Finding(
        config.place("profiles", index, *coscheduling_entry(profile)),
        f"Coscheduling is enabled, and nothing defines podgroups.{GROUP_API}: the scheduler never becomes ready and "
        "places no Pod at all, without an event",
        fix="add the CustomResourceDefinition of your scheduler-plugins release (manifests/coscheduling/crd.yaml)",
    )


def _loose(ref: Ref, body: Mapping[str, object]) -> Iterator[Finding]:
    versions = dig(body, "spec", "versions")
    for index, version in enumerate(versions if isinstance(versions, list) else ()):
        spec = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "minMember")
        field = dig(version, *spec)
        if isinstance(field, Mapping) and "minimum" not in field:
            yield Finding(
                Place(ref, ("spec", "versions", index, *spec), "key"),
                "this PodGroup takes a minMember of 0 or below, which means no gang, without a word",
                fix="apply the CustomResourceDefinition of scheduler-plugins 0.29 or later, which refuses it",
                severity=Severity.WARNING,
            )
