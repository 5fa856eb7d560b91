"""The chains of time limits, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from webhook.model import Place
from webhook.report import Style
from webhook.report.json_ import dump
from webhook.report.terminal import paint, visible
from webhook.result import Spot
from webhook.timeouts import Break, Chain, Link

SpotOf = Callable[[Place], Spot]

_TITLE, _BROKEN, _RISK, _SOUND, _CURE = "1", "1;31", "1;33", "1;32", "1;32"
_GROUPS_SHOWN = 12
_VALUE_AT_MOST = 40


def text(chains: Sequence[Chain], spot: SpotOf, style: Style) -> str:
    """A table for each chain, its broken links below it."""
    return "\n".join("\n".join(_chain(chain, spot, style)) + "\n" for chain in chains)


def json(chains: Sequence[Chain], spot: SpotOf) -> str:
    """Version 1; `seconds` is null where it is unknown or there is no limit."""
    return dump({"version": 1, "chains": [_described(chain, spot) for chain in chains]})


def _chain(chain: Chain, spot: SpotOf, style: Style) -> Iterator[str]:
    yield paint(visible(_title(chain)), _TITLE, on=style.color)
    yield ""
    shown, left_out = _shown(chain)
    rows = [(visible(link.name), _cut(visible(link.value)), _source(link, spot)) for link in shown]
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    for name, value, source in rows:
        yield f"  {name:<{first}}  {value:<{second}}  {source}".rstrip()
    if left_out:
        yield f"  and {left_out} more PodGroups"
    yield ""
    if not chain.breaks:
        yield paint("No link is broken, as far as the input shows.", _SOUND, on=style.color)
    for each in chain.breaks:
        yield from _break(each, style)


def _title(chain: Chain) -> str:
    if not chain.title:
        known = f"HAMi {_said(chain)}" if chain.version else "HAMi, release unknown"
        return f"{known}: nothing of its installation is in the input, so the defaults are shown"
    return f"{chain.title}, HAMi {_said(chain)}" if chain.version else chain.title


def _said(chain: Chain) -> str:
    return ".".join(map(str, chain.version or ()))


def _shown(chain: Chain) -> tuple[list[Link], int]:
    """All links but for PodGroups beyond the first few; those that are broken stay."""
    broken = {name for each in chain.breaks for name in each.links}
    groups = [link for link in chain.links if link.setting == "scheduleTimeoutSeconds"]
    extra = {id(link) for link in groups[_GROUPS_SHOWN:] if link.name not in broken}
    return [link for link in chain.links if id(link) not in extra], len(extra)


def _cut(value: str) -> str:
    return value if len(value) <= _VALUE_AT_MOST else f"{value[: _VALUE_AT_MOST - 1]}…"


def _source(link: Link, spot: SpotOf) -> str:
    setting = f"{link.setting} " if link.setting else ""
    if link.origin == "input" and link.place is not None:
        where = spot(link.place)
        why = f": {link.source}" if link.source else ""
        return f"{setting}({visible(where.file)}:{where.span.line}{why})"
    if link.origin == "declared":
        return f"{setting}(declared: stack.{link.source})"
    at = ""
    if link.place is not None:
        where = spot(link.place)
        at = f", {visible(where.file)}:{where.span.line}"
    return f"{setting}({link.source}{at})" if link.source else setting.strip()


def _break(each: Break, style: Style) -> Iterator[str]:
    word, color = ("broken", _BROKEN) if each.certain else ("at risk", _RISK)
    head = f"{word}: {', '.join(each.links)}"
    yield paint(visible(head), color, on=style.color)
    yield from _wrapped(visible(each.message), style)
    cure = f"help: {visible(each.fix)} (gangcheck explain {each.rules[0]})"
    yield from _wrapped(cure, style)


def _wrapped(line: str, style: Style) -> list[str]:
    width = max(min(style.width, 100), 20)
    indent = "  "
    return wrap(
        line,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _described(chain: Chain, spot: SpotOf) -> dict[str, object]:
    return {
        "title": chain.title,
        "hami": _said(chain) or None,
        "links": [_link(link, spot) for link in chain.links],
        "breaks": [
            {
                "links": list(each.links),
                "certain": each.certain,
                "message": each.message,
                "fix": each.fix,
                "rules": list(each.rules),
            }
            for each in chain.breaks
        ],
    }


def _link(link: Link, spot: SpotOf) -> dict[str, object]:
    where = spot(link.place) if link.place is not None else None
    return {
        "name": link.name,
        "setting": link.setting,
        "seconds": link.seconds,
        "rate": link.rate,
        "value": link.value,
        "origin": link.origin,
        "source": link.source,
        "file": where.file if where else None,
        "line": where.span.line if where else None,
        "column": where.span.column if where else None,
    }
