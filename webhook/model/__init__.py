"""The objects that rules see: plain frozen values, made by `parse`, `kinds` and `gather`.

A rule asks for one of the subjects below by its type, and the type says how much of the world is known.
Paths are tuples of keys and list indices inside one object, from its root. Mappings in these values are
shared between threads and are never written to.

One module per subject. Imports go one way: `places`, then `pods`, then the rest.
Annotations are not put off (no `from __future__ import annotations`): NamedTuple compiles each text of them, which
is a quarter of the import, at every start.
"""

from typing import TypeAlias

from webhook.model.gangs import GROUP_API, Gang, Member, PodGroup, Scaler, Workload
from webhook.model.hooks import (
    Authorities,
    Certificate,
    Endpoint,
    Hook,
    HookChain,
    HookConfiguration,
    HookRule,
    HookSetting,
    Namespace,
    Quota,
    Requirement,
    RuntimeClass,
    RuntimeClassUse,
    Service,
)
from webhook.model.installation import (
    Access,
    Argument,
    DeviceConfig,
    Fact,
    Grant,
    GroupDefinition,
    Layer,
    Object,
    Permission,
    Process,
    Release,
    SchedulerConfig,
    Values,
)
from webhook.model.places import (
    NOTHING,
    Duplicates,
    Malformed,
    Path,
    Place,
    Ref,
    RepeatedKey,
    StrangeKind,
    Suppression,
    WrongScalar,
    dig,
    pointer,
)
from webhook.model.pods import (
    DEFAULT_SCHEDULER,
    GROUP_LABEL,
    ONE,
    UNKNOWN,
    Container,
    Count,
    Env,
    Mount,
    Pod,
    Stage,
    Volume,
)

__all__ = [
    "DEFAULT_SCHEDULER",
    "GROUP_API",
    "GROUP_LABEL",
    "NOTHING",
    "ONE",
    "UNKNOWN",
    "Access",
    "Argument",
    "Authorities",
    "Certificate",
    "Container",
    "Count",
    "DeviceConfig",
    "Duplicates",
    "Endpoint",
    "Env",
    "Fact",
    "Gang",
    "Grant",
    "GroupDefinition",
    "Hook",
    "HookChain",
    "HookConfiguration",
    "HookRule",
    "HookSetting",
    "Layer",
    "Malformed",
    "Member",
    "Mount",
    "Namespace",
    "Object",
    "Path",
    "Permission",
    "Place",
    "Pod",
    "PodGroup",
    "Process",
    "Quota",
    "Ref",
    "Release",
    "RepeatedKey",
    "Requirement",
    "RuntimeClass",
    "RuntimeClassUse",
    "Scaler",
    "SchedulerConfig",
    "Service",
    "Stage",
    "StrangeKind",
    "Subject",
    "Suppression",
    "Values",
    "Volume",
    "Workload",
    "WrongScalar",
    "dig",
    "pointer",
]

Subject: TypeAlias = (
    Pod
    | Workload
    | PodGroup
    | Scaler
    | Gang
    | Member
    | Duplicates
    | Malformed
    | WrongScalar
    | RepeatedKey
    | StrangeKind
    | Suppression
    | HookConfiguration
    | HookSetting
    | HookChain
    | Service
    | Namespace
    | Certificate
    | Quota
    | RuntimeClass
    | RuntimeClassUse
    | Object
    | SchedulerConfig
    | Release
    | Access
    | GroupDefinition
)
