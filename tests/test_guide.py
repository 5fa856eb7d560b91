"""HAMi's guide "How to use Coscheduling with HAMi", step by step: clean as it stands, and each of its troubles found.

`guide/` holds its manifests (docs/userguide/coscheduling/how-to-use-coscheduling.md of HAMi's website at 38b5259b) with
what the chart of 2.10.0 renders around them, as far as the scheduler goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from webhook import lint
from webhook.config import Config
from webhook.rule import Severity
from webhook.rules import all_rules

GUIDE = Path(__file__).parent / "guide"
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(GUIDE.glob("*.yaml"))}


def found(files: Mapping[str, str]) -> set[str]:
    """The rules that give an error or a warning for these files, which are the whole system."""
    texts = [(name, [text.encode()]) for name, text in files.items()]
    result = lint.lint(texts, Config(whole=True), rules=all_rules())
    assert not result.failures
    assert not result.unreadable
    return {item.finding.rule for item in result.findings if item.severity > Severity.INFO}


TRUE_OF_THE_GUIDE = {"extender-client-limit"}
"""A gang of 16 on one node is never complete with the default client limit, which the guide leaves as it is."""


def test_the_guide_is_clean_but_for_what_is_true_of_it() -> None:
    assert found(FILES) == TRUE_OF_THE_GUIDE


def test_with_the_client_limit_raised_it_is_clean() -> None:
    values = replaced("values.yaml", '"-v=4", ', '"-v=4", "--kube-qps=100", "--kube-burst=200", ')
    raised = (
        "            - -v=4\n            - --kube-qps=100\n            - --kube-burst=200\n            - --node-lock"
    )
    scheduler = replaced("scheduler.yaml", "            - -v=4\n            - --node-lock", raised)
    assert found(FILES | values | scheduler) == set()


def replaced(name: str, old: str, new: str, times: int = 1) -> dict[str, str]:
    """One file of the guide with a mistake in it."""
    assert FILES[name].count(old) >= times
    return {name: FILES[name].replace(old, new, times)}


class Trouble(NamedTuple):
    """What the user sees by the guide's words, a cause of it in the manifests, and the rule that finds that."""

    seen: str
    cause: str
    change: Mapping[str, str | None]
    rule: str


LABEL = "  labels:\n    scheduling.x-k8s.io/pod-group: gang-training\n"
NOTE = LABEL.replace("labels", "annotations")
CRASH = "The scheduler container crash-loops on startup"
LOCKED = "Pods stay Pending with BindingFailed: node <name> has been locked within 5m0s"
PENDING = "All members of a group stay Pending and no node is ever selected"
STATUS = "kubectl get podgroup reports no status"
LIBDL = "Containers fail with libdl.so.2: cannot open shared object file"
WARNED = "a warning of the guide"

TROUBLES = [
    Trouble(LOCKED, "the label is an annotation", replaced("gang.yaml", LABEL, NOTE, 4), "pod-group-annotation"),
    Trouble(
        LOCKED,
        "the label is on the PodGroup only",
        {
            "gang.yaml": FILES["gang.yaml"]
            .replace(LABEL, "")
            .replace("  name: gang-training\n", f"  name: gang-training\n{LABEL}", 1)
        },
        "pod-group-unused",
    ),
    Trouble(
        LOCKED,
        "the retry is switched off",
        replaced("scheduler.yaml", "retry-timeout=28s", "retry-timeout=0s"),
        "node-lock-flags",
    ),
    Trouble(
        CRASH,
        "PrioritySort is still enabled",
        replaced("scheduler.yaml", "        queueSort:\n          disabled:\n          - name: PrioritySort\n", ""),
        "queue-sort-conflict",
    ),
    Trouble(PENDING, "a member is missing", replaced("gang.yaml", "minMember: 4", "minMember: 5"), "below-min-member"),
    Trouble(PENDING, "step 5 was left out", {"access.yaml": None}, "podgroup-access-missing"),
    Trouble(
        PENDING,
        "another release name",
        replaced("access.yaml", "    name: hami-scheduler", "    name: gpu-hami-scheduler"),
        "podgroup-access-missing",
    ),
    Trouble(
        PENDING,
        "a role of another name",
        replaced("access.yaml", "  name: hami-podgroup-reader\nrules", "  name: podgroup-reader\nrules"),
        "podgroup-access-missing",
    ),
    Trouble(PENDING, "step 2 was left out", {"podgroups.yaml": None}, "podgroup-crd"),
    Trouble(
        STATUS,
        "the controller's own RBAC is short",
        replaced("controller.yaml", "[podgroups, podgroups/status]", "[podgroups]"),
        "podgroup-controller-access",
    ),
    Trouble(LIBDL, "busybox", replaced("gang.yaml", "ubuntu:22.04", "busybox:1.37-glibc"), "no-libdl-image"),
    Trouble(LIBDL, "alpine", replaced("gang.yaml", "ubuntu:22.04", "alpine:3.20"), "musl-image"),
    Trouble(
        WARNED,
        "the stock image",
        replaced("scheduler.yaml", "scheduler-plugins/kube-scheduler:v0.34.7", "kube-scheduler:v1.34.1"),
        "stock-scheduler-image",
    ),
    Trouble(
        WARNED,
        "a helm upgrade",
        {
            "scheduler.yaml": FILES["scheduler.yaml"][: FILES["scheduler.yaml"].index("      plugins:\n")]
            + FILES["scheduler.yaml"][FILES["scheduler.yaml"].index("    extenders:\n") :]
        },
        "coscheduling-not-enabled",
    ),
    Trouble(
        WARNED,
        "the retry outlives the call",
        replaced("scheduler.yaml", "retry-timeout=28s", "retry-timeout=60s"),
        "extender-timeout",
    ),
    Trouble(
        WARNED,
        "an extender that does not know the flag",
        replaced("scheduler.yaml", "projecthami/hami:v2.10.0", "projecthami/hami:v2.9.0"),
        "node-lock-flags",
    ),
    Trouble(
        WARNED,
        "the default list of arguments is lost",
        replaced("scheduler.yaml", "            - --config=/config/config.yaml\n", ""),
        "extra-args-replaced",
    ),
    Trouble(
        WARNED,
        "one name for all members",
        replaced("gang.yaml", "name: gang-worker-2", "name: gang-worker-1"),
        "duplicate-object",
    ),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.cause)
def test_each_trouble_of_the_guide_is_found_when_its_cause_is_there(trouble: Trouble) -> None:
    changed = {**FILES, **trouble.change}
    files = {name: text for name, text in changed.items() if text is not None}
    assert trouble.rule in found(files)


def test_every_entry_of_the_troubleshooting_has_a_cause_here() -> None:
    assert {trouble.seen for trouble in TROUBLES} == {LOCKED, CRASH, PENDING, STATUS, LIBDL, WARNED}
