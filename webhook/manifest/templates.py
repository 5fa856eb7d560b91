"""Text that a template engine has yet to render, told by its marks. Only asked where YAML is broken."""

from __future__ import annotations

import re

from webhook.manifest.lines import place
from webhook.manifest.values import Templated

_MARK = re.compile(r"^(?![ \t]*#)[^\n]*?(\{\{|\{%|(?<!\$)\{#)", re.MULTILINE)
"""Not in a comment on a line of its own; and `${#x}` is a shell's length of x."""
_HELM = re.compile(r"\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|\b(?:include|tpl|toYaml|nindent)\b")
_JINJA = re.compile(r"\{%|(?<!\$)\{#")
_GO = re.compile(r"\{\{-?\s*(?:[.$]|/\*|(?:if|range|end|else|with|define|block|template|printf|quote)\b)")


def templated(text: str) -> Templated | None:
    """What engine's template `text` is, with the place of its first mark, or None."""
    mark = _MARK.search(text)
    if mark is None:
        return None
    return Templated(_engine(text), *place(text, mark.start(1)))


def _engine(text: str) -> str:
    if _HELM.search(text):
        return "Helm"
    if _JINJA.search(text):
        return "Jinja"
    return "Go template" if _GO.search(text) else "Jinja"
