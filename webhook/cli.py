"""The command line: options to a configuration, a result to reports and an exit code.

Nothing is imported here that a command may not need: `gangcheck --help` and shell completion answer at once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, cast

import click

from webhook import __version__
from webhook.console import progress, say, wants_color, width, write
from webhook.errors import GangcheckError

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

    from webhook.config import Config
    from webhook.result import Result
    from webhook.rule import Rule, Severity

CLEAN, FINDINGS, USAGE, NOTHING, UNREAD, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes; the last is what a shell reports of a program that SIGINT ended (see also console.CLOSED)."""

_EXIT_CODES = """
\b
Exit codes:
  0  no findings at or above --fail-on
  1  findings at or above --fail-on
  2  the command line or the configuration cannot be used
  3  the paths hold no YAML or JSON file at all, or nothing came in on stdin
  4  something could not be read or written, or a rule failed
When several hold, 2 goes before 4, and 4 before 1.
"""


_ELSEWHERE = {
    "certs": "certs_command",
    "explain": "explain_command",
    "registration": "serve_command",
    "serve": "serve_command",
    "why": "why_command",
}
"""Commands in modules of their own."""


class _Commands(click.Group):
    """Commands that answer a slip of the pen with what was meant; those elsewhere are imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        import importlib

        return cast("click.Command", getattr(importlib.import_module(f"webhook.{_ELSEWHERE[cmd_name]}"), cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self.list_commands(ctx) or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from webhook.settings import did_you_mean

        hint = did_you_mean(name, self.list_commands(ctx))
        if not hint and os.path.exists(name):
            hint = f"; to lint it: gangcheck lint {name}"
        raise click.UsageError(f"There is no command {name!r}{hint}", ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="gangcheck %(version)s")
def gangcheck() -> None:
    """Say what is wrong with a GPU gang before a Pod reaches scheduling.

    For clusters that share GPUs with HAMi and place gangs with Coscheduling.
    """


def main() -> NoReturn:
    """The entry of `gangcheck` and of `python -m webhook`."""
    try:
        code = gangcheck.main(prog_name="gangcheck", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USAGE
    except GangcheckError as error:
        say(f"Error: {error}")
        code = USAGE
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        code = INTERRUPTED
    except OSError as error:  # stdout is full or gone while help is written; lint catches its own
        say(f"Error: {error.strerror or error}")
        code = UNREAD
    except Exception as error:
        if os.environ.get("GANGCHECK_TRACEBACK"):
            raise
        say(f"internal error: {type(error).__name__}: {error}")
        say("This is a bug in gangcheck. GANGCHECK_TRACEBACK=1 shows where; please report it with that.")
        code = UNREAD
    gc.freeze()  # nothing is left to free: looking for cycles once more at the exit costs a tenth of a short run
    sys.exit(code)


def _rule_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from webhook.rules import all_rules

    return [rule.name for rule in all_rules() if rule.name.startswith(incomplete)]


def _format_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from webhook.report import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def _checked_format(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    from webhook.report import FORMATS
    from webhook.settings import did_you_mean

    if value is None or value in FORMATS:
        return value
    raise click.BadParameter(f"there is no format {value!r}{did_you_mean(value, FORMATS)} ({', '.join(FORMATS)})")


def _checked_outputs(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`FORMAT=FILE` of each --output, checked before a long run and not behind it."""
    outputs = []
    for value in values:
        name, equals, target = value.partition("=")
        if not equals or not target:
            raise click.BadParameter(f"{value!r} is no FORMAT=FILE; write for example sarif=gangcheck.sarif")
        _checked_format(ctx, param, name)
        folder = os.path.dirname(target) or "."
        if target != "-" and (os.path.isdir(target) or not os.path.isdir(folder)):
            fault = "is a folder" if os.path.isdir(target) else f"is in a folder that does not exist ({folder})"
            raise click.BadParameter(f"{target!r} {fault}")
        outputs.append((name, target))
    return tuple(outputs)


def _checked_rules(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Rule names and globs, given one by one or with commas between."""
    if not values:
        return ()
    from webhook.config import unknown_rule
    from webhook.rules import all_rules

    known = [rule.name for rule in all_rules()]
    names = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    for name in names:
        fault = unknown_rule(name, known)
        if fault:
            raise click.BadParameter(fault)
    return names


_SEVERITIES = click.Choice(["error", "warning", "info"])


@gangcheck.command(epilog=_EXIT_CODES, short_help="Name every mistake in manifests.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    callback=_checked_format,
    shell_complete=_format_names,
    help="How to show findings on stdout: text (the default), json, sarif or github.",
)
@click.option(
    "--output",
    "-o",
    "outputs",
    metavar="FORMAT=FILE",
    multiple=True,
    callback=_checked_outputs,
    help="Write a report to a file as well; several may be given. FILE - is stdout.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(),
    help="Take this configuration. Without it, .gangcheck.yaml is looked for in the folder of the first PATH and "
    "in those above it.",
)
@click.option("--no-config", is_flag=True, help="Take no configuration file.")
@click.option(
    "--select",
    metavar="RULE,...",
    multiple=True,
    callback=_checked_rules,
    shell_complete=_rule_names,
    help="Only these rules, whatever the configuration selects and ignores; pod-group-* is a group of rules.",
)
@click.option(
    "--ignore",
    metavar="RULE,...",
    multiple=True,
    callback=_checked_rules,
    shell_complete=_rule_names,
    help="Not these rules.",
)
@click.option(
    "--stack",
    "stack",
    metavar="KEY=VALUE",
    multiple=True,
    help="What holds in the installation, as under stack in the configuration: hami=2.10, operators.kuberay=true.",
)
@click.option("--namespace", "-n", metavar="NAME", help="The namespace of objects that name none.  [default: default]")
@click.option("--whole", is_flag=True, help="The input is the whole system: what is absent does not exist.")
@click.option("--fail-on", type=_SEVERITIES, help="Exit 1 for findings of this severity or above.  [default: error]")
@click.option("--exit-zero", is_flag=True, help="Exit 0 where findings alone would exit 1.")
@click.option("--verbose", "-v", is_flag=True, help="Show info findings too, and name all that is skipped.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour in text output.")
@click.option(
    "--stdin-filename", metavar="NAME", default="<stdin>", help="How to call stdin in reports, for editors and hooks."
)
def lint(
    *,
    paths: tuple[str, ...],
    format_: str | None,
    outputs: tuple[tuple[str, str], ...],
    config_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    stack: tuple[str, ...],
    namespace: str | None,
    fail_on: str | None,
    color: str,
    stdin_filename: str,
    no_config: bool,
    whole: bool,
    exit_zero: bool,
    verbose: bool,
) -> int:
    """Name every mistake in Kubernetes manifests, with file, line and column.

    A PATH is a file, a folder or - for stdin. In folders, files that end in .yaml, .yml or .json are read; hidden
    files and folders and node_modules are not, nor are templates and kustomizations: give what they render to. A gang
    is put together from all that is given, so give the folders that belong together in one call.

    Findings go to stdout, all else to stderr. NO_COLOR and FORCE_COLOR are obeyed.
    """
    gc.set_threshold(200_000)  # a run makes many values and hardly a cycle: looking for them often costs a tenth of it
    from webhook import options
    from webhook.lint import run
    from webhook.rules import all_rules

    if config_file and no_config:
        raise click.UsageError("--config and --no-config exclude each other")
    targets = _targets(format_, outputs)
    rules = all_rules()
    config = options.base(paths, config_file, rules, find=not no_config)
    config = options.override(
        config, select=select, ignore=ignore, settings=stack, namespace=namespace, fail_on=fail_on, whole=whole
    )
    least = _least_shown(targets, config, verbose=verbose)
    result = run(paths, config, rules=rules, stdin_name=stdin_filename, progress=progress(), least=least)
    code = exit_code(result, config)
    if code == CLEAN and paths == ("-",) and not result.summary.documents:
        code = NOTHING
    if code == NOTHING:  # said below, and once is enough
        targets = [target for target in targets if target != ("text", "-")]
    written = _report(result, targets, rules, color=wants_color(color), verbose=verbose)
    for stray in result.strays:
        say(f"note: {stray.file}:{stray.line}: {stray.reason}")
    if code == NOTHING:
        what = "nothing came in on stdin" if paths == ("-",) else f"no YAML or JSON file in {', '.join(paths)}"
        if config.exclude and paths != ("-",):
            what += " that the configuration does not exclude"
        say(f"Error: {what}")
    if not written:
        return UNREAD
    return CLEAN if code == FINDINGS and exit_zero else code


def exit_code(result: Result, config: Config) -> int:
    """How a run ends; usage and configuration errors end it earlier."""
    if result.unreadable or result.failures:
        return UNREAD
    if not result.summary.files and not result.skipped:
        return NOTHING
    return FINDINGS if any(item.severity >= config.fail_on for item in result.findings) else CLEAN


def _targets(format_: str | None, outputs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Formats with the files they go to, `-` being stdout: text goes there if nothing else is asked for."""
    targets = list(outputs)
    if format_ or all(target != "-" for _, target in targets):
        targets.append((format_ or "text", "-"))
    files = [target for _, target in targets]
    twice = next((target for target in files if files.count(target) > 1), "")
    if twice:
        raise click.UsageError(f"two reports for {'stdout' if twice == '-' else twice}; give each a file of its own")
    return targets


def _least_shown(targets: Sequence[tuple[str, str]], config: Config, *, verbose: bool) -> Severity:
    """The least severity that a report shows or the exit code asks for: text hides info findings, the others do not."""
    from webhook.rule import Severity

    if verbose or any(name != "text" for name, _target in targets):
        return Severity.INFO
    return min(config.fail_on, Severity.WARNING)


def _report(
    result: Result, targets: Sequence[tuple[str, str]], rules: tuple[Rule, ...], *, color: bool, verbose: bool
) -> bool:
    """Write all reports, stdout last, so that a reader who leaves early costs no file. False: one is not written."""
    from webhook.report import FORMATS, Style

    plain = Style(verbose=verbose)
    written = True
    for name, target in sorted(targets, key=lambda item: item[1] == "-"):
        style = plain._replace(color=color, width=width(plain.width)) if target == "-" else plain
        written &= write(FORMATS[name](result, rules, style), target, encode=name == "text")
    if not any(item == ("text", "-") for item in targets):
        for line in _misses(result):
            say(line)
    return written


def _misses(result: Result) -> Iterator[str]:
    """What the text report would have said at its end, for those who read another one by machine."""
    for missed in result.unreadable:
        place = ":".join(str(part) for part in (missed.file, missed.line, missed.column) if part)
        yield f"cannot read {place}: {missed.message}"
    for failure in result.failures:
        yield f"internal error in the rule {failure.rule}: {failure.error}"


@gangcheck.command(short_help="List the rules.")
@click.option("--format", "format_", type=click.Choice(["text", "markdown", "json"]), default="text")
def rules(format_: str) -> int:
    """List the rules, with their severity and what they catch."""
    from webhook import explain
    from webhook.rules import all_rules

    known = all_rules()
    if format_ == "markdown":
        return _shown(explain.table(known))
    if format_ == "json":
        from json import dumps

        return _shown(dumps([_described(rule) for rule in known], indent=2) + "\n")
    width = max(len(rule.name) for rule in known)
    return _shown("".join(f"{rule.name:<{width}}  {rule.severity!s:<7}  {rule.summary}\n" for rule in known))


def _shown(text: str) -> int:
    return CLEAN if write(text, "-") else UNREAD


def _described(rule: Rule) -> Mapping[str, object]:
    return {
        "name": rule.name,
        "severity": str(rule.severity),
        "evidence": rule.evidence,
        "summary": rule.summary,
        "doc": rule.doc,
        "over": list(rule.over),
        "lintOnly": rule.lint_only,
    }


_COMPLETION = """Print the script that completes commands, options and rule names.

\b
bash:  eval "$(gangcheck completion bash)"                     in ~/.bashrc
zsh:   eval "$(gangcheck completion zsh)"                      in ~/.zshrc
fish:  gangcheck completion fish > ~/.config/fish/completions/gangcheck.fish
"""


@gangcheck.command(help=_COMPLETION, short_help="Complete commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    from click.shell_completion import get_completion_class

    script = cast("type[ShellComplete]", get_completion_class(shell))
    return _shown(script(gangcheck, {}, "gangcheck", "_GANGCHECK_COMPLETE").source() + "\n")
