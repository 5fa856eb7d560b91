"""The server is killed, restarted, given a new certificate: Pods go on, and no call fails that need not."""

import base64
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from apiserver import JSON_PATCH, ControlPlane, Object, create, patch, wait_for
from certificates import Pair, self_signed
from objects import GROUP, SCHEDULER, member, pod, template, workload
from server import Server, registered, registration, scheduler_of, serving
from switch import switching

GPU = {"nvidia.com/gpu": "1"}
CLIENTS = 6


@contextmanager
def load(control: ControlPlane) -> Iterator[Callable[[], Counter[str]]]:
    """Clients that create Pods without a pause, on dry run. Yields what came of it so far: each is refused by the
    webhook's verdict, injected, or `failed` with what the API server says."""
    over = threading.Event()
    seen: Counter[str] = Counter()

    def client(number: int) -> None:
        while not over.is_set():
            wrong = pod("default", f"wrong-{number}", annotations={GROUP: "g"}, limits=GPU)
            right = pod("default", f"right-{number}", limits=GPU)
            refused, injected = (create(control, each, dryRun="All") for each in (wrong, right))
            seen["refused" if refused.status == 403 else f"failed: {refused.status} {refused.message}"] += 1
            good = injected.ok and scheduler_of(injected) == SCHEDULER
            seen["injected" if good else f"failed: {injected.status} {injected.message}"] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: Counter(seen)
    finally:
        over.set()
        for thread in threads:
            thread.join()


def grows(seen: Callable[[], Counter[str]], by: int = 60) -> None:
    """Waits until so many more calls have been answered."""
    before = seen().total()
    wait_for(lambda: seen().total() >= before + by, 30)


def all_is_well(seen: Counter[str]) -> bool:
    return seen.keys() == {"refused", "injected"}


def strict(server: Server, url: str) -> tuple[Object, Object]:
    """Both configurations at another URL; the API server fails every call that gets no answer."""
    both = registration(replace(server, url=url), failure_policy="Fail")
    for configuration in both:
        for hook in configuration["webhooks"]:
            hook["failurePolicy"] = "Fail"
    return both


def test_killed_server_stops_no_pod(
    control: ControlPlane, server_account: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with (
        serving(server_account, tmp_path) as server,
        registered(control, *registration(server)),
    ):
        assert create(control, pod(namespace, "a", annotations={GROUP: "g"})).status == 403
        server.kill()
        began = time.monotonic()
        answer = create(control, pod(namespace, "a", annotations={GROUP: "g"}, limits=GPU))
        assert (answer.status, answer.warnings) == (201, ())
        assert create(control, member(namespace, "b", "g")).ok
        assert create(control, workload("Job", namespace, "j", template(limits=GPU))).ok
        assert time.monotonic() - began < 3


def test_hanging_server_stops_no_pod(
    control: ControlPlane, server_account: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The worst that a webhook can do: the timeouts of both entries, and no more."""
    with (
        serving(server_account, tmp_path) as server,
        registered(control, *registration(server)),
        server.paused(),
    ):
        began = time.monotonic()
        assert create(control, pod(namespace, "a", annotations={GROUP: "g"}, limits=GPU)).status == 201
        assert time.monotonic() - began < 7


def test_what_is_not_ours_never_waits(
    control: ControlPlane, server_account: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Dead and registered with Fail: only what has a GPU or a gang is held up."""
    with serving(server_account, tmp_path) as server, registered(control, *strict(server, server.url)):
        server.kill()
        assert create(control, pod(namespace, "web")).ok
        assert create(control, workload("Deployment", namespace, "web", template())).ok
        answer = create(control, pod(namespace, "gpu", limits=GPU))
        assert answer.status == 500
        assert 'failed calling webhook "' in answer.message


def test_stop_is_quick(control: ControlPlane, server_account: ControlPlane, tmp_path: Path) -> None:
    """Without a drain, and with the idle connections that an API server keeps after some load."""
    with serving(server_account, tmp_path) as server, registered(control, *registration(server)):
        with load(control) as seen:
            grows(seen)
        began = time.monotonic()
        server.stop()
        assert server.process.returncode == 0
        assert time.monotonic() - began < 8


@pytest.mark.e2e_slow
def test_restart_under_load_fails_no_call(control: ControlPlane, server_account: ControlPlane, tmp_path: Path) -> None:
    """As in a rollout: a new replica is ready before the old one is told to end, and new connections go to the new
    one as soon as the old one says that it is not ready."""
    pair = self_signed(tmp_path, "both")
    with ExitStack() as stack:
        old = stack.enter_context(serving(server_account, tmp_path, "--drain-seconds", "4", pair=pair))
        switch = stack.enter_context(switching(old.port))
        stack.enter_context(registered(control, *strict(old, f"https://127.0.0.1:{switch.port}")))
        seen = stack.enter_context(load(control))
        for _ in range(3):
            grows(seen)
            new = stack.enter_context(serving(server_account, tmp_path, "--drain-seconds", "4", pair=pair))
            old.process.terminate()
            wait_for(partial(is_unready, old))
            switch.target = new.port
            old.process.wait(30)
            assert old.process.returncode == 0
            old = new
        grows(seen)
        assert all_is_well(seen()), seen()


def is_unready(server: Server) -> bool:
    return not server.is_ready()


@pytest.mark.e2e_slow
def test_certificate_exchanged_under_load_fails_no_call(
    control: ControlPlane, server_account: ControlPlane, tmp_path: Path
) -> None:
    """First the new authority is trusted beside the old one, then the server gets the new pair, then the old
    authority goes."""
    first, second = self_signed(tmp_path, "first"), self_signed(tmp_path, "second")
    used = Pair(tmp_path / "tls.crt", tmp_path / "tls.key")
    put_in_place(first, used)
    with serving(server_account, tmp_path, pair=used) as server:
        both = strict(server, server.url)
        with registered(control, *both), load(control) as seen:
            grows(seen)
            trust(control, both, first, second)
            grows(seen)
            put_in_place(second, used)
            wait_for(lambda: presented(server) == ssl.PEM_cert_to_DER_cert(second.certificate.read_text("ascii")))
            grows(seen)
            trust(control, both, second)
            grows(seen)
            assert all_is_well(seen()), seen()
        assert server.count("gangcheck_certificate_reload_failures") <= 1  # the two files are not put down at once


def put_in_place(pair: Pair, used: Pair) -> None:
    """Each file as a whole, one after the other."""
    for source, target in ((pair.certificate, used.certificate), (pair.key, used.key)):
        half = target.with_suffix(".new")
        half.write_bytes(source.read_bytes())
        half.replace(target)


def trust(control: ControlPlane, both: tuple[Object, Object], *pairs: Pair) -> None:
    """Puts the authorities into every caBundle, as one change to each configuration."""
    bundle = base64.b64encode(b"".join(pair.certificate.read_bytes() for pair in pairs)).decode()
    for configuration in both:
        steps = [
            {"op": "replace", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
            for index in range(len(configuration["webhooks"]))
        ]
        assert patch(control, configuration, steps, content_type=JSON_PATCH).ok


def presented(server: Server) -> bytes:
    """The certificate that a new connection is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", server.port), 5) as plain,
        context.wrap_socket(plain) as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True) or b""
