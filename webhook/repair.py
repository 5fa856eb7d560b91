"""A PodGroup on its way into the cluster without the resources that no node advertises, as JSON Patch operations.

Only where the policy wants it (`inject.stripMinResources`), only on CREATE. HAMi keeps GPU memory, cores and
percentages in node annotations; in minResources they keep a gang Pending for ever, with `resource gap` in its events
(seen; see the rule min-resources-unsatisfiable). Operators sum them up there without being asked.
"""

from __future__ import annotations

from webhook.inject import note
from webhook.model import GROUP_API, dig
from webhook.parse.schema import shape_of
from webhook.review import Body, Operation
from webhook.stack import Stack

_SHAPE = shape_of(GROUP_API, "PodGroup")
_FIELD = ("spec", "minResources")


def unadvertised(group: Body, stack: Stack) -> tuple[str, ...]:
    """The names in a PodGroup's minResources that HAMi keeps out of the nodes' allocatable, in the order written.

    None where HAMi's mockDevicePlugin publishes them all the same.
    """
    wanted = dig(group, *_FIELD)
    if stack.mock_device_plugin or not isinstance(wanted, dict):
        return ()
    return tuple(name for name in wanted if name in stack.annotated_names)


def repairs(group: Body, stack: Stack) -> tuple[Operation, ...]:
    """The operations that take these names out and note it; none where there are none, or the object is not sound.

    Applied to their own result they come to nothing. The map is written anew as a whole: what is left of it is what
    stood there.
    """
    names = unadvertised(group, stack)
    wanted = dig(group, *_FIELD)
    if not names or not isinstance(wanted, dict) or not _SHAPE.sound(group):
        return ()
    kept = {name: amount for name, amount in wanted.items() if name not in names}
    return (
        Operation("add", "/spec/minResources", kept),
        note(group, [f"-minResources/{name}" for name in names]),
    )
