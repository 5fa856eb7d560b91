"""A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager, and the scheduler of
scheduler-plugins with Coscheduling on. There is no kubelet: Pods are bound and stay Pending.
"""

import atexit
import contextlib
import errno
import http.client
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apiserver
import components
import yaml
from apiserver import ControlPlane
from components import PROFILES, SCHEDULER, Home

PREFIX = "gangcheck-controlplane-"


class NotStarted(Exception):  # noqa: N818 - it reads as what happened
    """A component ended or did not become ready; the message holds the end of its log."""


def tail(log: Path, lines: int = 25) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def free_ports(count: int) -> list[int]:
    """Ports below the range that outgoing connections take theirs from: nobody takes them between now and use."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.randrange(20000, 32000)
            taken = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                taken.bind(("127.0.0.1", port))
                found.append(port)
    return found


def _answers(url: str) -> bool:
    """For the open probes of etcd and the scheduler. Their certificates are made at start and not looked at."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        unchecked = ssl._create_unverified_context()  # noqa: S323 - see above
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(parts.netloc, timeout=2, context=unchecked)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=2)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def process(home: Home, name: str, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """One component in a session of its own: a Ctrl-C reaches us, and we stop it when its turn comes."""
    with home.log(name).open("ab") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        (home.folder / "pids" / name).write_text(str(child.pid), encoding="ascii")
        yield child
    finally:
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def await_ready(
    home: Home, name: str, child: subprocess.Popen[bytes], ready: Callable[[], bool], timeout: float = 60
) -> None:
    ends = time.monotonic() + timeout
    while not ready():
        code = child.poll()
        if code is not None or time.monotonic() > ends:
            what = f"ended with {code}" if code is not None else f"was not ready within {timeout:.0f} s"
            raise NotStarted(f"{name} {what}\n{tail(home.log(name))}")
        time.sleep(0.05)


@contextmanager
def scheduler(
    control: ControlPlane,
    name: str = "scheduler",
    profiles: tuple[Mapping[str, Any], ...] = PROFILES,
    more: Mapping[str, Any] | None = None,
    patience: float = 60,
) -> Iterator[None]:
    """A scheduler process with these profiles, ready. Two with a profile of the same name would fight.

    `more` are further fields of its configuration. Raises NotStarted where it refuses them.
    """
    home = Home(control.folder)
    (port,) = free_ports(1)
    command = components.scheduler(home, control.bin, name, port, profiles, more=more)
    with process(home, name, command) as child:
        # Not /healthz: that is 200 even when nothing is scheduled.
        await_ready(home, name, child, lambda: _answers(f"https://127.0.0.1:{port}/readyz"), patience)
        yield


def pid(control: ControlPlane, name: str) -> int:
    """The process of a component, for tests that stop or pause one: etcd, kube-apiserver, scheduler ..."""
    return _number(control.folder / "pids" / name)


def _podgroups(control: ControlPlane) -> None:
    """The CRD, and the scheduler's right to it: without either the scheduler schedules nothing at all."""
    text = (Path(__file__).parent / "podgroups.yaml").read_text(encoding="utf-8")
    apiserver.apply_crd(control, yaml.safe_load(text))
    reading = {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]}
    apiserver.allow(control, SCHEDULER, [reading])


def _number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except OSError as failed:
        return failed.errno == errno.EPERM  # there, and another user's
    return True


def sweep(root: Path) -> None:
    """Clears away what earlier runs left: their logs, and after a kill their processes.

    A process is ended only if it is still the one that was recorded: its command line names the folder.
    """
    for owner in root.glob(f"{PREFIX}*/owner"):
        if _alive(_number(owner)):
            continue
        folder = owner.parent
        for recorded in folder.glob("pids/*"):
            with contextlib.suppress(OSError, ValueError):
                if str(folder).encode() in Path(f"/proc/{_number(recorded)}/cmdline").read_bytes():
                    os.kill(_number(recorded), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _start(bin_: Path, home: Home, stack: ExitStack) -> ControlPlane:
    etcd_port, peer_port, port, controllers_port = free_ports(4)
    url = f"https://127.0.0.1:{port}"
    token = components.furnish(home, url)
    control = ControlPlane(
        url,
        ca_file=home.folder / "pki" / "apiserver.crt",
        token=token,
        kubeconfig=home.folder / "kubeconfig",
        kubectl=bin_ / "kubectl",
        bin=bin_,
        folder=home.folder,
    )

    def apiserver_ready() -> bool:
        try:
            return apiserver.request(control, "GET", "/readyz").ok
        except (OSError, http.client.HTTPException):
            return False

    etcd = stack.enter_context(process(home, "etcd", components.etcd(home, bin_, etcd_port, peer_port)))
    await_ready(home, "etcd", etcd, lambda: _answers(f"http://127.0.0.1:{etcd_port}/health"))
    server = stack.enter_context(process(home, "kube-apiserver", components.apiserver(home, bin_, port, etcd_port)))
    await_ready(home, "kube-apiserver", server, apiserver_ready)
    _podgroups(control)
    stack.enter_context(scheduler(control))
    manager = stack.enter_context(
        process(home, "kube-controller-manager", components.controllers(home, bin_, controllers_port))
    )
    account = apiserver.named("v1", "ServiceAccount", "default", "default")
    await_ready(home, "kube-controller-manager", manager, lambda: apiserver.get(control, account).ok)
    return control


@contextmanager
def running(bin_: Path) -> Iterator[ControlPlane]:
    """A control plane of its own, from nothing, as its administrator sees it.

    Stopped in the order that works: kube-controller-manager, scheduler, kube-apiserver, etcd. An API server whose
    etcd is gone does not end. The logs stay in the folder until the next run.
    """
    root = Path(tempfile.gettempdir())
    sweep(root)
    home = Home(Path(tempfile.mkdtemp(prefix=PREFIX, dir=root)))
    half = home.folder / "owner.new"
    half.write_text(str(os.getpid()), encoding="ascii")
    half.rename(home.folder / "owner")  # whole when another run's sweep sees it
    stack = ExitStack()
    atexit.register(stack.close)
    try:
        with stack:
            yield _start(bin_, home, stack)
    finally:
        atexit.unregister(stack.close)
        shutil.rmtree(home.folder / "etcd", ignore_errors=True)
