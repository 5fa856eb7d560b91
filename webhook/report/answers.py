"""What `gangcheck why` answers, for people and for programs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from textwrap import wrap

from webhook.messages import Message
from webhook.messages.answering import Answer, Reply
from webhook.messages.patterns import fill, shown
from webhook.report import Style
from webhook.report.json_ import dump
from webhook.report.terminal import paint, visible

_BOLD, _NAME = "1", "1;36"
_NORMAL = {"yes": "1;32", "sometimes": "1;33", "no": "1;31"}
_VERDICT = {"yes": "this is normal", "sometimes": "sometimes normal", "no": "not normal"}
_WIDEST = 100
_EVIDENCE = {"seen": "seen on the real component", "read": "read in its source", "inferred": "inferred"}
_LINES_NAMED = 5
_HITS_TOLD = 100


def text(reply: Reply, rules: Collection[str], style: Style) -> str:
    """The answers as a page each, or what comes near. Only `rules` are named, for others nobody can look up."""
    if not reply.answers:
        return "\n".join(_unknown(reply.nearest, style)) + "\n"
    pages = ("\n".join(_page(answer, rules, style)) + "\n" for answer in reply.answers)
    return "\n".join(pages)


def json(reply: Reply, rules: Collection[str]) -> str:
    """Version 1: every answer with all places where it is said, or what comes near."""
    return dump(
        {
            "version": 1,
            "answers": [_answer(answer, rules) for answer in reply.answers],
            "nearest": [{"name": near.name, "message": shown(near.patterns[0])} for near in reply.nearest],
        }
    )


def _page(answer: Answer, rules: Collection[str], style: Style) -> Iterator[str]:
    message, last = answer.message, answer.hits[-1]
    verdict = paint(_VERDICT[message.normal], _NORMAL[message.normal], on=style.color)
    yield f"{paint(message.name, _NAME, on=style.color)}: {verdict}"
    yield from _wrapped(visible(last.text), style, "  > ")
    if len(answer.hits) > 1:
        yield f"    {_places(answer)}"
    yield ""
    yield from _wrapped(visible(fill(message.meaning, last.values)), style)
    if message.normal_when:
        yield from _wrapped(f"When it is normal: {message.normal_when}.", style)
    if message.versions:
        yield ""
        for versions, what in message.versions:
            yield from _wrapped(f"{versions}: {what}", style, "  - ")
    yield from _look(answer, style)
    yield ""
    found = _known(message.rules, rules)
    if found:
        yield from _wrapped(f"Found in manifests by: {', '.join(found)} (gangcheck explain RULE)", style)
    yield from _wrapped(f"Said in: {message.where}", style)
    yield from _wrapped(f"Source: {_source(message)}", style)


def _source(message: Message) -> str:
    known = "" if "seen" in message.source else _EVIDENCE[message.evidence]
    return "; ".join(filter(None, (known, message.source)))


def _places(answer: Answer) -> str:
    lines = list(dict.fromkeys(hit.line for hit in answer.hits))
    named = ", ".join(map(str, lines[:_LINES_NAMED]))
    more = f" and {len(lines) - _LINES_NAMED} more" if len(lines) > _LINES_NAMED else ""
    return f"said {len(answer.hits)} times, the last one is shown; line{'s' if len(lines) > 1 else ''} {named}{more}"


def _look(answer: Answer, style: Style) -> Iterator[str]:
    values = answer.hits[-1].values
    if answer.message.checks:
        yield ""
        yield paint("Look at:", _BOLD, on=style.color)
    for check in answer.message.checks:
        yield from _wrapped(visible(fill(check.look, values)), style, "  - ")
        if check.command:  # a command is copied: it is never wrapped
            yield f"      {visible(fill(check.command, values))}"


def _wrapped(line: str, style: Style, first: str = "") -> list[str]:
    width = max(min(style.width, _WIDEST), 20)
    return wrap(
        line,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _unknown(nearest: Sequence[Message], style: Style) -> Iterator[str]:
    yield "No message that gangcheck knows is in this text."
    yield ""
    if nearest:
        yield paint("The nearest that it knows:", _BOLD, on=style.color)
    else:
        yield from _wrapped(
            "It knows what Coscheduling, HAMi and their neighbours say. To ask for all of a Pod:", style
        )
        yield "  kubectl describe pod POD | gangcheck why"
    for message in nearest:
        yield from _wrapped(f"{message.name}: {shown(message.patterns[0])}", style, "  - ")
        yield from _wrapped(_first_sentence(message), style, "    ")


def _first_sentence(message: Message) -> str:
    head, dot, _ = fill(message.meaning, {}).partition(". ")
    return head + dot.strip()


def _known(names: Iterable[str], rules: Collection[str]) -> list[str]:
    return [name for name in names if name in rules]


def _answer(answer: Answer, rules: Collection[str]) -> dict[str, object]:
    message, values = answer.message, answer.hits[-1].values
    return {
        "name": message.name,
        "normal": message.normal,
        "normalWhen": message.normal_when,
        "meaning": fill(message.meaning, values),
        "versions": [{"versions": versions, "what": what} for versions, what in message.versions],
        "checks": [
            {"look": fill(check.look, values), "command": fill(check.command, values)} for check in message.checks
        ],
        "rules": _known(message.rules, rules),
        "where": message.where,
        "evidence": message.evidence,
        "source": message.source,
        "times": len(answer.hits),
        "hits": [{"line": hit.line, "text": hit.text, "values": dict(hit.values)} for hit in answer.hits[:_HITS_TOLD]],
    }
