"""`gangcheck explain`: a rule's page, or what manifests come to in one respect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import click

from webhook.console import progress, say, wants_color, width, write

if TYPE_CHECKING:
    from webhook.config import Config
    from webhook.lint import Examined
    from webhook.report import Style
    from webhook.rule import Rule

DONE, NOTHING, UNREAD = 0, 3, 4
"""Exit codes, as those of the other commands."""


class Topic(Protocol):
    """What was read and the configuration to a page, in text or JSON."""

    def __call__(self, examined: Examined, config: Config, style: Style, *, json: bool) -> str: ...


def _timeouts(examined: Examined, config: Config, style: Style, *, json: bool) -> str:
    from webhook.report import timeouts
    from webhook.timeouts.chains import chains

    found = tuple(chains(examined.subjects, config.stack))
    return timeouts.json(found, examined.spot) if json else timeouts.text(found, examined.spot, style)


def _request(examined: Examined, config: Config, style: Style, *, json: bool) -> str:  # noqa: ARG001 - one shape
    from webhook.report import requests

    found = requests.askings(examined.subjects, examined.stack)
    return requests.json(found, examined.spot) if json else requests.text(found, examined.spot, style)


def _stack(examined: Examined, config: Config, style: Style, *, json: bool) -> str:
    from webhook.installation.detecting import detect
    from webhook.report import stack as page

    shown = detect(examined.subjects)
    make = page.json if json else partial(page.text, style=style)
    return make(config.stack, shown, examined.spot)


TOPICS: Mapping[str, Topic] = {"request": _request, "stack": _stack, "timeouts": _timeouts}
"""The words that are no rules: `gangcheck explain timeouts PATH...`."""

_HELP = """Explain a RULE, or what manifests come to.

With a RULE: the mistake, what really happens, by version, and how to silence it.

\b
With a TOPIC and PATHs, files and folders as for `gangcheck lint`:
  request   what each container asks for, and what HAMi reads of it
  stack     what rules take to hold: versions, names and limits, each with
            where it is shown, or that it is declared or the default
  timeouts  the chain of time limits that a gang passes, each with where it
            is set or whose default it is, and where the chain is broken
"""


def _names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from webhook.rules import all_rules

    return [name for name in (*TOPICS, *(rule.name for rule in all_rules())) if name.startswith(incomplete)]


@click.command(help=_HELP, short_help="Explain a rule, or what manifests come to.")
@click.argument("name", metavar="RULE|TOPIC", shell_complete=_names)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--format", "format_", type=click.Choice(["text", "markdown", "json"]), default="text", help="json for topics only."
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour in text output.")
@click.option("--config", "config_file", metavar="FILE", type=click.Path(), help="Take this configuration.")
@click.option("--no-config", is_flag=True, help="Take no configuration file.")
@click.option(
    "--stack", metavar="KEY=VALUE", multiple=True, help="What holds in the installation, as for lint: hami=2.10."
)
@click.option("--namespace", "-n", metavar="NAME", help="The namespace of objects that name none.  [default: default]")
@click.option("--whole", is_flag=True, help="The input is the whole system: what is absent does not exist.")
def explain(
    *,
    name: str,
    paths: tuple[str, ...],
    format_: str,
    color: str,
    config_file: str | None,
    no_config: bool,
    stack: tuple[str, ...],
    namespace: str | None,
    whole: bool,
) -> int:
    """The command; its help is above."""
    from webhook.report import Style
    from webhook.rules import all_rules

    rules = all_rules()
    if name not in TOPICS:
        return _rule(name, rules, paths, format_, color=wants_color(color))
    if not paths:
        raise click.UsageError(f"give files or folders: gangcheck explain {name} PATH...")
    if format_ == "markdown":
        raise click.UsageError(f"{name} is shown as text or json")
    if config_file and no_config:
        raise click.UsageError("--config and --no-config exclude each other")
    from webhook import options
    from webhook.lint import examine

    config = options.base(paths, config_file, rules, find=not no_config)
    config = options.override(config, settings=stack, namespace=namespace, whole=whole)
    examined = examine(paths, config, progress=progress())
    style = Style(color=wants_color(color), width=width(Style().width))
    written = write(TOPICS[name](examined, config, style, json=format_ == "json"), "-", encode=format_ == "text")
    return _told(examined, paths) if written else UNREAD


def _rule(name: str, rules: Sequence[Rule], paths: Sequence[str], format_: str, *, color: bool) -> int:
    from webhook import explain as pages
    from webhook.settings import did_you_mean

    known = {rule.name: rule for rule in rules}
    if name not in known:
        hint = did_you_mean(name, [*known, *TOPICS]) or "; `gangcheck rules` lists them"
        raise click.BadParameter(f"there is no rule {name!r}{hint}", param_hint="RULE")
    if paths:
        raise click.UsageError(f"a rule takes no PATH; to look for it: gangcheck lint --select {name} {paths[0]}")
    if format_ == "json":
        raise click.UsageError("a rule's page is text or markdown; `gangcheck rules --format json` has them all")
    page = pages.markdown(known[name]) if format_ == "markdown" else pages.text(known[name], color)
    return DONE if write(page, "-") else UNREAD


def _told(examined: Examined, paths: Sequence[str]) -> int:
    """Say on stderr what is not in the page, and how the command ends."""
    for missed in examined.unreadable:
        place = ":".join(str(part) for part in (missed.file, missed.line, missed.column) if part)
        say(f"cannot read {place}: {missed.message}")
    for skipped in examined.skipped:
        say(f"skipped {skipped.file}{f':{skipped.line}' if skipped.line else ''}: {skipped.reason}")
    if examined.unreadable:
        return UNREAD
    if not examined.files and not examined.skipped:
        say(f"Error: no YAML or JSON file in {', '.join(paths)}")
        return NOTHING
    return DONE
