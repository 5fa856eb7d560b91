"""`gangcheck why`: every message as it was seen, in every shape in which people have it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import fill as wrapped
from time import process_time

import click
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import why_command
from webhook.admission import speech
from webhook.config import Config
from webhook.lint import lint
from webhook.messages import Message
from webhook.messages.answering import Reply, reply
from webhook.messages.own import own
from webhook.messages.patterns import compiled, fill, variables
from webhook.messages.reading import decoded
from webhook.messages.table import TABLE
from webhook.model import Place, Ref
from webhook.report import Style, answers
from webhook.rule import Finding, Rule
from webhook.rules import all_rules
from webhook.why_command import why

KNOWN = (*TABLE, *own(all_rules()))
ROOT = Path(__file__).parents[1]
SEEN = Path(__file__).parent / "messages" / "seen.txt"
RULES = frozenset(rule.name for rule in all_rules())


def seen() -> Iterator[tuple[list[str], str]]:
    for line in SEEN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            names, _, text = line.partition(": ")
            yield names.split(", "), text


CASES = list(seen())
each_case = pytest.mark.parametrize(("names", "text"), CASES, ids=[text[:60] for _, text in CASES])


def answered(text: str) -> list[str]:
    return [answer.message.name for answer in reply(text, KNOWN).answers]


@each_case
def test_as_it_was_seen(names: list[str], text: str) -> None:
    assert answered(text) == names


def test_every_row_has_a_text_that_was_seen() -> None:
    assert {message.name for message in TABLE} <= {name for names, _ in CASES for name in names}


@each_case
def test_wrapped_by_a_terminal(names: list[str], text: str) -> None:
    assert answered(wrapped(text, 40, break_long_words=False, break_on_hyphens=False)) == names


@each_case
def test_windows_line_ends_and_colours(names: list[str], text: str) -> None:
    lines = ["\x1b[33mWarning\x1b[0m  x", f"\x1b[1;31m{text}\x1b[0m\x1b[K", "\x1b]0;title\x07end", ""]
    assert answered("\r\n".join(lines)) == names


@each_case
def test_inside_yaml_and_json(names: list[str], text: str) -> None:
    status = {"status": {"conditions": [{"message": text, "reason": "Unschedulable"}]}}
    assert answered(yaml.safe_dump(status)) == names
    assert answered(json.dumps(status)) == names
    assert answered(json.dumps({"log": json.dumps({"err": text})})) == names


@each_case
def test_typographic_quotes_of_a_chat(names: list[str], text: str) -> None:
    curly = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text)
    assert answered(curly.replace(" ", "\u00a0")) == names


SAMPLE = {
    "number": "3",
    "duration": "28s",
    "resource": "nvidia.com/gpu",
    "token": "a.b/c",
    "text": "any text",
    "": "x1",
}


def said(pattern: str) -> str:
    return re.sub(r"\{[a-z_]+(?::([a-z]+))?\}", lambda match: SAMPLE[match[1] or ""], pattern)


@pytest.mark.parametrize("message", KNOWN, ids=lambda message: message.name)
def test_every_pattern_leads_to_its_own_row(message: Message) -> None:
    for pattern in message.patterns:
        assert answered(f"0/3 nodes are available: {said(pattern)}, preemption: none") == [message.name], pattern


def test_names_are_unique() -> None:
    names = [message.name for message in KNOWN]
    assert len(names) == len(set(names))


def test_the_table_names_rules_that_there_are() -> None:
    assert {name for message in TABLE for name in message.rules} <= RULES


def test_only_rules_that_there_are_are_shown() -> None:
    found = reply("PodGroup not found", TABLE)
    assert "Found in manifests by: pod-group-foreign (gangcheck" in answers.text(found, {"pod-group-foreign"}, Style())
    assert "Found in manifests" not in answers.text(found, (), Style())
    assert json.loads(answers.json(found, ["pod-group-foreign"]))["answers"][0]["rules"] == ["pod-group-foreign"]


@pytest.mark.parametrize("message", TABLE, ids=lambda message: message.name)
def test_a_row_is_whole(message: Message) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", message.name)
    assert message.where
    assert message.source
    assert message.meaning.endswith((".", "`."))
    assert bool(message.normal_when) == (message.normal != "no")
    assert len(message.rules) == len(set(message.rules))
    assert all(compiled(pattern).weight > 8 for pattern in message.patterns)
    assert set(message.unless) <= {other.name for other in TABLE}
    assert message.checks or message.rules or message.normal == "yes" or message.evidence == "read"


OBJECTS = frozenset({"namespace", "group", "pod", "node", "webhook", "hami_namespace"})


@pytest.mark.parametrize("message", TABLE, ids=lambda message: message.name)
def test_commands_hold_names_of_objects_only(message: Message) -> None:
    """What a log says goes into commands that people copy: nothing but a name may."""
    assert all(variables(check.command) <= OBJECTS for check in message.checks)
    assert not re.search(r"\{(?:namespace|group|pod|node|webhook):", " ".join(message.patterns))


def test_a_hostile_name_reaches_no_command() -> None:
    told = reply("failed to get node $(reboot)", TABLE)
    assert not told.answers or "reboot" not in answers.text(told, (), Style())
    page = answers.text(reply("node <name> has been locked within 5m0s", TABLE), (), Style())
    assert "kubectl get node NODE -o" in page


@pytest.mark.parametrize("message", TABLE, ids=lambda message: message.name)
def test_nothing_is_left_unfilled(message: Message) -> None:
    known = {name: name for pattern in message.patterns for name in re.findall(r"\{([a-z_]+)(?::[a-z]+)?\}", pattern)}
    for name in variables(message.meaning):
        assert name in known, name
    assert "{" not in re.sub(r"`[^`]*`", "", fill(message.meaning, known))
    for check in message.checks:
        assert variables(check.look) <= known.keys() | OBJECTS


DESCRIBED = """\
Name:             worker-2
Namespace:        ml
Priority:         0
Service Account:  default
Node:             <none>
Labels:           app=train
                  scheduling.x-k8s.io/pod-group=train
Annotations:      <none>
Status:           Pending
Conditions:
  Type           Status
  PodScheduled   False
Events:
  Type     Reason            Age                From            Message
  ----     ------            ----               ----            -------
  Warning  FailedScheduling  5m                 hami-scheduler  0/3 nodes are available: pre-filter pod worker-2 \
cannot find enough sibling pods, current pods number: 3, minMember of group: 4
  Warning  FailedScheduling  4m (x2 over 5m)    hami-scheduler  0/1 nodes are available: 1 rejection in Unreserve.
  Warning  BindingFailed     3m                 hami-scheduler  node n7 has been locked within 5m0s
  Warning  FailedScheduling  1m                 hami-scheduler  0/3 nodes are available: pre-filter pod worker-2 \
cannot find enough sibling pods, current pods number: 2, minMember of group: 4
"""


def test_kubectl_describe_pod() -> None:
    told = reply(DESCRIBED, KNOWN)
    first, second, third = told.answers
    assert [answer.message.name for answer in told.answers] == [
        "not-enough-siblings",
        "rejection-in-unreserve",
        "node-locked",
    ]
    assert [hit.line for hit in first.hits] == [16, 19]
    assert first.hits[-1].values == {
        "pod": "worker-2",
        "namespace": "ml",
        "group": "train",
        "present": "2",
        "wanted": "4",
    }
    assert second.hits[0].values["namespace"] == "ml"
    assert third.hits[0].values["node"] == "n7"
    page = answers.text(told, RULES, Style())
    assert "kubectl get podgroups.scheduling.x-k8s.io -n ml train -o yaml" in page
    assert "said 2 times, the last one is shown; lines 16, 19" in page
    assert "Coscheduling counted 2 live Pods" in page


def test_two_pods_described_are_kept_apart() -> None:
    other = DESCRIBED.replace("worker-2", "worker-3").replace("ml", "lab").replace("=train", "=other")
    first = reply(f"{DESCRIBED}\n\n{other}", KNOWN).answers[0]
    assert [(hit.values["namespace"], hit.values["group"], hit.values["pod"]) for hit in first.hits] == [
        ("ml", "train", "worker-2"),
        ("ml", "train", "worker-2"),
        ("lab", "other", "worker-3"),
        ("lab", "other", "worker-3"),
    ]


def test_objects_as_yaml_and_json() -> None:
    message = "0/3 nodes are available: pre-filter pod w-0 cannot find enough sibling pods, current pods number: 1, "
    message += "minMember of group: 3. no new claims to deallocate, preemption: none"
    objects = [
        {
            "metadata": {"labels": {"scheduling.x-k8s.io/pod-group": group}, "name": "w-0", "namespace": namespace},
            "status": {"conditions": [{"message": message}]},
        }
        for namespace, group in (("ml", "train"), ("lab", "other"))
    ]
    for text in (yaml.safe_dump_all(objects), json.dumps({"items": objects}, indent=4)):
        (answer,) = reply(text, KNOWN).answers
        places = [(hit.values["namespace"], hit.values["group"], hit.values["pod"]) for hit in answer.hits]
        assert places == [("ml", "train", "w-0"), ("lab", "other", "w-0")], text


def test_a_described_node_is_no_pod() -> None:
    node = "Name:               n1\nRoles:              <none>\nEvents:\n  Warning x  node n1 is locked\n"
    assert dict(reply(node, KNOWN).answers[0].hits[0].values) == {"node": "n1"}


def test_kubectl_get_events() -> None:
    events = """\
NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT         MESSAGE
ml          2m          Warning   FailedScheduling   pod/worker-0   0/1 nodes are available: 1 PodGroup not found.
lab         1m          Warning   FailedScheduling   pod/x          0/1 nodes are available: 1 PodGroup not found.
"""
    (answer,) = reply(events, KNOWN).answers
    assert [(hit.values["namespace"], hit.values["pod"]) for hit in answer.hits] == [("ml", "worker-0"), ("lab", "x")]
    (alone,) = reply("2m3s   Warning   FailedScheduling   pod/w   1 PodGroup not found", KNOWN).answers
    assert dict(alone.hits[0].values) == {"pod": "w", "count": "1"}


def test_a_log_tells_its_pod() -> None:
    line = 'I1129 1 p.go:1] "Pod rejected by plugin" pod="ml/w-0" node="n1" status="PodGroup not found"'
    values = reply(line, KNOWN).answers[0].hits[0].values
    assert dict(values) == {"namespace": "ml", "pod": "w-0", "node": "n1"}


def test_a_whole_failure_of_kubelet_is_one_answer() -> None:
    text = """\
Status:  Failed
Reason:  UnexpectedAdmissionError
Message: Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = no binding pod found on node n1
"""
    assert answered(text) == ["kubelet-no-pending-pod"]


def finding(rule: Rule) -> Finding:
    place = Place(Ref("v1", "Pod", "default", "a"), ("metadata", "labels"))
    return Finding(place, "the fact: with a colon", "do this; and that", rule=rule.name, severity=rule.severity)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_what_the_webhook_says_leads_to_the_rule(rule: Rule) -> None:
    refused = speech.denial([finding(rule)], None)
    event = "".join(map(str.capitalize, rule.name.split("-")))
    warned = speech.warning(finding(rule))
    for text in (
        f'Error from server (Forbidden): admission webhook "pods.validate.gangcheck.io" denied the request: {refused}',
        f"Warning: {warned}",
        f"LAST SEEN   TYPE      REASON   OBJECT   MESSAGE\n3s   Warning   {event}   job/train   {warned}",
        f"  Warning  {event}  3s (x2 over 9s)  gangcheck  {warned}",
        f"gangcheck: {warned}",
    ):
        assert answered(text) == [rule.name], text


def test_what_the_linter_prints_leads_to_the_rules() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {scheduling.x-k8s.io/pod-group: ''}}\n"
    text += "spec: {containers: [{name: c}]}\n"
    printed = subprocess.run(
        [sys.executable, "-m", "webhook", "lint", "--no-config", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    ).stdout
    assert answered(printed) == ["pod-group-empty"]


def test_a_denial_of_two_rules() -> None:
    text = (
        'Error from server (Forbidden): admission webhook "x.gangcheck.io" denied the request: '
        "pod-group-empty: Pod/a metadata.labels: empty; fill it\n"
        "musl-image: Pod/a spec: musl; take glibc\n"
        "gangcheck explain pod-group-empty; gangcheck explain musl-image"
    )
    assert answered(text) == ["pod-group-empty", "musl-image"]


def test_lines_are_those_of_an_editor() -> None:
    text = 'a\x0cb\x85c\u2028d\n{"last-applied": "x\\ny\\nz"}\r\n1 PodGroup not found\r1 rejection in Unreserve'
    lines = {answer.message.name: answer.hits[0].line for answer in reply(text, KNOWN).answers}
    assert lines == {"podgroup-not-found": 3, "rejection-in-unreserve": 4}


def test_in_order_and_once() -> None:
    text = "1 rejection in Unreserve\n1 PodGroup not found\n1 rejection in Unreserve\n"
    assert answered(text) == ["rejection-in-unreserve", "podgroup-not-found"]


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("Cannot find enough siblings for the pod", "not-enough-siblings"),
        ("podgroup was not found", "podgroup-not-found"),
        ("node lock contended on n1", "node-locked"),
        ("only one queue-sort plugin", "two-queue-sorts"),
    ],
)
def test_an_unknown_text_shows_the_nearest(asked: str, near: str) -> None:
    told = reply(asked, KNOWN)
    assert not told.answers
    assert near in [message.name for message in told.nearest]


@pytest.mark.parametrize("asked", ["Error: ImagePullBackOff", "cudaErrorMemoryAllocation: out of memory"])
def test_a_text_of_something_else_has_nothing_near(asked: str) -> None:
    assert reply(asked, (*TABLE, *own(all_rules()))) == Reply(())


@pytest.mark.parametrize("asked", ["the quick brown fox", "OOMKilled", "\U0001f600", "{}", "%s %d", "[-]", "(.*)+"])
def test_nothing_is_near(asked: str) -> None:
    assert reply(asked, KNOWN) == Reply(())


@pytest.mark.parametrize("asked", ["", " \r\n\t", "\x1b[0m", "\0\0", "\ufeff"])
def test_empty(asked: str) -> None:
    assert reply(asked, KNOWN).empty


PIECES = [said(pattern) for message in TABLE for pattern in message.patterns]
PASTED = st.lists(st.one_of(st.text(max_size=20), st.sampled_from(PIECES)), max_size=8)


@given(PASTED, st.sampled_from(["", " ", "\n", "\r\n", ", "]))
@settings(max_examples=150, deadline=None)
def test_anything_pasted(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    told = reply(text, TABLE)
    lines = len(re.split("\r\n|\r|\n", text))
    for answer in told.answers:
        assert answer.hits
        assert all(1 <= hit.line <= lines for hit in answer.hits)
        assert [hit.line for hit in answer.hits] == sorted(hit.line for hit in answer.hits)
    assert answers.text(told, RULES, Style()).endswith("\n")
    assert json.loads(answers.json(told, RULES))["version"] == 1
    if between == "\n" and not told.answers:
        assert not any(piece in PIECES for piece in pieces)


def seconds(call: Callable[[], object]) -> float:
    begin = process_time()
    call()
    return process_time() - begin


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a-b." * 200_000,
        "PodGroup " * 100_000,
        ' Post "' * 100_000,
        "\n" * 1_000_000,
        "1 nodes " * 100_000,
        "0/1 nodes are available: 1 PodGroup not found.\n" * 20_000,
        "\\" * 1_000_000,
        "\x1b]" * 1_000_000,
        "Name:\n" * 100_000,
        "pods number: 1 " * 50_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_a_huge_text_takes_seconds(text: str) -> None:
    assert seconds(lambda: reply(text, KNOWN)) < 20


def test_a_message_in_the_middle_of_a_huge_log() -> None:
    noise = "I1129 20:00:00.000000 1 schedule_one.go:1] everything is fine\n" * 20_000
    told = reply(f"{noise}1 PodGroup not found\n{noise}", KNOWN)
    assert [(answer.message.name, answer.hits[0].line) for answer in told.answers] == [("podgroup-not-found", 20_001)]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf1 PodGroup not found",
        "1 PodGroup not found\r\n".encode("utf-16"),
        "1 PodGroup not found".encode("utf-16-le"),
        b"\xff\x00\x80 \xc3(1 PodGroup not found\x00\xfe",
        b"\x00" * 1000 + b"PodGroup not found" + bytes(range(256)),
    ],
)
def test_bytes_of_any_kind(data: bytes) -> None:
    assert answered(decoded(data)) == ["podgroup-not-found"]


@pytest.mark.parametrize("data", [bytes(range(256)) * 100, b"\xff\xfe\x00", b"\xfe\xff"])
def test_binary_input_is_unknown(data: bytes) -> None:
    assert not reply(decoded(data), KNOWN).answers


def test_what_a_text_holds_is_shown_and_not_obeyed() -> None:
    told = reply('no matches for kind "PodGroup" in version "a\u202eb\u009b31m/v1"', KNOWN)
    page = answers.text(told, RULES, Style())
    assert "\u202e" not in page
    assert "\u009b" not in page


def test_text_in_colour() -> None:
    page = answers.text(reply("PodGroup not found", KNOWN), RULES, Style(color=True))
    assert page.startswith("\x1b[1;36mpodgroup-not-found\x1b[0m: \x1b[1;33msometimes normal\x1b[0m\n")


@pytest.mark.parametrize("width", [60, 100, 400])
def test_text_keeps_to_its_width_but_for_commands(width: int) -> None:
    page = answers.text(reply(DESCRIBED, KNOWN), RULES, Style(width=width))
    long = [line for line in page.splitlines() if len(line) > min(width, 100)]
    assert all(line.startswith(("      kubectl", "    said 2 times")) for line in long)


def test_text_on_a_screen_without_a_width() -> None:
    assert answers.text(reply("PodGroup not found", KNOWN), RULES, Style(width=0)).count("\n") > 20


# What a row calls its cause is found

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: hami-scheduler
    plugins:
      multiPoint: {enabled: [{name: Coscheduling}]}
      queueSort: {disabled: [{name: PrioritySort}]}
    pluginConfig:
      - name: Coscheduling
        args: {permitWaitingTimeSeconds: 10}
extenders:
  - urlPrefix: https://127.0.0.1:443
    enableHTTPS: true
    tlsConfig: {insecure: true}
    filterVerb: filter
    bindVerb: bind
    nodeCacheCapable: true
    weight: 1
    httpTimeout: 30s
    managedResources:
      - {name: nvidia.com/gpu, ignoredByScheduler: true}
      - {name: nvidia.com/gpumem, ignoredByScheduler: true}
      - {name: nvidia.com/gpucores, ignoredByScheduler: true}
      - {name: nvidia.com/gpumem-percentage, ignoredByScheduler: true}
      - {name: nvidia.com/priority, ignoredByScheduler: true}
leaderElection: {leaderElect: false}
"""


def found(text: str) -> set[str]:
    return {
        item.finding.rule for item in lint([("scheduler.yaml", [text.encode()])], Config(), rules=all_rules()).findings
    }


MISTAKES = [
    ("      queueSort: {disabled: [{name: PrioritySort}]}\n", "", "two-queue-sorts"),
    ("extenders:\n", "  - schedulerName: plain\nextenders:\n", "different-queue-sorts"),
    ("[{name: Coscheduling}]", "[{name: CoScheduling}]", "unknown-plugin"),
    ("config.k8s.io/v1", "config.k8s.io/v1beta3", "scheduler-config-version"),
    ("permitWaitingTimeSeconds", "permitWaitingTimeSecond", "unknown-plugin-argument"),
    ("permitWaitingTimeSeconds", "deniedPGExpirationTimeSeconds", "unknown-plugin-argument"),
    ("permitWaitingTimeSeconds: 10", 'permitWaitingTimeSeconds: "10s"', "plugin-argument-type"),
    ("permitWaitingTimeSeconds: 10", "permitWaitingTimeSeconds: -5", "plugin-argument-range"),
    ("extenders:", "extender:", "scheduler-config-field"),
    ("multiPoint:", "multipoint:", "scheduler-config-field"),
    ("extenders:\n", "  - schedulerName: hami-scheduler\nextenders:\n", "scheduler-name-twice"),
    ("httpTimeout: 30s", "httpTimeout: 30", "http-timeout-unit"),
    ("extenders:\n", "extenders:\n  - {urlPrefix: http://a, bindVerb: bind}\n", "two-binding-extenders"),
    ("permitWaitingTimeSeconds: 10", "podGroupBackoffSeconds: 20", "group-backed-off"),
    ("    httpTimeout: 30s\n", "", "bind-timeout"),
    ("      - {name: nvidia.com/gpumem, ignoredByScheduler: true}\n", "", "insufficient-extended-resource"),
]


@pytest.mark.parametrize(("old", "new", "row"), MISTAKES, ids=[f"{row} {new.strip()[:20]}" for _, new, row in MISTAKES])
def test_a_mistake_of_the_scheduler_is_found(old: str, new: str, row: str) -> None:
    assert old in CONFIG
    (message,) = [message for message in TABLE if message.name == row]
    assert found(CONFIG) == set()
    assert found(CONFIG.replace(old, new, 1)) & set(message.rules)


# The command


@pytest.fixture
def run() -> Callable[..., tuple[int, str, str]]:
    def call(*args: str, stdin: bytes | None = None) -> tuple[int, str, str]:
        result = CliRunner().invoke(why, args, input=stdin, standalone_mode=False)
        if result.exception:
            raise result.exception
        return result.return_value, result.stdout, result.stderr

    return call


Run = Callable[..., tuple[int, str, str]]


def test_command_known(run: Run) -> None:
    code, out, _ = run("0/1 nodes are available: 1 PodGroup not found.")
    assert code == 0
    assert out.startswith("podgroup-not-found: sometimes normal\n  > 1 PodGroup not found\n")


def test_command_without_quotes(run: Run) -> None:
    assert run("1", "PodGroup", "not", "found")[0] == 0


@pytest.mark.parametrize("args", [(), ("-",)])
def test_command_from_stdin(run: Run, args: tuple[str, ...]) -> None:
    code, out, _ = run(*args, stdin=DESCRIBED.encode())
    assert code == 0
    assert out.count("\nLook at:\n") == 3


def test_command_json(run: Run) -> None:
    code, out, _ = run("--format", "json", "-", stdin=DESCRIBED.encode())
    document = json.loads(out)
    assert code == 0
    assert document["version"] == 1
    assert document["nearest"] == []
    first = document["answers"][0]
    assert first["name"] == "not-enough-siblings"
    assert first["normal"] == "sometimes"
    assert first["times"] == 2
    assert [hit["line"] for hit in first["hits"]] == [16, 19]
    assert "below-min-member" in first["rules"]
    assert {"look", "command"} == set(first["checks"][0])


def test_command_unknown(run: Run) -> None:
    code, out, _ = run("podgroup was not found")
    assert code == 1
    assert out.startswith("No message that gangcheck knows is in this text.\n\nThe nearest that it knows:\n")
    code, out, _ = run("--format", "json", "podgroup was not found")
    assert code == 1
    assert json.loads(out)["nearest"][0] == {"name": "podgroup-not-found", "message": "COUNT PodGroup not found"}


def test_command_where_nothing_is_near_says_what_to_give(run: Run) -> None:
    code, out, _ = run("Error: ImagePullBackOff")
    assert code == 1
    assert out.endswith("To ask for all of a Pod:\n  kubectl describe pod POD | gangcheck why\n")


def test_command_nothing(run: Run) -> None:
    assert run(stdin=b"")[::2] == (3, "Error: nothing came in on stdin\n")
    assert run("")[::2] == (3, "Error: the message is empty\n")


def test_command_file_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "described.txt"
    file.write_text(DESCRIBED)
    code, _, err = run(str(file))
    assert code == 1
    assert err == f"To ask about what a file holds: gangcheck why < {file}\n"


def test_command_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(click.UsageError, match="give the message in quotes, or pipe"):
        why_command._stdin()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.UsageError, match="stdin is closed"):
        why_command._stdin()
    assert sys.stdin is None


def test_command_cuts_what_is_too_much(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.why_command._MOST", 1024 * 1024)
    code, _, err = run(stdin=b"x" * 1024 * 1024 + b" PodGroup not found")
    assert code == 1
    assert err == "Only the first 1 MiB are looked at\n"
