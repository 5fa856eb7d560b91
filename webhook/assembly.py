"""The server, put together: a configuration and the rules to sockets, certificate, application and index."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from certs.authority import Pair, issue_authority, issue_leaf, renewal, split
from certs.keeper import Keeper
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
from webhook.serving.logging_ import log, log_soon
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
    indexed = None if server.index is False else api
    if server.certs_mode == "managed" and api:
        keeper = _keeper(server, api, counted)
        serve(
            server,
            make_app(config, rules, counted, indexed, keeper),
            Certificates(keeper.pair, counted, log, keeper.now),
            counted,
        )
    serve(server, make_app(config, rules, counted, indexed), Certificates(pairs(server), counted, log), counted)


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
    config: Config, rules: tuple[Rule, ...], counted: Metrics, api: Api | None, keeper: Keeper | None = None
) -> MakeApp:
    """How the worker makes its application, once it is a process of its own: threads do not outlive a fork."""

    def made(gates: Gates) -> tuple[Wsgi, Mapping[str, Check]]:
        if keeper:
            keeper.start()
        trusted: dict[str, Check] = {"trusted": keeper.trusted} if keeper else {}
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
        )
        if known is None:
            return create_app(parts), trusted
        return create_app(replace(parts, notify=known.notify)), {**trusted, "index": known.synced}

    return made


def _cluster(server: Server) -> Api | None:
    """The API server to ask; None where there is none, or nothing to ask it."""
    managed = server.certs_mode == "managed"
    if server.index is False and not managed:
        return None
    from webhook.cluster import connect  # noqa: PLC0415 - kubernetes costs 20 MB; not where it is not used

    api = connect(server.kubeconfig or None)
    if api is None and (server.index or managed):
        key = "certs: managed certificates live in a cluster, and" if managed else "index:"
        raise BadConfig(f"server.{key} there is no cluster to ask; name a kubeconfig")
    return api


def _keeper(server: Server, api: Api, counted: Metrics) -> Keeper:
    """Who keeps the managed certificate, not yet started."""
    log_of_certs = logging.getLogger("certs").log
    keeper = Keeper(rounds(server, store(server, api), log_of_certs, counted.bundle_losses.inc), random.random)
    watch_authority(counted, lambda: expires.timestamp() if (expires := keeper.authority_expiry()) else 0.0)
    return keeper


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
