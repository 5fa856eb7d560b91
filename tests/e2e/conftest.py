"""The stand of the end-to-end tests: one control plane for all of them, a namespace for each."""

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import apiserver
import build
import controlplane
import hami
import hooks
import pytest
import server
from apiserver import ControlPlane

LOGS = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder of the built control plane. `make e2e` builds it, so there its absence is a failure."""
    folder = build.binaries()
    missing = build.missing(folder)
    if not missing:
        return folder
    said = f"the control plane is not built: run `make e2e` ({', '.join(missing)} missing in {folder})"
    if os.environ.get("GANGCHECK_E2E") == "1":
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


@pytest.fixture(scope="session")
def control(binaries: Path, pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """The control plane, seen by its administrator, with two Nodes of eight GPUs each."""
    # A run that is told to end stops what it started, as after Ctrl-C.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with controlplane.running(binaries) as started:
            pytestconfig.stash[LOGS] = started.folder / "logs"
            for name in ("gpu-a", "gpu-b"):
                apiserver.make_node(started, name, gpus=8)
            yield started
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture
def namespace(control: ControlPlane) -> Iterator[str]:
    """An empty namespace of the test's own; what was in it is gone afterwards, bound Pods too."""
    name = apiserver.make_namespace(control)
    yield name
    apiserver.remove_namespace(control, name)


@pytest.fixture(scope="session")
def server_account(control: ControlPlane) -> ControlPlane:
    """The control plane as the admission server's own account sees it."""
    return server.prepare(control)


@pytest.fixture(scope="module")
def gangcheck(
    control: ControlPlane, server_account: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[server.Server]:
    """The admission server, registered: in this module whatever has a GPU or a gang passes it."""
    with (
        server.serving(server_account, tmp_path_factory.mktemp("server")) as started,
        server.registered(control, *server.registration(started)),
    ):
        yield started


@pytest.fixture
def hami_webhook(control: ControlPlane, tmp_path: Path) -> Iterator[hooks.Hook]:
    """HAMi's webhook, played, before every Pod that is created; gone after the test."""
    with (
        hooks.serving(hami.answer, tmp_path, "hami") as hook,
        hooks.registered(control, hami.registration(hook.client_config), hook),
    ):
        yield hook


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e_slow: takes long; run by make e2e-slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of each component's log."""
    report = yield
    logs = item.config.stash.get(LOGS, None)
    if report.failed and logs is not None:
        for log in sorted(logs.glob("*.log")):
            if log.name != "audit.log":
                report.sections.append((f"end of {log}", controlplane.tail(log, 12)))
    return report
