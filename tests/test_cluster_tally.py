"""The fold over news, against the simplest model of the truth."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from fake_apiserver import pod, pod_group
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.news import Absent, Changed, Heard, Listed, Lost, News, Opened
from webhook.cluster.tally import (
    QUIET_AFTER,
    Groups,
    Member,
    Members,
    count,
    hold,
    is_growing,
    is_quiet,
    read_group,
    read_member,
)
from webhook.model import PodGroup, Ref

KEYS = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["g", "h", ""]))
MEMBERS = st.builds(Member, st.sampled_from([f"uid-{n}" for n in range(6)]), st.one_of(st.none(), KEYS))
POD_NEWS: st.SearchStrategy[News[Member]] = st.one_of(
    st.builds(Changed, MEMBERS, st.booleans()),
    st.builds(Listed, st.lists(MEMBERS, unique_by=lambda member: member.uid).map(tuple)),
    st.sampled_from([Opened(), Heard(), Lost("cut"), Absent()]),
)


def group(name: str, namespace: str = "a", members: int = 2) -> PodGroup:
    ref = Ref("scheduling.x-k8s.io/v1alpha1", "PodGroup", namespace, name)
    return PodGroup(ref, members, {"minMember": members})


def folded(*news: tuple[float, News[PodGroup]]) -> Groups:
    groups = Groups()
    for now, one in news:
        groups = hold(groups, one, now)
    return groups


@given(st.lists(POD_NEWS, max_size=40))
def test_members_are_those_that_the_server_has(told: list[News[Member]]) -> None:
    members, truth = Members(), dict[str, Any]()
    for news in told:
        members = count(members, news)
        match news:
            case Listed(items):
                truth = {item.uid: item.key for item in items}
            case Changed(item, gone):
                truth.pop(item.uid, None)
                truth |= {} if gone else {item.uid: item.key}
        alive = {uid: key for uid, key in truth.items() if key is not None}
        assert members.homes == alive
        assert members.counts == Counter(alive.values())


GROUPS = st.builds(group, st.sampled_from("gh"), st.sampled_from("ab"), st.integers(1, 3))
GROUP_NEWS: st.SearchStrategy[News[PodGroup]] = st.one_of(
    st.builds(Changed, GROUPS, st.booleans()),
    st.builds(Listed, st.lists(GROUPS, unique_by=lambda one: one.ref).map(tuple)),
    st.sampled_from([Opened(), Heard(), Lost("cut"), Absent()]),
)


@given(st.lists(st.tuples(st.floats(0, 4), GROUP_NEWS), max_size=40))
def test_groups_are_those_that_the_server_has(told: list[tuple[float, News[PodGroup]]]) -> None:
    groups, truth, now = Groups(), dict[tuple[str, str], PodGroup](), 0.0
    events, opened = dict[str, float](), math.inf
    for later, news in told:
        now += later
        groups = hold(groups, news, now)
        match news:
            case Listed(items):
                truth = {(item.ref.namespace, item.ref.name): item for item in items}
                events, opened = {}, math.inf
            case Absent():
                truth, events, opened = {}, {}, math.inf
            case Lost():
                opened = math.inf
            case Opened():
                opened = now
            case Changed(item, gone):
                truth.pop((item.ref.namespace, item.ref.name), None)
                truth |= {} if gone else {(item.ref.namespace, item.ref.name): item}
                events[item.ref.namespace] = now
        assert groups.held == truth
        for namespace in "abc":
            last = max(opened, events.get(namespace, -math.inf))
            assert is_quiet(groups, namespace, now) == (now - last >= QUIET_AFTER)


def test_a_label_that_changes_moves_the_member() -> None:
    members = count(Members(), Changed(Member("1", ("a", "g"))))
    assert count(members, Changed(Member("1", ("a", "h")))).counts == {("a", "h"): 1}


def test_the_same_event_twice_counts_once() -> None:
    members = count(Members(), Changed(Member("1", ("a", "g"))))
    assert count(members, Changed(Member("1", ("a", "g")))).counts == {("a", "g"): 1}


def test_a_list_leaves_the_old_state_as_it_was() -> None:
    before = count(Members(), Changed(Member("1", ("a", "g"))))
    after = count(before, Listed((Member("2", ("a", "h")),)))
    assert before.counts == {("a", "g"): 1}
    assert after.counts == {("a", "h"): 1}


def test_nothing_is_quiet_before_five_seconds_of_listening() -> None:
    groups = folded((0, Listed((group("g"),))), (1, Opened()))
    assert not is_quiet(groups, "a", 5.9)
    assert is_quiet(groups, "a", 6)
    assert not is_quiet(hold(groups, Lost("cut"), 7), "a", 100)


def test_an_event_disturbs_its_own_namespace_alone() -> None:
    groups = folded((0, Listed(())), (0, Opened()), (10, Changed(group("g", "a"))))
    assert (is_quiet(groups, "a", 12), is_quiet(groups, "b", 12)) == (False, True)
    assert is_quiet(groups, "a", 15)


def test_without_the_crd_nothing_is_known_and_nothing_quiet() -> None:
    groups = folded((0, Listed((group("g"),))), (0, Opened()), (9, Absent()))
    assert not groups.held
    assert not is_quiet(groups, "a", 1000)


def test_namespaces_that_are_long_quiet_are_forgotten() -> None:
    groups = folded((0, Opened()), *((n / 100, Changed(group("g", f"n{n}"))) for n in range(2000)))
    assert len(groups.touched) < 600
    assert not is_quiet(groups, "n1999", 20)


@pytest.mark.parametrize(
    ("body", "member"),
    [
        (pod("a"), Member("uid-a", ("default", "g"))),
        (pod("a", ""), Member("uid-a", ("default", ""))),
        (pod("a", None), Member("uid-a", None)),
        ({"metadata": {"uid": "1", "namespace": "x"}}, Member("1", None)),
        ({"metadata": {"uid": 1, "namespace": "x"}}, None),
        ({"metadata": {"uid": "1"}}, None),
        ({"metadata": None}, None),
        ({}, None),
    ],
)
def test_what_is_read_of_a_pod(body: dict[str, Any], member: Member | None) -> None:
    assert read_member(body) == member


def test_what_is_read_of_a_pod_group() -> None:
    body = pod_group("g", members=4)
    body["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "ignore": "why"}
    body["metadata"]["ownerReferences"] = [{"apiVersion": "x/v1", "kind": "MPIJob", "name": "j", "controller": True}]
    body["status"] = {"phase": "Running"}
    read = read_group(body)
    assert read is not None
    assert (read.ref.namespace, read.ref.name, read.ref.document) == ("default", "g", -1)
    assert (read.min_member, read.made_by, read.is_coscheduling) == (4, "MPIJob", True)
    assert read.annotations == {"ignore": "why"}


@pytest.mark.parametrize("body", [{}, {"metadata": 3}, {"kind": "Pod", "apiVersion": "v1", "metadata": {}}])
def test_what_is_no_pod_group(body: dict[str, Any]) -> None:
    assert read_group(body) is None


def test_a_gang_grows_for_a_while_after_a_member_came_or_went() -> None:
    members = count(Members(), Changed(Member("1", ("a", "g"))), 100.0)
    assert is_growing(members, ("a", "g"), 104.0)
    assert not is_growing(members, ("a", "g"), 105.0)
    assert not is_growing(members, ("a", "h"), 100.0)
    members = count(members, Changed(Member("1", ("a", "g"))), 200.0)  # a status, say: nobody came or went
    assert not is_growing(members, ("a", "g"), 200.0)
    members = count(members, Changed(Member("1", ("a", "h"))), 300.0)
    assert is_growing(members, ("a", "g"), 300.0)
    assert is_growing(members, ("a", "h"), 300.0)
    members = count(members, Changed(Member("1", ("a", "h")), gone=True), 400.0)
    assert is_growing(members, ("a", "h"), 400.0)
