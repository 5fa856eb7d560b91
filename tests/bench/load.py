"""Clients over TLS: so many calls on kept connections, and short turns in which servers are held against each other."""

from __future__ import annotations

import random
import socket
import ssl
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SECONDS, TURNS = 0.2, 40


class Running(NamedTuple):
    """A gunicorn with one worker, and how to reach it."""

    process: subprocess.Popen[bytes]
    port: int
    context: ssl.SSLContext

    def connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(plain, server_hostname="127.0.0.1")

    @property
    def worker(self) -> Path:
        pid = self.process.pid
        [worker] = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return Path("/proc", worker)

    def memory(self) -> float:
        """The worker's resident memory, in MB."""
        [line] = [line for line in (self.worker / "status").read_text("ascii").splitlines() if "VmRSS" in line]
        return int(line.split()[1]) / 1000

    def spent(self) -> float:
        """The processor's time that the worker has had, in seconds: it says the same on a busy machine."""
        return sum(int(part.read_text("ascii").split()[0]) for part in self.worker.glob("task/*/schedstat")) / 1e9


class Entry(NamedTuple):
    """What is asked: a path of a server, under the name by which it is shown."""

    name: str
    server: Running
    path: str


def call_of(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path}?timeout=3s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


def ask(secure: ssl.SSLSocket, call: bytes) -> None:
    secure.sendall(call)
    answer = secure.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    while b'"response":' not in answer:
        answer += secure.recv(65536)


def load(server: Running, path: str, body: bytes, clients: int, calls: int) -> None:
    """So many calls on so many kept connections."""
    call = call_of(path, body)

    def client() -> None:
        with server.connect() as secure:
            for _ in range(calls // clients):
                ask(secure, call)

    together(client, clients)


def together(work: Callable[[], None], clients: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Turn(NamedTuple):
    """Answers a second in one turn, the worker's own seconds for each, and what the clients waited for each."""

    rate: float
    own: float
    waits: list[float]


@dataclass
class _Round:
    """Whose turn it is. Changed between turns only, while every client stands at the barrier."""

    plan: list[Entry]
    turns: dict[str, list[Turn]]
    waits: list[list[float]]
    entry: Entry | None = None
    began: float = 0.0
    spent: float = 0.0

    def change(self) -> None:
        now, waits = time.perf_counter(), [wait for each in self.waits for wait in each]
        if self.entry:
            own = (self.entry.server.spent() - self.spent) / max(len(waits), 1)
            self.turns[self.entry.name].append(Turn(len(waits) / (now - self.began), own, waits))
        for each in self.waits:
            each.clear()
        self.entry = self.plan.pop() if self.plan else None
        if self.entry:
            self.began, self.spent = time.perf_counter(), self.entry.server.spent()


def measure(entries: Sequence[Entry], body: bytes, clients: int) -> dict[str, list[Turn]]:
    """Short turns on connections that are kept, in an order that changes: a machine's speed does while one looks. The
    first turns, which connect, do not count."""
    chance = random.Random(clients)
    plan = [entry for _ in range(TURNS) for entry in chance.sample(entries, len(entries))]
    plan += entries
    at = _Round(plan, {entry.name: [] for entry in entries}, [[] for _ in range(clients)])
    barrier, numbers = threading.Barrier(clients, at.change), iter(range(clients))
    calls = {entry.name: call_of(entry.path, body) for entry in entries}

    def client() -> None:
        mine, lines = at.waits[next(numbers)], dict[int, ssl.SSLSocket]()
        with ExitStack() as kept:
            barrier.wait()
            while at.entry:
                server, call, ends = at.entry.server, calls[at.entry.name], at.began + SECONDS
                if server.port not in lines:  # not before it is used: gunicorn's threads wait for each new connection
                    lines[server.port] = kept.enter_context(server.connect())
                while (began := time.perf_counter()) < ends:
                    ask(lines[server.port], call)
                    mine.append(time.perf_counter() - began)
                barrier.wait()

    together(client, clients)
    return {name: turns[1:] for name, turns in at.turns.items()}


def median_ratio(taken: list[Turn], floor: list[Turn], what: str) -> float:
    """Each turn against the floor's of the same round: what slows the machine slows both."""
    return statistics.median(
        getattr(turn, what) / getattr(least, what) for turn, least in zip(taken, floor, strict=True)
    )
