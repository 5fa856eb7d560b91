"""The command line: exit codes, options, what goes where."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest

import webhook
from webhook import cli, console, lint, rules
from webhook.cli import exit_code, main
from webhook.config import Config
from webhook.manifest import Span
from webhook.model import Place, Pod, Ref
from webhook.policy import Failure
from webhook.report import FORMATS
from webhook.result import Located, NotRead, Result, Skipped, Spot, Summary
from webhook.rule import Finding, Rule, Severity
from webhook.rules import all_rules

BAD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations:
    scheduling.x-k8s.io/pod-group: g
spec: {containers: [{name: m, image: "ubuntu:24.04"}]}
"""
GOOD = BAD.replace("scheduling.x-k8s.io/pod-group", "example.com/note")
WARNED = GOOD.replace("name: a", "name: a  # gangcheck: ignore[no-such-rule]")

Call = Callable[..., object]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GANGCHECK_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    write("bad.yaml", BAD)
    write("good.yaml", GOOD)
    write("warned.yaml", WARNED)
    return tmp_path


@pytest.fixture
def gangcheck(monkeypatch: pytest.MonkeyPatch) -> Call:
    def call(*args: str) -> object:
        monkeypatch.setattr(sys, "argv", ["gangcheck", *args])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code

    return call


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def environment(**more: str) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(webhook.__file__).parents[1]), **more}


def start(*args: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "webhook", *args]
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), start_new_session=True
    )


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("good.yaml", 0),
        ("warned.yaml", 0),
        ("bad.yaml", 1),
        ("good.yaml bad.yaml", 1),
        ("bad.yaml --exit-zero", 0),
        ("bad.yaml --ignore pod-group-annotation", 0),
        ("bad.yaml --select musl-image,malformed", 0),
        ("warned.yaml --fail-on warning", 1),
        ("warned.yaml --fail-on info --ignore unknown-*", 0),
        ("kustomization.yaml", 0),
        ("empty", 3),
        ("gone.yaml", 4),
        ("gone.yaml bad.yaml", 4),
        ("gone.yaml --exit-zero", 4),
        ("broken.yaml", 4),
        ("", 2),
        ("bad.yaml --no-such-option", 2),
        ("bad.yaml --format xml", 2),
        ("bad.yaml --select no-such-rule", 2),
        ("bad.yaml --ignore no-such-*", 2),
        ("bad.yaml --stack hami", 2),
        ("bad.yaml --stack hmi=2.10", 2),
        ("bad.yaml --stack hami=2.10 --stack operators.kuberay=true", 1),
        ("bad.yaml --namespace ml --whole --verbose", 1),
        ("bad.yaml --config gone.yaml", 2),
        ("bad.yaml --config broken.yaml", 2),
        ("bad.yaml --config conf.yaml", 0),
        ("bad.yaml --config conf.yaml --no-config", 2),
        ("bad.yaml --config conf.yaml --select pod-group-annotation", 1),
        ("gone.yaml --config broken.yaml", 2),
        ("bad.yaml --output xml=x", 2),
        ("bad.yaml --output json", 2),
        ("bad.yaml --output json=", 2),
        ("bad.yaml --output json=no/such/folder", 2),
        ("bad.yaml --output json=empty", 2),
        ("bad.yaml --output json=- --format text", 2),
        ("bad.yaml --output json=x --output sarif=x", 2),
        ("bad.yaml --output json=-", 1),
    ],
)
def test_exit_codes(gangcheck: Call, args: str, code: int) -> None:
    write("kustomization.yaml", "resources: []\n")
    write("broken.yaml", "kind: Pod\na: b: c\n")
    write("conf.yaml", "ignore: [pod-group-annotation]\n")
    Path("empty").mkdir()
    assert gangcheck("lint", *args.split()) == code


def a_result(severity: Severity | None = None, *, files: int = 1, skipped: int = 0, unread: int = 0) -> Result:
    finding = Finding(Place(Ref("v1", "Pod", "", "a"), ()), "wrong", "mend it")
    located = Located(finding, severity or Severity.INFO, Spot("f", Span(1, 1, 1, 2), ()), "")
    return Result(
        (located,) if severity else (),
        (Skipped("s", 0, "a chart"),) * skipped,
        (NotRead("u", 0, 0, "gone"),) * unread,
        (),
        Summary(files=files),
    )


@pytest.mark.parametrize(
    ("result", "fail_on", "code"),
    [
        (a_result(), Severity.ERROR, 0),
        (a_result(Severity.ERROR), Severity.ERROR, 1),
        (a_result(Severity.WARNING), Severity.ERROR, 0),
        (a_result(Severity.WARNING), Severity.INFO, 1),
        (a_result(files=0), Severity.ERROR, 3),
        (a_result(files=0, skipped=1), Severity.ERROR, 0),
        (a_result(Severity.ERROR, unread=1), Severity.ERROR, 4),
        (a_result(files=0, unread=1), Severity.ERROR, 4),
        (Result(failures=(Failure("a", "b"),), summary=Summary(files=1)), Severity.ERROR, 4),
    ],
)
def test_exit_code_of_a_result(result: Result, fail_on: Severity, code: int) -> None:
    assert exit_code(result, Config(fail_on=fail_on)) == code


def test_findings_go_to_stdout_and_all_else_to_stderr(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    gangcheck("lint", "bad.yaml")
    out, err = capsys.readouterr()
    assert "error[pod-group-annotation]" in out
    assert "bad.yaml:6:5" in out
    assert err == ""
    gangcheck("lint", "gone.yaml", "--format", "json")
    out, err = capsys.readouterr()
    assert json.loads(out)["unreadable"][0]["file"] == "gone.yaml"
    assert err.startswith("cannot read gone.yaml: no such file")
    Path("empty").mkdir()
    gangcheck("lint", "empty")
    assert "no YAML or JSON file in empty" in capsys.readouterr().err


def test_several_reports_at_once(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert gangcheck("lint", "bad.yaml", "-o", "json=a.json", "-o", "sarif=b.sarif", "-o", "github=c") == 1
    assert "error[pod-group-annotation]" in capsys.readouterr().out
    assert json.loads(Path("a.json").read_text("utf-8"))["version"] == 1
    assert json.loads(Path("b.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert Path("c").read_text("utf-8").startswith("::error")
    gangcheck("lint", "bad.yaml", "-o", "json=-", "-o", "text=t.txt")
    assert json.loads(capsys.readouterr().out)["version"] == 1
    assert "error[" in Path("t.txt").read_text("utf-8")


@pytest.mark.parametrize("silenced", ["", "  # gangcheck: ignore[no-such-rule]"])
def test_text_hides_info_findings_and_every_other_report_has_them(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], silenced: str
) -> None:
    slight = BAD.replace("annotations:", "labels:")
    write("mixed.yaml", f"{BAD}---\n{slight.replace('name: a', f'name: b{silenced}')}")
    gangcheck("lint", "mixed.yaml")
    text = capsys.readouterr().out
    assert "error[pod-group-annotation]" in text
    assert "1 info finding (--verbose shows them)" in text
    assert "info[" not in text
    for name in ("json", "sarif", "github"):
        gangcheck("lint", "mixed.yaml", "-o", f"{name}=report")
        assert capsys.readouterr().out == text
        assert "names the PodGroup g" in Path("report").read_text("utf-8")
    gangcheck("lint", "mixed.yaml", "--verbose")
    assert "info[pod-group-not-found]" in capsys.readouterr().out
    write("slight.yaml", slight)
    assert gangcheck("lint", "slight.yaml") == 0
    assert gangcheck("lint", "slight.yaml", "--fail-on", "info") == 1


def test_a_report_that_cannot_be_written(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gangcheck("lint", "bad.yaml", "-o", "json=/dev/full") == 4
    out, err = capsys.readouterr()
    assert "error[" in out
    assert "cannot write to /dev/full: No space left" in err
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert gangcheck("lint", "bad.yaml") == 4
        assert gangcheck("rules") == 4
    assert "stdout is closed" in capsys.readouterr().err


def test_the_configuration_is_found_upwards(gangcheck: Call) -> None:
    write("repo/.gangcheck.yaml", "perPath: [{paths: [deep/*.yaml], ignore: [pod-group-annotation]}]\nexclude: [out]\n")
    write("repo/deep/bad.yaml", BAD)
    write("repo/out/bad.yaml", BAD)
    write("repo/bad.yaml", BAD)
    assert gangcheck("lint", "repo/deep") == 0
    assert gangcheck("lint", "repo/deep", "--no-config") == 1
    assert gangcheck("lint", "repo") == 1
    assert gangcheck("lint", "repo/out") == 0


def test_a_wrong_configuration_is_told_with_its_place(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    write(".gangcheck.yaml", "ignore:\n  - pod-group-anotation\n")
    assert gangcheck("lint", "-") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "Error: .gangcheck.yaml:2:5: ignore: there is no rule 'pod-group-anotation'; "
        "did you mean 'pod-group-annotation'? (`gangcheck rules` lists them)\n"
    )


def test_the_command_line_goes_before_the_configuration(gangcheck: Call) -> None:
    write(".gangcheck.yaml", "failOn: warning\nstack: {hami: '2.9'}\nwhole: true\n")
    assert gangcheck("lint", "warned.yaml") == 1
    assert gangcheck("lint", "warned.yaml", "--fail-on", "error") == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("lnt",), "There is no command 'lnt'; did you mean 'lint'?"),
        (("bad.yaml",), "There is no command 'bad.yaml'; to lint it: gangcheck lint bad.yaml"),
        (("zzz",), "There is no command 'zzz'\n"),
        (("lint", "--fromat", "json", "a"), "--format"),
        (("lint", "--format", "jsn", "a"), "did you mean 'json'? (text, json"),
        (("lint", "--select", "musl-imag", "a"), "did you mean 'musl-image'?"),
        (("explain", "musl-imag"), "there is no rule 'musl-imag'; did you mean 'musl-image'?"),
        (("explain", "zzz"), "`gangcheck rules` lists them"),
    ],
)
def test_near_misses(gangcheck: Call, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], says: str) -> None:
    assert gangcheck(*args) == 2
    assert says in capsys.readouterr().err


def test_rules(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert gangcheck("rules") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.name for rule in all_rules()]
    assert gangcheck("rules", "--format", "json") == 0
    assert [item["name"] for item in json.loads(capsys.readouterr().out)] == [rule.name for rule in all_rules()]
    assert gangcheck("rules", "--format", "markdown") == 0
    assert capsys.readouterr().out.startswith("| rule")


def test_explain(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert gangcheck("explain", "pod-group-annotation") == 0
    assert capsys.readouterr().out.startswith("pod-group-annotation (error)\n")
    assert gangcheck("explain", "pod-group-annotation", "--color", "always") == 0
    assert capsys.readouterr().out.startswith("\x1b[1m")
    assert gangcheck("explain", "pod-group-annotation", "--format", "markdown") == 0
    assert capsys.readouterr().out.startswith("# pod-group-annotation\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(gangcheck: Call, capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert gangcheck("completion", shell) == 0
    assert "_GANGCHECK_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "found"),
    [("gangcheck li", "lint"), ("gangcheck lint --select musl", "musl-image"), ("gangcheck lint --format js", "json")],
)
def test_what_completion_offers(words: str, found: str) -> None:
    count = str(len(words.split()) - 1)
    asked = environment(_GANGCHECK_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    command = [sys.executable, "-m", "webhook"]
    done = subprocess.run(command, env=asked, capture_output=True, text=True, check=True, timeout=60)
    assert f"plain,{found}\n" in done.stdout


def test_version_and_help(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert gangcheck("--version") == 0
    assert capsys.readouterr().out == f"gangcheck {webhook.__version__}\n"
    assert gangcheck("lint", "-h") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in FORMATS)
    assert "2  the command line" in text


@pytest.mark.parametrize(
    ("choice", "variables", "terminal", "colored"),
    [
        ("auto", {}, False, False),
        ("auto", {}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_color(
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    variables: Mapping[str, str],
    terminal: bool,  # noqa: FBT001 - a table's column
    colored: bool,  # noqa: FBT001 - as above
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert console.wants_color(choice) is colored


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _number: os.terminal_size((72, 24)))
    assert console.width(100) == 72
    monkeypatch.setattr(sys, "stdout", None)
    assert console.width(100) == 100


def test_a_bar_is_drawn_after_a_second_and_leaves_nothing_behind() -> None:
    drawn: list[str] = []
    times = iter([0.0, 0.5, 1.5, 1.55, 2.0, 2.1])
    show = console.bar(drawn.append, lambda: next(times))
    for done in (0, 1, 2, 3):
        show(done, 4)
    assert drawn == [
        "\r[#######.......................] 1 of 4 files\x1b[K",
        "\r[######################........] 3 of 4 files\x1b[K",
    ]
    show(4, 4)
    assert drawn[-1] == "\r\x1b[K"


def test_a_short_run_draws_no_bar() -> None:
    drawn: list[str] = []
    show = console.bar(drawn.append, lambda: 0.0)
    show(0, 1)
    show(1, 1)
    assert drawn == []


def test_there_is_a_bar_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert console.progress() is None
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert console.progress() is not None


def test_a_rule_that_raises_is_named(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_subject: object, _stack: object) -> list[Finding]:
        raise ZeroDivisionError("by zero")

    broken = Rule("some-rule", (Pod,), Severity.ERROR, "seen", "A mistake.", fail)
    monkeypatch.setattr(rules, "all_rules", lambda: (broken,))
    assert gangcheck("lint", "bad.yaml", "--format", "github") == 4
    assert "internal error in the rule some-rule: ZeroDivisionError: by zero" in capsys.readouterr().err


def test_a_bug_of_ours_is_one_line_and_a_traceback_on_request(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_more: object) -> Result:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(lint, "run", fail)
    assert gangcheck("lint", "bad.yaml") == 4
    assert capsys.readouterr().err.startswith("internal error: ZeroDivisionError: by zero\n")
    monkeypatch.setenv("GANGCHECK_TRACEBACK", "1")
    monkeypatch.setattr(sys, "argv", ["gangcheck", "lint", "bad.yaml"])
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_is_told(
    gangcheck: Call,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interruption: type[BaseException],
) -> None:
    def stop(*_args: object, **_more: object) -> Result:
        raise interruption

    monkeypatch.setattr(lint, "run", stop)
    assert gangcheck("lint", "bad.yaml") == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_ctrl_c_ends_the_program() -> None:
    process = start("lint", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"#" * 200_000)  # more than a pipe holds: when it is written, the program is reading
    process.stdin.flush()
    while process.poll() is None:  # one that comes between two reads is seen after the next
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)  # stdin stays open: its end would end the program too
    code = process.returncode
    process.stdin.close()
    process.stdin = None
    out, err = process.communicate(timeout=60)
    assert (code, out, err.strip()) == (130, b"", b"interrupted")


def test_a_reader_that_leaves_ends_the_program_quietly() -> None:
    process = start("lint", "bad.yaml")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (console.CLOSED, b"")


def test_text_that_the_terminal_cannot_show() -> None:
    write("ü.yaml", BAD.replace("pod-group: g", "pod-group: ü"))
    command = [sys.executable, "-m", "webhook", "lint", "ü.yaml"]
    asked = environment(PYTHONIOENCODING="ascii")
    done = subprocess.run(command, env=asked, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert b"\\xfc.yaml" in done.stdout


HEAVY = ("flask", "gunicorn", "kubernetes", "prometheus_client", "cryptography", "jsonschema", "hypothesis", "rich")


def test_lint_imports_nothing_heavy() -> None:
    program = (
        "import sys; from webhook.cli import gangcheck; gangcheck.main(['lint', 'bad.yaml'], standalone_mode=False); "
        "print(*sorted(sys.modules), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {line.partition(".")[0] for line in done.stdout.splitlines()}
    assert "yaml" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_help_imports_no_rule() -> None:
    program = "import sys; import webhook.cli; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.splitlines())
    assert not {name for name in loaded if name.startswith("webhook.rules") or name == "yaml"}
    assert cli.__name__ in loaded


def test_nothing_on_stdin_is_nothing_to_lint() -> None:
    process = start("lint", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(b"", timeout=60)
    assert (process.returncode, out, err.strip()) == (3, b"", b"Error: nothing came in on stdin")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('Error: chart "x" not found\n', 1),
        ("Error: INSTALLATION FAILED: cannot re-use a name\n", 1),
        ('Error: release "hami-scheduler" not found\n', 1),
        ("no such file\nor folder\n", 1),
        (GOOD + "---\nand then it broke\n", GOOD.count("\n") + 1),
        ("text\n---\nmore\n", 1),
    ],
)
def test_text_is_no_manifest(gangcheck: Call, capsys: pytest.CaptureFixture[str], text: str, line: int) -> None:
    write("named.txt", text)
    assert gangcheck("lint", "named.txt") == 0
    out, err = capsys.readouterr()
    assert err == f"note: named.txt:{line}: text, no manifest\n"
    assert ("nothing to judge" in out) is (GOOD not in text)


def test_a_failed_chart_on_stdin_is_no_clean_run() -> None:
    process = start("lint", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(b'Error: chart "x" not found\n', timeout=60)
    told = (b"nothing to judge in 1 file (1 document)\n", b"note: <stdin>:1: text, no manifest\n")
    assert (process.returncode, out, err) == (0, *told)


@pytest.mark.parametrize("text", ["- a\n", "a: 1\nb: 2\n", "{}\n", "# a remark\n", "kind: Service\napiVersion: v1\n"])
def test_other_yaml_that_is_named_is_not_remarked_on(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    write("named.yaml", text)
    assert gangcheck("lint", "named.yaml") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: hami-system}\n", "nothing to judge"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "nothing to judge"),
        ("apiVersion: v1\nkind: PodGroup\nmetadata: {name: a}\n", "no mistakes found"),
        (GOOD, "no mistakes found"),
    ],
)
def test_the_last_line_tells_whether_anything_was_judged(
    gangcheck: Call, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    write("named.yaml", text)
    gangcheck("lint", "named.yaml")
    assert capsys.readouterr().out == f"{line} in 1 file (1 document)\n"


def test_a_folder_may_hold_any_text(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes").mkdir()
    write("notes/a.yaml", "only words\n")
    assert gangcheck("lint", "notes") == 0
    assert capsys.readouterr() == ("nothing to judge in 1 file (1 document)\n", "")


@pytest.mark.parametrize("args", ["--help", "lint --help", "--version"])
def test_help_that_cannot_be_written_is_no_bug(args: str) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "webhook", *args.split()]
        done = subprocess.run(
            command, env=environment(), stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, b"No space left" in done.stderr, b"bug" in done.stderr) == (4, True, False)


def test_a_closed_stdin_is_told_apart_from_an_empty_one() -> None:
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {sys.executable} -m webhook lint - <&-"], env=environment(), stdout=subprocess.PIPE
    )
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, b"stdin is closed" in out) == (4, True)


def test_nothing_but_what_is_excluded(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    Path("only").mkdir()
    write("only/x.yaml", "kind: Pod\n")
    write(".gangcheck.yaml", "exclude: ['*.yaml']\n")
    assert gangcheck("lint", "only") == 3
    assert "no YAML or JSON file in only that the configuration does not exclude" in capsys.readouterr().err


def test_an_empty_path_is_named(gangcheck: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert gangcheck("lint", "") == 4
    assert "cannot read '': no such file or folder" in capsys.readouterr().out
