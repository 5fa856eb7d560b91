"""The keeper of managed certificates, put together from the settings: for the server and for `gangcheck certs`."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from certs.clock import Clock
from certs.plan import Terms
from certs.rounds import Rounds, Settings, service_names
from certs.told import Log, Told
from webhook.service import Server

if TYPE_CHECKING:
    from webhook.cluster import Api, Published

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def store(server: Server, api: Api) -> Published:
    """What is published, by the names that the settings give."""
    from webhook.cluster import Published, Where  # noqa: PLC0415 - kubernetes costs 20 MB; not where it is not used

    configurations = server.mutating_configuration, server.validating_configuration
    return Published(api, Where(server.namespace or own_namespace(), server.ca_secret, *configurations))


def rounds(server: Server, published: Published, log: Log, lost: Callable[[], object] = lambda: None) -> Rounds:
    """`lost` is called for each configuration that is found without our authority."""
    names = service_names(server.service, server.namespace or own_namespace(), server.cluster_domain)
    poll = timedelta(seconds=server.certs_poll_seconds)
    settings = Settings((*names, *server.tls_names), terms(server), poll)
    return Rounds(published, settings, Clock(), random.random, Told(log), lost)


def terms(server: Server) -> Terms:
    """How long everything lives."""
    return Terms(
        timedelta(seconds=server.leaf_seconds),
        timedelta(seconds=server.ca_seconds),
        timedelta(seconds=server.propagation_seconds),
    )


def own_namespace() -> str:
    """The namespace of the Pod that we run in, else the one that the manifests make."""
    try:
        return _NAMESPACE.read_text(encoding="utf-8").strip() or "gangcheck"
    except OSError:
        return "gangcheck"
