"""How a run's result is shown: one pure renderer per format. A new format is a module and a line in the table."""

import importlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from webhook.result import Result
from webhook.rule import Rule


class Style(NamedTuple):
    """How text is shown; machine formats ignore it. `width` is in terminal columns and only cuts source lines."""

    color: bool = False
    verbose: bool = False
    width: int = 100


Renderer: TypeAlias = Callable[[Result, tuple[Rule, ...], Style], str]
"""A result and the rules of its run to the whole report, which ends with a line end."""


def _late(module: str) -> Renderer:
    """A renderer whose module is imported when it is first used: text output must not pay for json's import."""

    def render(result: Result, rules: tuple[Rule, ...], style: Style) -> str:
        report: str = importlib.import_module(f"{__name__}.{module}").render(result, rules, style)
        return report

    return render


FORMATS: Mapping[str, Renderer] = {
    "text": _late("text"),
    "json": _late("json_"),
    "sarif": _late("sarif"),
    "github": _late("github"),
}
