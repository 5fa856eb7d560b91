"""What the components of the control plane are told: their command lines, and the files they read."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certificates import service_account_key

SCHEDULER = "system:kube-scheduler"

# Users without any rights, for tests that need some. Tokens are read once, at the start of the API server.
USERS = ("alice", "bob", "carol", "dave", "gangcheck")

# Without node-lifecycle, pod-gc and taint-eviction: hand-made Nodes have no heartbeat and would be drained.
CONTROLLERS = (
    "namespace",
    "serviceaccount",
    "serviceaccount-token",
    "root-ca-certificate-publisher",
    "deployment",
    "replicaset",
    "statefulset",
    "job",
    "cronjob",
    "daemonset",
    "replicationcontroller",
    "garbage-collector",
    "resourcequota",
    "disruption",
    "horizontal-pod-autoscaler",
    "ttl-after-finished",
)

COSCHEDULING = {"name": "Coscheduling"}

# All profiles of a process must sort alike, and what is compared is the text: Coscheduling that comes in by multiPoint
# in one profile and by queueSort in the other is refused, and so are different arguments of the plugin that sorts.
QUEUE_SORT = {"enabled": [COSCHEDULING], "disabled": [{"name": "*"}]}
ARGUMENTS = {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 5}}

# HAMi's extender manages these, and its scheduler is told to leave them alone (ignoredByScheduler). There is no
# extender here, so the scheduler is told the same by its own setting.
IGNORED = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/priority")

# The default-scheduler is an ordinary one, where Coscheduling only sorts the queue: a gang split over both is split
# over two schedulers.
PROFILES: tuple[dict[str, Any], ...] = (
    {
        "schedulerName": "hami-scheduler",
        "plugins": {"multiPoint": {"enabled": [COSCHEDULING]}, "queueSort": QUEUE_SORT},
        "pluginConfig": [
            ARGUMENTS,
            {"name": "NodeResourcesFit", "args": {"ignoredResources": list(IGNORED)}},
        ],
    },
    {
        "schedulerName": "default-scheduler",
        "plugins": {"queueSort": QUEUE_SORT},
        "pluginConfig": [ARGUMENTS],
    },
)


@dataclass(frozen=True, slots=True)
class Home:
    """Where a control plane lives on disk."""

    folder: Path

    def path(self, *parts: str) -> str:
        return str(self.folder.joinpath(*parts))

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"


def etcd(home: Home, bin_: Path, port: int, peer: int) -> list[str]:
    client_url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return [
        str(bin_ / "etcd"),
        f"--data-dir={home.path('etcd')}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]


def apiserver(home: Home, bin_: Path, port: int, etcd_port: int) -> list[str]:
    key = home.path("service-accounts.key")
    return [
        str(bin_ / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home.path('pki')}",
        "--service-account-issuer=https://gangcheck.test",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={home.path('tokens.csv')}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        # Else every Node made through the API is tainted not-ready, and nothing is scheduled.
        "--disable-admission-plugins=TaintNodesByCondition",
        # No 429 while a test puts load on a webhook.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        f"--audit-policy-file={home.path('audit.json')}",
        f"--audit-log-path={home.path('logs', 'audit.log')}",
    ]


def controllers(home: Home, bin_: Path, port: int) -> list[str]:
    return [
        str(bin_ / "kube-controller-manager"),
        f"--kubeconfig={home.path('kubeconfig')}",
        f"--service-account-private-key-file={home.path('service-accounts.key')}",
        f"--root-ca-file={home.path('pki', 'apiserver.crt')}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home.path('controllers')}",
        "--controllers=" + ",".join(f"{name}-controller" for name in CONTROLLERS),
    ]


def scheduler(
    home: Home,
    bin_: Path,
    name: str,
    port: int,
    profiles: Iterable[Mapping[str, Any]],
    *,
    more: Mapping[str, Any] | None = None,
) -> list[str]:
    """`more` are fields of the configuration beside the profiles, or in place of those that stand here."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": home.path("users", SCHEDULER), "qps": 200, "burst": 400},
        "leaderElection": {"leaderElect": False},
        "profiles": list(profiles),
        **(more or {}),
    }
    _write(home.folder / f"{name}.json", config)
    return [
        str(bin_ / "scheduler"),
        f"--config={home.path(f'{name}.json')}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home.path(name)}",
        # Else it must read a ConfigMap of kube-system; the probes are open all the same.
        "--authentication-skip-lookup=true",
    ]


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def _kubeconfig(url: str, ca_file: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": {"server": url, "certificate-authority": ca_file}}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }


def furnish(home: Home, url: str) -> str:
    """All files that the components read; returns the administrator's token."""
    for name in ("logs", "pids", "home", "etcd"):
        (home.folder / name).mkdir(mode=0o700)
    service_account_key(home.folder / "service-accounts.key")
    tokens = {name: secrets.token_hex(16) for name in ("admin", SCHEDULER, *USERS)}
    groups = {"admin": ',"system:masters"'}
    _write(
        home.folder / "tokens.csv",
        "".join(f"{token},{name},{name}{groups.get(name, '')}\n" for name, token in tokens.items()),
    )
    writes = {"level": "Metadata", "verbs": ["create", "update", "patch"], "omitStages": ["RequestReceived"]}
    _write(
        home.folder / "audit.json",
        {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [writes, {"level": "None"}]},
    )
    ca_file = home.path("pki", "apiserver.crt")
    for name, token in tokens.items():
        _write(home.folder / "users" / name, _kubeconfig(url, ca_file, token))
    _write(home.folder / "kubeconfig", _kubeconfig(url, ca_file, tokens["admin"]))
    return tokens["admin"]
