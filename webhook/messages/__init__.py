"""What the scheduler, HAMi, the API server and gangcheck itself say about a gang, and what each message means.

One row per message, in tables by who says it; a row is a value, and `answer` looks the rows up in a text.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from webhook.rule import Evidence

Normal: TypeAlias = Literal["no", "sometimes", "yes"]
"""Whether a message tells of a mistake: `sometimes` it is part of a healthy gang's start."""


class Check(NamedTuple):
    """One thing to look at. Both texts may hold variables, as the meaning of a message does."""

    look: str
    command: str = ""


class Message(NamedTuple):
    """One row. `patterns` are the texts, the fullest first, with variables in braces (see patterns.py).

    `where` names the event's reason, the component and its log, or whose answer it is. `meaning` and `checks` may use
    the variables: `{pod}` is filled with what was found, or with POD; `{present|fewer}` says `fewer` where nothing was
    found. `normal_when` tells when it is no mistake. `versions` pairs a range of versions with what holds there.
    `rules` are those that find the cause in manifests before anything runs. A row says nothing where one of `unless`
    is said too: it is only their wrapping. `words`, where there are some, are a quick test: one of them is in every
    text that holds the message.
    """

    name: str
    patterns: tuple[str, ...]
    where: str
    meaning: str
    checks: tuple[Check, ...] = ()
    rules: tuple[str, ...] = ()
    normal: Normal = "no"
    normal_when: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    evidence: Evidence = "seen"
    source: str = ""
    unless: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
