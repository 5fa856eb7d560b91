"""A Service, played: a port on loopback from which each new connection goes to the replica that is chosen."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Switch:
    """`target` is the port that new connections go to; those that are open stay where they are."""

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="switch", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=_pass_on, args=(client, self.target), daemon=True).start()

    def close(self) -> None:
        # A blocked accept() does not notice a close.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


def _pass_on(client: socket.socket, port: int) -> None:
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as replica:
        replica.settimeout(None)
        sinks = {client: replica, replica: client}
        while sinks:
            ready, _, _ = select.select(list(sinks), [], [])
            for source in ready:
                data = source.recv(65536)
                if data:
                    sinks[source].sendall(data)
                else:
                    sinks.pop(source).shutdown(socket.SHUT_WR)


@contextmanager
def switching(target: int) -> Iterator[Switch]:
    switch = Switch(target)
    try:
        yield switch
    finally:
        switch.close()
