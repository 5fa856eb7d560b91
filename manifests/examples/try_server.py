"""Start `gangcheck serve` on this machine, show it three reviews as an API server would, and end it.

Needs nothing but Python and gangcheck. The server makes a certificate of its own; this client trusts that one only.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REVIEWS = Path(__file__).parent / "reviews"
ASKED = (
    ("/validate", "1-group-as-annotation.json"),
    ("/mutate", "2-group-as-label.json"),
    ("/validate", "2-group-as-label.json"),
    ("/validate", "3-musl-image.json"),
)
WRAPPED = textwrap.TextWrapper(
    110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
)
SERVE = ("serve", "--no-index", "--listen", "127.0.0.1:0", "--probes", "127.0.0.1:0", "--drain-seconds", "0")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        ca = Path(folder, "ca.pem")
        print(f"$ gangcheck {' '.join(SERVE)} --ca-out ca.pem")
        command = [sys.executable, "-m", "webhook", *SERVE, "--ca-out", str(ca)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                address = _address(server)
                print(f"it serves at https://{address}")
                context = ssl.create_default_context(cafile=str(ca))
                connection = http.client.HTTPSConnection(address, context=context, timeout=10)
                for path, name in ASKED:
                    print(f"\nPOST {path} < reviews/{name}")
                    for line in _told(_ask(connection, path, REVIEWS / name)):
                        print(WRAPPED.fill(line))
                connection.close()
            finally:
                server.terminate()
            _, rest = server.communicate(timeout=20)
    log = [line for line in rest.splitlines() if '"review"' in line]
    print(f"\nIts log has a line for each review:\n  {log[0] if log else rest}")
    print(f"The server has ended with exit code {server.returncode}.")
    return server.returncode


def _address(server: subprocess.Popen[str]) -> str:
    """Where it serves, as soon as it says so."""
    for line in server.stderr or ():
        if '"serving"' in line:
            return str(json.loads(line)["listen"])
        print(line, end="", file=sys.stderr)
    raise SystemExit(f"gangcheck serve ended with exit code {server.wait()}")


def _ask(connection: http.client.HTTPSConnection, path: str, review: Path) -> dict[str, Any]:
    connection.request("POST", f"{path}?timeout=3s", review.read_bytes(), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    if response.status != http.client.OK:
        raise SystemExit(f"{path} answered {response.status}: {body.decode()}")
    verdict: dict[str, Any] = json.loads(body)["response"]
    return verdict


def _told(verdict: dict[str, Any]) -> Iterator[str]:
    """A verdict as a person reads it."""
    if not verdict["allowed"]:
        yield "DENIED"
        yield from verdict["status"]["message"].splitlines()
        return
    yield "allowed"
    yield from (f"Warning: {text}" for text in verdict.get("warnings", ()))
    for step in json.loads(base64.b64decode(verdict.get("patch", "W10="))):
        yield f"patch: {step['op']} {step['path']} {json.dumps(step['value'])}"


if __name__ == "__main__":
    sys.exit(main())
