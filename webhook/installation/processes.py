"""Containers to the processes that run in them, with their flags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from webhook.model import Argument, Container, Path, Pod, Process

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_WORD = r"[^\s\"'`$\\;|&<>(){}]+"
"""A word of a shell line that stands for itself."""
_NAME = r"(?s)-{1,2}([A-Za-z][\w.-]*)(?:=(.*))?"
# Patterns are compiled at their first use: most runs hold no scheduler.


def processes(pods: Iterable[Pod]) -> Iterator[Process]:
    """The process of every container of these Pods that stays."""
    return (process(pod, container) for pod in pods for container in pod.containers if container.role != "init")


def process(pod: Pod, container: Container) -> Process:
    """What a container runs. `sh -c "kube-scheduler --config=x"` is looked into as far as its words are plain."""
    items = [
        *((text, (*container.path, "command", index)) for index, text in enumerate(container.command)),
        *((text, (*container.path, "args", index)) for index, text in enumerate(container.args)),
    ]
    plain = True
    if container.command and _base(container.command[0]) in _SHELLS:
        items, plain = _shell(items)
    program = _base(items[0][0]) if items and (container.command or not plain) else ""
    arguments = tuple(_arguments(items[1:] if program else items))
    hidden = any(not text or is_filled_in(text) for text, _ in items)
    return Process(pod, container, program, arguments, open=not plain or hidden)


def has_placeholder(text: str) -> bool:
    """Whether a part of a text is filled in later, by Kubernetes, Flux or a template."""
    return re.search(r"\$[({]|\{\{", text) is not None


def is_filled_in(item: str) -> bool:
    """Whether an item of a command line only stands for what comes later, and so may be any flag: `$(MORE)`."""
    if item.startswith("-"):
        return has_placeholder(item.partition("=")[0])
    return "{{" in item or re.fullmatch(r"(?:\$[({][^)}]*[)}])+", item) is not None


def _shell(items: list[tuple[str, Path]]) -> tuple[list[tuple[str, Path]], bool]:
    """The words of a shell's line, all of them at the line's place; what comes before an `exec` is left out."""
    line = next(((text, path) for (flag, _), (text, path) in pairwise(items) if flag == "-c"), None)
    if line is None:
        return items, False
    words = line[0].split()
    if "exec" in words:
        words = words[words.index("exec") + 1 :]
    return [(word if re.fullmatch(_WORD, word) else "", line[1]) for word in words], False


def _arguments(items: list[tuple[str, Path]]) -> Iterator[Argument]:
    """Flags with their values: `--flag=value`, or `--flag value` where the next item is no flag."""
    for index, (text, path) in enumerate(items):
        match = re.fullmatch(_NAME, text)
        if match is None:
            continue
        value, place = match[2], path
        if value is None and index + 1 < len(items) and not items[index + 1][0].startswith("-"):
            value, place = items[index + 1]
        yield Argument(match[1], value, path, place, known=value is None or not has_placeholder(value))


def _base(program: str) -> str:
    return program.rpartition("/")[2]


def image_name(image: str) -> str:
    """The last step of an image's name, without tag and digest: `kube-scheduler`."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def image_tag(image: str) -> str:
    """The tag of an image, empty for none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def version_of(text: str) -> tuple[int, ...] | None:
    """A released version: `v2.9.0`, `2.10.0`, `v1.34.1-arm64`; None where it is none or only on the way to one."""
    match = re.match(_VERSION, text)
    if match is None or re.search(_UNRELEASED, text):
        return None
    return tuple(int(part) for part in match.groups() if part)


_VERSION = r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9.])"
_UNRELEASED = r"(?i)[-.](?:rc|alpha|beta|dev|pre|snapshot)"


def is_kube_scheduler(each: Process) -> bool:
    """A kube-scheduler, the stock one or one with more plugins."""
    if each.program:
        return each.program == "kube-scheduler"
    return image_name(each.container.image) == "kube-scheduler"


def brings_coscheduling(image: str) -> bool:
    """Whether an image is scheduler-plugins' kube-scheduler, told by its repository."""
    return image_name(image) == "kube-scheduler" and "scheduler-plugins/" in image


def scheduler_minor(each: Process) -> int | None:
    """The minor version of Kubernetes that a kube-scheduler was built of: 34 of the stock image's v1.34.1 and of
    scheduler-plugins' v0.34.7 (scheduler-plugins README, "Compatibility Matrix"). None where the tag does not say."""
    version = version_of(image_tag(each.container.image))
    return version[1] if version and len(version) > 1 and version[0] in {0, 1} else None


_NEW_GROUP = 25


def reads_old_group(each: Process) -> bool:
    """Whether this is scheduler-plugins up to 0.24 by its tag, whose PodGroups are of scheduling.sigs.k8s.io
    (v0.24.9 and v0.25.7 manifests/coscheduling/crd.yaml)."""
    minor = scheduler_minor(each)
    return minor is not None and minor < _NEW_GROUP


_EXTENDER_FLAGS = ("http-bind", "device-config-file", "gpu-scheduler-policy", "node-lock-timeout")


def is_extender(each: Process) -> bool:
    """HAMi's extender, which is its webhook too: `scheduler` with HAMi's flags, image or container name."""
    if each.program and each.program != "scheduler":
        return False
    named = each.container.name == "vgpu-scheduler-extender"
    return named or (each.program == "scheduler" and (is_hami(each) or each.argument(*_EXTENDER_FLAGS) is not None))


def is_device_plugin(each: Process) -> bool:
    """HAMi's device plugin for NVIDIA."""
    return each.program == "nvidia-device-plugin" and (is_hami(each) or each.argument("config-file") is not None)


def is_hami(each: Process) -> bool:
    """Whether the image is HAMi's, also from a mirror."""
    return image_name(each.container.image) == "hami"
