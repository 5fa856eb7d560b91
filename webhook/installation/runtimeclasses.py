"""The RuntimeClasses that a whole installation names, and those that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.model import DeviceConfig, Path, Place, Pod, Release, RuntimeClass, RuntimeClassUse, Subject, Values

_FIELD = "runtimeClassName"


def missing(subjects: Iterable[Subject]) -> Iterator[RuntimeClassUse]:
    """The classes that are named and not there; asked of a whole installation only."""
    pods: dict[str, list[Pod]] = {}
    settings: dict[str, list[Place]] = {}
    there: set[str] = set()
    for subject in subjects:
        if isinstance(subject, RuntimeClass):
            there.add(subject.ref.name)
        elif isinstance(subject, Pod) and subject.runtime_class:
            pods.setdefault(subject.runtime_class, []).append(subject)
        elif isinstance(subject, Release):
            for name, place in _settings(subject):
                settings.setdefault(name, []).append(place)
    for name in sorted((pods.keys() | settings.keys()) - there):
        yield RuntimeClassUse(name, tuple(pods.get(name, ())), tuple(settings.get(name, ())))


def _settings(release: Release) -> Iterator[tuple[str, Place]]:
    """What HAMi's webhook writes into GPU Pods: its device configuration has it, else the values that make this."""
    if release.devices:
        yield from _configured(release.devices)
    elif release.values:
        yield from _valued(release.values)


def _configured(devices: DeviceConfig) -> Iterator[tuple[str, Place]]:
    for path, name in _named(devices.body, ()):
        yield name, devices.place(*path)


def _named(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Every class that is named in any vendor's part, with its place."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in inside:
        if step == _FIELD and isinstance(part, str) and part:
            yield (*path, step), part
        else:
            yield from _named(part, (*path, step))


def _valued(values: Values) -> Iterator[tuple[str, Place]]:
    """The chart makes the class itself where it is told to."""
    name = values.text("devicePlugin", _FIELD)
    if name and not values.get("devicePlugin", "createRuntimeClass"):
        yield name, values.place("devicePlugin", _FIELD)
