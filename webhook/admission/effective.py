"""What HAMi will read of a Pod that arrives, for the audit log: `main=1x16384MiB`."""

from __future__ import annotations

from webhook.admission.speech import printable
from webhook.model import Pod
from webhook.stack import Stack
from webhook.vgpu import requests
from webhook.vgpu.wording import brief

_AT_MOST = 240
"""Characters of the annotation."""


def effective_request(pod: Pod | None, stack: Stack) -> str:
    """Each container that asks for a GPU with cards, memory and cores; releases that differ with a bar between. Empty
    where none asks, and for Pods of schedulers with GPUs of their own."""
    if pod is None or stack.is_foreign(pod):
        return ""
    told = (brief(each.asked.container.name, each.readings) for each in requests(pod, stack))
    return printable(" ".join(text for text in told if text), _AT_MOST)
