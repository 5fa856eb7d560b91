"""`.gangcheck.yaml`: what it says, what is wrong with it, and that its JSON Schema says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import jsonschema
import pytest
import yaml

from webhook import config as config_module
from webhook import settings
from webhook.config import Config, PathRules, is_excluded, is_ignored, matches, policy, read_config, read_stack
from webhook.errors import BadConfig
from webhook.model import Pod
from webhook.rule import Rule, Severity
from webhook.settings import read_setting
from webhook.stack import VENDORS, Stack

RULES = ("musl-image", "pod-group-annotation", "pod-group-empty")
SCHEMA: dict[str, Any] = json.loads(resources.files("webhook").joinpath("config.schema.json").read_text("utf-8"))

FULL = """
select: [pod-group-*, musl-image]
ignore:
  - pod-group-empty
severities: {musl-image: error, pod-group-*: info}
perPath:
  - paths: [examples/**, "*.draft.yaml"]
    ignore: [musl-image]
exclude: [vendor]
failOn: warning
whole: true
stack:
  hami: "2.10"
  coscheduling: v0.34.7
  kubernetes: "1.35"
  hamiScheduler: gpu-scheduler
  coschedulingSchedulers: [gpu-scheduler]
  foreignSchedulers: volcano
  defaultNamespace: ml
  resources:
    nvidia: {count: example.com/gpu, memory: [example.com/gpumem]}
  operators: {mpi-operator: gpu-scheduler, kuberay: true, trainer: false}
  hamiWebhook: false
  forceOverwriteDefaultScheduler: false
  mockDevicePlugin: true
  nativeGang: false
  kubeQps: 100
  permitWaitingSeconds: 60
  injectsScheduler: true
  images: {"registry.local/*": musl}
  imageMirrors: [mirror.local/hub]
"""


def read(text: str) -> Config:
    return read_config(text, ".gangcheck.yaml", RULES)


def a_rule(name: str) -> Rule:
    return Rule(name, (Pod,), Severity.ERROR, "seen", "", lambda _subject, _stack: ())


def test_everything_that_can_be_said() -> None:
    config = read(FULL)
    stack = config.stack
    assert config.select == ("pod-group-*", "musl-image")
    assert config.per_path == (PathRules(("examples/**", "*.draft.yaml"), ("musl-image",)),)
    assert (config.fail_on, config.whole, config.exclude) == (Severity.WARNING, True, ("vendor",))
    assert (stack.hami, stack.coscheduling, stack.kubernetes) == ((2, 10), (0, 34, 7), (1, 35))
    assert stack.foreign_schedulers == {"volcano"}
    assert stack.vendors["nvidia"].count == ("example.com/gpu",)
    assert stack.vendors["nvidia"].cores == VENDORS["nvidia"].cores
    assert stack.vendors["hygon"] == VENDORS["hygon"]
    assert "example.com/gpumem" in stack.annotated_names
    assert stack.operators == {"mpi-operator": "gpu-scheduler", "kuberay": ""}
    assert (stack.kube_qps, stack.permit_waiting_seconds) == (100.0, 60)
    assert stack.images == (("registry.local/*", "musl"),)


@pytest.mark.parametrize("text", ["", "# nothing is set\n", "---\n", "{}\n"])
def test_an_empty_file_is_the_default(text: str) -> None:
    assert read(text) == Config()


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("stck: {}\n", "1:1", "unknown key 'stck'; did you mean 'stack'?; known here: admission, exclude, failOn"),
        ("stack:\n  hami: 2.10\n", "2:9", "2.1 is a number to YAML, and 2.10 would be 2.1; write it in quotes"),
        ('stack:\n  hami: "2"\n', "2:9", "hami: wanted is a version in quotes (\"2.10\"), and this is '2'"),
        ("stack:\n  hami: two\n", "2:9", "hami: wanted is a version in quotes (\"2.10\"), and this is 'two'"),
        ("stack:\n  hami: true\n", "2:9", "and this is true"),
        ("stack:\n  haim: '2.10'\n", "2:3", "unknown key 'haim'; did you mean 'hami'?"),
        ("stack: {operators: {kubray: true}}\n", "1:21", "did you mean 'kuberay'?"),
        ("stack: {operators: {kuberay: 3}}\n", "1:30", "wanted is the scheduler's name, or true"),
        ("stack: {resources: {nvidia: {count: gpu}}}\n", "1:37", "'gpu' is no resource's name; it has a domain"),
        ("stack: {resources: {nvida: {}}}\n", "1:21", "did you mean 'nvidia'?"),
        ("stack: {kubeQps: 0}\n", "1:18", "wanted is a number above 0, and this is 0"),
        ("stack: {kubeQps: fast}\n", "1:18", "wanted is a number above 0, and this is 'fast'"),
        ("stack: {permitWaitingSeconds: 1m}\n", "1:31", "wanted are whole seconds (60), and this is '1m'"),
        ("stack: {hamiScheduler: ''}\n", "1:24", "hamiScheduler: wanted is text, and this is ''"),
        ("stack: {images: {'a/*': alpine}}\n", "1:25", "wanted is one of musl, glibc, uclibc, none, unknown"),
        ("stack: []\n", "1:8", "stack: wanted is a mapping (key: value), and this is a list"),
        ("ignore: [musl-image, musl_imag]\n", "1:22", "there is no rule 'musl_imag'; did you mean 'musl-image'?"),
        ("select: [gang-*]\n", "1:10", "no rule matches 'gang-*' (`gangcheck rules` lists them)"),
        ("select: [zzz]\n", "1:10", "there is no rule 'zzz' (`gangcheck rules` lists them)"),
        ("select: [musl]\n", "1:10", "there is no rule 'musl'; did you mean 'musl-image'?"),
        ("severities: {musl-imag: error}\n", "1:14", "did you mean 'musl-image'?"),
        ("severities: {musl-image: off}\n", "1:26", "this is false; to switch a rule off, name it under ignore"),
        ("severities: {musl-image: fatal}\n", "1:26", "wanted is error, warning or info, and this is 'fatal'"),
        ("severities: [musl-image]\n", "1:13", "wanted is a mapping"),
        ("perPath: [{paths: [a], ignore: [musl]}]\n", "1:33", "there is no rule 'musl'"),
        ("perPath:\n  - paths: [a]\n", "2:5", "perPath: ignore is missing; an entry has paths and ignore"),
        ("perPath:\n  - paths: a\n    ignore: []\n", "2:12", "paths: wanted is a list ([a, b]), and this is 'a'"),
        ("ignore:\n", "1:8", "ignore: wanted is a list ([a, b]), and this is empty"),
        ("ignore: [3]\n", "1:10", "wanted is text, and this is 3"),
        ("ignore: [[a]]\n", "1:10", "and this is a list"),
        ("ignore: {a: b}\n", "1:9", "and this is a mapping"),
        ("whole: maybe\n", "1:8", "wanted is true or false, and this is 'maybe'"),
        ("failOn: high\n", "1:9", "wanted is error, warning or info"),
        ("- a\n", "1:1", "wanted is a mapping (key: value), and this is a list"),
        ("whole: true\nwhole: false\n", "2:1", "whole is written twice, first in line 1; keep one"),
        ("whole: true\n---\nwhole: true\n", "2:1", "a second document begins here"),
        ("a: b: c\n", "1:5", "':'"),
        ("exclude: [{{ name }}]\n", "1:11", "template"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, where: str, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f".gangcheck.yaml:{where}: ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"hami": 2.9}, "stack hami: 2.9 is a number to YAML"),
        ({"hmi": "2.9"}, "stack hmi: unknown key 'hmi'; did you mean 'hami'?"),
        ({"resources": {"nvidia": {"count": "gpu"}}}, "stack resources.nvidia.count: 'gpu' is no resource's name"),
        ([], "stack: wanted is a mapping"),
    ],
)
def test_what_is_wrong_in_a_stack_is_said_with_its_key(settings_: Mapping[str, object], says: str) -> None:
    with pytest.raises(BadConfig, match="stack") as caught:
        read_stack(settings_)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "settings_"),
    [
        ("hami=2.10", {"hami": "2.10"}),
        ("hamiWebhook=false", {"hamiWebhook": False}),
        ("kubeQps=5.5", {"kubeQps": 5.5}),
        ("permitWaitingSeconds = 60", {"permitWaitingSeconds": 60}),
        ("operators.kuberay=true", {"operators": {"kuberay": True}}),
        ("coschedulingSchedulers=a, b", {"coschedulingSchedulers": ["a", "b"]}),
        ("resources.nvidia.count=a.b/c", {"resources": {"nvidia": {"count": "a.b/c"}}}),
    ],
)
def test_settings_of_the_command_line(text: str, settings_: Mapping[str, object]) -> None:
    assert read_setting(text) == settings_
    read_stack(settings_)


@pytest.mark.parametrize("text", ["hami", "=2", "operators..kuberay=true", ""])
def test_a_setting_without_key_or_value(text: str) -> None:
    with pytest.raises(BadConfig, match="is no KEY=VALUE"):
        read_setting(text)


def test_settings_go_over_the_ones_before() -> None:
    base = read(FULL).stack
    stack = read_stack({"operators": {"kuberay": False}, "resources": {"nvidia": {"cores": "a.b/c"}}}, base)
    stack = read_stack({"images": {"x": "glibc"}}, stack)
    assert stack.operators == {"mpi-operator": "gpu-scheduler"}
    assert stack.vendors["nvidia"].count == ("example.com/gpu",)
    assert stack.vendors["nvidia"].cores == ("a.b/c",)
    assert stack.images == (("x", "glibc"), ("registry.local/*", "musl"))
    assert read_stack({}) == Stack()


def test_policy() -> None:
    rules = tuple(a_rule(name) for name in RULES)
    assert policy(Config(), rules).rules == rules
    chosen = policy(read(FULL), rules)
    assert [rule.name for rule in chosen.rules] == ["musl-image", "pod-group-annotation"]
    assert chosen.severities == {"musl-image": Severity.ERROR, "pod-group-annotation": Severity.INFO}


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("vendor", "vendor", True),
        ("vendor", "vendor/a/b.yaml", True),
        ("vendor/", "a/vendor/b.yaml", True),
        ("/vendor", "a/vendor/b.yaml", False),
        ("/vendor", "vendor/b.yaml", True),
        ("./a/b", "a/b/c.yaml", True),
        ("a/b", "x/a/b", False),
        ("*.yaml", "a/b/c.yaml", True),
        ("a/*.yaml", "a/b/c.yaml", False),
        ("a/**/c.yaml", "a/c.yaml", True),
        ("a/**/c.yaml", "a/x/y/c.yaml", True),
        ("**/c.yaml", "c.yaml", True),
        ("a/**", "a/x/y", True),
        ("?.yaml", "a.yaml", True),
        ("?.yaml", "ab.yaml", False),
        ("a[b].yaml", "a[b].yaml", True),
        ("vendor", "vendored/a.yaml", False),
    ],
)
def test_globs(pattern: str, path: str, matched: bool) -> None:  # noqa: FBT001 - a table's column
    assert matches(pattern, path) is matched


def test_globs_are_relative_to_the_folder_of_the_configuration() -> None:
    here = Config(per_path=(PathRules(("a/*.yaml",), ("musl-*",)),), exclude=("/out",))
    below = Config(per_path=here.per_path, exclude=here.exclude, folder="/repo", here="/repo/a")
    beside = Config(per_path=here.per_path, exclude=here.exclude, folder="/repo", here="/elsewhere")
    assert is_ignored(here, "a/x.yaml", "musl-image")
    assert is_ignored(below, "x.yaml", "musl-image")
    assert is_ignored(beside, "/repo/a/x.yaml", "musl-image")
    assert not is_ignored(beside, "a/x.yaml", "musl-image")
    assert not is_ignored(here, "a/x.yaml", "pod-group-empty")
    assert is_excluded(here, "out/x.yaml")
    assert is_excluded(below, "../out/x.yaml")
    assert not is_excluded(below, "out/x.yaml")
    assert not is_excluded(Config(), "out/x.yaml")
    assert not is_ignored(Config(), "a", "musl-image")


def keys_of_schema(part: Mapping[str, Any]) -> set[str]:
    return set(part["properties"])


def test_schema_and_reader_know_the_same_keys() -> None:
    definitions = SCHEMA["$defs"]
    stack = definitions["stack"]
    assert keys_of_schema(SCHEMA) == set(config_module._CONFIG)
    assert keys_of_schema(SCHEMA["properties"]["perPath"]["items"]) == set(config_module._PATH_RULES)
    assert keys_of_schema(stack) == set(settings.STACK)
    assert keys_of_schema(stack["properties"]["resources"]) == set(settings._VENDORS)
    assert keys_of_schema(stack["properties"]["operators"]) == set(settings._OPERATORS)
    assert keys_of_schema(definitions["vendor"]) == set(settings._RESOURCES)


def test_every_setting_fills_a_field_and_every_field_has_a_setting() -> None:
    filled = {name for name, _reader in settings.STACK.values()}
    assert filled == set(Stack.__dataclass_fields__) - {"declared", "device_names", "annotated_names", "meanings"}
    assert {name for name, _reader in config_module._CONFIG.values()} == set(Config._fields) - {
        "folder",
        "here",
        "now",
    }


def variants() -> Iterator[str]:
    """The full example with each value in turn made something else."""
    data = yaml.safe_load(FULL)
    strange: tuple[object, ...] = ("x", "", 1, 0, -1, 1.5, True, None, [], ["x"], [1], {}, {"x": 1}, "warning", "a.b/c")

    def paths(value: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        if at:
            yield at
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in entries:
            yield from paths(item, (*at, key))

    for path in paths(data):
        for value in strange:
            changed = json.loads(json.dumps(data))
            holder = changed
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = value
            yield json.dumps(changed)


def test_schema_and_reader_agree() -> None:
    schema = jsonschema.Draft202012Validator(SCHEMA)
    schema.check_schema(SCHEMA)
    known = (*RULES, "x", "warning", "a.b/c")
    texts = [FULL, "{}", *variants()]
    good = 0
    for text in texts:
        try:
            read_config(text, "c", known)
            accepted = True
        except BadConfig:
            accepted = False
        assert accepted == schema.is_valid(yaml.safe_load(text)), text
        good += accepted
    assert 0 < good < len(texts)
