"""`gangcheck explain timeouts`: where each limit comes from, and which do not fit together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from webhook import lint
from webhook.config import Config
from webhook.explain_command import TOPICS, explain
from webhook.lint import Examined, examine
from webhook.report import Style, timeouts
from webhook.rules import all_rules
from webhook.stack import Stack
from webhook.timeouts import BACKOFF, CALL, CLIENT_LIMIT, LOCK, PERMIT, REQUEST, RETRY, WEBHOOKS, Chain, Link
from webhook.timeouts.chains import chains

ROOT = Path(__file__).parent
SCHEDULER = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: hami-scheduler, namespace: kube-system}
data:
  config.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
      - schedulerName: hami-scheduler
        plugins:
          multiPoint: {enabled: [{name: Coscheduling}]}
          queueSort: {disabled: [{name: PrioritySort}]}
        pluginConfig:
          - name: Coscheduling
            args:
              permitWaitingTimeSeconds: 10
    extenders:
      - urlPrefix: https://127.0.0.1:443
        filterVerb: filter
        bindVerb: bind
        nodeCacheCapable: true
        httpTimeout: 30s
        managedResources: [{name: nvidia.com/gpumem, ignoredByScheduler: true}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hami-scheduler, namespace: kube-system}
spec:
  selector: {matchLabels: {app: hami}}
  template:
    metadata: {labels: {app: hami}}
    spec:
      volumes: [{name: config, configMap: {name: hami-scheduler}}]
      containers:
        - name: kube-scheduler
          image: registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7
          command: [kube-scheduler, --config=/config/config.yaml]
          volumeMounts: [{name: config, mountPath: /config}]
        - name: vgpu-scheduler-extender
          image: docker.io/projecthami/hami:v2.10.0
          command:
            - scheduler
            - --http_bind=0.0.0.0:443
"""


def with_flags(*flags: str, text: str = SCHEDULER) -> str:
    return text + "".join(f"            - {flag}\n" for flag in flags)


def group(name: str, spec: str) -> str:
    head = f"---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{{spec}}}\n"


Read = Callable[..., tuple[Examined, tuple[Chain, ...]]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def call(text: str, stack: Stack | None = None) -> tuple[Examined, tuple[Chain, ...]]:
        Path("all.yaml").write_text(text, encoding="utf-8")
        config = Config(stack=stack or Stack())
        examined = examine(["all.yaml"], config)
        assert not examined.unreadable
        return examined, tuple(chains(examined.subjects, config.stack))

    return call


def named(chain: Chain) -> Mapping[str, Link]:
    return {link.name: link for link in chain.links}


def broken(chain: Chain) -> list[tuple[tuple[str, ...], bool]]:
    return [(each.links, each.certain) for each in chain.breaks]


def line_of(examined: Examined, link: Link) -> str:
    assert link.place is not None
    return examined.spot(link.place).lines[0].strip()


def test_the_guide_with_the_charts_own_flags(read: Read) -> None:
    examined, (chain,) = read(SCHEDULER)
    link = named(chain)
    assert chain.version == (2, 10, 0)
    assert (link[CLIENT_LIMIT].rate, link[CLIENT_LIMIT].origin) == (5.0, "default")
    assert (link[RETRY].seconds, link[RETRY].source) == (28.0, "default of HAMi 2.10 and later")
    assert (link[CALL].seconds, link[CALL].origin) == (30.0, "input")
    assert line_of(examined, link[CALL]) == "httpTimeout: 30s"
    assert (link[LOCK].seconds, link[LOCK].origin) == (300.0, "default")
    assert line_of(examined, link[PERMIT]) == "permitWaitingTimeSeconds: 10"
    assert (link[BACKOFF].seconds, link[BACKOFF].value) == (0, "off")
    assert broken(chain) == [((CLIENT_LIMIT, RETRY, CALL), True)]
    assert "2 s between them are too few" in chain.breaks[0].message


@pytest.mark.parametrize(
    ("flags", "changed", "links"),
    [
        (["--kube-qps=100", "--kube-burst=200"], {}, []),
        (["--kube-qps=20"], {}, []),
        (["--node-lock-retry-timeout=20s"], {}, [(CLIENT_LIMIT, RETRY)]),
        (["--node-lock-retry-timeout=0"], {}, []),
        ([], {"30s": "40s"}, [(CLIENT_LIMIT, RETRY)]),
        (["--kube-qps=100", "--node-lock-retry-timeout=30s"], {}, [(RETRY, CALL)]),
        (["--kube-qps=100", "--node-lock-retry-timeout=1m"], {}, [(RETRY, CALL)]),
        (["--kube-qps=100"], {"        httpTimeout: 30s\n": ""}, [(RETRY, CALL)]),
        (["--kube-qps=5", "--node-lock-retry-timeout=25s"], {}, [(CLIENT_LIMIT, RETRY, CALL)]),
        (["--kube-qps=100", "--node-lock-timeout=0"], {}, [(LOCK,)]),
        (["--kube-qps=100", "--node-lock-timeout=20s"], {}, [(LOCK, RETRY, CALL)]),
        (
            ["--kube-qps=100"],
            {"permitWaitingTimeSeconds: 10": "podGroupBackoffSeconds: 20"},
            [(BACKOFF,)],
        ),
        (["--kube-qps=$(QPS)"], {}, []),
        (["--node-lock-retry-timeout=$(RETRY)", "--kube-qps=$(QPS)"], {"30s": "1s"}, []),
        (["--node-lock-retry-timeout=28"], {}, [(CLIENT_LIMIT, RETRY)]),
        ([], {"v2.10.0": "v2.9.0"}, []),
        ([], {"v2.10.0": "v2.9.0", "30s": "1s"}, []),
        ([], {"v2.10.0": "latest"}, [(CLIENT_LIMIT, RETRY, CALL)]),
        (["--kube-qps=100"], {"v2.10.0": "latest"}, []),
        (["--kube-qps=100"], {"v2.10.0": "latest", "30s": "5s"}, [(RETRY, CALL)]),
        ([], {"[{name: Coscheduling}]": "[]"}, []),
        (["--node-lock-retry-timeout=40s"], {"[{name: Coscheduling}]": "[]"}, [(RETRY, CALL)]),
    ],
)
def test_links_that_break(
    read: Read, flags: list[str], changed: Mapping[str, str], links: list[tuple[str, ...]]
) -> None:
    text = SCHEDULER
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    _, (chain,) = read(with_flags(*flags, text=text))
    assert [each.links for each in chain.breaks] == links


def test_how_many_members_fit(read: Read) -> None:
    _, (chain,) = read(SCHEDULER.replace("30s", "40s"))
    assert "so about 12 members fit into 28 s" in chain.breaks[0].message


def test_where_a_flag_stands(read: Read) -> None:
    examined, (chain,) = read(with_flags("--kube-qps=50", "--kube-burst=90", "--node-lock-timeout", "10m"))
    link = named(chain)
    assert link[CLIENT_LIMIT].value == "50 requests/s, bursts of 90"
    assert line_of(examined, link[CLIENT_LIMIT]) == "- --kube-qps=50"
    assert (link[LOCK].seconds, line_of(examined, link[LOCK])) == (600.0, "- 10m")


def test_what_is_left_out_points_at_where_it_belongs(read: Read) -> None:
    examined, (chain,) = read(SCHEDULER.replace("        httpTimeout: 30s\n", ""))
    call = named(chain)[CALL]
    assert (call.seconds, call.origin, call.source) == (5.0, "default", "default of kube-scheduler, for it is left out")
    assert line_of(examined, call) == "- urlPrefix: https://127.0.0.1:443"


@pytest.mark.parametrize(("version", "retry", "lock"), [("2.5.0", "none", "5m"), ("2.9.0", "none", "5m")])
def test_old_releases(read: Read, version: str, retry: str, lock: str) -> None:
    _, (chain,) = read(SCHEDULER.replace("v2.10.0", f"v{version}"))
    link = named(chain)
    assert (link[RETRY].value, link[RETRY].seconds) == (retry, 0.0)
    assert link[RETRY].source == f"HAMi {version} does not wait: it came with 2.10"
    assert link[LOCK].value == lock
    assert not chain.breaks


def test_an_unknown_release_says_both_halves(read: Read) -> None:
    _, (chain,) = read(SCHEDULER.replace("v2.10.0", "latest"))
    retry = named(chain)[RETRY]
    assert (retry.value, retry.seconds, retry.origin) == ("28s, or none", None, "unknown")
    assert retry.source == "default of HAMi 2.10 and later; earlier ones do not wait"


def test_a_declared_stack(read: Read) -> None:
    stack = Stack(hami=(2, 10), kube_qps=100.0, permit_waiting_seconds=25)
    _, (chain,) = read("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n", stack)
    link = named(chain)
    assert chain.title == ""
    assert (link[CLIENT_LIMIT].rate, link[CLIENT_LIMIT].origin) == (100.0, "declared")
    assert (link[PERMIT].seconds, link[PERMIT].origin) == (25, "declared")
    assert (link[CALL].seconds, link[CALL].origin) == (30.0, "default")
    assert not chain.breaks


def test_the_defaults_alone_are_a_risk_and_no_certainty(read: Read) -> None:
    _, (chain,) = read(group("g", "minMember: 4"), Stack(hami=(2, 10)))
    assert broken(chain) == [((CLIENT_LIMIT, RETRY, CALL), False)]
    _, (unknown,) = read(group("g", "minMember: 4"))
    assert not unknown.breaks


def test_values_of_the_chart(read: Read) -> None:
    values = """\
scheduler:
  kubeScheduler:
    image: {registry: registry.k8s.io, repository: scheduler-plugins/kube-scheduler, tag: v0.34.7}
  extender:
    extraArgs: ["--debug", "-v=4", "--node-lock-retry-timeout=35s"]
devicePlugin: {}
global: {imageTag: v2.10.0}
"""
    Path("values.yaml").write_text(values, encoding="utf-8")
    examined = examine(["values.yaml"], Config())
    (chain,) = chains(examined.subjects, Stack())
    link = named(chain)
    assert link[RETRY].seconds == 35.0
    assert "--node-lock-retry-timeout=35s" in line_of(examined, link[RETRY])
    assert link[CALL].source == "HAMi's chart writes it, in all releases"
    assert broken(chain) == [((RETRY, CALL), True), ((CLIENT_LIMIT, RETRY), False)]
    assert "about 13 members fit into 30 s" in chain.breaks[1].message


@pytest.mark.parametrize(
    ("spec", "seconds", "value", "origin"),
    [
        ("minMember: 2", 10, "10s", "default"),
        ("minMember: 2, scheduleTimeoutSeconds: 0", 10, "10s", "input"),
        ("minMember: 2, scheduleTimeoutSeconds: 120", 120, "120s", "input"),
        ("minMember: 2, scheduleTimeoutSeconds: 1200", 900, "1200s, cut to 900s", "input"),
        ("minMember: 2, scheduleTimeoutSeconds: -1", -1, "-1s", "input"),
    ],
)
def test_a_group_waits(read: Read, spec: str, seconds: int, value: str, origin: str) -> None:
    _, (chain,) = read(SCHEDULER + group("g", spec))
    link = named(chain)["PodGroup/g"]
    assert (link.seconds, link.value, link.origin) == (seconds, value, origin)


@pytest.mark.parametrize(
    ("spec", "flags", "rules"),
    [
        ("minMember: 4", [], []),
        ("minMember: 12, scheduleTimeoutSeconds: 60", [], []),
        ("minMember: 16, scheduleTimeoutSeconds: 60", [], ["gang-too-big-for-one-node"]),
        ("minMember: 16, scheduleTimeoutSeconds: 60", ["--kube-qps=100"], []),
        ("minMember: 16, scheduleTimeoutSeconds: 60", ["--node-lock-retry-timeout=0"], []),
        ("minMember: 12, scheduleTimeoutSeconds: 3", [], ["schedule-timeout-unusable"]),
        ("minMember: 40, scheduleTimeoutSeconds: 1", ["--kube-qps=100"], ["schedule-timeout-unusable"]),
        ("minMember: 2, scheduleTimeoutSeconds: -1", [], ["schedule-timeout-unusable"]),
        ("minMember: 1, scheduleTimeoutSeconds: 1", [], []),
        ("scheduleTimeoutSeconds: 1", [], []),
    ],
)
def test_a_group_that_breaks(read: Read, spec: str, flags: list[str], rules: list[str]) -> None:
    text = with_flags(*flags).replace("30s", "60s") + group("g", spec)
    _, (chain,) = read(text)
    assert [each.rules[0] for each in chain.breaks if each.links[0] == "PodGroup/g"] == rules


def test_groups_of_other_systems_are_none(read: Read) -> None:
    volcano = group("v", "minMember: 16").replace("scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1")
    _, (chain,) = read(SCHEDULER + volcano)
    assert "PodGroup/v" not in named(chain)


HOOKS = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
"""


def hook(name: str, more: str) -> str:
    rules = "rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]"
    service = "clientConfig: {service: {name: s, namespace: n}}"
    fixed = f"{service}, {rules}, sideEffects: None, admissionReviewVersions: [v1]"
    return f"  - {{name: {name}.example.com, {fixed}{more}}}\n"


def test_webhooks(read: Read) -> None:
    text = HOOKS + hook("a", ", timeoutSeconds: 30") + hook("b", "") + hook("c", ", matchConditions: [{name: x}]")
    _, found = read(text)
    chain = found[-1]
    link = named(chain)
    assert chain.title == "webhooks of Pods"
    assert [each.value for each in chain.links] == ["30s", "10s", "40s", "34s"]
    assert link["mutating webhook b.example.com"].origin == "default"
    assert (link[WEBHOOKS].seconds, link[REQUEST].seconds) == (40, 34)
    assert broken(chain) == [((WEBHOOKS, REQUEST), True)]
    _, mended = read(text.replace("timeoutSeconds: 30", "timeoutSeconds: 3"))
    assert not mended[-1].breaks


def test_another_scheduler_with_gangs(read: Read) -> None:
    config = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: gangs
    plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}
    pluginConfig: [{name: Coscheduling, args: {podGroupBackoffSeconds: 20}}]
"""
    _, (chain,) = read(config + group("g", "minMember: 16"))
    assert chain.title.startswith("kube-scheduler (KubeSchedulerConfiguration")
    assert not {CLIENT_LIMIT, RETRY, CALL} & named(chain).keys()
    assert (named(chain)[PERMIT].seconds, named(chain)["PodGroup/g"].seconds) == (60, 60)
    assert broken(chain) == [((BACKOFF,), True)]


def test_groups_of_several_schedulers_stand_by_themselves(read: Read) -> None:
    other = SCHEDULER.replace("kube-system", "gpu-system")
    groups = group("g", "minMember: 16") + group("h", "minMember: 2, scheduleTimeoutSeconds: -1")
    _, found = read(f"{SCHEDULER}---\n{other}{groups}")
    assert [chain.title.partition(" ")[0] for chain in found] == ["HAMi", "HAMi", "PodGroups"]
    assert [(link.value, link.origin) for link in found[-1].links] == [("its scheduler's", "unknown"), ("-1s", "input")]
    assert [each.links for chain in found for each in chain.breaks if "PodGroup/h" in each.links] == [
        ("PodGroup/h", PERMIT)
    ]


# What is said here and what rules say must not part


def fixtures(rule: str, which: str) -> list[Path]:
    return sorted(ROOT.glob(f"rules/{rule}.{which}.yaml")) + sorted(ROOT.glob(f"rules/{rule}.*.{which}.yaml"))


CHECKED = ("extender-timeout", "extender-client-limit", "podgroup-backoff", "webhook-long-timeout")


def chains_of(path: Path) -> list[Chain]:
    declared = re.search(r'^# stack: \{hami: "([0-9.]+)"\}', path.read_text(encoding="utf-8"), re.MULTILINE)
    stack = Stack(hami=tuple(map(int, declared[1].split(".")))) if declared else Stack()
    return list(chains(examine([str(path)], Config(stack=stack)).subjects, stack))


@pytest.mark.parametrize(
    "path", [path for rule in CHECKED for path in fixtures(rule, "bad")], ids=lambda path: path.name
)
def test_what_a_rule_finds_is_a_broken_link(path: Path) -> None:
    rule = path.name.partition(".")[0]
    assert rule in {name for chain in chains_of(path) for each in chain.breaks for name in each.rules}


@pytest.mark.parametrize(
    "path", [path for rule in CHECKED for path in fixtures(rule, "good")], ids=lambda path: path.name
)
def test_what_no_rule_finds_is_whole(path: Path) -> None:
    certain = [each for chain in chains_of(path) for each in chain.breaks if each.certain]
    assert not certain


EXTENDER_RULES = {"extender-timeout", "extender-client-limit"}
CONFIG, _, DEPLOYMENT = SCHEDULER.partition("---\n")


@pytest.mark.parametrize(
    "more", [["--kube-qps=100"], ["--debug"], ["$(MORE)"], ["--node-lock-retry-timeout=25s"], None]
)
@pytest.mark.parametrize("hami", [(), (2, 9), (2, 10)])
@pytest.mark.parametrize("timeout", ["", "5s", "28s", "30s", "60s"])
@pytest.mark.parametrize("gangs", [True, False])
@pytest.mark.parametrize("qps", [None, 5.0])
def test_both_commands_say_the_same(
    read: Read, *, timeout: str, hami: tuple[int, ...], more: list[str] | None, gangs: bool, qps: float | None
) -> None:
    """`more` are flags of the extender, None where the input holds the configuration alone."""
    line = f"        httpTimeout: {timeout}\n" if timeout else ""
    text = CONFIG if more is None else with_flags(*more).replace("hami:v2.10.0", "hami:latest")
    text = text.replace("        httpTimeout: 30s\n", line)
    text = text if gangs else text.replace("[{name: Coscheduling}]", "[]")
    declared = {name for name, value in (("hami", hami), ("kube_qps", qps)) if value}
    stack = Stack(hami=hami or None, kube_qps=qps, declared=frozenset(declared))
    _, (chain,) = read(text, stack)
    assert bool(EXTENDER_RULES & said_by_lint(text, stack)) == bool(chain.breaks)
    assert_agreed(said_by_lint(text, stack), chain)


def said_by_lint(text: str, stack: Stack) -> set[str]:
    found = lint.lint([("all.yaml", [text.encode()])], Config(stack=stack), rules=all_rules()).findings
    return {item.finding.rule for item in found}


def assert_agreed(found: set[str], chain: Chain) -> None:
    """Each of the two rules that speaks is named by a broken link, and each such link has one that speaks."""
    named_there = {rule for each in chain.breaks for rule in each.rules}
    assert EXTENDER_RULES & found <= named_there
    assert all(found & set(each.rules) for each in chain.breaks)


def test_one_verdict_of_an_extender_alone(read: Read) -> None:
    """A new user's two inputs: a short httpTimeout with HAMi declared, and none at all with nothing declared."""
    stack = Stack(hami=(2, 10), declared=frozenset({"hami"}))
    short = CONFIG.replace("30s", "5s")
    _, (chain,) = read(short, stack)
    assert broken(chain) == [((RETRY, CALL), True)]
    assert "extender-timeout" in said_by_lint(short, stack)
    absent = CONFIG.replace("        httpTimeout: 30s\n", "")
    _, (chain,) = read(absent)
    assert broken(chain) == [((RETRY, CALL), False)]
    assert chain.breaks[0].message.startswith("from HAMi 2.10 on the default wait for a node's lock is 28 s")
    assert "extender-timeout" in said_by_lint(absent, Stack())


@pytest.mark.parametrize("more", ["", "schedulerName: other\n"])
@pytest.mark.parametrize("names", [set(), {"hami-scheduler"}])
def test_values_of_a_scheduler_that_is_declared_to_have_gangs(read: Read, names: set[str], more: str) -> None:
    text = f"{more}scheduler: {{extender: {{extraArgs: [--debug, -v=4]}}}}\ndevicePlugin: {{}}\n"
    declared = frozenset({"coscheduling_schedulers", "hami"} if names else {"hami"})
    stack = Stack(hami=(2, 10), declared=declared)
    _, (chain,) = read(text, stack)
    said = bool(names) and not more
    assert ("extender-client-limit" in said_by_lint(text, stack)) is said
    assert [each.certain for each in chain.breaks] == [said]


def test_breaks_name_rules_that_there_are(read: Read) -> None:
    text = with_flags("--node-lock-timeout=0").replace("permitWaitingTimeSeconds: 10", "podGroupBackoffSeconds: 9")
    text += group("g", "minMember: 16, scheduleTimeoutSeconds: 1") + group(
        "h", "minMember: 2, scheduleTimeoutSeconds: -1"
    )
    _, (chain,) = read(text)
    rules = {rule for each in chain.breaks for rule in each.rules}
    assert len(chain.breaks) == 6
    assert rules <= {rule.name for rule in all_rules()}


# How it is shown


def test_text(read: Read) -> None:
    examined, found = read(SCHEDULER + group("g", "minMember: 4, scheduleTimeoutSeconds: 60"))
    assert (
        timeouts.text(found, examined.spot, Style())
        == """\
HAMi in kube-system (Deployment/hami-scheduler), HAMi 2.10.0

  API client of HAMi's extender                   5 requests/s, bursts of 10  --kube-qps, --kube-burst \
(default of client-go, which the chart leaves alone)
  wait for a node's lock                          28s                         --node-lock-retry-timeout \
(default of HAMi 2.10 and later)
  kube-scheduler waits for the extender           30s                         extenders[].httpTimeout (all.yaml:22)
  first answer of an extender that starts         up to 15s                   (HAMi registers nodes every 15 s \
(seen with 2.10.0))
  age at which a lock is taken over               5m                          --node-lock-timeout \
(default of all HAMi releases)
  members wait for each other                     10s                         permitWaitingTimeSeconds (all.yaml:16)
  a group that failed is left alone               off                         podGroupBackoffSeconds \
(default of scheduler-plugins)
  longest wait that the scheduler allows          15m                         (kube-scheduler framework/runtime, \
maxTimeout)
  kube-scheduler looks again at what nobody woke  5m                          (kube-scheduler's queue (seen: 327 s))
  PodGroup/g                                      60s                         scheduleTimeoutSeconds (all.yaml:48)

broken: API client of HAMi's extender, wait for a node's lock, kube-scheduler waits for the extender
  HAMi waits 28 s for a node's lock (--node-lock-retry-timeout), kube-scheduler 30 s for HAMi
  (httpTimeout): 2 s between them are too few while HAMi's client is held to 5 requests/s, which
  makes its polls late
  help: add --kube-qps=100 --kube-burst=200 to the extender, or set httpTimeout to 38s (gangcheck
  explain extender-client-limit)
"""
    )


def test_text_of_many_groups_shows_the_broken_ones(read: Read) -> None:
    many = "".join(group(f"g{number}", "minMember: 2") for number in range(40))
    examined, found = read(SCHEDULER + many + group("late", "minMember: 2, scheduleTimeoutSeconds: -1"))
    page = timeouts.text(found, examined.spot, Style())
    assert page.count("PodGroup/g") == 12
    assert "  and 28 more PodGroups\n" in page
    assert "  PodGroup/late " in page


def test_text_in_colour_and_without_an_installation(read: Read) -> None:
    examined, found = read(group("g", "minMember: 2"))
    page = timeouts.text(found, examined.spot, Style(color=True))
    assert page.startswith("\x1b[1mHAMi, release unknown: nothing of its installation is in the input")
    assert "\x1b[1;32mNo link is broken, as far as the input shows.\x1b[0m" in page


def test_what_manifests_hold_is_shown_and_not_obeyed(read: Read) -> None:
    examined, found = read(with_flags('"--node-lock-timeout=\\e[31m5m"'))
    assert "\x1b" not in timeouts.text(found, examined.spot, Style())
    assert "\x1b" not in timeouts.json(found, examined.spot)


def test_json(read: Read) -> None:
    examined, found = read(SCHEDULER)
    document = json.loads(timeouts.json(found, examined.spot))
    assert document["version"] == 1
    (chain,) = document["chains"]
    assert chain["hami"] == "2.10.0"
    call = next(link for link in chain["links"] if link["name"] == CALL)
    assert call == {
        "name": CALL,
        "setting": "extenders[].httpTimeout",
        "seconds": 30.0,
        "rate": None,
        "value": "30s",
        "origin": "input",
        "source": "",
        "file": "all.yaml",
        "line": 22,
        "column": 22,
    }
    assert chain["breaks"][0]["links"] == [CLIENT_LIMIT, RETRY, CALL]
    assert chain["breaks"][0]["certain"] is True


# The command


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("hami.yaml").write_text(SCHEDULER, encoding="utf-8")

    def call(*args: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(explain, args, standalone_mode=False)
        if result.exception:
            raise result.exception
        return result.return_value, result.stdout, result.stderr

    return call


def test_command(run: Run) -> None:
    code, out, err = run("timeouts", "hami.yaml")
    assert (code, err) == (0, "")
    assert out.startswith("HAMi in kube-system (Deployment/hami-scheduler), HAMi 2.10.0\n")


def test_command_json_and_declared_stack(run: Run) -> None:
    Path("group.yaml").write_text(group("g", "minMember: 2"), encoding="utf-8")
    code, out, _ = run("timeouts", "--format", "json", "--stack", "hami=2.9", "--no-config", "group.yaml")
    assert code == 0
    assert json.loads(out)["chains"][0]["hami"] == "2.9"


def test_command_what_cannot_be_read(run: Run) -> None:
    Path("broken.yaml").write_text("containers: [", encoding="utf-8")
    code, out, err = run("timeouts", "hami.yaml", "broken.yaml", "none.yaml")
    assert code == 4
    assert "HAMi 2.10.0" in out
    assert "cannot read broken.yaml:" in err
    assert "cannot read none.yaml: no such file" in err


def test_command_nothing_there(run: Run) -> None:
    Path("empty").mkdir()
    assert run("timeouts", "empty")[::2] == (3, "Error: no YAML or JSON file in empty\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["timeouts"], "give files or folders: gangcheck explain timeouts PATH..."),
        (["timeouts", "--format", "markdown", "hami.yaml"], "timeouts is shown as text or json"),
        (["timeouts", "--config", "x", "--no-config", "hami.yaml"], "--config and --no-config exclude each other"),
        (["timeout", "hami.yaml"], "there is no rule 'timeout'; did you mean 'timeouts'?"),
        (
            ["musl-image", "hami.yaml"],
            "a rule takes no PATH; to look for it: gangcheck lint --select musl-image hami.yaml",
        ),
        (["musl-image", "--format", "json"], "a rule's page is text or markdown"),
    ],
)
def test_command_misused(run: Run, args: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as error:
        run(*args)
    assert message in error.value.message


def test_no_rule_is_named_as_a_topic() -> None:
    assert not TOPICS.keys() & {rule.name for rule in all_rules()}
