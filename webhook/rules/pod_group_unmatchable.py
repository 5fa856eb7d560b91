from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.gangkeys import MAX_LABEL, is_label_value, is_object_name
from webhook.model import GROUP_LABEL, Place, Pod, PodGroup
from webhook.parse.placeholders import templated
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack


@rule(Pod | PodGroup, Severity.ERROR, evidence="seen")
def pod_group_unmatchable(subject: Pod | PodGroup, stack: Stack) -> Iterator[Finding]:
    """The label and the PodGroup can never have the same name, so the gang cannot form.

    A label value has at most 63 characters, begins and ends with a letter or digit, and may hold `-`, `_` and `.`
    between; the API server refuses the Pod otherwise. A PodGroup's name may hold only lower-case letters, digits, `-`
    and `.`, and up to 253 of them. So a label with an upper-case letter or an underscore is accepted and no PodGroup
    can bear its name: the Pods stay Pending with "PodGroup not found" (seen). And a PodGroup whose name is longer than
    63 characters is accepted and no Pod can name it (seen with 64 and 253).

    A name that something still fills in (`{{…}}`, `${…}`, `<NAME>` …) is not judged.
    """
    if isinstance(subject, PodGroup):
        yield from _of_group(subject)
    elif subject.group and not templated(subject.group) and not stack.is_foreign(subject):
        yield from _of_pod(subject)


def _of_pod(pod: Pod) -> Iterator[Finding]:
    name = pod.group
    if not is_label_value(name):
        flaw = f"has {len(name)} characters" if len(name) > MAX_LABEL else "has characters that a label may not have"
        what = f"{flaw}{f', at most {MAX_LABEL} are allowed' if len(name) > MAX_LABEL else ''}: the Pod is refused"
    elif not is_object_name(name):
        what = "can be no PodGroup's name, which has only lower-case letters, digits, '-' and '.': PodGroup not found"
    else:
        return
    yield Finding(
        pod.label(GROUP_LABEL, "value"),
        f"the gang name {_short(name)!r} of {pod} {what}",
        fix=f"name both the PodGroup and the label {_mended(name)}",
    )


def _of_group(group: PodGroup) -> Iterator[Finding]:
    name = group.ref.name
    if not group.is_coscheduling or not name or templated(name):
        return
    if len(name) > MAX_LABEL:
        what = (
            f"has {len(name)} characters; a Pod names it in a label, which holds at most {MAX_LABEL}: no Pod can join"
        )
    elif not is_object_name(name):
        what = "is no name for an object, which has only lower-case letters, digits, '-' and '.': it is refused"
    else:
        return
    cure = "shorten the name of the job that it is made for" if group.made_by else f"name it {_mended(name)}"
    yield Finding(Place(group.ref, ("metadata", "name")), f"the PodGroup name {_short(name)!r} {what}", fix=cure)


def _mended(name: str) -> str:
    """A name that is both a label value and an object's name, as near as it gets."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:MAX_LABEL].strip("-") or "my-gang"


def _short(name: str) -> str:
    return name if len(name) <= MAX_LABEL else f"{name[:40]}…"
