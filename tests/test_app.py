"""The webhook's entries over HTTP, without a server: what is a verdict, and what must never look like one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from webhook.app import LARGEST, Parts, budget_of, create_app, verdict_of
from webhook.errors import BadReview, where
from webhook.metrics import described, metrics, rendered, watch_index, watch_requests
from webhook.review import Answer, Notice, Operation, Request

DENIED = Answer(allowed=False, message="no", rules=("pod-group-annotation",), audit={"verdict": "denied"})
WARNED = Answer(warnings=("mind this",), rules=("musl-image", "below-min-member"))
PATCHED = Answer(patch=(Operation("add", "/spec/schedulerName", "hami-scheduler"),))
NOTICE = Notice("apps/v1", "ReplicaSet", "team-a", "w", "u-1", "MuslImage", "text")


def decode(body: bytes) -> Request:
    try:
        given = json.loads(body)
    except ValueError as error:
        raise BadReview("this is no JSON") from error
    return Request(**{**BASE, **given})


BASE: dict[str, Any] = {
    "uid": "u-1",
    "review": "admission.k8s.io/v1",
    "operation": "CREATE",
    "group": "",
    "version": "v1",
    "kind": "Pod",
    "resource": "pods",
    "name": "w-0",
    "namespace": "team-a",
}


def encode(request: Request, answer: Answer) -> Mapping[str, object]:
    return {"uid": request.uid, "allowed": answer.allowed, "warnings": list(answer.warnings)}


def fails(_request: Request) -> Answer:
    raise KeyError("secret of the object")


class Desk:
    """An app with stand-ins for all its parts, and what they were told."""

    def __init__(self, **parts: Any) -> None:  # noqa: ANN401 - any of Parts' fields
        self.lines: list[Mapping[str, object]] = []
        self.heard: list[Notice] = []
        self.limits: list[float] = []
        self.metrics = metrics(["musl-image"])
        own = Parts(
            decode=decode,
            encode=encode,
            entries={
                "/mutate": lambda _request: PATCHED,
                "/validate": lambda _request: DENIED,
                "/validate/warn": lambda _request: WARNED,
                "/fails": fails,
                "/tells": lambda _request: Answer(notices=(NOTICE,)),
                "/limps": lambda _request: Answer(failed=("musl-image",), skipped=("index: stale", "patch: broken")),
            },
            metrics=self.metrics,
            log=self.lines.append,
            notify=self.hear,
            limit=self.limits.append,
        )
        self.client: FlaskClient = create_app(replace(own, **parts)).test_client()

    def hear(self, notices: Sequence[Notice]) -> None:
        self.heard.extend(notices)

    def post(self, path: str, data: Mapping[str, object] | bytes = b"{}", **options: Any) -> Any:  # noqa: ANN401 - flask's own
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self.client.post(path, data=body, **{"content_type": "application/json", **options})

    def samples(self) -> dict[tuple[str, str], float]:
        families = text_string_to_metric_families(rendered(self.metrics).decode())
        return {
            (sample.name.removeprefix("gangcheck_"), ",".join(sample.labels.values())): sample.value
            for family in families
            for sample in family.samples
        }


@pytest.mark.parametrize(
    ("path", "allowed", "verdict"),
    [("/mutate", "yes", "patched"), ("/validate", "no", "denied"), ("/validate/warn", "yes", "warned")],
)
def test_a_verdict_is_always_200(path: str, allowed: str, verdict: str) -> None:
    desk = Desk()
    response = desk.post(path, content_type="application/json; charset=utf-8")
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert response.json["allowed"] is (allowed == "yes")
    assert desk.lines[0]["verdict"] == verdict
    assert desk.samples()["reviews_total", f"{path.strip('/')},Pod,CREATE,{verdict}"] == 1
    assert desk.samples()["review_seconds_count", path.strip("/")] == 1
    assert verdict_of(Answer()) == "allowed"


def test_a_line_of_the_log_says_who_and_what_and_nothing_of_the_content() -> None:
    desk = Desk(clock=iter((1.0, 1.0042)).__next__, now=lambda: 0.25, waited=lambda: 0.001)
    desk.post("/validate/warn", {"dry_run": True, "name": "n" * 999, "object": {"spec": "secret"}})
    assert desk.lines == [
        {
            "time": "1970-01-01T00:00:00.250+00:00",
            "event": "review",
            "level": "info",
            "entry": "validate/warn",
            "uid": "u-1",
            "operation": "CREATE",
            "kind": "Pod",
            "namespace": "team-a",
            "name": "n" * 253,
            "verdict": "warned",
            "rules": ["musl-image", "below-min-member"],
            "ms": 5.2,
            "dryRun": True,
        }
    ]


def test_labels_are_bounded_whoever_calls() -> None:
    desk = Desk()
    desk.post("/validate", {"kind": "Invented", "operation": "DANCE"})
    desk.post("/validate", {"kind": "PodGroup", "operation": "UPDATE"})
    samples = desk.samples()
    assert samples["reviews_total", "validate,other,other,denied"] == 1
    assert samples["reviews_total", "validate,PodGroup,UPDATE,denied"] == 1
    assert samples["findings_total", "pod-group-annotation"] == 2
    assert samples["findings_total", "musl-image"] == 0


@pytest.mark.parametrize(
    ("path", "data", "options", "status"),
    [
        ("/validate", b"nonsense", {}, 400),
        ("/validate", b"", {}, 411),
        ("/validate", b"{}", {"content_type": "text/plain"}, 415),
        ("/validate", b"{}", {"content_type": None}, 415),
        ("/validate", b"x" * (LARGEST + 1), {}, 413),
        ("/validate", b"{}", {"environ_overrides": {"CONTENT_LENGTH": "40"}}, 400),
        ("/nowhere", b"{}", {}, 404),
        ("/fails", b"{}", {}, 500),
    ],
)
def test_what_is_no_verdict_is_an_http_error(path: str, data: bytes, options: dict[str, Any], status: int) -> None:
    desk = Desk()
    response = desk.post(path, data, **options)
    assert response.status_code == status
    assert b"allowed" not in response.data
    assert response.content_type == "text/plain; charset=utf-8"
    assert desk.samples()["refused_total", str(status)] == 1


def test_a_body_as_large_as_allowed_is_read() -> None:
    assert Desk().post("/validate", b"{}" + b" " * (LARGEST - 2)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods(method: str) -> None:
    response = Desk().client.open("/validate", method=method)
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_a_body_nested_too_deep_for_the_decoder() -> None:
    def deep(_body: bytes) -> Request:
        raise RecursionError

    assert Desk(decode=deep).post("/validate").status_code == 400


def test_an_entry_that_asks_to_exit_gives_no_verdict() -> None:
    def gone(_request: Request) -> Answer:
        raise SystemExit

    desk = Desk(entries={"/validate": gone})
    assert desk.post("/validate").status_code == 500
    assert str(desk.lines[0]["error"]).startswith("SystemExit at ")


def test_no_verdict_is_logged_with_its_place_and_without_its_text() -> None:
    desk = Desk()
    desk.post("/fails")
    assert desk.lines[0]["level"] == "error"
    assert str(desk.lines[0]["error"]).startswith("KeyError at ")
    assert "secret" not in str(desk.lines)
    assert where(KeyError("secret")) == "KeyError"


def test_overload_says_when_to_come_back() -> None:
    desk = Desk(overloaded=lambda: True)
    response = desk.post("/validate")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert b"allowed" not in response.data
    assert desk.samples()["overload_total", ""] == 1
    assert desk.lines == []
    assert desk.samples()["refused_total", "503"] == 1


def test_who_waited_too_long_gets_no_verdict_that_nobody_reads() -> None:
    desk = Desk(waited=lambda: 2.0)
    assert desk.post("/validate?timeout=3s").status_code == 200
    assert desk.post("/validate?timeout=2s").status_code == 503
    assert desk.limits == [0.5]
    assert desk.samples()["late_total", "waited"] == 1


def test_a_verdict_after_its_time_is_sent_and_counted() -> None:
    desk = Desk(clock=iter((0.0, 5.0)).__next__)
    assert desk.post("/validate?timeout=3s").status_code == 200
    assert desk.samples()["late_total", "answered"] == 1


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", 10.0),
        ("timeout=3s", 2.5),
        ("timeout=30s", 9.5),
        ("x=1&timeout=1m0s", 9.5),
        ("timeout=1s&x=1", 0.5),
        ("timeout=soon", 10.0),
        ("notimeout=1s", 10.0),
    ],
)
def test_the_callers_timeout(query: str, seconds: float) -> None:
    assert budget_of(query) == seconds


def test_notices_are_handed_over() -> None:
    desk = Desk()
    assert desk.post("/tells").status_code == 200
    assert desk.heard == [NOTICE]
    assert Desk(notify=lambda _notices: None).post("/tells").status_code == 200


def test_a_verdict_stands_whatever_becomes_of_its_notices() -> None:
    def full(_notices: Sequence[Notice]) -> None:
        raise RuntimeError

    desk = Desk(notify=full)
    assert desk.post("/tells").status_code == 200
    assert desk.lines[1]["event"] == "notices lost"


def test_what_failed_and_what_was_left_out_is_named_and_counted() -> None:
    desk = Desk()
    desk.post("/limps")
    assert desk.lines[0]["failed"] == ["musl-image"]
    assert desk.lines[0]["skipped"] == ["index: stale", "patch: broken"]
    assert desk.lines[0]["level"] == "error"
    samples = desk.samples()
    assert samples["rule_failures_total", "musl-image"] == 1
    assert samples["checks_skipped_total", "index: stale"] == 1
    assert samples["patches_dropped_total", ""] == 1


def test_an_app_without_a_server_around_it() -> None:
    own = Parts(decode, encode, {"/tells": lambda _request: Answer(notices=(NOTICE,))}, metrics(), lambda _line: None)
    client = create_app(own).test_client()
    assert client.post("/tells", data=b"{}", content_type="application/json").status_code == 200


def test_metrics_describe_themselves() -> None:
    made = metrics()
    watch_requests(made, lambda: 3)
    watch_index(made, lambda: 7, lambda: 1.5)
    rows = {row.name: row for row in described(made)}
    assert rows["gangcheck_reviews_total"].labels == ("entry", "operation", "kind", "verdict")
    assert rows["gangcheck_review_seconds"].kind == "histogram"
    assert rows["gangcheck_index_age_seconds"].help.startswith("Seconds since")
    assert all(row.help.endswith(".") for row in rows.values())
    text = rendered(made).decode()
    assert "gangcheck_in_flight 3.0" in text
    assert "gangcheck_index_objects 7.0" in text
    assert "_created" not in text
