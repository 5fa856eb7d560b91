"""The configuration that a command runs with: the file's, and over it what the command line says."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.config import Config
    from webhook.rule import Rule


def base(paths: Sequence[str], given: str | None, rules: Sequence[Rule], *, find: bool) -> Config:
    """The configuration file's content, or the defaults; globs in it are relative to its folder."""
    from webhook import sources
    from webhook.config import FILE_NAME, Config, read_config

    start = next((path for path in paths if path != "-"), ".")
    file = given or (sources.find_config(start, FILE_NAME) if find else None)
    if file is None:
        return Config()
    config = read_config(sources.read_text(file), sources.shown(file), [rule.name for rule in rules])
    folder = os.path.dirname(os.path.abspath(file))
    return config._replace(folder=folder.replace(os.sep, "/"), here=os.getcwd().replace(os.sep, "/"))


def override(
    config: Config,
    *,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    settings: Sequence[str] = (),
    namespace: str | None = None,
    fail_on: str | None = None,
    whole: bool = False,
) -> Config:
    """What the command line says goes before what the file says."""
    from webhook.rule import Severity
    from webhook.settings import read_setting, read_stack

    stack = config.stack
    for setting in settings:
        stack = read_stack(read_setting(setting), stack)
    if namespace:
        stack = replace(stack, default_namespace=namespace)
    return config._replace(
        select=select or config.select,
        ignore=ignore if select else (*config.ignore, *ignore),
        fail_on=Severity[fail_on.upper()] if fail_on else config.fail_on,
        whole=whole or config.whole,
        stack=stack,
        now=int(time.time()),
    )
