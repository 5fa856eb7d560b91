"""`gangcheck why`: a message, or all that a command printed, to what it means."""

from __future__ import annotations

import os
import sys

import click

from webhook.console import say, wants_color, width, write

KNOWN, UNKNOWN, NOTHING, UNREAD = 0, 1, 3, 4
"""Exit codes, as those of the other commands: findings and unknown texts share 1."""

_MOST = 32 * 1024 * 1024
"""Bytes of stdin that are looked at: a day of a busy scheduler's log."""

_EPILOG = """
\b
Exit codes:
  0  at least one message is known
  1  none is; what comes near is shown
  2  the command line cannot be used
  3  there is no text at all
  4  stdin could not be read, or stdout not be written
"""


_HELP = """Say what a MESSAGE means, what to look at, and which rule finds its cause beforehand.

A MESSAGE is the text of an event, a log line, or an answer of the API server; put it in quotes. Without one, or
with -, it is read from stdin, where it may be all that a command printed:

\b
  kubectl describe pod worker-0 | gangcheck why
  kubectl get events -A | gangcheck why
  kubectl logs -n kube-system deploy/hami-scheduler --all-containers | gangcheck why

Every message that is known is answered once, in order.
"""


@click.command(help=_HELP, epilog=_EPILOG, short_help="Say what a scheduler's or HAMi's message means.")
@click.argument("message", metavar="[MESSAGE]", nargs=-1)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour in text output.")
def why(message: tuple[str, ...], format_: str, color: str) -> int:
    from webhook.messages.answering import reply
    from webhook.messages.own import own
    from webhook.messages.reading import decoded
    from webhook.messages.table import TABLE
    from webhook.report import Style, answers
    from webhook.rules import all_rules

    data = _stdin() if message in {(), ("-",)} else None
    rules = all_rules()
    found = reply(" ".join(message) if data is None else decoded(data), (*TABLE, *own(rules)))
    if found.empty:
        say("Error: nothing came in on stdin" if data is not None else "Error: the message is empty")
        return NOTHING
    names = frozenset(rule.name for rule in rules)
    style = Style(color=wants_color(color), width=width(Style().width))
    shown = answers.json(found, names) if format_ == "json" else answers.text(found, names, style)
    if not write(shown, "-", encode=format_ == "text"):
        return UNREAD
    if not found.answers and len(message) == 1 and os.path.isfile(message[0]):
        say(f"To ask about what a file holds: gangcheck why < {message[0]}")
    return KNOWN if found.answers else UNKNOWN


def _stdin() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise click.UsageError("stdin is closed; give the message in quotes")
    if sys.stdin.isatty():
        raise click.UsageError("give the message in quotes, or pipe a command's output to `gangcheck why`")
    data = sys.stdin.buffer.read(_MOST + 1)
    if len(data) > _MOST:
        say(f"Only the first {_MOST // 1024 // 1024} MiB are looked at")
    return data[:_MOST]
