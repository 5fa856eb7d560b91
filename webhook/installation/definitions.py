"""CustomResourceDefinitions of all inputs to what they say of the kind PodGroup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webhook.installation.profiles import is_enabled
from webhook.model import GROUP_API, NOTHING, GroupDefinition, Object, SchedulerConfig, dig

PLURAL = "podgroups"


def definitions(
    objects: Iterable[Object], configs: Sequence[SchedulerConfig], *, whole: bool = False
) -> Iterator[GroupDefinition]:
    """Every definition of a kind PodGroup, and that there is none of Coscheduling's where a scheduler needs it."""
    found = [each for each in objects if dig(each.body, "spec", "names", "plural") == PLURAL]
    own = any(dig(each.body, "spec", "group") == GROUP_API for each in found)
    config = next((each for each in configs if is_enabled(each)), None)
    for each in found:
        yield GroupDefinition(each.ref, each.body, config, own, whole)
    if config is not None and not own:
        yield GroupDefinition(None, NOTHING, config, own, whole)
