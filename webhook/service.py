"""What `gangcheck serve` is told: the parts of the configuration that the linter accepts and has no use for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args, get_type_hints

from webhook.model import Path
from webhook.review import Enforcement, VgpuEnv
from webhook.settings import Reader, Table, Wrong, fields, flag, names, shown, text


@dataclass(frozen=True, slots=True)
class Server:
    """How the admission server runs.

    `listen` and `probes` are ADDRESS:PORT; port 0 takes a free one. `tls_cert` and `tls_key` are files, read again
    when their content changes; without them the server makes a pair of its own for `tls_names` (DNS names and IP
    addresses) and writes its authority's certificate to `ca_out`. `max_in_flight` requests may be answered or wait
    for it at once; more are told to come back in a second. On SIGTERM the server is unready and goes on answering
    for `drain_seconds`, then has `grace_seconds` to finish. `keepalive_seconds` is above the 90 s for which the API
    server keeps an idle connection (apimachinery pkg/util/net/http.go), so that the client closes first.
    `index`: whether to keep an index of gangs; None means where there is a cluster to ask. `kubeconfig` is a file,
    empty for the Pod's own account or the usual places.
    """

    listen: str = "127.0.0.1:8443"
    probes: str = "127.0.0.1:8080"
    tls_cert: str = ""
    tls_key: str = ""
    tls_names: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    ca_out: str = ""
    threads: int = 8
    max_in_flight: int = 200
    drain_seconds: int = 15
    grace_seconds: int = 15
    keepalive_seconds: int = 120
    index: bool | None = None
    kubeconfig: str = ""


def server(value: object, path: Path) -> Server:
    made = Server(**fields(value, path, SERVER))
    if bool(made.tls_cert) != bool(made.tls_key):
        given, lacking = ("tlsCert", "tlsKey") if made.tls_cert else ("tlsKey", "tlsCert")
        raise Wrong((*path, given), f"{lacking} is missing; a certificate and its key come together")
    return made


def enforcement(value: object, path: Path) -> Enforcement:
    return Enforcement(**fields(value, path, ADMISSION))


def vgpu_env(value: object, path: Path) -> VgpuEnv:
    return VgpuEnv(**fields(value, path, INJECT))


def endpoint(value: object, path: Path) -> str:
    """`ADDRESS:PORT`, an IPv6 address in brackets."""
    given = text(value, path)
    if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+):[0-9]{1,5}", given) or port_of(given) > _LAST_PORT:
        raise Wrong(path, f"wanted is ADDRESS:PORT (0.0.0.0:8443 or [::]:8443), and this is {shown(value)}")
    return given


_LAST_PORT = 65535


def host_of(listen: str) -> str:
    return listen.rpartition(":")[0].strip("[]")


def port_of(listen: str) -> int:
    return int(listen.rpartition(":")[2])


def _number(least: int, most: int) -> Reader:
    def read(value: object, path: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Wrong(path, f"wanted is a whole number from {least} to {most}, and this is {shown(value)}")
        return value

    return read


def _one_of(kind: type, field: str) -> Reader:
    allowed = get_args(get_type_hints(kind)[field])

    def read(value: object, path: Path) -> object:
        if isinstance(value, bool) or value not in allowed:
            known = ", ".join(repr(item) if item == "" else str(item) for item in allowed)
            raise Wrong(path, f"wanted is one of {known}, and this is {shown(value)}")
        return value

    return read


def _some_names(value: object, path: Path) -> tuple[str, ...]:
    given = names(value, path)
    if not given:
        raise Wrong(path, "wanted is at least one name or address")
    return given


SERVER: Table = {
    "listen": ("listen", endpoint),
    "probes": ("probes", endpoint),
    "tlsCert": ("tls_cert", text),
    "tlsKey": ("tls_key", text),
    "tlsNames": ("tls_names", _some_names),
    "caOut": ("ca_out", text),
    "threads": ("threads", _number(1, 64)),
    "maxInFlight": ("max_in_flight", _number(1, 10_000)),
    "drainSeconds": ("drain_seconds", _number(0, 600)),
    "graceSeconds": ("grace_seconds", _number(1, 600)),
    "keepaliveSeconds": ("keepalive_seconds", _number(1, 3600)),
    "index": ("index", flag),
    "kubeconfig": ("kubeconfig", text),
}

ADMISSION: Table = {
    "ownedPods": ("owned_pods", _one_of(Enforcement, "owned_pods")),
    "suppressionsLiftDenials": ("suppressions_lift_denials", flag),
    "events": ("events", flag),
}

INJECT: Table = {
    "taskPriority": ("priority", _one_of(VgpuEnv, "priority")),
    "coreUtilizationPolicy": ("core_policy", _one_of(VgpuEnv, "core_policy")),
    "hideGPUs": ("hide_gpus", flag),
}
