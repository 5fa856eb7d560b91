"""HAMi's chart as it is, rendered and as values, has no mistake; with scheduler-plugins' image it has just one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from webhook import lint
from webhook.config import Config
from webhook.installation.chartkeys import keys
from webhook.rules import all_rules

CHARTS = Path(__file__).parent / "charts"
STOCK = "registry.cn-hangzhou.aliyuncs.com/google_containers/kube-scheduler:v1.35.0"
GANGS = {
    "2.6.1": "map[registry:registry.k8s.io repository:scheduler-plugins/kube-scheduler tag:v0.34.7]:v1.35.0",
    "2.8.3": "registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7",
    "2.10.0": "registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7",
}
"""What the values of the guide (registry, repository and tag) make of the image, by the chart's version."""


def found(text: str, *, whole: bool = False) -> list[str]:
    result = lint.lint([("chart.yaml", [text.encode()])], Config(whole=whole), rules=all_rules())
    assert not result.failures
    return [f"{item.spot.span.line} {item.severity} {item.finding.rule}" for item in result.findings]


def rendered(version: str) -> str:
    return (CHARTS / f"rendered-{version}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", GANGS)
def test_the_rendered_chart_is_clean(version: str) -> None:
    assert found(rendered(version)) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.6.1", ["750 error image-tag-invalid"]),
        ("2.8.3", ["215 error coscheduling-not-enabled"]),
        ("2.10.0", ["87 error coscheduling-not-enabled"]),
    ],
)
def test_with_the_image_for_gangs_their_plugin_is_missing(version: str, expected: list[str]) -> None:
    text = rendered(version)
    assert STOCK in text
    assert found(text.replace(STOCK, GANGS[version])) == expected


@pytest.mark.parametrize("version", GANGS)
def test_without_its_scheduler_part_the_chart_says_nothing(version: str) -> None:
    parts = [
        part for part in rendered(version).split("\n---\n") if "templates/scheduler/" not in part.split("\n", 1)[0]
    ]
    assert len(parts) > 3
    assert found("\n---\n".join(parts)) == []


@pytest.mark.parametrize("version", GANGS)
def test_the_chart_as_a_list_is_clean(version: str) -> None:
    items = [item for item in yaml.safe_load_all(rendered(version)) if item]
    assert found(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})) == []


@pytest.mark.parametrize("version", ["2.5.0", "2.6.1", "2.7.1", "2.8.3", "2.9.0", "2.10.0"])
def test_the_charts_own_values_are_clean(version: str) -> None:
    text = (CHARTS / f"values-{version}.yaml").read_text(encoding="utf-8")
    assert found(text) == []
    nested = "hami:\n" + "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))
    assert found(nested) == []


@pytest.mark.parametrize("version", ["2.5.0", "2.6.1", "2.7.1", "2.8.3", "2.9.0", "2.10.0"])
def test_the_table_of_keys_has_every_key_of_the_chart(version: str) -> None:
    values = yaml.safe_load((CHARTS / f"values-{version}.yaml").read_text(encoding="utf-8"))
    at = tuple(map(int, version.split(".")))
    table = keys()
    for key in paths(values):
        first, last = table[key]
        assert first <= at <= last, key


def paths(values: dict[str, object], around: str = "") -> list[str]:
    found: list[str] = []
    for key, value in values.items():
        found.append(f"{around}{key}")
        if isinstance(value, dict):
            found.extend(paths(value, f"{around}{key}."))
    return found
