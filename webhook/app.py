"""The three entries of the webhook over HTTP: bytes in, a verdict out, and nothing that looks like one by accident.

A verdict is always HTTP 200. Everything else is an HTTP error, so that the webhook's failurePolicy decides: a 200
with `allowed: false` denies whatever the policy says (apiserver pkg/admission/plugin/webhook/*/dispatcher.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from flask import Flask, Response
from prometheus_client import Counter, Histogram
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    InternalServerError,
    LengthRequired,
    RequestEntityTooLarge,
    ServiceUnavailable,
    UnsupportedMediaType,
)
from werkzeug.routing import Rule

from webhook.codec import dumps
from webhook.errors import BadReview, where
from webhook.kinds import TABLE
from webhook.metrics import OTHER, Metrics
from webhook.review import Answer, Notice, Request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LARGEST = 7 * 1024 * 1024
"""Bytes of a body. The API server takes objects of 3 MiB, an UPDATE carries two, and JSON may be longer than what
was sent; controller-runtime has the same limit (pkg/webhook/admission/http.go)."""

RESERVE = 0.5
"""Seconds of the caller's timeout that are left to the way back. The API server rounds what is left of its own time
up to a whole second (apiserver pkg/admission/plugin/webhook/validating/dispatcher.go)."""

LONGEST = 10.0
"""Seconds after which no review is begun, whatever the caller says; the API server's own default."""

KINDS = frozenset(kind for kinds in TABLE.values() for kind in kinds) | {"PodGroup"}
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

Entry: TypeAlias = Callable[[Request], Answer]
Log: TypeAlias = Callable[[Mapping[str, object]], object]


def _heard(_notices: Sequence[Notice]) -> None:
    """Where there is no API server to write Events to."""


def _unlimited(_seconds: float) -> None:
    """Where nobody watches the time."""


def _at_once(work: Callable[[], object]) -> None:
    """Where nobody is kept waiting."""
    work()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the app is put together from, all of it functions.

    `overloaded` tells whether too much is waiting to take on this request; `waited` for how many seconds it has
    been here already. `limit` is told how many seconds the verdict may take, before each. `later` is handed what can
    wait until the answer is sent. `clock` counts seconds, `now` those since 1970.
    """

    decode: Callable[[bytes], Request]
    encode: Callable[[Request, Answer], Mapping[str, object]]
    entries: Mapping[str, Entry]
    metrics: Metrics
    log: Log
    notify: Callable[[Sequence[Notice]], object] = _heard
    overloaded: Callable[[], bool] = lambda: False
    waited: Callable[[], float] = lambda: 0.0
    limit: Callable[[float], object] = _unlimited
    later: Callable[[Callable[[], object]], object] = _at_once
    clock: Callable[[], float] = perf_counter
    now: Callable[[], float] = time


def create_app(parts: Parts) -> Flask:
    """A Flask application that answers POSTs at each of `parts.entries` (paths).

    Reviews take a short cut: behind Flask's door and before its routing and contexts, which would cost half as much
    again as TLS, HTTP and the verdict together. All else is Flask's: other methods, other paths, errors.
    """
    app = Flask("gangcheck", static_folder=None)
    for path in parts.entries:
        app.url_map.add(Rule(path, endpoint=path, methods=["POST"]))
    app.register_error_handler(HTTPException, lambda error: _refused(error, parts.metrics))
    app.wsgi_app = _short_cut(app.wsgi_app, parts)  # type: ignore[assignment, method-assign] # Flask documents it
    return app


def _short_cut(usual: WSGIApplication, parts: Parts) -> WSGIApplication:
    def wsgi(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        entry = parts.entries.get(environ["PATH_INFO"])
        if entry is None or environ["REQUEST_METHOD"] != "POST":
            return usual(environ, start_response)
        try:
            data = _answered(environ, entry, parts)
        except HTTPException as error:
            return _refused(error, parts.metrics)(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(data)))])
        return (data,)

    return wsgi


def _answered(environ: WSGIEnvironment, entry: Entry, parts: Parts) -> bytes:
    """The body of a verdict. Raises HTTPException where there is none."""
    began, waited = parts.clock(), parts.waited()
    if parts.overloaded():
        parts.metrics.overload.inc()
        raise _BUSY
    budget = budget_of(environ.get("QUERY_STRING", ""))
    if waited >= budget:
        parts.metrics.late.labels("waited").inc()
        raise _BUSY
    review = _decoded(environ, parts)
    parts.limit(budget - waited)
    name = environ["PATH_INFO"].strip("/")
    answer, data = _verdict(review, entry, name, parts)
    took = waited + parts.clock() - began
    if took > budget:
        parts.metrics.late.labels("answered").inc()
    told = Told(name, review._replace(object=None, old_object=None), answer, took, parts.now())
    parts.later(partial(_record, told, parts))
    if answer.notices:
        _tell(answer, parts)
    return data


class Told(NamedTuple):
    """One answer, for the log and the metrics. `review` is without its objects: they may be large, and what is told
    waits for a while. `at` counts seconds since 1970."""

    entry: str
    review: Request
    answer: Answer
    seconds: float
    at: float


def _record(told: Told, parts: Parts) -> None:
    _count(told, parts.metrics)
    parts.log(line(told))


_TIMEOUT = re.compile(r"(?:^|&)timeout=(?:([0-9]{1,4})m)?([0-9]{1,4})s(?:&|$)", re.ASCII)


@lru_cache(maxsize=64)
def budget_of(query: str) -> float:
    """Seconds in which a verdict is of use, from the query `timeout=3s`, a Go duration of whole seconds."""
    found = _TIMEOUT.search(query)
    if found is None:
        return LONGEST
    return min(60 * int(found[1] or 0) + int(found[2]), LONGEST) - RESERVE


def _decoded(environ: WSGIEnvironment, parts: Parts) -> Request:
    """The request in the body. Raises HTTPException for a body that holds none."""
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaType("wanted is Content-Type: application/json")
    given = environ.get("CONTENT_LENGTH", "")
    if not given.isdecimal():
        raise LengthRequired("Content-Length is missing")
    length = int(given)
    if length > LARGEST:
        raise RequestEntityTooLarge(f"a review has at most {LARGEST} bytes")
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except OSError as error:
        raise BadRequest("the body did not come in time") from error
    if len(body) < length:
        raise BadRequest("the body ended early")
    try:
        return parts.decode(body)
    except BadReview as error:
        raise BadRequest(str(error)) from error
    except RecursionError as error:
        raise BadRequest("the body is nested too deep") from error


def _verdict(review: Request, entry: Entry, name: str, parts: Parts) -> tuple[Answer, bytes]:
    """The answer, and as it is sent. Raises InternalServerError where none could be formed."""
    try:
        answer = entry(review)
        encoded = dumps(parts.encode(review, answer))
    except (Exception, SystemExit) as error:
        parts.log({**_who(name, review), "event": "error", "level": "error", "error": where(error)})
        raise InternalServerError("no verdict could be formed; the log says where it failed") from error
    return answer, encoded


def _tell(answer: Answer, parts: Parts) -> None:
    """Hand over the Events. The verdict stands, whatever becomes of them."""
    try:
        parts.notify(answer.notices)
    except Exception as error:  # noqa: BLE001 - see above
        parts.log({"event": "notices lost", "level": "error", "error": where(error)})


def verdict_of(answer: Answer) -> str:
    """One word for logs and metrics."""
    if not answer.allowed:
        return "denied"
    if answer.patch:
        return "patched"
    return "warned" if answer.warnings else "allowed"


def line(told: Told) -> dict[str, object]:
    """What is logged of a review: who and what, and nothing of the object's content."""
    answer = told.answer
    entries: dict[str, object] = {
        "time": datetime.fromtimestamp(told.at, UTC).isoformat(timespec="milliseconds"),
        **_who(told.entry, told.review),
        "verdict": verdict_of(answer),
        "rules": list(answer.rules),
        "ms": round(told.seconds * 1000, 2),
    }
    if told.review.dry_run:
        entries["dryRun"] = True
    if answer.failed:
        entries["failed"] = list(answer.failed)
        entries["level"] = "error"
    if answer.skipped:
        entries["skipped"] = list(answer.skipped)
    return entries


_SHOWN = 253
"""Characters of a value in the log: as long as a name in Kubernetes can be."""


def _who(entry: str, review: Request) -> dict[str, object]:
    return {
        "event": "review",
        "level": "info",
        "entry": entry,
        "uid": review.uid[:_SHOWN],
        "operation": review.operation[:_SHOWN],
        "kind": review.kind[:_SHOWN],
        "namespace": review.namespace[:_SHOWN],
        "name": review.name[:_SHOWN],
    }


M = TypeVar("M", Counter, Histogram)


def _series(metric: M, *labels: str) -> M:
    """The series of a metric with these labels. They are few, and each is looked up at every review."""
    return _found(metric, labels)  # type: ignore[no-any-return] # the cache has no types


@lru_cache(maxsize=4096)
def _found(metric: Any, labels: tuple[str, ...]) -> Any:  # noqa: ANN401 - see above
    return metric.labels(*labels)


def _count(told: Told, metrics: Metrics) -> None:
    review, answer = told.review, told.answer
    operation = review.operation if review.operation in OPERATIONS else OTHER
    kind = review.kind if review.kind in KINDS else OTHER
    _series(metrics.reviews, told.entry, operation, kind, verdict_of(answer)).inc()
    _series(metrics.seconds, told.entry).observe(told.seconds)
    for rule in answer.rules:
        _series(metrics.findings, rule).inc()
    for rule in answer.failed:
        _series(metrics.failures, rule).inc()
    for why in answer.skipped:
        _series(metrics.skipped, why).inc()
        if why.startswith("patch"):
            metrics.patches_dropped.inc()


def _refused(error: HTTPException, metrics: Metrics) -> Response:
    metrics.refused.labels(error.code).inc()
    response = Response(f"{error.description}\n", error.code, content_type="text/plain; charset=utf-8")
    response.headers.extend(kept for kept in error.get_headers() if kept[0] in {"Allow", "Retry-After"})
    return response


_BUSY = ServiceUnavailable("busy; come back in a second", retry_after=1)
"""The API server's client tries again after so many seconds, as long as its timeout lasts
(client-go rest/with_retry.go)."""
