"""The Dockerfile's steps, run without an engine: what it installs serves as nobody, on a root that is read-only."""

import http.client
import json
import os
import shlex
import shutil
import ssl
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from controlplane import free_ports, tail

sys.path.append(str(Path(__file__).parents[1]))

from dockerfile import ROOT, stages

BUILD, RUN = stages()
NOBODY = 65532

pytestmark = pytest.mark.e2e_slow


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder that anybody may enter: pytest's own are their owner's alone."""
    with tempfile.TemporaryDirectory(prefix="gangcheck-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def image(home: Path) -> Path:
    """What is /opt/gangcheck in the image, made by the build stage's own instructions."""
    places = {"/src": home / "src", "/opt/gangcheck": home / "opt" / "gangcheck"}
    for place in places.values():
        place.parent.mkdir(parents=True, exist_ok=True)
    places["/src"].mkdir()
    for word, rest in BUILD:
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                copy(ROOT / source, (places["/src"] / target).resolve())
        elif word == "RUN":
            steps = rest
            for inside, outside in places.items():
                steps = steps.replace(inside, str(outside))
            # `python` is the image's; here it is the one that runs the tests, whose own environment must not leak.
            script = f'python() {{ {shlex.quote(base_python())} "$@"; }}; set -e; {steps}'
            subprocess.run(["/bin/sh", "-c", script], cwd=places["/src"], check=True, env=bare())
    return places["/opt/gangcheck"]


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


def base_python() -> str:
    return str(Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}"))


def bare() -> dict[str, str]:
    """The environment without what a developer's shell has set for Python, but with how to reach the index."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "COV_"))}


def test_it_has_no_pip_and_all_bytecode(image: Path) -> None:
    installed = {path.name for path in image.glob("lib/python3*/site-packages/*")}
    assert not any(name.startswith(("pip", "hatchling", "pytest")) for name in installed)
    (package,) = image.glob("lib/python3*/site-packages/webhook")
    sources = {path.stem for path in package.rglob("*.py")}
    assert sources == {path.name.partition(".")[0] for path in package.rglob("__pycache__/*.pyc")}
    assert (package / "images.tsv").exists()


@contextmanager
def served(image: Path, folder: Path) -> Iterator[tuple[int, int, Path]]:
    """The server with the image's CMD as nobody, in a mount namespace whose root is read-only; only the folder that
    stands for /tmp takes anything. Yields the ports of webhooks and probes, and the log."""
    listen, probes = free_ports(2)
    (command,) = (json.loads(rest) for word, rest in RUN if word == "CMD")
    told = [part.replace("0.0.0.0:8443", f"127.0.0.1:{listen}") for part in command]
    told = [part.replace("0.0.0.0:8080", f"127.0.0.1:{probes}") for part in told]
    told += ["--no-index", "--drain-seconds", "0", "--ca-out", f"{folder}/ca.pem"]
    (variables,) = (dict(each.split("=", 1) for each in rest.split()) for word, rest in RUN if word == "ENV")
    environment = variables | {"PATH": f"{image}/bin:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
    nobody = (
        f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    )
    steps = (
        "mount --make-rprivate /",
        *opened(Path(sys.base_prefix), folder.parent / "python"),
        f"mount -t tmpfs -o mode=1777 tmpfs {shlex.quote(str(folder))}",
        "mount -o remount,bind,ro /",
        f"cd {shlex.quote(str(folder))}",
        f"exec {nobody} {shlex.join([f'{image}/bin/gangcheck', *told])}",
    )
    log = folder.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["unshare", "--mount", "/bin/sh", "-ec", "\n".join(steps)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        ends = time.monotonic() + 30
        while answer(probes, "/readyz")[0] != http.client.OK:
            assert process.poll() is None, tail(log)
            assert time.monotonic() < ends, f"{answer(probes, '/readyz')}\n{tail(log)}"
            time.sleep(0.1)
        yield listen, process.pid, log
    finally:
        process.terminate()
        assert process.wait(20) == 0, tail(log)


def opened(python: Path, aside: Path) -> list[str]:
    """Steps that let nobody reach Python where it lies in somebody's home, as with pyenv's."""
    closed = next((each for each in reversed(python.parents) if not each.stat().st_mode & stat.S_IXOTH), None)
    if closed is None:
        return []
    aside.mkdir(exist_ok=True)
    here, there, cover = (shlex.quote(str(each)) for each in (python, aside, closed))
    bound, covered = f"mount --bind {here} {there}", f"mount -t tmpfs -o mode=755 tmpfs {cover}"
    return [bound, covered, f"mkdir -p {here}", f"mount --move {there} {here}"]


def answer(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


@pytest.fixture
def mounts() -> None:
    """A read-only root needs a mount namespace of its own, and that needs root."""
    probe = ["unshare", "--mount", "/bin/sh", "-c", "mount --make-rprivate / && mount -o remount,bind,ro /"]
    able = (
        all(map(shutil.which, ("unshare", "setpriv")))
        and not subprocess.run(probe, check=False, capture_output=True).returncode
    )
    if not able:
        pytest.skip("no mount namespace can be had here (it takes root)")


@pytest.mark.usefixtures("mounts")
def test_it_serves_as_nobody_on_a_read_only_root(home: Path, image: Path) -> None:
    folder = home / "tmp"
    folder.mkdir()
    with served(image, folder) as (port, pid, log):
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        assert f"Uid:\t{NOBODY}\t{NOBODY}" in status
        root = f"/proc/{pid}/root"
        with pytest.raises(OSError, match="Read-only file system"):
            Path(f"{root}/etc/gangcheck-was-here").touch()
        ca = Path(f"{root}{folder}/ca.pem").read_text(encoding="ascii")
        assert verdict(port, ca) == {"uid": "5f1c0000-0000-4000-8000-000000000001", "allowed": False}
    assert '"event": "serving"' in log.read_text(encoding="utf-8").replace('":"', '": "')


def verdict(port: int, ca: str) -> dict[str, object]:
    """Of the example's review, over TLS, with the authority that the server made."""
    review = (ROOT / "manifests/examples/reviews/1-group-as-annotation.json").read_bytes()
    context = ssl.create_default_context(cadata=ca)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    connection.request("POST", "/validate?timeout=3s", review, {"Content-Type": "application/json"})
    response = json.loads(connection.getresponse().read())["response"]
    connection.close()
    return {key: response[key] for key in ("uid", "allowed")}
