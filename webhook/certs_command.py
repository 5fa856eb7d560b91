"""`gangcheck certs`: who trusts what until when, and the two things that a person may want to begin.

Nothing is imported here that `gangcheck --help` does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from webhook.console import say, write
from webhook.errors import BadConfig

if TYPE_CHECKING:
    from certs.status import Entry, Leaf, Member, Served, Status
    from webhook.cluster import Published
    from webhook.service import Server

WELL, TROUBLED, UNREAD = 0, 1, 4

_OPTIONS: Sequence[tuple[str, str, type, str]] = (
    ("kubeconfig", "--kubeconfig", str, "Where the API server is: the Pod's own account, or the usual places."),
    ("namespace", "--namespace", str, "Of the Secret; the Pod's own, else gangcheck."),
    ("caSecret", "--ca-secret", str, "The Secret that holds the authorities."),
    ("mutatingConfiguration", "--mutating-configuration", str, "The MutatingWebhookConfiguration."),
    ("validatingConfiguration", "--validating-configuration", str, "The ValidatingWebhookConfiguration."),
    ("leafSeconds", "--leaf-seconds", int, "How long a leaf lives."),
    ("caSeconds", "--ca-seconds", int, "How long a new authority lives."),
    ("propagationSeconds", "--propagation-seconds", int, "How long an authority is trusted before it signs."),
)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    """The settings of the server that say where things are, and how long they live."""
    for key, name, kind, text in reversed(_OPTIONS):
        metavar = "SECONDS" if kind is int else "FILE" if key == "kubeconfig" else "NAME"
        help_text = f"{text}  [server.{key}]"
        command = click.option(name, f"server__{key}", type=kind, metavar=metavar, help=help_text)(command)
    file = click.option("--config", "config_file", metavar="FILE", type=click.Path(), help="The server's policy file.")
    return file(command)


@click.group(short_help="Look after the managed certificates.")
def certs() -> None:
    """Look after the certificates that `gangcheck serve --certs managed` keeps.

    The replicas need none of this: they make the first authority, rotate and renew by themselves.
    """


@certs.command(short_help="Say who trusts what until when.")
@_where
@click.option(
    "--url", "urls", metavar="URL", multiple=True, help="Look at the certificate served here too; several may be given."
)
@click.option("--output", "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(*, config_file: str | None, urls: tuple[str, ...], format_: str, **flags: object) -> int:
    """Say who trusts what until when: the Secret's authorities, each caBundle, and what is served at each --url.

    \b
    Exit codes:
      0  all is well
      1  something is not, and is named
      2  the command line or the configuration cannot be used, or there is no cluster to ask
      4  the API server could not be asked
    """  # noqa: D301 - click's mark for lines to leave as they are
    from json import dumps

    from certs.status import status as looked_at
    from certs.store import Away
    from webhook.managed import terms

    server, store = _reached(config_file, flags)
    try:
        seen = store.read()
    except Away as away:
        say(f"Error: the API server cannot be asked: {away}")
        return UNREAD
    now = seen.date or datetime.now(UTC)
    found = looked_at(seen, [_served(url) for url in urls], terms(server), now)
    text = f"{dumps(_as_json(found), indent=2)}\n" if format_ == "json" else "".join(f"{row}\n" for row in _rows(found))
    if not write(text, "-"):
        return UNREAD
    return TROUBLED if found.troubles else WELL


@certs.command(short_help="Make the first authority.")
@_where
def issue(*, config_file: str | None, **flags: object) -> int:
    """Make the first authority, where there is none, and have every caBundle trust it.

    The first replica would do the same. Does nothing where there is an authority that can sign.
    """
    return _begin(config_file, flags, rotate=False)


@certs.command(short_help="Start the next authority now.")
@_where
def rotate(*, config_file: str | None, **flags: object) -> int:
    """Start the next authority now, and have every caBundle trust it.

    It signs when all have carried it for the propagation time; replicas sign their next leaf by it, at two thirds of
    the life of the one that they have, or at a restart. The old one stays trusted until the last of its leaves has
    expired.
    """
    return _begin(config_file, flags, rotate=True)


def _reached(config_file: str | None, flags: Mapping[str, object]) -> tuple[Server, Published]:
    """The settings, and what is published. Raises BadConfig."""
    from webhook.cluster import connect
    from webhook.managed import store
    from webhook.rules import all_rules
    from webhook.serve_command import configuration
    from webhook.service import Server

    given = {name.replace("__", "."): value for name, value in flags.items()}
    server = configuration(config_file, all_rules(), given).server or Server()
    api = connect(server.kubeconfig or None)
    if api is None:
        raise BadConfig("there is no cluster to ask; name a kubeconfig by --kubeconfig")
    return server, store(server, api)


def _served(url: str) -> Served:
    """The certificate that a new connection is shown. Nothing is sent, and nothing is trusted."""
    import ssl
    from urllib.parse import urlsplit

    from certs.status import Served

    try:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            return Served(url, fault="wanted is https://HOST or https://HOST:PORT")
        pem = ssl.get_server_certificate((parts.hostname, parts.port or 443), timeout=5)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        return Served(url, fault=f"no certificate could be had: {why}")
    return Served(url, pem.encode())


def _begin(config_file: str | None, flags: Mapping[str, object], *, rotate: bool) -> int:
    from certs.plan import Held
    from certs.store import Away
    from webhook.managed import rounds

    faults: list[str] = []

    def log(level: int, line: str) -> None:
        from logging import ERROR

        say(line)
        if level >= ERROR:
            faults.append(line)

    server, store = _reached(config_file, flags)
    try:
        if rotate and (waiting := _waiting(server, store)):
            say(f"the authority {waiting} waits already and will sign soon; nothing was changed")
            return WELL
        done = rounds(server, store, log).run(Held(), serves=False, rotate=rotate)
    except Away as away:
        say(f"Error: the API server cannot be asked: {away}")
        return UNREAD
    for name in dict.fromkeys(done.wrote):
        say(f"{name} was written")
    if not done.wrote and not faults:
        say("nothing was to be done")
    return TROUBLED if faults else WELL


def _waiting(server: Server, store: Published) -> str:
    """An authority that does not sign yet, so that another one would only be in its way."""
    from certs.status import status as looked_at
    from webhook.managed import terms

    seen = store.read()
    found = looked_at(seen, (), terms(server), seen.date or datetime.now(UTC))
    return next((_short(member.authority.fingerprint) for member in found.members if member.standing == "waits"), "")


# How it is shown.


def _short(fingerprint: str) -> str:
    return fingerprint[:12] or "nobody that is trusted"


def _moment(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if moment else "?"


def _rows(found: Status) -> Sequence[str]:
    """Times are UTC."""
    rows = [f"{found.secret}: {_number(len(found.members), 'authority', 'authorities')} (times are UTC)"]
    rows += [f"  {_short(member.authority.fingerprint)}  {_standing(member)}" for member in found.members]
    for configuration in dict.fromkeys(entry.configuration for entry in found.entries):
        own = [entry for entry in found.entries if entry.configuration == configuration]
        rows.append(f"{configuration}: {_number(len(own), 'caBundle', 'caBundles')}")
        rows += [f"  {row}" for row in _trusts(own)]
    rows += [_served_row(leaf) for leaf in found.leaves]
    rows += [f"NOT WELL  {trouble}" for trouble in found.troubles] or ["all is well"]
    return rows


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _standing(member: Member) -> str:
    authority, then = member.authority, _moment(member.then)
    told = {
        "signs": "signs",
        "waits": f"waits, signs from {then}" if member.then else "waits, is not in every caBundle yet",
        "replaced": f"replaced, trusted until {then}",
        "dropped": "dropped, is being taken out of the caBundles",
    }
    lost = "" if authority.key or member.standing == "dropped" else ", its key is lost"
    return f"{told[member.standing]}{lost}; made {_moment(authority.made)}, valid until {_moment(authority.expires)}"


def _trusts(entries: Sequence[Entry]) -> Iterator[str]:
    """Entries that trust the same are one line."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for entry in entries:
        alike.setdefault((entry.ours, entry.foreign), []).append(entry.webhook)
    for (ours, foreign), names in alike.items():
        who = "all" if len(alike) == 1 else ", ".join(names)
        trusted = [*map(_short, ours), *(f"{subject} (not ours)" for subject in foreign)]
        yield f"{who}: {', '.join(trusted) or 'nobody'}"


def _served_row(leaf: Leaf) -> str:
    until = f"made {_moment(leaf.made)}, valid until {_moment(leaf.expires)}"
    return f"{leaf.url}: serial {leaf.serial}, signed by {_short(leaf.issuer)}; {until}"


def _as_json(found: Status) -> Mapping[str, object]:
    return {
        "version": 1,
        "well": not found.troubles,
        "troubles": list(found.troubles),
        "authorities": [
            {
                "fingerprint": member.authority.fingerprint,
                "standing": member.standing,
                "then": _iso(member.then),
                "made": _iso(member.authority.made),
                "expires": _iso(member.authority.expires),
                "trustedSince": _iso(member.authority.trusted_since),
                "replacedSince": _iso(member.authority.replaced_since),
                "hasKey": bool(member.authority.key),
            }
            for member in found.members
        ],
        "webhooks": [
            {
                "configuration": entry.configuration,
                "name": entry.webhook,
                "authorities": list(entry.ours),
                "foreign": list(entry.foreign),
            }
            for entry in found.entries
        ],
        "served": [
            {
                "url": leaf.url,
                "serial": leaf.serial,
                "authority": leaf.issuer,
                "made": _iso(leaf.made),
                "expires": _iso(leaf.expires),
            }
            for leaf in found.leaves
        ],
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
