"""The README shows what the commands really print. `UPDATE_README=1` writes it anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from webhook import explain
from webhook.rules import all_rules

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DEMO = re.compile(r"(?<=\$ gangcheck lint manifests/examples/broken-gang.yaml\n).*?(?=```)", re.DOTALL)
RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=### Silence one)", re.DOTALL)


def rendered(text: str) -> str:
    command = [sys.executable, "-m", "webhook", "lint", "--no-config", "manifests/examples/broken-gang.yaml"]
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=plain).stdout
    text = DEMO.sub(lambda _: shown, text)
    return RULES.sub(lambda _: f"\n{explain.table(all_rules())}\n", text)


def test_readme_shows_what_the_commands_print() -> None:
    text = README.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_README"):
        README.write_text(rendered(text), encoding="utf-8")
    assert README.read_text(encoding="utf-8") == rendered(text)
