"""The rules' fixtures, and what their first lines declare: a stack, and whether they are a whole installation."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from webhook.config import Config, read_stack
from webhook.stack import Stack

FIXTURES = Path(__file__).parent / "rules"
STACK = re.compile(r"^#\s*stack:\s*(\{.*\})\s*$", re.MULTILINE)
WHOLE = re.compile(r"^#\s*whole\s*$", re.MULTILINE)
"""A fixture that says so is a whole installation: what it lacks does not exist."""


def config_of(text: str) -> Config:
    """The configuration that a fixture is linted with."""
    declared = STACK.search(text)
    stack = read_stack(yaml.safe_load(declared.group(1)) if declared else {})
    return Config(stack=stack, whole=WHOLE.search(text) is not None)


def stack_of(path: Path) -> Stack:
    """The stack that a fixture declares."""
    return config_of(path.read_text(encoding="utf-8")).stack
