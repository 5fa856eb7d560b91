"""Builds the control plane of the end-to-end tests from the Go modules that controlplane/go.mod pins.

    python tests/e2e/build.py           builds what is not there yet
    python tests/e2e/build.py --check   only says what is missing, and where the binaries belong

Needs Go 1.25 or later and a module proxy that Go can reach; about ten minutes on two cores the first time, seconds
after that. The binaries, some 350 MB, are kept outside the tree, in $XDG_CACHE_HOME/gangcheck/controlplane
(~/.cache/… where that is not set), or in the folder that GANGCHECK_CONTROLPLANE names. Standard library only: it runs
before anything is installed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

MODULE = Path(__file__).parent / "controlplane"
GO_NEEDED = (1, 25)

# The scheduler keeps the name of its package: a kube-scheduler in KUBEBUILDER_ASSETS knows no Coscheduling.
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "scheduler": "sigs.k8s.io/scheduler-plugins/cmd/scheduler",
}


def flags(go_mod: str) -> list[str]:
    """What `go build` is told. Without the version every client sees Kubernetes v0.0.0."""
    found = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", go_mod)
    if found is None:
        raise SystemExit(f"{MODULE / 'go.mod'} does not require k8s.io/kubernetes")
    major, minor, patch = found.groups()
    version = {"gitVersion": f"v{major}.{minor}.{patch}", "gitMajor": major, "gitMinor": minor}
    named = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in version.items())
    return ["-mod=readonly", "-trimpath", f"-ldflags=-s -w {named}"]


def stamp() -> str:
    """The same for the same binaries: they are kept in a folder of this name."""
    go_mod = (MODULE / "go.mod").read_text(encoding="utf-8")
    parts = (go_mod, (MODULE / "go.sum").read_text(encoding="utf-8"), repr(flags(go_mod)), repr(PACKAGES))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def caches() -> Path:
    """Where this user's programs keep what they can make again (XDG Base Directory: a relative path counts as none)."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def cache() -> Path:
    """The folder of the binaries that belong to this go.mod, whether they are built or not."""
    chosen = os.environ.get("GANGCHECK_CONTROLPLANE")
    root = Path(chosen) if chosen else caches() / "gangcheck" / "controlplane"
    return root.absolute() / stamp()


def missing(folder: Path) -> list[str]:
    return [name for name in PACKAGES if not os.access(folder / name, os.X_OK)]


def binaries() -> Path:
    """Where the binaries are, or belong: KUBEBUILDER_ASSETS when all of them are there, else the cache."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and not missing(Path(assets)):
        return Path(assets).absolute()
    return cache()


def go() -> str:
    """The go command, new enough, or the reason why not."""
    command = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if command is None:
        raise SystemExit("Go is missing: the control plane is built from Go modules. Install Go 1.25 or later")
    # Asked inside the module, a Go that may fetch newer toolchains answers with the one it will use.
    asked = subprocess.run([command, "env", "GOVERSION"], cwd=MODULE, capture_output=True, text=True, check=False)
    found = re.match(r"go(\d+)\.(\d+)", asked.stdout)
    if found is None or tuple(map(int, found.groups())) < GO_NEEDED:
        said = asked.stdout.strip() or asked.stderr.strip()
        raise SystemExit(f"Go 1.25 or later is needed, {command} is {said}")
    return command


def build(command: str, name: str, folder: Path) -> None:
    """One binary, put in its place only when it is whole."""
    unfinished = folder / f".{name}.{os.getpid()}"
    told = flags((MODULE / "go.mod").read_text(encoding="utf-8"))
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    try:
        subprocess.run(
            [command, "build", *told, "-o", str(unfinished), PACKAGES[name]], cwd=MODULE, env=environment, check=True
        )
        unfinished.replace(folder / name)
    except subprocess.CalledProcessError as failed:
        raise SystemExit(f"{name} could not be built: go build ended with {failed.returncode}, see above") from None
    finally:
        unfinished.unlink(missing_ok=True)


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    folder = binaries()
    absent = missing(folder)
    if not absent:
        say(f"the control plane is built: {folder}")
        return 0
    if "--check" in arguments:
        say(f"the control plane is not built: {', '.join(absent)} missing in {folder}. Run: make e2e")
        return 1
    command = go()
    folder.mkdir(parents=True, exist_ok=True)
    say(f"building {', '.join(absent)} into {folder}: about ten minutes on two cores if Go has nothing of them yet")
    for name in absent:
        began = time.monotonic()
        build(command, name, folder)
        say(f"  {name}: {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
