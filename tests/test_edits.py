"""Every cure that is given as data puts its finding right: applied to the object, the rule has no more to say of it."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest
import yaml
from fixture import FIXTURES, config_of

from webhook import lint
from webhook.config import Config
from webhook.model import Ref, pointer
from webhook.result import Located
from webhook.rules import all_rules

BAD = sorted(path.name for path in FIXTURES.glob("*.bad.yaml"))
RULES = all_rules()
NULL = "tag:yaml.org,2002:null"


def found(text: str, given: Config) -> list[Located]:
    result = lint.lint([("x.yaml", [text.encode()])], given, rules=RULES)
    assert not result.failures
    return list(result.findings)


def documents(text: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(text) if each is not None]


def index_of(text: str, item: Located, ref: Ref) -> int:
    """Which of the documents an object is in: that of the finding by its line, another by its name."""
    if ref.document == item.finding.place.ref.document:
        starts = [node.start_mark.line for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node.tag != NULL]
        return len([start for start in starts if start < item.spot.span.line]) - 1
    named = [(each.get("kind"), each["metadata"]["name"]) for each in documents(text)]
    return named.index((ref.kind, ref.name))


def mended(text: str, item: Located) -> str:
    """The same documents, as JSON, with the edits of one finding made."""
    read = documents(text)
    for edit in item.finding.edits:
        path = pointer((*edit.place.ref.prefix, *edit.place.path))
        step = {"op": edit.operation, "path": path} | ({} if edit.operation == "remove" else {"value": edit.value})
        at = index_of(text, item, edit.place.ref)
        read[at] = jsonpatch.apply_patch(read[at], [step])
    return "\n---\n".join(json.dumps(each) for each in read)


def of_rule(items: list[Located], rule: str) -> int:
    return sum(item.finding.rule == rule for item in items)


@pytest.mark.parametrize("name", BAD)
def test_edits_mend_what_they_are_for(name: str) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    given, rule = config_of(text), name.partition(".")[0]
    before = found(text, given)
    for item in before:
        if item.finding.rule != rule or not item.finding.edits:
            continue
        after = found(mended(text, item), given)
        assert of_rule(after, rule) < of_rule(before, rule), item.finding


def test_the_rules_whose_cure_is_certain_have_edits() -> None:
    """A list, so that a cure is not lost unnoticed."""
    told = set()
    for name in BAD:
        text = (FIXTURES / name).read_text(encoding="utf-8")
        told |= {item.finding.rule for item in found(text, config_of(text)) if item.finding.edits}
    assert told >= {
        "below-min-member",
        "boolean-where-string",
        "coscheduling-args",
        "device-annotation-on-workload",
        "extender-misconfigured",
        "gpu-memory-unit",
        "gpu-unknown-resource",
        "isolation-env",
        "min-resources-unsatisfiable",
        "pod-group-annotation",
        "pod-group-old-key",
        "pod-group-on-workload",
        "podgroup-backoff",
        "queue-sort-conflict",
        "quota-prefix",
        "scheduler-owned-annotation",
    }
