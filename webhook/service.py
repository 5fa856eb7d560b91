"""What `gangcheck serve` is told: the parts of the configuration that the linter accepts and has no use for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args, get_type_hints

from webhook.model import Path
from webhook.review import Enforcement, VgpuEnv
from webhook.settings import Reader, Table, Wrong, fields, flag, names, shown, text

Certs: TypeAlias = Literal["embedded", "managed", "external"]


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
    empty for the Pod's own account or the usual places. `detect_stack`: whether to take from HAMi's Deployment and
    ConfigMaps in `hami_namespace`, once at the start, what of the stack nobody has declared.

    `certs`: embedded is a pair of its own that nobody trusts yet, external the files, managed a pair that is signed by
    the authority in the Secret `ca_secret` and trusted in both configurations' caBundles (certs/plan.py), with the
    Service's names and `tls_names`; None means external where files are given, else embedded. `namespace` is empty for
    that of the Pod. A leaf lives for `leaf_seconds` and an authority for `ca_seconds`; it signs when every caBundle
    has carried it for `propagation_seconds`; what is published is looked at every `certs_poll_seconds`.
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
    detect_stack: bool = False
    hami_namespace: str = "hami-system"
    certs: Certs | None = None
    namespace: str = ""
    service: str = "gangcheck"
    cluster_domain: str = "cluster.local"
    ca_secret: str = "gangcheck-ca"  # noqa: S105 - a Secret's name
    mutating_configuration: str = "zz-gangcheck"
    validating_configuration: str = "gangcheck"
    leaf_seconds: int = 7 * 86400
    ca_seconds: int = 365 * 86400
    propagation_seconds: int = 600
    certs_poll_seconds: int = 10

    @property
    def certs_mode(self) -> Certs:
        return self.certs or ("external" if self.tls_cert else "embedded")


def server(value: object, path: Path) -> Server:
    made = Server(**fields(value, path, SERVER))
    if bool(made.tls_cert) != bool(made.tls_key):
        given, lacking = ("tlsCert", "tlsKey") if made.tls_cert else ("tlsKey", "tlsCert")
        raise Wrong((*path, given), f"{lacking} is missing; a certificate and its key come together")
    return made


def contradiction(server: Server) -> tuple[str, str] | None:
    """The first key, and what is wrong with it, of settings that do not go together; None where all do."""
    if bool(server.tls_cert) != bool(server.tls_key):
        given, lacking = ("tlsCert", "tlsKey") if server.tls_cert else ("tlsKey", "tlsCert")
        return given, f"{lacking} is missing; a certificate and its key come together: --tls-cert and --tls-key"
    if server.certs_mode == "external" and not server.tls_cert:
        return "certs", "external certificates are files; name them by --tls-cert and --tls-key"
    if server.certs_mode != "external" and server.tls_cert:
        return "certs", f"{server.certs} certificates are the server's own; leave --tls-cert and --tls-key out"
    least = 3 * (server.leaf_seconds + server.propagation_seconds)
    if server.ca_seconds < least:
        return "caSeconds", f"wanted is {least} or more, three times leafSeconds and propagationSeconds together"
    if server.certs_mode == "managed" and server.certs_poll_seconds * 6 > server.leaf_seconds:
        return "certsPollSeconds", f"wanted is {server.leaf_seconds // 6} or less, a sixth of leafSeconds"
    return None


def remark(server: Server) -> str:
    """What is odd and may be meant: nobody chose an address, and a cluster was named whose API server is to call us."""
    if not server.kubeconfig or server.listen != Server().listen:
        return ""
    return (
        f"server.listen is {server.listen}, which an API server on another machine cannot call; "
        f"--listen 0.0.0.0:{port_of(server.listen)} takes calls from anywhere"
    )


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
    return _among(get_args(get_type_hints(kind)[field]))


def _among(allowed: tuple[object, ...]) -> Reader:
    def read(value: object, path: Path) -> object:
        if isinstance(value, bool) or value not in allowed:
            known = ", ".join(repr(item) if item == "" else str(item) for item in allowed)
            raise Wrong(path, f"wanted is one of {known}, and this is {shown(value)}")
        return value

    return read


def _object_name(value: object, path: Path) -> str:
    """A DNS name, as Kubernetes wants it of most objects."""
    given = text(value, path)
    if not re.fullmatch(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?", given):
        raise Wrong(path, f"wanted is a name in lower case (a-z, 0-9, - and .), and this is {shown(value)}")
    return given


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
    "detectStack": ("detect_stack", flag),
    "hamiNamespace": ("hami_namespace", _object_name),
    "certs": ("certs", _among(get_args(Certs))),
    "namespace": ("namespace", _object_name),
    "service": ("service", _object_name),
    "clusterDomain": ("cluster_domain", _object_name),
    "caSecret": ("ca_secret", _object_name),
    "mutatingConfiguration": ("mutating_configuration", _object_name),
    "validatingConfiguration": ("validating_configuration", _object_name),
    "leafSeconds": ("leaf_seconds", _number(10, 90 * 86400)),
    "caSeconds": ("ca_seconds", _number(30, 3650 * 86400)),
    "propagationSeconds": ("propagation_seconds", _number(1, 86400)),
    "certsPollSeconds": ("certs_poll_seconds", _number(1, 600)),
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
    "stripMinResources": ("strip_min_resources", flag),
}
