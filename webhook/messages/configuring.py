"""What kube-scheduler says of a configuration that it does not start with, beside what starting.py has.

Sources: kube-scheduler of scheduler-plugins v0.35.4-devel refused each (tests/e2e/test_scheduler_configs.py).
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import SCHEDULER_CONFIG

_START = "kube-scheduler's log at its start (`command failed`), exit code 1, CrashLoopBackOff"
_RULES = ("scheduler-config-refused",)
_NO_START = "kube-scheduler does not start, and no Pod of it is placed."

CONFIGURING: tuple[Message, ...] = (
    Message(
        "plugin-out-of-place",
        ('plugin "{plugin}" does not extend {point}Plugin plugin',),
        _START,
        f"{{plugin}} is enabled at {{point}} and does not act there. {_NO_START} Coscheduling acts at queueSort, "
        "preFilter, postFilter, reserve and permit; multiPoint enables it at all of them.",
        (SCHEDULER_CONFIG, Check("remove {plugin} from that point")),
        _RULES,
        versions=(("scheduler-plugins up to 0.25", "Coscheduling acts at postBind too"),),
        source="kube-scheduler pkg/scheduler/framework/runtime/framework.go; seen on 1.35",
    ),
    Message(
        "plugin-twice",
        ('plugin "{plugin}" already registered as "{point}Plugin"',),
        _START,
        f"{{plugin}} is enabled twice at {{point}}. {_NO_START}",
        (SCHEDULER_CONFIG,),
        _RULES,
        source="kube-scheduler pkg/scheduler/framework/runtime/framework.go; seen on 1.35",
    ),
    Message(
        "managed-twice",
        (
            'Invalid value: "{resource:resource}": duplicate extender managed resource name',
            "duplicate extender managed resource name",
        ),
        _START,
        f"{{resource|A resource}} stands twice in managedResources, of one extender or of two. {_NO_START}",
        (SCHEDULER_CONFIG,),
        _RULES,
        source="kubernetes pkg/scheduler/apis/config/validation/validation.go; seen on 1.35",
    ),
    Message(
        "scheduler-config-type",
        (
            "json: cannot unmarshal {given} into Go struct field Extender.extenders.{field} of type {type:token}",
            "json: cannot unmarshal {given} into Go struct field ExtenderManagedResource.{field} of type {type:token}",
            (
                "json: cannot unmarshal {given} into Go struct field LeaderElectionConfiguration.{field} of type "
                "{type:token}"
            ),
            (
                "json: cannot unmarshal {given} into Go struct field KubeSchedulerConfiguration.{field} of type "
                "{type:token}"
            ),
            "json: cannot unmarshal {given} into Go struct field KubeSchedulerProfile.{field} of type {type:token}",
            "json: cannot unmarshal {given} into Go struct field PluginSet.{field} of type {type:token}",
            "json: cannot unmarshal {given} into Go struct field Plugins.{field} of type {type:token}",
            "json: cannot unmarshal {given} into Go struct field Plugin.{field} of type {type:token}",
        ),
        _START,
        f"The configuration has a {{given}} at {{field}}, and a {{type}} belongs there. {_NO_START} Quotes make text "
        "of true and of numbers; a name that is all digits needs them.",
        (SCHEDULER_CONFIG,),
        _RULES,
        source="Go encoding/json; kube-scheduler's types; seen on 1.35",
        unless=("http-timeout-unit",),
    ),
)
