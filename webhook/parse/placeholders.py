"""Text that something still fills in before it reaches a cluster."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(r"\{\{|\{%|\$|<%|\[\[|<[^<>]+>|__\w+__|@@?\w+@@?|%\w+%|\(\(|\{\w+\}")


def templated(value: object) -> bool:
    """Whether a value is text with a template engine's placeholder: `{{ }}`, `{% %}`, `${X}`, `$X`, `<NAME>` …"""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
