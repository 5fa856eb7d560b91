"""Which comments and annotations silence which findings."""

from __future__ import annotations

import pytest

from webhook.manifest import cut, read, span
from webhook.model import Path, Place, Ref
from webhook.result import Located, Spot
from webhook.rule import Finding, Severity
from webhook.suppress import Outcome, Silencer, apply, collect

KNOWN = ("musl-image", "malformed", "pod-group-annotation", "unused-suppression")
IMAGE: Path = ("spec", "containers", 0, "image")

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
    - name: main
      image: alpine
"""


def silence(text: str, *found: tuple[str, Path], ran: tuple[str, ...] = KNOWN) -> Outcome:
    """What becomes of findings (rule, path) at values of the documents of a text; the path begins with the
    document's number where that is not 0."""
    documents = [document for chunk in cut([text.encode()]) for document in read(chunk)]
    silencers = [item for index, document in enumerate(documents) for item in collect(index, document)]
    located = []
    for rule, path in found:
        number, inner = (path[0], path[1:]) if path and isinstance(path[0], int) else (0, path)
        where = span(documents[number], inner)
        place = Place(Ref("v1", "Pod", "", "a", number), inner)
        finding = Finding(place, "wrong", "mend it", rule=rule)
        located.append(Located(finding, Severity.ERROR, Spot("f", where, ()), ""))
    return apply(located, silencers, KNOWN, ran)


def on_image(comment: str) -> str:
    return POD.replace("image: alpine", f"image: alpine  {comment}")


def above_image(*lines: str) -> str:
    return POD.replace("      image:", "".join(f"      {line}\n" for line in lines) + "      image:")


@pytest.mark.parametrize(
    "text",
    [
        on_image("# gangcheck: ignore[musl-image] tested by hand"),
        on_image("# gangcheck: ignore[musl-image]"),
        on_image("#gangcheck:ignore[ musl-image ]"),
        on_image("# gangcheck: ignore[malformed, musl-image] both"),
        on_image("# noqa # gangcheck: ignore[musl-image] # gangcheck: ignore[malformed]"),
        above_image("# gangcheck: ignore[musl-image] why"),
        above_image("# gangcheck: ignore[musl-image] why", "# more of it", "", "# and more"),
        above_image("# gangcheck: ignore[malformed]", "# gangcheck: ignore[musl-image]"),
        on_image("# gangcheck: ignore[musl-image]").replace("\n", "\r\n"),
        above_image("# gangcheck: ignore[musl-image]").replace("\n", "\r"),
        POD.replace("  name: a", "  name: a\n  annotations: {ignore.gangcheck.io/musl-image: why}"),
    ],
)
def test_silenced(text: str) -> None:
    outcome = silence(text, ("musl-image", IMAGE), ("unrelated", IMAGE))
    assert [item.finding.rule for item in outcome.kept] == ["unrelated"]
    assert outcome.silenced == 1
    by_rule = {subject.rule: subject for subject in outcome.subjects}
    assert by_rule["musl-image"].used
    assert by_rule["musl-image"].known
    assert all(not by_rule[rule].used for rule in by_rule if rule != "musl-image")


@pytest.mark.parametrize(
    "text",
    [
        on_image("# gangcheck: ignore[malformed]"),
        above_image("# gangcheck: ignore[musl-image]", "imagePullPolicy: Always"),
        POD.replace("name: main", "name: main  # gangcheck: ignore[musl-image]"),
        POD.replace("name: main", "name: '# gangcheck: ignore[musl-image]'"),
        POD.replace("name: main", "args:\n        - |\n          # gangcheck: ignore[musl-image]"),
        on_image("# Gangcheck: ignore[musl-image]"),
        POD + "# gangcheck: ignore[musl-image]\n",
        POD.replace("name: a", "name: a\n  labels: {ignore.gangcheck.io/musl-image: why}"),
        POD.replace("name: main", "name: main\n      annotations: ['ignore.gangcheck.io/musl-image']"),
    ],
)
def test_not_silenced(text: str) -> None:
    outcome = silence(text, ("musl-image", IMAGE))
    assert len(outcome.kept) == 1
    assert outcome.silenced == 0
    assert not any(subject.used for subject in outcome.subjects)


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, OBJECT}
spec:
  template:
    metadata: {TEMPLATE}
    spec: {containers: [{image: alpine}]}
  parallelism: x
"""
JOB_IMAGE: Path = ("spec", "template", "spec", "containers", 0, "image")
SILENT = "annotations: {ignore.gangcheck.io/musl-image: why}"


def test_an_annotation_covers_its_object_or_its_template() -> None:
    found = (("musl-image", JOB_IMAGE), ("musl-image", ("spec", "parallelism")))
    whole = silence(JOB.replace("OBJECT", SILENT).replace("TEMPLATE", ""), *found)
    template = silence(JOB.replace("OBJECT", "").replace("TEMPLATE", SILENT), *found)
    assert whole.silenced == 2
    assert [item.finding.place.path for item in template.kept] == [("spec", "parallelism")]
    assert template.subjects[0].place.path == (
        *JOB_IMAGE[:2],
        "metadata",
        "annotations",
        "ignore.gangcheck.io/musl-image",
    )


def test_an_annotation_without_metadata_around_it_covers_what_it_stands_in() -> None:
    text = f"kind: SparkApplication\nspec:\n  driver:\n    {SILENT}\n    image: alpine\n  executor: {{image: alpine}}\n"
    path: Path = ("spec", "driver", "image")
    outcome = silence(text, ("musl-image", path), ("musl-image", ("spec", "executor", "image")))
    assert outcome.silenced == 1


def test_a_list_item_answers_for_itself() -> None:
    items = [f"- kind: Pod\n  metadata: {{name: p{n}, namespace: ml, {SILENT}}}\n  spec: x\n" for n in range(2)]
    text = "kind: List\nitems:\n" + "".join(items)
    outcome = silence(text, ("musl-image", ("items", 1, "spec")))
    first, second = sorted(outcome.subjects, key=lambda subject: subject.line)
    assert (second.used, first.used) == (True, False)
    assert second.place.ref == Ref("", "Pod", "ml", "p1", 0, ("items", 1))
    assert second.place.path == ("metadata", "annotations", "ignore.gangcheck.io/musl-image")


def test_other_documents_are_not_silenced() -> None:
    text = POD.replace("  name: a", f"  name: a\n  {SILENT}") + "---\n" + POD
    outcome = silence(text, ("musl-image", IMAGE), ("musl-image", (1, *IMAGE)))
    assert [item.finding.place.ref.document for item in outcome.kept] == [1]


def test_lines_count_in_the_file() -> None:
    outcome = silence("\n" + POD + "---\n" + on_image("# gangcheck: ignore[musl-image]"), ("musl-image", (1, *IMAGE)))
    assert outcome.silenced == 1
    (subject,) = outcome.subjects
    where = outcome.spans[subject.place]
    assert (subject.line, subject.column) == (where.line, where.column) == (18, 42)
    assert where.end_column - where.column == len("musl-image")


def test_a_comment_in_a_list_and_after_a_document_marker() -> None:
    text = POD.replace("    - name", "    - # gangcheck: ignore[malformed]\n      name")
    assert silence("--- # gangcheck: ignore[musl-image]\n" + POD, ("musl-image", ())).silenced == 1
    assert silence(text, ("malformed", ("spec", "containers", 0, "name"))).silenced == 1


def test_unknown_rules_have_near_names() -> None:
    outcome = silence(on_image("# gangcheck: ignore[Musl_Image, nonsense-here]"))
    assert [(item.rule, item.known, item.near) for item in outcome.subjects] == [
        ("Musl_Image", False, ("musl-image",)),
        ("nonsense-here", False, ()),
    ]


@pytest.mark.parametrize(
    "comment",
    [
        "# gangcheck: ignore musl-image",
        "# gangcheck: ignore (musl-image), why",
        "# gangcheck: ignore[musl-image",
        "# gangcheck: disable[musl-image]",
        "# gangcheck: noqa musl-image",
    ],
)
def test_comments_that_silence_nothing(comment: str) -> None:
    (subject,) = silence(on_image(comment)).subjects
    assert (subject.rule, subject.known, subject.near) == ("", False, ("musl-image",))


def test_a_comment_with_empty_brackets() -> None:
    (subject,) = silence(on_image("# gangcheck: ignore[]")).subjects
    assert (subject.rule, subject.near) == ("", ())


@pytest.mark.parametrize("comment", ["# gangcheck: see the wiki", "# see gangcheck: ignore this", "# gangcheck", "#"])
def test_prose_is_no_suppression(comment: str) -> None:
    assert silence(on_image(comment)).subjects == ()


def test_a_rule_that_was_not_asked_leaves_no_unused_suppression() -> None:
    assert silence(on_image("# gangcheck: ignore[musl-image]"), ran=("malformed",)).subjects == ()


def test_two_comments_for_one_rule_are_two_places() -> None:
    text = POD.replace("name: main", "name: main  # gangcheck: ignore[malformed]").replace(
        "alpine", "alpine  # gangcheck: ignore[malformed]"
    )
    outcome = silence(text, ("malformed", IMAGE))
    assert [subject.used for subject in outcome.subjects] == [False, True]
    assert len(outcome.spans) == 2


def test_a_place_does_not_move_with_the_lines_above_it() -> None:
    comment = "# gangcheck: ignore[malformed]"
    (first,) = silence(on_image(comment)).subjects
    (second,) = silence("# a line\n" + on_image(comment)).subjects
    assert first.place == second.place


def test_json_has_annotations_and_no_comments() -> None:
    text = '{"metadata": {"annotations": {"ignore.gangcheck.io/malformed": "# gangcheck: ignore[musl-image]"}}}'
    outcome = silence(text, ("malformed", ("metadata",)))
    assert [subject.rule for subject in outcome.subjects] == ["malformed"]
    assert outcome.silenced == 1


def test_a_document_without_the_word_is_not_searched() -> None:
    (document,) = [document for chunk in cut([POD.encode()]) for document in read(chunk)]
    nothing: tuple[Silencer, ...] = ()
    assert collect(0, document) == nothing
