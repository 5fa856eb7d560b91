"""The API server over `kubernetes`' REST layer: its configuration, tokens and TLS; our timeouts, and plain JSON.

The package's own clients and informers are not used: they make a model object of every Pod (45 kB each), have no
read timeout on a watch and so hang for ever on a half-open connection (kubernetes-client/python issues 868, 1148).
"""

from __future__ import annotations

import json
import os
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

import kubernetes
import urllib3
import yaml
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import incluster_config
from urllib3.util.ssl_ import create_urllib3_context

from webhook import __version__
from webhook.errors import BadConfig

Body: TypeAlias = Mapping[str, Any]
Timeouts: TypeAlias = tuple[float, float]
"""Seconds to connect, and seconds in which the next bytes must come."""

BRIEF: Timeouts = (5, 10)
LISTING: Timeouts = (5, 30)
WATCHING: Timeouts = (5, 70)
"""Bookmarks come every 60 s (apiserver pkg/storage/cacher defaultBookmarkFrequency): 70 s of silence is a dead line."""

JSON = "application/json"

# The package's types are generated and half missing; this is the whole surface that is used of it.
_kubernetes: Any = kubernetes
_new_client: Any = RESTClientObject
_pod: Any = incluster_config
_Misconfigured: type[Exception] = _kubernetes.config.ConfigException
_Failed: type[Exception] = _kubernetes.client.ApiException
_UNREADABLE = (_Misconfigured, OSError, yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError)
"""What the loaders raise on a kubeconfig that is wrong; the last three on one of another shape."""
_BROKEN = (urllib3.exceptions.HTTPError, _Failed, _Misconfigured, OSError, ValueError, AttributeError)
"""What a call raises when the connection fails, TLS does, the token's file is gone, or `cut` closed the socket."""

_SAID_AT_MOST = 64 * 1024


class Trouble(Exception):  # noqa: N818 - the base of what a call to the API server may come to
    """A call came to nothing. `str(trouble)` is one line for the log."""


class Unreachable(Trouble):
    """No answer, half an answer, or one that makes no sense."""


class Silent(Unreachable):
    """A watch was opened and then nothing came for too long: a dead line, or a server without bookmarks."""


class Refused(Trouble):
    """The API server answered with an error. `retry_after` are the seconds that it asks for, else 0."""

    def __init__(self, status: int, message: str, retry_after: float = 0) -> None:
        super().__init__(f"{status} {message}".rstrip())
        self.status = status
        self.retry_after = retry_after


class _Call(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    accept: str
    timeouts: Timeouts
    body: Body | None = None


class _Link(NamedTuple):
    """A loaded configuration and the connections made from it."""

    configuration: Any
    client: Any


class Api:
    """One API server, for several threads at once.

    An object and no value: it holds connections, the token that is good at the moment, and the open watches, so
    that `cut` can end them from another thread.
    """

    def __init__(self, load: Callable[[Any], None]) -> None:
        """`load` fills a kubernetes Configuration; it is called again when the API server no longer knows us."""
        self._load = load
        self._lock = threading.Lock()
        self._link = self._dial()
        self._watches: set[urllib3.BaseHTTPResponse] = set()

    def get(self, path: str, query: Mapping[str, str], accept: str = JSON, timeouts: Timeouts = BRIEF) -> Body:
        """One answer. Raises Refused or Unreachable, as all calls do."""
        return self._answer(self._send(_Call("GET", path, query, accept, timeouts)))

    def get_with_headers(self, path: str) -> tuple[Body, Mapping[str, str]]:
        """One answer, and what came before it: the API server's clock is in `Date`."""
        response = self._send(_Call("GET", path, {}, JSON, BRIEF))
        return self._answer(response), response.headers

    def post(self, path: str, body: Body) -> Body:
        return self._answer(self._send(_Call("POST", path, {}, JSON, BRIEF, body)))

    def put(self, path: str, body: Body) -> Body:
        """Replaces an object; 409 where its resourceVersion is no longer the stored one's."""
        return self._answer(self._send(_Call("PUT", path, {}, JSON, BRIEF, body)))

    @contextmanager
    def lines(self, path: str, query: Mapping[str, str], accept: str = JSON) -> Iterator[Iterator[bytes]]:
        """A watch: whole lines as they arrive, until the server ends it."""
        response = self._send(_Call("GET", path, query, accept, WATCHING))
        with self._lock:
            self._watches.add(response)
        try:
            yield _split(response)
        finally:
            with self._lock:
                self._watches.discard(response)
            response.close()

    def cut(self) -> None:
        """Ends the watches that are open; their threads see a broken connection."""
        with self._lock:
            for response in self._watches:
                with suppress(*_BROKEN, RuntimeError):
                    response.shutdown()

    def close(self) -> None:
        """Ends all connections that are idle or watch."""
        self.cut()
        self._link.client.pool_manager.clear()

    def _dial(self) -> _Link:
        configuration = _kubernetes.client.Configuration()
        self._load(configuration)
        configuration.retries = False  # the callers know better when to try again
        client = _new_client(configuration)
        # From Python 3.13 on a certificate must name its issuer's key, which those of many clusters do not; clients
        # written in Go do not ask for it (kubernetes-client/python issue 2394). All else is checked as ever.
        context = create_urllib3_context()
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        client.pool_manager.connection_pool_kw["ssl_context"] = context
        return _Link(configuration, client)

    def _send(self, call: _Call) -> urllib3.BaseHTTPResponse:
        link = self._link
        response = _sent(link, call)
        if response.status == HTTPStatus.UNAUTHORIZED:
            response.close()
            response = _sent(self._renewed(link), call)
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _refusal(response)
        return response

    def _renewed(self, stale: _Link) -> _Link:
        """The configuration read anew: the loader itself looks at the token's file once a minute only."""
        with self._lock:
            if self._link is stale:
                try:
                    self._link = self._dial()
                except BadConfig as error:
                    raise Unreachable(str(error)) from error
                stale.client.pool_manager.clear()
            return self._link

    @staticmethod
    def _answer(response: urllib3.BaseHTTPResponse) -> Body:
        try:
            body = json.loads(response.data)
        except (*_BROKEN, RecursionError) as error:
            raise Unreachable(_line(error)) from error
        finally:
            response.release_conn()
        if not isinstance(body, dict):
            raise Unreachable(f"the answer is no object: {str(body)[:60]}")
        return body


def connect(kubeconfig: str | None = None) -> Api | None:
    """The API server of that kubeconfig, else of $KUBECONFIG, else of the Pod we run in, else of ~/.kube/config.

    None where none of them is there. Nothing is asked of the API server yet. Raises BadConfig for a configuration
    that cannot be used.
    """
    load = _where(kubeconfig)
    return Api(load) if load else None


def _where(kubeconfig: str | None) -> Callable[[Any], None] | None:
    if kubeconfig:
        return partial(_from_file, kubeconfig)
    named = os.environ.get("KUBECONFIG", "")
    if any(_has_content(Path(file)) for file in named.split(os.pathsep) if file):
        return partial(_from_file, named)
    if os.environ.get(_pod.SERVICE_HOST_ENV_NAME) and Path(_pod.SERVICE_TOKEN_FILENAME).exists():
        return _from_pod
    usual = Path("~/.kube/config").expanduser()
    return partial(_from_file, str(usual)) if not named and _has_content(usual) else None


def _has_content(file: Path) -> bool:
    """KUBECONFIG=/dev/null is how scripts say that there is none."""
    try:
        return bool(file.expanduser().stat().st_size)
    except OSError:
        return False


def _from_file(kubeconfig: str, configuration: Any) -> None:  # noqa: ANN401 - the package's own
    if not any(Path(file).expanduser().exists() for file in kubeconfig.split(os.pathsep) if file):
        raise BadConfig(f"kubeconfig {kubeconfig} cannot be used: there is no such file")
    try:
        # Nothing is written back into a user's file.
        _kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration, persist_config=False)
    except _UNREADABLE as error:
        raise BadConfig(f"kubeconfig {kubeconfig} cannot be used: {_line(error)}") from error


def _from_pod(configuration: Any) -> None:  # noqa: ANN401 - the package's own
    try:
        loader = _pod.InClusterConfigLoader(_pod.SERVICE_TOKEN_FILENAME, _pod.SERVICE_CERT_FILENAME)
        loader.load_and_set(configuration)
    except _UNREADABLE as error:
        raise BadConfig(f"the Pod's ServiceAccount cannot be used: {_line(error)}") from error


def _sent(link: _Link, call: _Call) -> urllib3.BaseHTTPResponse:
    headers = {"Accept": call.accept, "User-Agent": f"gangcheck/{__version__}"}
    if call.body is not None:
        headers["Content-Type"] = JSON
    query = f"?{urlencode(call.query, quote_via=quote)}" if call.query else ""
    try:
        # The settings come through the hook that reads the token again once a minute.
        for setting in link.configuration.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        url = link.configuration.host + call.path + query
        answer = link.client.request(call.method, url, headers=headers, body=call.body, _request_timeout=call.timeouts)
    except _BROKEN as error:
        raise Unreachable(_line(error)) from error
    response: urllib3.BaseHTTPResponse = answer.response
    return response


def _refusal(response: urllib3.BaseHTTPResponse) -> Refused:
    """The Status that comes with an error, read no further than is sensible."""
    try:
        said = response.read(_SAID_AT_MOST)
    except _BROKEN:
        said = b""
    finally:
        response.close()
    try:
        message = str(json.loads(said)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = said[:200].decode(errors="replace")
    after = response.headers.get("Retry-After", "")
    return Refused(response.status, " ".join(message.split()), float(after) if after.isdecimal() else 0)


def _split(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Whole lines; one that the connection's end cuts is dropped."""
    rest = b""
    try:
        for chunk in response.stream(64 * 1024):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from filter(None, lines)
    except urllib3.exceptions.ReadTimeoutError as error:
        raise Silent(f"silent for {WATCHING[1]:.0f} s") from error
    except _BROKEN as error:
        raise Unreachable(_line(error)) from error


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300]
