"""How a watch is read, and what follows when it ends (no sockets)."""

from __future__ import annotations

import contextlib
import json

import pytest
from fake_apiserver import pod
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.news import Absent, Changed, Heard, Lost, News
from webhook.cluster.rest import Refused, Silent, Trouble, Unreachable
from webhook.cluster.tally import Member, read_member
from webhook.cluster.watch import read_event, turn_after, wait

CUT = Unreachable("cut")
GONE = Refused(410, "too old")


def read(kind: str, body: object) -> tuple[News[Member], str]:
    return read_event(json.dumps({"type": kind, "object": body}).encode(), read_member)


def versioned(version: str) -> dict[str, object]:
    body = pod("a")
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def test_events() -> None:
    member = Member("uid-a", ("default", "g"))
    assert read("ADDED", versioned("7")) == (Changed(member), "7")
    assert read("MODIFIED", versioned("8")) == (Changed(member), "8")
    assert read("DELETED", versioned("9")) == (Changed(member, gone=True), "9")
    assert read("BOOKMARK", {"metadata": {"resourceVersion": "12"}}) == (Heard(), "12")


def test_an_object_of_no_use_and_an_unknown_event_move_the_place_on() -> None:
    assert read("ADDED", {"metadata": {"resourceVersion": "5"}}) == (Heard(), "5")
    assert read("SOMETHING", versioned("6")) == (Heard(), "6")
    assert read("BOOKMARK", {}) == (Heard(), "")


def test_error_event_is_a_refusal() -> None:
    with pytest.raises(Refused) as caught:
        read("ERROR", {"code": 410, "message": "too old resource version"})
    assert caught.value.status == 410
    assert "too old resource version" in str(caught.value)


@pytest.mark.parametrize("line", [b"{", b"[]", b"3", b'{"type": "ADDED"}', b'{"type": "ERROR", "object": 3}', b"\xff"])
def test_lines_that_make_no_sense(line: bytes) -> None:
    with pytest.raises(Unreachable, match="makes no sense"):
        read_event(line, read_member)


@given(st.binary(max_size=60))
def test_no_line_raises_anything_else(line: bytes) -> None:
    with contextlib.suppress(Trouble):
        read_event(line, read_member)


@given(st.integers(0, 2000), st.floats(0, 1, exclude_max=True))
def test_waits_are_between_one_and_thirty_seconds(failures: int, chance: float) -> None:
    assert 1 <= wait(failures, lambda: chance) <= 30


def test_waits_grow() -> None:
    assert [wait(failures, lambda: 1) for failures in range(6)] == [2, 4, 8, 16, 30, 30]


def test_a_server_that_says_when_is_obeyed_within_reason() -> None:
    assert wait(0, lambda: 0, Refused(429, "", retry_after=9)) == 9
    assert wait(0, lambda: 0, Refused(429, "", retry_after=9999)) == 30
    assert wait(0, lambda: 0, Refused(429, "")) == 1


def test_the_ordinary_end_of_a_good_watch_is_no_pause() -> None:
    turn = turn_after(None, 0, lambda: 0.5)
    assert (turn.seconds, turn.trusted) == (0, True)
    assert turn.news == Lost("the server ended it", calm=True)


def test_silence_is_followed_by_a_new_watch_at_once() -> None:
    turn = turn_after(Silent("silent"), 0, lambda: 0.5)
    assert (turn.seconds, turn.trusted, turn.news) == (0, True, Lost("silent", calm=True))
    assert turn_after(Silent("silent"), 1, lambda: 0.5).seconds > 1


def test_a_watch_that_ends_again_at_once_is_waited_out() -> None:
    assert turn_after(None, 1, lambda: 0.5).seconds > 1


def test_gone_lists_again_at_once_the_first_time() -> None:
    first = turn_after(GONE, 0, lambda: 0.5)
    assert (first.seconds, first.trusted, first.news) == (0, False, Lost("410 too old", calm=True))
    assert turn_after(GONE, first.failures, lambda: 0.5).seconds > 1


def test_the_place_is_kept_over_two_failures_and_not_over_three() -> None:
    assert [turn_after(CUT, failures, lambda: 0).trusted for failures in range(4)] == [True, True, False, False]


def test_absent_is_no_failure_where_it_may_be() -> None:
    missing = Refused(404, "not found")
    turn = turn_after(missing, 5, lambda: 0.5, optional=True)
    assert (turn.news, turn.failures, turn.trusted) == (Absent(), 0, False)
    assert turn_after(missing, 0, lambda: 0, optional=True).seconds == 20
    assert turn_after(missing, 0, lambda: 1, optional=True).seconds == 40
    assert turn_after(missing, 0, lambda: 0).news == Lost("404 not found")
