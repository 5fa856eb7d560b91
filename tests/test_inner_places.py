"""A path that goes on inside a text value leads to the right characters of the file."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook import lint
from webhook.config import Config
from webhook.manifest import Chunk, comments, exact, read, span
from webhook.manifest.inner import offsets
from webhook.model import Path
from webhook.rules import all_rules

INNER = """\
# a scheduler's configuration
apiVersion: kubescheduler.config.k8s.io/v1
profiles:
- schedulerName: hami-scheduler
  plugins: {}

extenders:
  - urlPrefix: "https://127.0.0.1:443"
"""


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))


def found(text: str, path: Path, *, key: bool = False) -> str:
    """The characters of the file that a path leads to."""
    (document,) = read(Chunk(text.encode(), 1))
    place = span(document, path, key=key)
    lines = text.split("\n")
    assert place.line == place.end_line
    return f"{place.line}: {lines[place.line - 1].rstrip(chr(13))[place.column - 1 : place.end_column - 1]}"


NAME: Path = ("data", "config.yaml", "profiles", 0, "schedulerName")
URL: Path = ("data", "config.yaml", "extenders", 0, "urlPrefix")


@pytest.mark.parametrize("header", ["|", "|-", "|+", "|  # as text", "!!str |"])
def test_a_block_scalar_is_looked_into(header: str) -> None:
    text = f"kind: ConfigMap\ndata:\n  config.yaml: {header}\n{indented(INNER, 4)}  other: x\n"
    assert found(text, NAME) == "7: hami-scheduler"
    assert found(text, NAME, key=True) == "7: schedulerName"
    assert found(text, URL) == '11: "https://127.0.0.1:443"'
    assert found(text, ("data", "config.yaml", "extenders", 0, "httpTimeout")) == "11: urlPrefix"


def test_of_several_documents_the_first_one_counts() -> None:
    head = "data:\n  config.yaml: |\n"
    text = f"{head}{indented(INNER, 4)}    ---\n    other: {{}}\n    ---\n"
    assert found(text, NAME) == "6: hami-scheduler"
    assert found(text, URL) == '10: "https://127.0.0.1:443"'
    led = f"{head}    # of the scheduler\n    ---\n{indented(INNER, 4)}    ...\n"
    assert found(led, NAME) == "8: hami-scheduler"


def test_an_indentation_indicator_is_heeded() -> None:
    text = f"data:\n  config.yaml: |2\n{indented(indented(INNER, 2), 4)}"
    assert found(text, NAME) == "6: hami-scheduler"


def test_line_ends_of_windows_are_heeded() -> None:
    text = f"data:\n  config.yaml: |\n{indented(INNER, 4)}".replace("\n", "\r\n")
    assert found(text, NAME) == "6: hami-scheduler"


def test_json_text_inside_yaml() -> None:
    inner = json.dumps({"profiles": [{"schedulerName": "hami-scheduler"}]}, indent=2)
    text = f"data:\n  config.yaml: |\n{indented(inner, 6)}\n"
    assert found(text, NAME) == '6: "hami-scheduler"'


@pytest.mark.parametrize("dump", [json.dumps, lambda value: json.dumps(value, indent=1)])
def test_a_text_in_json_is_looked_into(dump: object) -> None:
    text = dump({"kind": "ConfigMap", "data": {"config.yaml": '# é \\ "x"\n' + INNER}})  # type: ignore[operator]
    assert found(text, NAME).endswith(": hami-scheduler")
    assert found(text, URL).endswith(': \\"https://127.0.0.1:443\\"')


def test_a_quoted_text_is_looked_into() -> None:
    text = f"data:\n  config.yaml: {json.dumps(INNER)}\n"
    assert found(text, NAME) == "2: hami-scheduler"
    assert found("data:\n  config.yaml: '{profiles: [{schedulerName: it''s}]}'\n", NAME) == "2: it''s"
    assert found("data:\n  config.yaml: '{profiles:\n    [{schedulerName: hami}]}'\n", NAME) == "3: hami"


def test_a_folded_text_is_looked_into() -> None:
    text = "data:\n  config.yaml: >\n    {profiles: [\n     {schedulerName: hami},\n    {}]}\n"
    assert found(text, NAME) == "4: hami"
    text = "data:\n  config.yaml: >\n    # c\n\n    profiles:\n\n    - schedulerName: hami\n\n    extenders: []\n"
    assert found(text, NAME) == "7: hami"


def test_a_text_in_a_text_is_looked_into() -> None:
    devices = "nvidia:\n  resourceCountName: nvidia.com/vgpu\n"
    values = f"device-config:\n  content: |\n{indented(devices, 4)}"
    text = f"kind: Application\nspec:\n  source:\n    helm:\n      values: |\n{indented(values, 8)}"
    path = ("spec", "source", "helm", "values", "device-config", "content", "nvidia", "resourceCountName")
    assert found(text, path) == "9: nvidia.com/vgpu"


def test_what_cannot_be_told_stands_at_the_text_itself() -> None:
    assert (
        found('data:\n  config.yaml: "profiles:\\n\n    - schedulerName: x"\n', ("data", "config.yaml")[:1], key=True)
        == "1: data"
    )
    assert found("data:\n  config.yaml: 'no: [yaml'\n", NAME) == "2: config.yaml"
    assert found("data:\n  config.yaml: |\n    profiles: []\n", NAME) == "3: profiles"


def test_comments_of_a_configuration_inside_are_comments() -> None:
    inner = f"{INNER}# kind: KubeSchedulerConfiguration # x\n"
    text = f"# a\ndata:\n  config.yaml: | # b\n{indented(inner, 4)}  script.sh: |\n    echo 1 # no comment\n"
    (document,) = read(Chunk(text.encode(), 1))
    assert [(line, said) for line, _, said in comments(document)] == [
        (1, "# a"),
        (3, "# b"),
        (4, "# a scheduler's configuration"),
        (12, "# kind: KubeSchedulerConfiguration # x"),
    ]


def test_a_comment_inside_silences_a_finding_there() -> None:
    config = """apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: n}
data:
  config.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: hami-scheduler
      plugins:
        multiPoint: {enabled: [{name: Coscheduling}]}REMARK
"""

    def rules(remark: str) -> list[str]:
        text = config.replace("REMARK", remark).encode()
        result = lint.lint([("c.yaml", [text])], Config(), rules=all_rules())
        return [item.finding.rule for item in result.findings]

    assert rules("") == ["queue-sort-conflict"]
    assert rules(" # gangcheck: ignore[queue-sort-conflict] on purpose") == []
    assert rules(" # gangcheck: ignore[podgroup-backoff]") == ["queue-sort-conflict", "unused-suppression"]


LINES = st.lists(st.text("ab :#-'\"\\{}é\t", max_size=12), min_size=1, max_size=6)


@given(LINES, st.sampled_from(["|", ">", '"', "'", None]), st.sampled_from([20, 80, 1000]))
def test_each_character_is_found_where_it_stands(lines: list[str], style: str | None, width: int) -> None:
    """Whatever the style: a character's place, where one is told, holds that character, or the escape of it."""
    value = "\n".join(lines)
    text = yaml.dump({"data": {"k": value}}, default_style=style, width=width, allow_unicode=True)
    tree = exact.build(text)
    assert tree is not None
    if tree.data != {"data": {"k": value}}:
        return  # Kubernetes reads it otherwise than Python does
    outer = tree.node[2]
    assert isinstance(outer, dict)
    middle = outer["data"][1][2]
    assert isinstance(middle, dict)
    start, end, _ = middle["k"][1]
    found = offsets(text, start, end, value)
    if found is None:
        return
    assert len(found) == len(value) + 1
    assert list(found) == sorted(found)
    for letter, at in zip(value, found, strict=False):
        assert letter in " \n\t" or text[at] == letter or text[at] == "\\"
