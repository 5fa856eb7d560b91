"""A lint run: the same objects give the same findings however they are written, split or ordered."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import lint
from webhook.config import Config, PathRules
from webhook.kinds import TABLE
from webhook.manifest import Chunk, concerns, cut, read
from webhook.manifest.reading import tree
from webhook.result import Result
from webhook.rule import Severity
from webhook.rules import all_rules

HERE = Path(__file__).parent
FIXTURES = sorted((HERE / "rules").glob("*.yaml"))
READING = {"duplicate-key", "boolean-where-string", "malformed", "unused-suppression", "unknown-suppression"}
"""Rules about how a text is written; writing it anew mends or moves what they find."""


def check(*files: tuple[str, str], every: bool = False) -> Result:
    named = [(name, [text.encode()]) for name, text in files]
    return lint.lint(named, Config(), rules=all_rules(), every=every)


def said(result: Result) -> list[tuple[str, str, str]]:
    """What was found, without where in the text."""
    findings = (item for item in result.findings if item.finding.rule not in READING)
    return sorted((item.finding.rule, str(item.severity), item.finding.message) for item in findings)


def shown(result: Result) -> list[tuple[object, ...]]:
    """What was found and where, without the numbers that a run gives to the documents that it reads."""
    return [
        (item.spot, item.severity, item.fingerprint, item.notes, item.finding.rule, item.finding.message)
        for item in result.findings
    ]


def objects(path: Path) -> list[object]:
    """A fixture's objects as Kubernetes reads them."""
    chunks = cut([path.read_bytes()])
    return [document.data for chunk in chunks for document in read(chunk)]


def is_plain(path: Path) -> bool:
    """Whether writing the fixture's objects anew keeps them as they are; Helm values are none, comments are lost."""
    text = path.read_text(encoding="utf-8")
    if "# stack:" in text or "# gangcheck: ignore" in text or path.name.split(".")[0] in READING:
        return False
    return all(isinstance(body, dict) and "kind" in body for body in objects(path))


PLAIN = [path for path in FIXTURES if is_plain(path)]


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_json_a_list_and_one_document_each_say_the_same(path: Path) -> None:
    plain = said(check(("a.yaml", path.read_text(encoding="utf-8"))))
    bodies = objects(path)
    wrapped = {"apiVersion": "v1", "kind": "List", "items": bodies}
    assert said(check(("a.json", json.dumps(wrapped)))) == plain
    assert said(check(("a.yaml", yaml.safe_dump(wrapped, sort_keys=False)))) == plain
    assert said(check(("a.yaml", "---\n".join(json.dumps(body) + "\n" for body in bodies)))) == plain


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_anchors_expanded_or_not_say_the_same(path: Path) -> None:
    bodies = objects(path)
    shared = {"apiVersion": "v1", "kind": "List", "items": bodies, "again": {}}
    text = yaml.safe_dump(shared, sort_keys=False)
    anchored = {"apiVersion": "v1", "kind": "List", "again": bodies, "items": bodies}
    assert "&" in yaml.safe_dump(anchored, sort_keys=False)
    assert said(check(("a.yaml", yaml.safe_dump(anchored, sort_keys=False)))) == said(check(("a.yaml", text)))


def test_the_order_of_paths_changes_nothing() -> None:
    shuffled = FIXTURES[:]
    random.Random(5).shuffle(shuffled)
    first, second = (
        lint.run([str(path) for path in paths], Config(), rules=all_rules()) for paths in (FIXTURES, shuffled)
    )
    assert first == second
    assert len(first.findings) > len(FIXTURES)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_leaving_out_what_cannot_concern_us_changes_no_finding(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert shown(check(("a.yaml", text))) == shown(check(("a.yaml", text), every=True))


@pytest.mark.parametrize("least", [Severity.WARNING, Severity.ERROR])
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_what_is_too_slight_to_be_shown_is_counted_and_changes_nothing_else(path: Path, least: Severity) -> None:
    named = (path.name, [path.read_bytes()])
    config = Config(per_path=(PathRules((path.name,), ("gpu-c*",)),))
    everything = lint.lint([named], config, rules=all_rules())
    heard = tuple(item for item in everything.findings if item.severity >= least)
    assert lint.lint([named], config, rules=all_rules(), least=least) == everything._replace(findings=heard)


SLIGHT = """\
---
apiVersion: v1
kind: Pod
metadata: {{name: worker-{number}, labels: {{scheduling.x-k8s.io/pod-group: gang-{number}}}}}
spec: {{containers: [{{name: m, image: "ubuntu:24.04"}}]}}
"""


def test_what_is_not_shown_is_not_looked_for_in_its_text() -> None:
    text = "".join(SLIGHT.format(number=number) for number in range(5))
    tree.cache_clear()
    hidden = lint.lint([("a.yaml", [text.encode()])], Config(), rules=all_rules(), least=Severity.WARNING)
    assert (hidden.findings, hidden.summary.info, tree.cache_info().misses) == ((), 5, 0)
    assert len(check(("a.yaml", text)).findings) == tree.cache_info().misses == 5


PIECES = st.sampled_from(
    [
        "apiVersion: v1", "kind: Service", "kind: ConfigMap", "kind: Pod", "kind: Deploymnet", "apiVersion: apps/v1",
        "metadata:", "  name: a", "  name: on", "  labels:", "    a: on", "    a: b", "spec:", "  containers: []",
        "  template: {}", "data:", '  "k\\u0065y": 1', "  x: {{ .Values.x }}", "  <<: *a", "# text", "  replicas: '3'",
        '  "cont\\x61iners": []', "  x: &a {b: c}", "- a", "  minMember: 0", "kind: PodGroup",
        "apiVersion: scheduling.x-k8s.io/v1alpha1", "...", "\t", "  y: |", "    text",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8), max_size=5))
def test_leaving_out_changes_no_finding_of_any_text(documents: list[list[str]]) -> None:
    text = "\n---\n".join("\n".join(lines) for lines in documents)
    assert shown(check(("a.yaml", text))) == shown(check(("a.yaml", text), every=True))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_end_well(data: bytes) -> None:
    result = lint.lint([("a.yaml", [data])], Config(), rules=all_rules(), every=True)
    assert not result.failures


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_a_place_really_holds_what_is_reported(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    for item in check((path.name, text)).findings:
        where = item.spot.span
        assert where.line <= where.end_line <= len(lines)
        assert 1 <= where.column <= len(lines[where.line - 1]) + 1
        written = lines[where.line - 1][where.column - 1 :]
        assert written[: 1 if where.end_line > where.line else where.end_column - where.column].strip()
        assert item.spot.lines[0] == lines[where.line - 1]


def test_a_syntax_error_does_not_stop_the_neighbours() -> None:
    bad = (HERE / "rules" / "pod-group-annotation.bad.yaml").read_text(encoding="utf-8")
    result = check(("a.yaml", f"kind: Pod\nmetadata: [\n---\n{bad}"))
    assert [item.line for item in result.unreadable] == [3]
    assert any(item.severity is Severity.ERROR for item in result.findings)


def test_a_template_does_not_stop_the_neighbours() -> None:
    bad = (HERE / "rules" / "pod-group-annotation.bad.yaml").read_text(encoding="utf-8")
    result = check(("a.yaml", f"kind: Pod\nmetadata:\n  name: {{{{ .Release.Name }}}}\n---\n{bad}"))
    assert [(item.line, "template" in item.reason) for item in result.skipped] == [(3, True)]
    assert any(item.severity is Severity.ERROR for item in result.findings)


def test_fingerprints_do_not_move_with_the_lines_above() -> None:
    bad = (HERE / "rules" / "pod-group-annotation.bad.yaml").read_text(encoding="utf-8")
    before, after = check(("a.yaml", bad)), check(("a.yaml", f"# a comment\n\n{bad}"))
    assert [item.fingerprint for item in before.findings] == [item.fingerprint for item in after.findings]
    assert len({item.fingerprint for item in before.findings}) == len(before.findings)


def test_a_chunk_that_is_no_business_of_ours_is_not_read() -> None:
    service = Chunk(b"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", 1)
    assert not concerns(service, lint.WORDS)


def test_every_kind_that_is_our_business_has_a_word() -> None:
    kinds = [(group, kind) for group, found in TABLE.items() for kind in found]
    words = [word.decode() for word in lint.WORDS]
    assert [each for each in kinds if not any(word in part for word in words for part in each)] == []
