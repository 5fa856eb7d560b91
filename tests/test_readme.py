"""The README shows what the commands really print. `UPDATE_README=1` writes it anew."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from webhook import explain
from webhook.metrics import described, metrics, watch_authority, watch_index, watch_requests
from webhook.rules import all_rules

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DEMO = re.compile(r"(?<=\$ gangcheck lint manifests/examples/broken-gang.yaml\n).*?(?=```)", re.DOTALL)
METRICS = re.compile(r"(?<=<!-- metrics -->\n).*?(?=## Rules)", re.DOTALL)
RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=### Add one)", re.DOTALL)


def metrics_table() -> str:
    """Every metric that the server serves, the index's and the keeper's included."""
    made = metrics()
    watch_requests(made, lambda: 0)
    watch_index(made, lambda: 0, lambda: 0.0)
    watch_authority(made, lambda: 0.0)
    rows = ["| metric | labels | what it says |", "|---|---|---|"]
    rows += [f"| `{row.name}` | {', '.join(row.labels)} | {row.help} |" for row in described(made)]
    return "\n".join(rows)


def rendered(text: str) -> str:
    command = [sys.executable, "-m", "webhook", "lint", "--no-config", "manifests/examples/broken-gang.yaml"]
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=plain).stdout
    text = DEMO.sub(lambda _: shown, text)
    text = METRICS.sub(lambda _: f"\n{metrics_table()}\n\n", text)
    return RULES.sub(lambda _: f"\n{explain.table(all_rules())}\n", text)


def test_readme_shows_what_the_commands_print() -> None:
    text = README.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_README"):
        README.write_text(rendered(text), encoding="utf-8")
    assert README.read_text(encoding="utf-8") == rendered(text)


def test_links_inside_lead_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


@pytest.mark.parametrize("mark", ["", "# "])
def test_the_configuration_that_is_shown_can_be_used(tmp_path: Path, mark: str) -> None:
    """With and without the line that is commented out."""
    [shown] = re.findall(r"```yaml\n(stack:\n  hami.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert "\n  # resources:" in shown
    used = tmp_path / ".gangcheck.yaml"
    used.write_text(shown.replace("\n  # resources:", f"\n  {mark}resources:"), encoding="utf-8")
    command = [sys.executable, "-m", "webhook", "lint", "--config", str(used), "manifests/examples/mended-gang.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def snippet(begin: str) -> str:
    """The shell commands of the README that begin with a line like this one."""
    [shown] = re.findall(rf"```sh\n({begin}.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return str(shown)


def test_the_server_outside_the_cluster_listens_where_it_is_registered() -> None:
    serve, registration = snippet("gangcheck serve --tls-cert|gangcheck serve --listen").splitlines()
    command = [sys.executable, "-m", "webhook", *shlex.split(serve)[1:], "--print-config"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    host, _, port = yaml.safe_load(done.stdout)["server"]["listen"].rpartition(":")
    assert host not in ("127.0.0.1", "localhost", "[::1]")
    assert re.search(rf"--url https://[^ :]+:{port} ", registration)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.mark.skipif(not shutil.which("curl"), reason="the README's commands need curl")
def test_the_server_without_a_cluster_answers_when_the_commands_are_pasted(tmp_path: Path) -> None:
    """As they stand, on ports that are free, in a folder where nothing is left behind."""
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    listen, probes = free_port(), free_port()
    ours = f"{sys.executable} -m webhook serve --listen localhost:{listen} --probes localhost:{probes}"
    commands = snippet("gangcheck serve --no-index").replace("gangcheck serve", f"{ours} --drain-seconds 0")
    commands = commands.replace(":8443", f":{listen}").replace(":8080", f":{probes}")
    assert "kill %1" in commands
    done = subprocess.run(
        ["bash", "-c", f"trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n{commands}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=60,
    )
    assert '"allowed":false' in done.stdout, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["manifests"]
    assert "ca.pem" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_the_examples_together_show_what_the_demo_shows() -> None:
    command = [sys.executable, "-m", "webhook", "lint", "--no-config", "--color", "never", "manifests/examples"]
    together = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout
    [demo] = DEMO.findall(rendered(README.read_text(encoding="utf-8")))
    assert together.rpartition("\n\n")[0] == demo.rpartition("\n\n")[0]
