from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.profiles import arguments
from webhook.model import SchedulerConfig
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

ARGUMENT = "podGroupBackoffSeconds"


@rule(SchedulerConfig, Severity.WARNING, evidence="seen", lint_only=True)
def podgroup_backoff(config: SchedulerConfig, stack: Stack) -> Iterator[Finding]:
    """PodGroupBackoffSeconds is above 0: a gang that was turned away once is left waiting, and nothing wakes it.

    The argument keeps a gang that was just rejected out of the way for that long (`podGroup NAMESPACE/NAME failed
    recently`). But when the time is over nothing puts its Pods back into the queue: that is done by a new Pod or a
    change of a PodGroup, or by kube-scheduler's own flush every five minutes. In a quiet cluster a gang that would have
    fitted 3 seconds after it was turned away was placed after 327 seconds, with a back-off of 20 (seen;
    scheduler-plugins v0.34.7 pkg/coscheduling/coscheduling.go). The default is 0, which means none.
    """
    for found in arguments(config):
        value = found.body.get(ARGUMENT)
        if type(value) is not int or value <= 0:
            continue
        place = config.place(*found.path, "args", ARGUMENT)
        yield Finding(
            place,
            f"{ARGUMENT} is {value}: nothing wakes a gang when its {value} s are over, so it waits for the next flush "
            "of the queue, up to 5 minutes",
            fix=f"remove {ARGUMENT}, or write 0",
            edits=() if config.path else (Edit("replace", place, 0),),
        )
