"""The server, put together: a configuration and the rules to sockets, certificate, application and index."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from certs.authority import Pair, issue_authority, issue_leaf, renewal, split
from certs.keeper import Keeper
from certs.onlooker import Onlooker
from certs.told import Told
from webhook.admission import decode, encode
from webhook.app import Parts, create_app
from webhook.config import Config
from webhook.doors import entries, limit
from webhook.errors import BadConfig
from webhook.managed import rounds, store
from webhook.metrics import Metrics, metrics, watch_authority, watch_index
from webhook.review import Enforcement, LookUp, Notice, nothing_known
from webhook.rule import Rule
from webhook.service import Server
from webhook.serving import Gates, MakeApp, Wsgi, serve
from webhook.serving.logging_ import later, log, log_soon
from webhook.serving.probes import Check
from webhook.serving.tls import Certificates, from_files

if TYPE_CHECKING:
    from webhook.cluster import Api

CA_LIFE, LEAF_LIFE = timedelta(days=365), timedelta(days=7)
"""Of the pair that the server makes for itself; the authority lives as long as the process."""


def run(config: Config, rules: tuple[Rule, ...]) -> NoReturn:
    """Serve until SIGTERM. Raises BadConfig for what the machine does not give: a port, a certificate, a cluster."""
    server = config.server or Server()
    counted = metrics(rule.name for rule in rules)
    api = _cluster(server)
    if server.detect_stack:
        from webhook.detected import detected  # noqa: PLC0415 - as in _cluster

        config = config._replace(stack=detected(config.stack, api, server.hami_namespace, log))
    kept = _kept(server, api, counted)
    app = make_app(config, rules, counted, None if server.index is False else api, kept)
    serve(server, app, kept.certificates, counted)


class Kept(NamedTuple):
    """The certificate: what serves it, what starts those who look after it, and what must hold to be ready."""

    certificates: Certificates
    start: Callable[[], object] = lambda: None
    checks: Mapping[str, Check] = MappingProxyType({})


def _kept(server: Server, api: Api | None, counted: Metrics) -> Kept:
    told = logging.getLogger("certs").log
    if server.certs_mode == "managed" and api:
        keeper = Keeper(rounds(server, store(server, api), told, counted.bundle_losses.inc), random.random)
        watch_authority(counted, lambda: expires.timestamp() if (expires := keeper.authority_expiry()) else 0.0)
        return Kept(Certificates(keeper.pair, counted, log, keeper.now), keeper.start, {"trusted": keeper.trusted})
    read = pairs(server)
    certificates = Certificates(read, counted, log)
    if server.certs_mode == "external" and api:
        return Kept(certificates, Onlooker(store(server, api), read, Told(told)).start)
    return Kept(certificates)


def pairs(server: Server) -> Callable[[], Pair]:
    """Where the serving certificate comes from: the files, or an authority of our own that lives in memory."""
    if server.tls_cert:
        return from_files(server.tls_cert, server.tls_key)
    authority = issue_authority("gangcheck", CA_LIFE, datetime.now(UTC))
    if server.ca_out:
        try:
            Path(server.ca_out).write_bytes(authority.certificate)
        except OSError as error:
            raise BadConfig(f"server.caOut: cannot write {server.ca_out}: {error.strerror or error}") from error
    return _own(authority, server.tls_names)


def _own(authority: Pair, names: Sequence[str]) -> Callable[[], Pair]:
    """Always a pair in the first two thirds of its life."""
    others, addresses = split(names)
    held: list[Pair] = []

    def pair() -> Pair:
        now = datetime.now(UTC)
        if not held or renewal(held[0].certificate) <= now:
            held[:] = [issue_leaf(authority, others, addresses, LEAF_LIFE, now)]
        return held[0]

    return pair


def make_app(
    config: Config, rules: tuple[Rule, ...], counted: Metrics, api: Api | None, kept: Kept | None = None
) -> MakeApp:
    """How the worker makes its application, once it is a process of its own: threads do not outlive a fork."""

    def made(gates: Gates) -> tuple[Wsgi, Mapping[str, Check]]:
        checks = kept.checks if kept else {}
        if kept:
            kept.start()
        known = _listen(api, config, counted) if api else None
        parts = Parts(
            decode=decode,
            encode=encode,
            entries=entries(config, rules, known.look_up if known else nothing_known),
            metrics=counted,
            log=log_soon,
            overloaded=gates.overloaded,
            waited=gates.waited,
            limit=limit,
            later=later,
        )
        if known is None:
            return create_app(parts), checks
        return create_app(replace(parts, notify=known.notify)), {**checks, "index": known.synced}

    return made


def _cluster(server: Server) -> Api | None:
    """The API server to ask; None where there is none, or nothing to ask it."""
    managed = server.certs_mode == "managed"
    if server.index is False and not managed and not server.detect_stack:
        return None
    from webhook.cluster import connect  # noqa: PLC0415 - kubernetes costs 20 MB; not where it is not used

    api = connect(server.kubeconfig or None)
    if api is None and (server.index or managed):
        key = "certs: managed certificates live in a cluster, and" if managed else "index:"
        raise BadConfig(f"server.{key} there is no cluster to ask; name a kubeconfig")
    return api


class _Known(NamedTuple):
    """What the API server gives: look-ups, a place to write Events to, and whether the index has been filled once."""

    look_up: LookUp
    notify: Callable[[Sequence[Notice]], object]
    synced: Check


def _listen(api: Api, config: Config, counted: Metrics) -> _Known:
    from webhook.cluster import start_index, start_notices  # noqa: PLC0415 - as above

    index = start_index(api)
    watch_index(counted, lambda: sum(index.size()), lambda: -1.0 if (age := index.age()) is None else age)
    events = (config.enforcement or Enforcement()).events
    return _Known(index.look_up, start_notices(api) if events else _unheard, index.synced)


def _unheard(_notices: Sequence[Notice]) -> None:
    """Where the policy wants no Events."""
