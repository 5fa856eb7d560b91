"""What rules take to hold in an installation, for people and for programs: each value with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from webhook.installation.detecting import Shown, applied
from webhook.model import Fact, Place
from webhook.report import Style
from webhook.report.json_ import dump
from webhook.report.terminal import paint, visible
from webhook.result import Spot
from webhook.settings import STACK
from webhook.stack import VENDORS, Names, Stack

SpotOf = Callable[[Place], Spot]
Origin = Literal["input", "declared", "default", "differs"]


_VALUE_AT_MOST = 44


class _Row(NamedTuple):
    """One setting of `stack:`, as the configuration names it. `facts` are what the input says of it."""

    setting: str
    value: object
    origin: Origin
    facts: tuple[Fact[object], ...]


def text(stack: Stack, shown: Sequence[Shown], spot: SpotOf, style: Style) -> str:
    """A table: setting, value, and where that is from."""
    rows = [(row.setting, _cut(_said(row.value)), _where(row, spot)) for row in _rows(stack, shown)]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [
        f"{setting:<{first}}  {paint(f'{visible(value):<{second}}', '1', on=style.color)}  {visible(where)}".rstrip()
        for setting, value, where in rows
    ]
    return "\n".join([*lines, ""])


def json(stack: Stack, shown: Sequence[Shown], spot: SpotOf) -> str:
    """Version 1. `value` is null where it is unknown; `origin` is input, declared, default, or differs where two parts
    of the input say different things; `facts` are what the input says, whether it is taken or not."""
    return dump({"version": 1, "stack": [_described(row, spot) for row in _rows(stack, shown)]})


def summary(stack: Stack, shown: Sequence[Shown]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """For a log: by setting what is taken from the input, and what is not because parts of it differ."""
    rows = list(_rows(stack, shown))
    taken = {row.setting: _said(row.value) for row in rows if row.origin == "input"}
    differs = {row.setting: " or ".join(_each(row)) for row in rows if row.origin == "differs"}
    return taken, differs


def _each(row: _Row) -> Sequence[str]:
    return list(dict.fromkeys(_said(fact.value) for fact in row.facts))


def _rows(stack: Stack, shown: Sequence[Shown]) -> Iterator[_Row]:
    by_name = {each.name: each for each in shown}
    taken = applied(stack, shown)
    for setting, (name, _) in STACK.items():
        if name == "vendors":
            yield from _resources(stack, taken, by_name)
        else:
            yield _row(setting, name, getattr(taken, name), stack, by_name.get(name))


def _resources(stack: Stack, taken: Stack, by_name: Mapping[str, Shown]) -> Iterator[_Row]:
    """The names of resources, of those vendors that are renamed or shown: nobody reads forty lines of defaults."""
    for vendor, usual in VENDORS.items():
        for use in Names.__dataclass_fields__:
            name = f"vendors.{vendor}.{use}"
            value = getattr(taken.vendors[vendor], use)
            if value != getattr(usual, use) or name in stack.declared or vendor == "nvidia":
                yield _row(f"resources.{vendor}.{use}", name, value, stack, by_name.get(name))


def _row(setting: str, name: str, value: object, stack: Stack, shown: Shown | None) -> _Row:
    facts = shown.facts if shown else ()
    if name in stack.declared:
        return _Row(setting, value, "declared", facts)
    if shown and not shown.agreed:
        return _Row(setting, value, "differs", facts)
    return _Row(setting, value, "input" if shown else "default", facts)


def _where(row: _Row, spot: SpotOf) -> str:
    places = [f"{_at(fact, spot)}: {fact.source}" for fact in row.facts]
    if row.origin == "declared":
        return "declared" + (f" (the input says {_differing(row, spot)})" if _contradicted(row) else "")
    if row.origin == "differs":
        return f"the input differs: {_differing(row, spot)}"
    if row.origin == "default":
        return "default" if row.value is not None else "nothing shows it"
    return places[0] + (f" (and {len(places) - 1} more)" if places[1:] else "")


def _contradicted(row: _Row) -> bool:
    return any(fact.value != row.value for fact in row.facts)


def _differing(row: _Row, spot: SpotOf) -> str:
    """Each value that the input gives, once."""
    first = {repr(fact.value): fact for fact in reversed(row.facts)}
    return ", ".join(f"{_said(fact.value)} at {_at(fact, spot)}" for fact in reversed(first.values()))


def _at(fact: Fact[object], spot: SpotOf) -> str:
    where = spot(fact.place)
    return f"{where.file}:{where.span.line}"


def _said(value: object) -> str:
    """A value as the configuration would have it."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and value and all(isinstance(part, int) for part in value):
        return ".".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" if item else str(key) for key, item in sorted(value.items())) or "none"
    if isinstance(value, tuple | frozenset):
        return ", ".join(_words(value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cut(value: str) -> str:
    return value if len(value) <= _VALUE_AT_MOST else f"{value[: _VALUE_AT_MOST - 1]}…"


def _words(items: Iterable[object]) -> list[str]:
    found = [" ".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in items]
    return found if isinstance(items, tuple) else sorted(found)


def _described(row: _Row, spot: SpotOf) -> Mapping[str, object]:
    return {
        "setting": row.setting,
        "value": _plain(row.value),
        "origin": row.origin,
        "facts": [
            {
                "value": _plain(fact.value),
                "source": fact.source,
                "file": spot(fact.place).file,
                "line": spot(fact.place).span.line,
            }
            for fact in row.facts
        ],
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple) and value and all(isinstance(part, int) for part in value):
        return _said(value)
    if isinstance(value, tuple | frozenset):
        return _words(value)
    return dict(value) if isinstance(value, Mapping) else value
