"""How gang systems name their gangs: the keys, who reads them where, and which operators bring PodGroups of their own.

Sources: scheduler-plugins v0.18.9 to v0.34.7, Volcano, Koordinator, Kueue, YuniKorn, KAI, Goedel and the operators'
sources; the line numbers stand in the docstrings of the rules that rest on them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from webhook.model import GROUP_API, GROUP_LABEL, Gang, Pod, PodGroup, Ref, Workload, dig
from webhook.stack import OLD_GROUP_LABEL, Operator, Stack

OLD_GROUP_API = "scheduling.sigs.k8s.io"
"""API group of PodGroup in scheduler-plugins v0.19 to v0.24, and of Koordinator's to this day."""

NATIVE_GROUP_API = "scheduling.k8s.io"
"""API group of Kubernetes' own PodGroup, from 1.36 on."""

FIRST_NAME_LABEL = f"{OLD_GROUP_LABEL}/name"
FIRST_MIN_LABEL = f"{OLD_GROUP_LABEL}/min-available"
"""The two labels of scheduler-plugins v0.18, which had no PodGroup objects."""

X_K8S_SINCE = (0, 25)
"""The scheduler-plugins release that renamed the API group and the label; nothing converts the old ones."""

RAY_GANG_LABEL = "ray.io/gang-scheduling-enabled"
"""KubeRay's opt-in; its presence is enough, the value is not read."""

RAY_SCHEDULER = "scheduler-plugins-scheduler"
"""What KubeRay v1.5 and later write on every Ray Pod (scheduler_plugins.go:30,96-109)."""


class System(NamedTuple):
    """A gang system other than Coscheduling. `names` are the keys whose value names a gang, `sizes` those that give
    its least number of members. `api` is the API group of its group object, empty where it has none."""

    name: str
    names: tuple[str, ...]
    sizes: tuple[str, ...] = ()
    api: str = ""


VOLCANO = System(
    "Volcano",
    ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
    ("scheduling.k8s.io/group-min-member", "scheduling.volcano.sh/group-min-member"),
    "scheduling.volcano.sh",
)
KOORDINATOR = System(
    "Koordinator",
    ("gang.scheduling.koordinator.sh/name",),
    ("gang.scheduling.koordinator.sh/min-available",),
    OLD_GROUP_API,
)
KUEUE = System("Kueue", ("kueue.x-k8s.io/pod-group-name",), ("kueue.x-k8s.io/pod-group-total-count",))
YUNIKORN = System("YuniKorn", ("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"))
KAI = System("KAI Scheduler", ("pod-group-name",), api="scheduling.run.ai")
GODEL = System("Gödel", ("godel.bytedance.com/pod-group-name",), api="scheduling.godel.kubewharf.io")
PFN = System("the PFN gang plugin", ("gang-scheduling.preferred.jp/gang-name",))

SYSTEMS = (VOLCANO, KOORDINATOR, KUEUE, YUNIKORN, KAI, GODEL, PFN)

SYSTEM_NAMES = frozenset(name for system in SYSTEMS for name in system.names)
"""The keys by which other systems name a gang."""

_OWNERS = {system.api: system.name for system in SYSTEMS if system.api} | {
    OLD_GROUP_API: "Koordinator",
    NATIVE_GROUP_API: "Kubernetes itself",
}


def owner_of(api: str) -> str:
    """Whose PodGroup an API group has, in words; empty for an unknown one. The old one is Koordinator's today."""
    return _OWNERS.get(api, "")


def unread_keys(pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield ("labels" or "annotations", key) for each key that names a group where Coscheduling does not look.

    These are old and misspelt keys under labels, and any spelling under annotations; empty values name nothing.
    """
    for half, entries in (("labels", pod.labels), ("annotations", pod.annotations)):
        for key, value in entries.items():
            if value and (key != GROUP_LABEL or half == "annotations") and names_group(key):
                yield half, key


@lru_cache(maxsize=4096)
def names_group(key: str) -> bool:
    """Whether a key is a name of Coscheduling's for the group, of any release, or a slip of the pen of one."""
    return key in {GROUP_LABEL, OLD_GROUP_LABEL, FIRST_NAME_LABEL} or is_misspelt(key)


_KEYS = (
    GROUP_LABEL,
    OLD_GROUP_LABEL,
    f"{GROUP_LABEL}-name",
    f"{OLD_GROUP_API}/pod-group",
    f"{NATIVE_GROUP_API}/pod-group",
    f"pod-group.{GROUP_API}",
    f"pod-group.{GROUP_API}/name",
)
_NUMBERS = r"min|size|count|total|number|timeout|time"
_TYPING_SLIPS = 2


def is_misspelt(key: str) -> bool:
    """Whether a key was meant to be one of the group keys: in Coscheduling's domain with a group in its name, or at
    most two letters away. Keys that any known system reads are what they are."""
    plain = key.lower()
    if key in _READ_BY_OTHERS or not ("group" in plain or "sched" in plain):
        return False
    domain, _, name = plain.partition("/")
    if re.search(_NUMBERS, name):
        return False
    if domain in {GROUP_API, OLD_GROUP_API} and ("group" in name or "gang" in name):
        return True
    return any(_slips(plain, right) <= _TYPING_SLIPS for right in _KEYS)


_READ_BY_OTHERS = frozenset(
    {GROUP_LABEL, OLD_GROUP_LABEL, FIRST_NAME_LABEL, FIRST_MIN_LABEL}.union(
        *(system.names + system.sizes for system in SYSTEMS)
    )
)


def _slips(left: str, right: str) -> int:
    """How many letters must be put in, left out or changed to make one text of the other."""
    if abs(len(left) - len(right)) > _TYPING_SLIPS:
        return _TYPING_SLIPS + 1
    above = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        line = [row]
        for column, other in enumerate(right, start=1):
            line.append(min(line[-1] + 1, above[column] + 1, above[column - 1] + (letter != other)))
        above = line
    return above[-1]


MAX_LABEL = 63
"""Characters of a label value; an object's name may have 253."""

_LABEL_VALUE = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_OBJECT_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


@lru_cache(maxsize=1024)
def is_label_value(text: str) -> bool:
    return bool(re.fullmatch(_LABEL_VALUE, text))


@lru_cache(maxsize=1024)
def is_object_name(text: str) -> bool:
    """Whether the API server takes the text for a name (RFC 1123 subdomain); its length is judged elsewhere."""
    return bool(re.fullmatch(_OBJECT_NAME, text))


def can_match(name: str) -> bool:
    """Whether a label and a PodGroup can both have the name."""
    return is_object_name(name) and len(name) <= MAX_LABEL


def misplaced(gang: Gang, stack: Stack) -> tuple[PodGroup, ...]:
    """The PodGroups of other APIs that stand where Coscheduling's should.

    Not those that members name by Kubernetes' own field beside the label (then they are what that field needs), and
    the old API group is right before scheduler-plugins v0.25.
    """
    if gang.group:
        return ()
    native = any(pod.native == gang.name for pod in gang.members)
    old = stack.coscheduling is not None and stack.coscheduling < X_K8S_SINCE
    return tuple(
        group
        for group in gang.foreign
        if not (native and group.ref.group == NATIVE_GROUP_API) and not (old and group.ref.group == OLD_GROUP_API)
    )


def home(gang: Gang) -> PodGroup | None:
    """The one PodGroup of this name, where it is in another namespace and has members there; else None."""
    if gang.group or len(gang.namesakes) != 1:
        return None
    there = gang.namesakes[0]
    return there if any(pod.ref.namespace == there.ref.namespace for pod in gang.elsewhere) else None


def waiting(gang: Gang, stack: Stack) -> tuple[Pod, ...]:
    """The members that a gang rule may speak of: not finished, and no other system's scheduler owns them."""
    here = (pod for pod in gang.members if not pod.finished and not stack.is_foreign(pod))
    return tuple(pod for pod in here if not is_led_away(pod, stack))


def operator_of(ref: Ref) -> Operator | None:
    """The operator whose kind this is; None for kinds that no operator with a gang flag owns."""
    match ref.group:
        case "kubeflow.org":
            return "mpi-operator" if ref.api_version.endswith("/v2beta1") else "training-operator"
        case "ray.io":
            return "kuberay"
        case "trainer.kubeflow.org":
            return "trainer"
        case "sparkoperator.k8s.io":
            return "spark-operator"
    return None


def makes_groups(operator: str | None, stack: Stack) -> bool | None:
    """Whether an operator makes Coscheduling's PodGroups here, and labels Pods for them. None where nobody said.

    False where its flag is declared off (what `operators` lists is on, the others are not) or names another system. Any
    name but volcano makes Training Operator (cmd/training-operator.v1/main.go:192-199) and MPI operator
    (pkg/controller/mpi_job_controller.go:319-323) make them; foreign schedulers do not read them.
    """
    if operator is None:
        return False
    flag = stack.operators.get(operator)
    if flag is None:
        return False if "operators" in stack.declared else None
    return flag.lower() != _VOLCANO and not names_other_system(flag, stack)


_VOLCANO = "volcano"
"""What every operator takes for Volcano itself, whatever the configuration calls foreign."""


def names_other_system(scheduler: str, stack: Stack) -> bool:
    """Training Operator compares its flag with `volcano` whatever the case."""
    return scheduler.lower() in stack.foreign_schedulers and scheduler not in stack.coscheduling_schedulers


def scheduler_given(pod: Pod, stack: Stack) -> str:
    """The schedulerName of a template's Pods once the operator of its kind has made them; empty where it has none.

    MPI operator writes that of its flag over the template's (podgroup.go:159-163,294-303), and KubeRay one of its own,
    or that of Volcano, YuniKorn or KAI (batchscheduler/*); Training Operator keeps one that is set
    (podgroup_control.go:65-74,131-140).
    """
    operator = operator_of(pod.ref)
    flag = None if operator is None else stack.operators.get(operator)
    match operator:
        case "mpi-operator":
            return flag or pod.scheduler
        case "training-operator":
            return pod.scheduler or flag or ""
        case "kuberay" if flag is not None:
            return RAY_SCHEDULER if makes_groups(operator, stack) else flag
    return pod.scheduler


def is_led_away(pod: Pod, stack: Stack) -> bool:
    """Whether an operator whose flag names another gang system sends the Pod there, and so out of any gang of ours."""
    operator = operator_of(pod.ref) if stack.operators else None
    flag = "" if operator is None else stack.operators.get(operator, "")
    return bool(flag) and makes_groups(operator, stack) is False and scheduler_given(pod, stack) == flag


def unproven_scheduler(pods: Iterable[Pod], stack: Stack) -> str:
    """A scheduler that one of these Pods is given, and of which nobody said that it runs Coscheduling; else empty."""
    for pod in pods:
        name = scheduler_given(pod, stack)
        if name and not stack.is_coscheduled(pod._replace(scheduler=name)):
            return name
    return ""


def brings_group(workload: Workload, stack: Stack) -> bool:
    """Whether an operator makes the PodGroup and writes the label for this workload: what the manifest lacks, it adds.

    KubeRay does so for clusters with its label (scheduler_plugins.go:111-114), Trainer for runtimes with
    podGroupPolicy.coscheduling, Spark for applications with a batchScheduler; the others by the operator's flag.
    """
    operator = operator_of(workload.ref)
    made = makes_groups(operator, stack) is True
    match operator:
        case "kuberay":
            return RAY_GANG_LABEL in workload.labels and (made or operator not in stack.operators)
        case "spark-operator":
            return bool(dig(workload.body, "spec", "batchScheduler"))
        case "trainer":
            policy = dig(workload.body, "spec", "podGroupPolicy", "coscheduling")
            return isinstance(policy, Mapping) or made
    return made
