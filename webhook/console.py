"""The two ends of the terminal: reports go to stdout or to files, all else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from time import monotonic

import click

CLOSED = 141
"""Exit code for a reader that left: what a shell reports of a program that SIGPIPE ended."""

Progress = Callable[[int, int], None]
"""Called with (files done, files in all)."""


def say(message: str) -> None:
    click.echo(message, err=True)


def write(text: str, target: str, *, encode: bool = True) -> bool:
    """Write a report; False where that failed. Machine formats are UTF-8, text is what stdout takes (`encode`)."""
    if target == "-" and sys.stdout is None:
        say("Error: stdout is closed")
        return False
    try:
        if target != "-":
            with open(target, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            return True
        encoding = sys.stdout.encoding if encode else "utf-8"
        sys.stdout.buffer.write(text.encode(encoding, "backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`): end as SIGPIPE would have it, and let the interpreter's own flush
        # at exit find an open file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED)
    except OSError as error:
        say(f"Error: cannot write to {'stdout' if target == '-' else target}: {error.strerror or error}")
        return False
    return True


def wants_color(choice: str) -> bool:
    """https://no-color.org and https://force-color.org; the option goes before both."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width(default: int) -> int:
    """Columns of the terminal on stdout, or the default where it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or default
    except (OSError, ValueError, AttributeError):
        return default


def progress() -> Progress | None:
    """A bar on stderr, from the second second on; None where nobody would see it."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return bar(sys.stderr.write, monotonic)


def bar(write: Callable[[str], object], clock: Callable[[], float]) -> Progress:
    """A progress callback that draws at most ten times a second, and leaves nothing behind."""
    begin = clock()
    last = 0.0

    def show(done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if done >= total:
            if last:
                write("\r\x1b[K")
        elif now - begin > 1 and now - last > 0.1:  # noqa: PLR2004 - seconds
            last = now
            filled = 30 * done // total
            write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done} of {total} files\x1b[K")

    return show
