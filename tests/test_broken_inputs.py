"""Inputs that break other tools: each run ends well, says what it could not read, and still lints the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import webhook
from webhook import lint
from webhook.cli import exit_code
from webhook.config import Config
from webhook.result import Result
from webhook.rules import all_rules

BAD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {scheduling.x-k8s.io/pod-group: g}}
spec: {containers: [{name: m, image: "ubuntu:24.04"}]}
"""
PATIENCE = 60
"""Seconds after which a run counts as hanging; each of these takes about one, and the 50 MB a few."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(BAD, encoding="utf-8")


def run(*paths: str, progress: Callable[[int, int], None] | None = None) -> Result:
    return lint.run(paths, Config(), rules=all_rules(), progress=progress)


def check(result: Result) -> str:
    """What is said of the one thing that could not be read, next to the finding that is still there."""
    assert [item.finding.rule for item in result.findings if item.spot.file == "bad.yaml"] == ["pod-group-annotation"]
    assert exit_code(result, Config()) == 4
    (missed,) = result.unreadable
    assert "\n" not in missed.message
    return f"{missed.file}:{missed.line}:{missed.column}: {missed.message}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytes(range(256)) * 40, "x.yaml:1:"),
        (b"kind: Pod\n\0\n", "x.yaml:2:1: "),
        (b"\xff\xfe" + BAD.encode("utf-16-le"), "UTF-16"),
        (b"kind: Pod\nname: \xe4\n", "x.yaml:2:7: "),
        (b"kind: Pod\na: &a [x,x]\n" + b"".join(b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in
         b"bcdefghijk"), "aliases"),
        (b"kind: Pod\na: " + b"[" * 100_000 + b"]" * 100_000 + b"\n", "x.yaml:2:"),
        (b"kind: Pod\na: " + b"{a: " * 100_000 + b"\n", "inside each other"),
        (b"kind: Pod\n" + b"".join(b" " * n + b"a:\n" for n in range(500)), "inside each other"),
        (b'{"kind": "Pod", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "inside each other"),
        (b"kind: Pod\na: b: c\n", "x.yaml:2:5: "),
        (b"kind: Pod\na: 'open\n", "x.yaml:"),
        (b"kind: Pod\n\tname: a\n", "tab"),
        (b'{"kind": "Pod",\n "a" 1}', "x.yaml:2:6: "),
    ],
    ids=["binary", "nul", "utf-16", "latin-1", "alias-bomb", "brackets", "braces", "indentation", "json-brackets",
         "colon", "quote", "tab", "json"],
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_stops_nothing(content: bytes, says: str) -> None:
    Path("x.yaml").write_bytes(content)
    assert says in check(run("."))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"---\n---\n", b"# nothing\n", b"null\n", b"\xef\xbb\xbf"])
def test_what_holds_nothing_is_no_mistake(content: bytes) -> None:
    Path("x.yaml").write_bytes(content)
    result = run("x.yaml")
    assert (result.findings, result.unreadable, exit_code(result, Config())) == ((), (), 0)


@pytest.mark.parametrize(
    ("head", "unit", "tail"),
    [
        (b"kind: Pod\na: ", b"x", b"\n"),
        (b'{"kind": "Pod", "a": "', b"x", b'"}'),
        (b"", b"x", b""),
        (b"", b"\0", b""),
        (b"containers: ", b"[a, ", b""),
    ],
    ids=["yaml", "json", "nothing", "zeros", "flow"],
)
def test_a_single_line_of_50_megabytes(head: bytes, unit: bytes, tail: bytes) -> None:
    Path("x.yaml").write_bytes(head + unit * (50_000_000 // len(unit)) + tail)
    result = run("x.yaml", "bad.yaml")
    assert [item.spot.file for item in result.findings] == ["bad.yaml"]
    assert exit_code(result, Config()) in {1, 4}


def test_a_file_that_vanishes() -> None:
    Path("x.yaml").write_text(BAD, encoding="utf-8")

    def remove(done: int, _total: int) -> None:
        if done == 0:
            Path("x.yaml").unlink()

    assert (
        check(run(".", progress=remove))
        == "x.yaml:0:0: no such file or folder; it is misspelt, or was removed meanwhile"
    )


def test_a_tree_of_everything_that_is_no_file() -> None:
    Path("x.yaml").mkdir()
    Path("x.yaml/inner.yaml").write_text(BAD, encoding="utf-8")
    Path("x.yaml/loop").symlink_to("..")
    Path("x.yaml/self.yaml").symlink_to("self.yaml")
    Path("gone.yaml").symlink_to("nowhere.yaml")
    os.mkfifo("pipe.yaml")
    command = [sys.executable, "-m", "webhook", "lint", ".", "pipe.yaml", "/dev/null", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(webhook.__file__).parents[1])}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 4
    assert b"Traceback" not in done.stderr
    report = json.loads(done.stdout)
    assert [item["file"] for item in report["findings"]] == ["bad.yaml", "x.yaml/inner.yaml"]
    assert [item["file"] for item in report["skipped"]] == ["x.yaml/loop"]
    named = {item["file"]: item["message"] for item in report["unreadable"]}
    assert sorted(named) == ["/dev/null", "gone.yaml", "pipe.yaml", "x.yaml/self.yaml"]
    assert "does not exist" in named["gone.yaml"]
    assert "named pipe" in named["pipe.yaml"]
