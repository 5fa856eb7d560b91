"""Settings to values: what each key of a configuration takes, and what is said where it takes something else.

A reader takes a value as YAML made it and its path, and gives the value of a field or raises Wrong. Tables map a
key to the field it fills and its reader; whoever adds a setting adds a line to a table and to the JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, get_args

from webhook.errors import BadConfig
from webhook.images import LibcName
from webhook.model import Path
from webhook.stack import VENDORS, Names, Operator, Stack

Reader: TypeAlias = Callable[[object, Path], Any]
Table: TypeAlias = Mapping[str, tuple[str, Reader]]


class Wrong(Exception):  # noqa: N818 - reads as what it is: a wrong setting
    """A setting that cannot be used; `at_key` tells whether its key or its value is to blame."""

    def __init__(self, path: Path, message: str, *, at_key: bool = False) -> None:
        super().__init__(message)
        self.path = path
        self.at_key = at_key


def read_stack(settings: Mapping[str, object], base: Stack | None = None) -> Stack:
    """The mapping under `stack:`, over `base` or over the defaults. Raises BadConfig with the key."""
    try:
        return stack(settings, (), base)
    except Wrong as wrong:
        where = ".".join(map(str, wrong.path))
        raise BadConfig(f"stack {where}: {wrong}" if where else f"stack: {wrong}") from None


def read_setting(text: str) -> Mapping[str, object]:
    """One `KEY=VALUE` of the command line as the mapping that read_stack takes; dots lead into a mapping.

    `hami=2.10`, `operators.kuberay=true`, `resources.nvidia.count=example.com/gpu`, `coschedulingSchedulers=a,b`.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    steps = key.split(".", _DEEPEST)
    if not equals or not all(steps):
        raise BadConfig(f"--stack {text!r} is no KEY=VALUE; write for example --stack hami=2.10")
    setting: Any = _from_text(steps[0], value)
    for step in reversed(steps):
        setting = {step: setting}
    return setting  # type: ignore[no-any-return] # there is at least one step


_DEEPEST = 2
"""Of `resources.nvidia.count` the first two dots lead inwards; an image's pattern after `images.` may hold more."""


def _from_text(key: str, text: str) -> object:
    """Text of the command line as YAML would have it, but for versions, which are text always."""
    if STACK.get(key, ("", None))[1] is version:
        return text
    if text in {"true", "false"}:
        return text == "true"
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return float(text) if "." in text else int(text)
    return [item.strip() for item in text.split(",")] if "," in text else text


_PARTS = 3
"""Names that hold the word asked for; of more than these none is meant more than another."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no known word is near."""
    words = {other.lower(): other for other in known}
    asked = word.lower().replace("_", "-")
    import difflib

    close = difflib.get_close_matches(asked, words, n=1, cutoff=0.85) or difflib.get_close_matches(asked, words)
    if not close and asked:  # a part of a name: `musl` for musl-image
        parts = [other for other in words if asked in other.split("-")]
        close = parts if len(parts) <= _PARTS else []
    return f"; did you mean {' or '.join(repr(words[other]) for other in close)}?" if close else ""


def fields(settings: object, path: Path, table: Table) -> dict[str, Any]:
    """The keyword arguments that a mapping of settings comes to."""
    given = {}
    for key, value in mapping(settings, path).items():
        if key not in table:
            fault = f"unknown key {key!r}{did_you_mean(key, table)}; known here: {', '.join(sorted(table))}"
            raise Wrong((*path, key), fault, at_key=True)
        name, reader = table[key]
        given[name] = reader(value, (*path, key))
    return given


def mapping(value: object, path: Path) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Wrong(path, f"wanted is a mapping (key: value), and this is {shown(value)}")
    return {str(key): item for key, item in value.items()}


def items(value: object, path: Path) -> Sequence[object]:
    if not isinstance(value, list):
        raise Wrong(path, f"wanted is a list ([a, b]), and this is {shown(value)}")
    return value


def names(value: object, path: Path) -> tuple[str, ...]:
    return tuple(text(item, (*path, index)) for index, item in enumerate(items(value, path)))


def one_or_more(value: object, path: Path) -> tuple[str, ...]:
    """A list of names, or one name."""
    return (value,) if isinstance(value, str) and value else names(value, path)


def text(value: object, path: Path) -> str:
    if not isinstance(value, str) or not value:
        raise Wrong(path, f"wanted is text, and this is {shown(value)}")
    return value


def flag(value: object, path: Path) -> bool:
    if not isinstance(value, bool):
        raise Wrong(path, f"wanted is true or false, and this is {shown(value)}")
    return value


def rate(value: object, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise Wrong(path, f"wanted is a number above 0, and this is {shown(value)}")
    return float(value)


def whole(value: object, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Wrong(path, f"wanted is a whole number, 0 or more, and this is {shown(value)}")
    return value


def seconds(value: object, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Wrong(path, f"wanted are whole seconds (60), and this is {shown(value)}")
    return value


def version(value: object, path: Path) -> tuple[int, ...]:
    """YAML reads 2.10 as the number 2.1, so a version is text. A major alone says too little: 2 would be before 2.6."""
    if isinstance(value, str) and re.fullmatch(r"v?[0-9]{1,5}(\.[0-9]{1,5}){1,2}", value):
        return tuple(int(part) for part in value.removeprefix("v").split("."))
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Wrong(path, f"{value} is a number to YAML, and 2.10 would be 2.1; write it in quotes")
    raise Wrong(path, f'wanted is a version in quotes ("2.10"), and this is {shown(value)}')


def shown(value: object) -> str:
    """A value as its writer thinks of it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else repr(value)


def stack(value: object, path: Path, base: Stack | None = None) -> Stack:
    known = base or Stack()
    given = fields(value, path, STACK)
    declared = known.declared | set(_declared(given))
    if "vendors" in given:
        renamed = {vendor: replace(known.vendors[vendor], **own) for vendor, own in given["vendors"].items()}
        given["vendors"] = {**known.vendors, **renamed}
    if "operators" in given:
        flags = {**known.operators, **given["operators"]}
        given["operators"] = {operator: scheduler for operator, scheduler in flags.items() if scheduler is not None}
    if "images" in given:
        given["images"] = (*given["images"], *known.images)
    return replace(known, **given, declared=declared)


def _declared(given: Mapping[str, Any]) -> Iterator[str]:
    """The fields that these settings fill; of resources each name is one."""
    for name, value in given.items():
        if name == "vendors":
            yield from (f"vendors.{vendor}.{use}" for vendor, own in value.items() for use in own)
        else:
            yield name


def _schedulers(value: object, path: Path) -> frozenset[str]:
    return frozenset(one_or_more(value, path))


def _vendors(value: object, path: Path) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The names that differ from a vendor's own; the others stay."""
    return fields(value, path, _VENDORS)


def _vendor(value: object, path: Path) -> Mapping[str, tuple[str, ...]]:
    return fields(value, path, _RESOURCES)


def _resources(value: object, path: Path) -> tuple[str, ...]:
    given = one_or_more(value, path)
    for name in given:
        if not re.fullmatch(r"[a-z0-9.-]+/[A-Za-z0-9._-]+", name):
            raise Wrong(path, f"{name!r} is no resource's name; it has a domain, such as nvidia.com/gpu")
    return given


def _operators(value: object, path: Path) -> Mapping[str, str | None]:
    """Operators with the scheduler name that their gang flag gives: empty for none, None where the flag is off."""
    return fields(value, path, _OPERATORS)


def _operator(value: object, path: Path) -> str | None:
    if isinstance(value, bool):
        return "" if value else None
    if isinstance(value, str) and value:
        return value
    raise Wrong(path, f"wanted is the scheduler's name, or true for a flag without one, and this is {shown(value)}")


def _images(value: object, path: Path) -> tuple[tuple[str, str], ...]:
    return tuple((pattern, _libc(name, (*path, pattern))) for pattern, name in mapping(value, path).items())


def _libc(value: object, path: Path) -> str:
    known = get_args(LibcName)
    if not isinstance(value, str) or value not in known:
        raise Wrong(path, f"wanted is one of {', '.join(known)}, and this is {shown(value)}")
    return value


def _core_policy(value: object, path: Path) -> str:
    known = ("default", "force", "disable")
    if value not in known:
        raise Wrong(path, f"wanted is one of {', '.join(known)}, and this is {shown(value)}")
    return str(value)


_VENDORS: Table = {vendor: (vendor, _vendor) for vendor in VENDORS}
_RESOURCES: Table = {name: (name, _resources) for name in Names.__dataclass_fields__}
_OPERATORS: Table = {operator: (operator, _operator) for operator in get_args(Operator)}

STACK: Table = {
    "hami": ("hami", version),
    "coscheduling": ("coscheduling", version),
    "kubernetes": ("kubernetes", version),
    "hamiScheduler": ("hami_scheduler", text),
    "coschedulingSchedulers": ("coscheduling_schedulers", _schedulers),
    "foreignSchedulers": ("foreign_schedulers", _schedulers),
    "defaultNamespace": ("default_namespace", text),
    "resources": ("vendors", _vendors),
    "operators": ("operators", _operators),
    "hamiWebhook": ("hami_webhook", flag),
    "forceOverwriteDefaultScheduler": ("force_overwrite_default_scheduler", flag),
    "mockDevicePlugin": ("mock_device_plugin", flag),
    "nativeGang": ("native_gang", flag),
    "overwriteEnv": ("overwrite_env", flag),
    "gpuCorePolicy": ("gpu_core_policy", _core_policy),
    "defaultMemory": ("default_memory", whole),
    "defaultCores": ("default_cores", whole),
    "defaultGPUNum": ("default_gpu_num", whole),
    "memoryFactor": ("memory_factor", whole),
    "kubeQps": ("kube_qps", rate),
    "permitWaitingSeconds": ("permit_waiting_seconds", seconds),
    "injectsScheduler": ("injects_scheduler", flag),
    "images": ("images", _images),
    "imageMirrors": ("image_mirrors", one_or_more),
}
