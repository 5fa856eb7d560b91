"""What the lines around a message tell of its Pod: `kubectl describe`, `kubectl get` of events or objects, a log."""

from __future__ import annotations

import re
from collections.abc import Mapping

from webhook.messages.reading import Text

_NAME = r"[A-Za-z0-9][-A-Za-z0-9._]{0,252}"
_EVENT = re.compile(rf"^(?:(?P<namespace>{_NAME}) )?(?:\S+ )?(?:Normal|Warning) [A-Za-z]+ pod/(?P<pod>{_NAME}) ")
_LOGGED = re.compile(rf'\bpod="(?P<namespace>{_NAME})/(?P<pod>{_NAME})"')
_ON_NODE = re.compile(rf'\bnode(?:Name)?="(?P<node>{_NAME})"')
_LABEL = re.compile(rf"scheduling\.x-k8s\.io/pod-group\"?[=:] ?\"?(?P<group>{_NAME})")
_FIELD = re.compile(rf"^(Name|Namespace|Node): ({_NAME})(?:/[0-9a-fA-F.:]+)?$")

_WRITTEN = re.compile(rf'^"?namespace"?: "?({_NAME})"?,?$')
_AGES = re.compile(r"^(?:\d+[smhd])+$")


def facts(text: Text, index: int) -> dict[str, str]:
    """What the line itself tells (an event of `kubectl get events`, a log line)."""
    begin = text.starts[index]
    end = text.starts[index + 1] - 1 if index + 1 < len(text.starts) else len(text.flat)
    line = text.flat[begin : min(end, begin + 2000)]
    found: dict[str, str] = {}
    for pattern in (_EVENT, _LOGGED, _ON_NODE, _LABEL):
        match = pattern.search(line)
        if match:
            found |= {name: value for name, value in match.groupdict().items() if value}
    if _AGES.match(found.get("namespace", "")):  # the first column of `kubectl get events` without -A is an age
        del found["namespace"]
    return found


def described(text: Text) -> list[tuple[int, Mapping[str, str]]]:
    """The Pods of `kubectl describe`, the objects of `kubectl get -o yaml|json`: where each begins (a place in `flat`),
    and its names."""
    sections: list[tuple[int, dict[str, str]]] = [(0, {})]
    name = ""
    for start, following in zip(text.starts, (*text.starts[1:], len(text.flat) + 1), strict=True):
        if following - start > _LONGEST:
            continue
        line = text.flat[start : following - 1]
        field = _FIELD.match(line)
        label = _LABEL.search(line)
        written = _WRITTEN.match(line)
        if field and field[1] == "Name":
            name = field[2]
            sections.append((start, {}))
        elif field and field[1] == "Namespace":
            sections[-1][1]["namespace"] = field[2]
        elif line.startswith("Node:"):  # a Pod has one, though perhaps `<none>`
            sections[-1][1].update({"pod": name, "node": field[2]} if field else {"pod": name})
        elif line in {"metadata:", '"metadata": {'}:
            sections.append((start, {}))
        elif written:
            sections[-1][1].setdefault("namespace", written[1])
        elif label and line.lstrip('"').startswith(("Labels:", "scheduling")):
            sections[-1][1]["group"] = label["group"]
    return list(sections)


_LONGEST = 400
"""Characters of a line that may be a field of `kubectl describe`."""
