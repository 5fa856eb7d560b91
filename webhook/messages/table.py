"""All rows, in the order in which they are listed."""

from __future__ import annotations

from webhook.messages import Message
from webhook.messages.answers import ANSWERS
from webhook.messages.cards import CARDS
from webhook.messages.configuring import CONFIGURING
from webhook.messages.containers import CONTAINERS
from webhook.messages.extender import EXTENDER
from webhook.messages.filtering import FILTERING
from webhook.messages.gangs import GANGS
from webhook.messages.operators import OPERATORS
from webhook.messages.starting import STARTING
from webhook.messages.validation import VALIDATION

TABLE: tuple[Message, ...] = (
    *GANGS,
    *EXTENDER,
    *FILTERING,
    *CARDS,
    *STARTING,
    *CONFIGURING,
    *ANSWERS,
    *VALIDATION,
    *OPERATORS,
    *CONTAINERS,
)
