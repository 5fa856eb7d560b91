"""Whatever stands in the parts of an installation, the run goes on and no rule fails."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import lint
from webhook.config import Config
from webhook.installation.detecting import applied, detect
from webhook.manifest import cut, read
from webhook.model import Path as Steps
from webhook.rules import all_rules
from webhook.stack import Stack

HERE = Path(__file__).parent
SEEDS = [
    *sorted((HERE / "rules").glob("*.values.*.yaml")),
    *(HERE / "rules" / f"{name}.bad.yaml" for name in ("managed-resources", "extender-timeout", "dead-chart-value")),
    *(
        HERE / "rules" / f"{name}.bad.yaml"
        for name in ("chart-value-type", "preload-path-mismatch", "podgroup-access-missing")
    ),
    *(HERE / "cases").glob("R06*.yaml"),
]
RULES = all_rules()
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "{{ x }}",
    "$(X)",
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"a.b": 1},
    "{a: [",
    "- x",
]


def documents() -> list[Any]:
    found: list[Any] = []
    for path in SEEDS:
        if path.exists():
            found.extend(each.data for chunk in cut([path.read_bytes()]) for each in read(chunk))
    return found


DOCUMENTS = documents()


def places(body: Any, steps: Steps = ()) -> Iterator[Steps]:  # noqa: ANN401 - any document
    if steps:
        yield steps
    entries = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in entries:
        yield from places(value, (*steps, key))


def put(body: Any, steps: Steps, value: object) -> None:  # noqa: ANN401 - as above
    for step in steps[:-1]:
        body = body[step]
    body[steps[-1]] = value


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_part_may_hold_anything(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(DOCUMENTS) - 1))
    bodies = copy.deepcopy(DOCUMENTS[start : start + data.draw(st.integers(1, 4))])
    for _ in range(data.draw(st.integers(1, 3))):
        body = data.draw(st.sampled_from(bodies))
        steps = data.draw(st.sampled_from(list(places(body)) or [()]))
        if steps:
            put(body, steps, copy.deepcopy(data.draw(st.sampled_from(STRANGE))))
    text = "---\n".join(json.dumps(body) + "\n" for body in bodies).encode()
    result = lint.lint([("any.yaml", [text])], Config(whole=data.draw(st.booleans())), rules=RULES)
    assert not result.failures


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_text_inside_may_hold_anything(data: st.DataObject) -> None:
    """What a ConfigMap holds as text is mutated in the same way."""
    maps = [each for each in DOCUMENTS if isinstance(each, dict) and each.get("kind") == "ConfigMap"]
    body = copy.deepcopy(data.draw(st.sampled_from(maps)))
    key, text = data.draw(st.sampled_from(sorted(body["data"].items())))
    inner = next(each.data for chunk in cut([text.encode()]) for each in read(chunk))
    steps = data.draw(st.sampled_from(list(places(inner))))
    put(inner, steps, copy.deepcopy(data.draw(st.sampled_from(STRANGE))))
    body["data"][key] = json.dumps(inner)
    result = lint.lint([("any.yaml", [json.dumps(body).encode()])], Config(), rules=RULES)
    assert not result.failures


def test_detection_of_nothing() -> None:
    assert detect([]) == ()
    stack = Stack()
    assert applied(stack, ()) is stack
