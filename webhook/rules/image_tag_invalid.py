from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from webhook.installation.chartimages import ANY_TAG, doubled, rendered
from webhook.installation.flags import version_of_chart
from webhook.model import Place, Pod, Release, Values
from webhook.parse.placeholders import templated
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack, Version

_PLAIN = re.compile(r"[a-z0-9]+(?:[._/-][a-z0-9]+)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?")
"""Most of what is written, and never wrong while it is short; the grammar itself is asked of the rest."""
_SHORT = 64
_LONGEST = 90
_TAGS = frozenset({"tag", "imageTag"})
_MAPPINGS: Version = (2, 7)


@rule(Pod | Release, Severity.ERROR, evidence="read")
def image_tag_invalid(subject: Pod | Release, stack: Stack) -> Iterator[Finding]:
    """A container's image is no reference that any registry takes: its Pod is placed and never starts.

    The API server takes nearly any text as an image; the kubelet parses it by the grammar of distribution's reference
    package and gives up with `InvalidImageName` (Kubernetes pkg/kubelet/images/image_manager.go). The Pod keeps its
    GPUs, and its gang waits for it. Names are in lower case; a tag has letters, digits, `_`, `.` and `-`, 128 at most;
    a sha256 digest has 64 hexadecimal digits.

    The plus sign is the usual one: versions of distributions (`v1.34.1+k3s1`) are no tags. HAMi's chart derives the
    tag of kube-scheduler from the cluster's version when none is set: 2.5 cuts it at the plus sign only, so that a tag
    such as `v1.30.8-eks-7f9249a` is written well but does not exist; 2.6.0 and later keep `vX.Y.Z`.

    `map[…]` is a chart's value that was text once: HAMi's up to 2.6.1 wants `scheduler.kubeScheduler.image` as a text
    and `imageTag` beside it, later ones a mapping with registry, repository and tag.

    Of the chart's values it looks at every tag, and at what the chart makes of registry, repository and tag: a tag in
    the repository ends up as `name:v1:v2`. A repository that begins with a registry, where `registry` is left as it is,
    gets the chart's own before it (`registry.cn-hangzhou.aliyuncs.com/registry.k8s.io/…`): a warning.

    Silent on text that stands in for an image (templates, `REGISTRY/app:TAG`, `ko://…`). Whether a registry holds the
    image, nobody can see here.
    """
    if isinstance(subject, Release):
        if subject.values:
            yield from _of_values(subject.values)
            yield from _composed(subject.values, version_of_chart(subject, stack))
        return
    for container in () if subject.live else subject.containers:
        wrong = _wrong(container.image)
        if wrong:
            yield Finding(
                Place(subject.ref, (*container.path, "image")),
                f"the image of container {container.name} of {subject} has {wrong}, and no registry takes that: "
                f"{_shown(container.image)}",
                fix=_fix(container.image),
            )


@lru_cache(maxsize=4096)
def _wrong(image: str) -> str:
    if (len(image) < _SHORT and _PLAIN.fullmatch(image)) or templated(image):
        return ""
    from webhook.images.faults import fault

    return fault(image)


def _of_values(values: Values) -> Iterator[Finding]:
    """The tags of the images that the chart renders, wherever it has them."""
    for keys, value in values.leaves():
        if keys[-1] not in _TAGS or not isinstance(value, str) or not value:
            continue
        wrong = _wrong(f"image:{value}")
        if wrong:
            yield Finding(
                values.place(*keys),
                f"{'.'.join(map(str, keys))} is {_shown(value)}: it has {wrong}, and no registry takes that",
                fix=_fix(f"image:{value}"),
            )


def _composed(values: Values, version: Version | None) -> Iterator[Finding]:
    """What the chart makes of registry, repository and tag. The tag alone has been looked at."""
    for each in rendered(values, text=version is not None and version < _MAPPINGS):
        wrong = _wrong(each.name)
        if wrong:
            name = each.name.removesuffix(f":{ANY_TAG}")
            yield Finding(
                each.place,
                f"of {each.key} the chart makes the image {_shown(name)}:TAG, which has {wrong}; no registry takes it",
                fix="write the registry, the repository and the tag in their own keys, each without the others",
            )
    for each in doubled(values):
        yield Finding(
            each.place,
            f"of {each.key} the chart makes the image {_shown(each.name)}: it puts its own registry before the one in "
            "the repository",
            fix=f"write registry: {values.text(*each.key.split('.'), 'repository').partition('/')[0]} beside the rest",
            severity=Severity.WARNING,
        )


def _shown(image: str) -> str:
    return image if len(image) <= _LONGEST else f"{image[:_LONGEST]}…"


def _fix(image: str) -> str:
    if image.startswith("map["):
        return (
            "give the chart a text there (HAMi's up to 2.6.1 wants scheduler.kubeScheduler.image and imageTag as texts)"
        )
    name, plus, _ = image.partition("+")
    if plus and ":" in name.rpartition("/")[2]:
        return f"use a tag that the registry has, such as {name.rpartition(':')[2]}"
    return "write it as registry/name:tag, the name in lower case"
