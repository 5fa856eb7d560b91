from __future__ import annotations

from collections.abc import Iterator

import pytest

from webhook import explain
from webhook.model import Pod
from webhook.rule import Finding, Rule, Severity, rule
from webhook.rules import all_rules
from webhook.stack import Stack


@rule(Pod, Severity.WARNING, evidence="read", over=("a-key", "b-key"), lint_only=True)
def odd_key(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """A key is odd | or even.

    Then nobody reads it:

        kubectl get pods
    """
    return iter(())


def test_text() -> None:
    assert explain.text(odd_key) == (
        "odd-key (warning)\n"
        "\n"
        "A key is odd | or even.\n"
        "\n"
        "Then nobody reads it:\n"
        "\n"
        "    kubectl get pods\n"
        "\n"
        "Evidence: read in the source of the component\n"
        "Speaks:   only when linting\n"
        "Replaces: a-key, b-key, where both would speak at one place\n"
        "\n"
        "To silence it:\n"
        "  on the line or above it      # gangcheck: ignore[odd-key] reason\n"
        '  annotation on the object     ignore.gangcheck.io/odd-key: "reason"\n'
        "  everywhere, .gangcheck.yaml  ignore: [odd-key]\n"
    )


def test_text_in_color() -> None:
    assert explain.text(odd_key, color=True).startswith("\x1b[1modd-key (warning)\x1b[0m\n")
    assert "\x1b" not in explain.text(odd_key)


def test_markdown() -> None:
    page = explain.markdown(odd_key)
    assert page.startswith("# odd-key\n\nA key is odd | or even.\n")
    assert "\n- Severity: warning\n- Evidence: read in the source of the component\n" in page
    assert page.endswith("\n- everywhere, .gangcheck.yaml: `ignore: [odd-key]`\n")


def test_table() -> None:
    assert explain.table([odd_key]) == (
        "| rule      | severity | what it catches          |\n"
        "|-----------|----------|--------------------------|\n"
        "| `odd-key` | warning  | A key is odd \\| or even. |\n"
    )


def test_a_table_of_nothing_is_its_head() -> None:
    assert explain.table([]).count("\n") == 2


@pytest.mark.parametrize("each", all_rules(), ids=lambda each: each.name)
def test_every_rule_has_a_page(each: Rule) -> None:
    for page in (explain.text(each), explain.markdown(each)):
        assert each.name in page
        assert each.doc in page
        assert page.endswith("\n")
    assert f"`{each.name}`" in explain.table([each])
