from __future__ import annotations

from collections.abc import Iterable

import pytest
from made import pod, podgroup, replace, workload

from webhook.gather import NAMESPACES_AT_MOST, NEAR_MISSES_AT_MOST, gather, unread_names
from webhook.model import GROUP_LABEL, Count, Duplicates, Gang, Pod, PodGroup, Ref, Scaler, Subject


def gangs(subjects: Iterable[Subject], *, whole: bool = False) -> dict[tuple[str, str], Gang]:
    gathered = gather(subjects, whole=whole)
    return {(gang.namespace, gang.name): gang for gang in gathered if isinstance(gang, Gang)}


def settings(*subjects: Pod | PodGroup, folders: tuple[str, ...], whole: bool = False) -> list[Gang]:
    """The gangs of subjects that stand in one folder each."""
    placed = [replace(subject, ref=subject.ref._replace(document=number)) for number, subject in enumerate(subjects)]
    found = gather(placed, files=[f"{folder}/all.yaml" for folder in folders], whole=whole)
    return [item for item in found if isinstance(item, Gang)]


def duplicates(subjects: Iterable[Subject], *folders: str) -> list[Duplicates]:
    return [
        item
        for item in gather(subjects, files=[f"{folder}/all.yaml" for folder in folders])
        if isinstance(item, Duplicates)
    ]


def test_members_and_podgroup_meet_by_namespace_and_name() -> None:
    first, second, other = pod("a", "g"), pod("b", "g"), pod("c", "g", namespace="else")
    found = gangs([first, second, other, podgroup("g")])
    assert found["default", "g"].members == (first, second)
    assert found["default", "g"].group == podgroup("g")
    assert found["default", "g"].elsewhere == (other,)
    assert found["else", "g"].group is None
    assert found["else", "g"].namesakes == (podgroup("g"),)


def test_a_podgroup_without_members_is_a_gang_too() -> None:
    assert gangs([podgroup("g")])["default", "g"].members == ()


def test_a_pod_without_a_group_is_no_gang() -> None:
    assert gangs([pod("a")]) == {}


def test_podgroups_of_other_systems_are_told_apart() -> None:
    volcano = podgroup("g", api="scheduling.volcano.sh/v1beta1")
    found = gangs([pod("a", "g"), volcano])["default", "g"]
    assert found.group is None
    assert found.foreign == (volcano,)
    assert gangs([volcano]) == {}


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (GROUP_LABEL, ["g"]),
        ("scheduling.sigs.k8s.io/pod-group", ["g"]),
        ("scheduling.x-k8s.io/podGroup", ["g"]),
        ("scheduling.x-k8s.io/pod-group-name", ["g"]),
        ("pod-group.scheduling.sigs.k8s.io", ["g"]),
        ("pod-group.scheduling.sigs.k8s.io/name", ["g"]),
        ("pod-group.scheduling.sigs.k8s.io/min-available", []),
        ("kueue.x-k8s.io/pod-group-name", []),
        ("scheduling.k8s.io/group-name", []),
        ("app", []),
    ],
)
def test_keys_that_name_the_group_where_coscheduling_does_not_look(key: str, names: list[str]) -> None:
    assert list(unread_names(pod(annotations={key: "g"}))) == names


def test_strays_stand_beside_the_members() -> None:
    stray = pod("a", annotations={GROUP_LABEL: "g"})
    member = pod("b", "g")
    found = gangs([stray, member, podgroup("g")])["default", "g"]
    assert (found.members, found.strays) == ((member,), (stray,))


def test_a_label_on_the_workload_alone_makes_its_templates_strays() -> None:
    template = replace(pod("job"), spec=("spec", "template", "spec"), ref=Ref("batch/v1", "Job", "default", "job"))
    found = gangs([template, workload(template, {GROUP_LABEL: "g"}), podgroup("g")])["default", "g"]
    assert found.strays == (template,)


def test_the_workloads_of_the_members_come_along() -> None:
    template = replace(pod("job", "g"), spec=("spec", "template", "spec"), ref=Ref("batch/v1", "Job", "default", "j"))
    made = workload(template)
    assert gangs([template, made])["default", "g"].workloads == (made,)


def test_one_object_in_two_documents_is_one_member_the_last() -> None:
    first, last = pod("a", "g", document=0), pod("a", "g", document=1, scheduler="hami-scheduler")
    assert gangs([first, last])["default", "g"].members == (last,)


def test_generated_names_are_members_of_their_own() -> None:
    first, second = pod("", "g", document=0), pod("", "g", document=1)
    assert gangs([first, second])["default", "g"].members == (first, second)
    assert duplicates([first, second]) == []


def test_duplicates_are_told_within_one_folder_only() -> None:
    first, second = pod("a", "g", document=0), pod("a", "g", document=1)
    assert duplicates([first, second], "base", "base") == [Duplicates((first.ref, second.ref))]
    assert duplicates([first, second], "dev", "prod") == []


def test_objects_without_a_group_are_never_duplicates() -> None:
    assert duplicates([pod("a", document=0), pod("a", document=1)]) == []


def test_a_patch_without_an_image_is_no_duplicate() -> None:
    patch = replace(pod("a", "g", document=1), containers=())
    assert duplicates([pod("a", "g"), patch]) == []


@pytest.mark.parametrize(
    ("known", "near"),
    [("train", ("train",)), ("tr-ian", ("tr-ian",)), ("other", ()), ("trian-1", ("trian-1",)), ("trian-job-7", ())],
)
def test_near_names_are_slips_of_the_pen(known: str, near: tuple[str, ...]) -> None:
    assert gangs([pod("a", "trian"), podgroup(known)])["default", "trian"].near == near


def test_a_number_tells_gangs_apart() -> None:
    assert gangs([pod("a", "run-2"), podgroup("run-1")])["default", "run-2"].near == ()


def test_a_podgroup_with_members_of_its_own_is_no_near_name() -> None:
    assert gangs([pod("a", "trained"), pod("b", "train"), podgroup("train")])["default", "trained"].near == ()


@pytest.mark.parametrize("name", ["trian", "ttrain", "traiin"])
def test_two_letters_swapped_or_one_doubled_mean_the_podgroup_that_others_name(name: str) -> None:
    wrong, right = pod("a", name), pod("b", "train")
    found = gangs([wrong, right, podgroup("train")])
    assert found["default", name].near == ("train",)
    assert found["default", "train"].strays == (wrong,)


def test_numbers_are_no_letters_to_swap() -> None:
    assert gangs([pod("a", "run-12"), pod("b", "run-21"), podgroup("run-21")])["default", "run-12"].near == ()


def test_among_very_many_only_case_and_separators_are_near() -> None:
    many = [podgroup(f"group-{number}") for number in range(NEAR_MISSES_AT_MOST + 1)]
    assert gangs([pod("a", "Group_7"), *many])["default", "Group_7"].near == ("group-7",)


def test_whole_is_handed_on() -> None:
    assert gangs([pod("a", "g")], whole=True)["default", "g"].whole


def sizes(found: list[Gang]) -> list[tuple[int | None, list[str]]]:
    return [(gang.group and gang.group.min_member, [pod.ref.name for pod in gang.members]) for gang in found]


def test_dev_and_prod_are_two_gangs() -> None:
    found = settings(
        podgroup("g", members=2), pod("a", "g"), podgroup("g", members=4), pod("b", "g"), pod("c", "g"),
        folders=("dev", "dev/jobs", "prod", "prod", "prod/jobs"),
    )  # fmt: skip
    assert sizes(found) == [(2, ["a"]), (4, ["b", "c"])]


def test_the_whole_system_has_every_object_once() -> None:
    found = settings(podgroup("g"), pod("a", "g"), podgroup("g", members=3), folders=("x", "y", "z"), whole=True)
    assert sizes(found) == [(3, ["a"])]


def test_one_podgroup_serves_all_folders() -> None:
    assert sizes(settings(podgroup("g"), pod("a", "g"), pod("b", "g"), folders=("x", "y", "z"))) == [(2, ["a", "b"])]


def test_an_overlay_that_changes_only_the_podgroup_says_nothing_of_members() -> None:
    found = settings(podgroup("g"), pod("a", "g"), podgroup("g", members=8), folders=("base", "base", "overlays/prod"))
    assert sizes(found) == [(2, ["a"])]


def test_a_base_that_overlays_patch_has_nobody_knows_how_many_members() -> None:
    found = settings(podgroup("g"), podgroup("g", members=8), pod("a", "g"), folders=("o/dev", "o/prod", "base"))
    assert sizes(found) == [(2, ["a"]), (8, ["a"])]
    assert {member.count.most for gang in found for member in gang.members} == {None}


def test_podgroups_without_any_member_are_one_finding() -> None:
    assert sizes(settings(podgroup("g"), podgroup("g", members=3), folders=("x", "y"))) == [(3, [])]


def test_without_a_podgroup_every_folder_is_its_own() -> None:
    assert sizes(settings(pod("a", "g"), pod("b", "g"), folders=("x", "y"))) == [(None, ["a"]), (None, ["b"])]


def test_a_patch_never_stands_for_the_whole_object() -> None:
    whole = pod("a", "g", document=0)
    patch = replace(whole, ref=whole.ref._replace(document=1), containers=())
    assert gangs([whole, patch])["default", "g"].members == (whole,)
    assert gangs([patch, whole])["default", "g"].members == (whole,)


def test_a_running_pod_that_is_dumped_twice_is_no_duplicate() -> None:
    assert duplicates([pod("a", "g", live=True), pod("a", "g", live=True, document=1)]) == []


def test_a_name_in_thousands_of_namespaces_is_looked_for_in_some() -> None:
    many = [pod("a", "g", namespace=f"n-{number:04}") for number in range(3000)]
    found = gangs([*many, podgroup("g", namespace="n-2999")])
    assert len(found["n-0000", "g"].elsewhere) == NAMESPACES_AT_MOST
    assert many[-1] in found["n-0000", "g"].elsewhere


def test_where_the_name_has_a_podgroup_only_pods_without_one_are_elsewhere() -> None:
    own, lost = pod("b", "g", namespace="own"), pod("c", "g", namespace="lost")
    volcano = podgroup("g", namespace="other", api="scheduling.volcano.sh/v1beta1")
    others: list[Subject] = [own, podgroup("g", namespace="own"), pod("d", "g", namespace="other"), volcano, lost]
    found = gangs([pod("a", "g"), podgroup("g"), *others])
    assert found["default", "g"].elsewhere == (lost,)
    assert found["own", "g"].elsewhere == (lost,)
    assert {member.ref.name for member in found["lost", "g"].elsewhere} == {"a", "b", "d"}


def test_thousands_of_gangs_of_one_name_hide_no_lost_member() -> None:
    names = [f"n-{number:04}" for number in range(NAMESPACES_AT_MOST + 1)]
    lost = pod("a", "g", namespace="z")
    pairs: list[Subject] = []
    for name in names:
        pairs += [pod("a", "g", namespace=name), podgroup("g", namespace=name)]
    assert gangs([*pairs, lost])["n-0000", "g"].elsewhere == (lost,)


def numbered(name: str, number: int) -> Pod:
    """A Job's template, a member of g."""
    template = pod(name, "g")._replace(spec=("spec", "template", "spec"), count=Count(number, number))
    return template._replace(ref=template.ref._replace(kind="Job"))


def numbers(found: list[Gang]) -> list[list[int | None]]:
    return [[member.count.most for member in gang.members] for gang in found]


@pytest.mark.parametrize("sub", ["q/a", "q/z", "q/z/deeper"])
@pytest.mark.parametrize("turned", [False, True])
def test_each_folder_with_a_podgroup_counts_its_own_pods(sub: str, *, turned: bool) -> None:
    """However the folders sort: those above are copied or patched, not added."""
    placed: list[tuple[str, Pod | PodGroup]] = [
        ("q", podgroup("g")),
        ("q", numbered("j", 3)),
        (sub, podgroup("g")),
        (sub, numbered("j", 4)),
    ]
    placed = placed[2:] + placed[:2] if turned else placed
    found = settings(*(subject for _, subject in placed), folders=tuple(folder for folder, _ in placed))
    assert sorted(numbers(found)) == [[3], [4]]


@pytest.mark.parametrize("sub", ["q/a", "q/z"])
def test_a_gang_above_is_of_unknown_number_only_in_the_folders_below(sub: str) -> None:
    found = settings(podgroup("g"), numbered("j", 3), podgroup("g", members=8), folders=("q", "q/jobs", sub))
    assert numbers(found) == [[3], [None]]


@pytest.mark.parametrize("shared", ["x", "x/base"])
def test_own_pods_stand_before_those_that_are_shared(shared: str) -> None:
    folders = ("x/a", "x/z", "x/a/jobs", "x/z/jobs", shared)
    pods = [numbered("j", 2), numbered("j", 3), numbered("j", 9)]
    assert numbers(settings(podgroup("g"), podgroup("g"), *pods, folders=folders)) == [[2], [3]]
    turned = settings(podgroup("g"), podgroup("g"), *pods[::-1], folders=(*folders[:2], *folders[:1:-1]))
    assert numbers(turned) == [[2], [3]]


@pytest.mark.parametrize("other", ["q/a", "q/z", "a", "z"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_copy_without_its_podgroup_does_not_stand_for_what_is_beside_it(other: str, *, turned: bool) -> None:
    placed: list[tuple[str, Pod | PodGroup]] = [
        ("q", numbered("j", 3)),
        (other, numbered("j", 4)),
        ("q", podgroup("g")),
    ]
    placed = placed[::-1] if turned else placed
    found = settings(*(subject for _, subject in placed), folders=tuple(folder for folder, _ in placed))
    assert numbers(found) == [[3]]


def test_a_patch_beside_the_podgroup_never_stands_for_the_whole_object() -> None:
    patch, whole = numbered("j", 3)._replace(containers=()), numbered("j", 4)
    for pods, folders in (((patch, whole), ("q", "base", "q")), ((whole, patch), ("base", "q", "q"))):
        assert numbers(settings(*pods, podgroup("g"), folders=folders)) == [[4]]


@pytest.mark.parametrize("sub", ["q/a", "q/z"])
def test_an_object_that_is_labelled_rightly_here_is_no_stray_for_its_copy_elsewhere(sub: str) -> None:
    stray = numbered("j", 3)._replace(labels={}, annotations={GROUP_LABEL: "g"})
    found = settings(podgroup("g"), stray, podgroup("g"), numbered("j", 4), folders=("q", "q", sub, sub))
    assert numbers(found) == [[], [4]]
    assert [len(gang.strays) for gang in found] == [1, 0]
    (wrong, right) = settings(podgroup("g"), numbered("j", 4), podgroup("g"), stray, folders=("q", "q", sub, sub))
    assert (numbers([wrong, right]), right.strays[0].count.most) == ([[4], []], 3)


def scaled(kind: str, *bounds: tuple[int, int | None]) -> Count:
    """How many there are of a template of this kind under autoscalers with these bounds."""
    template = pod("a", "g")
    template = replace(template, ref=template.ref._replace(kind=kind), count=Count(1, 1, ("spec", "replicas")))
    by = [Scaler(Ref("autoscaling/v2", "H", "default", "h"), kind, "a", least, most) for least, most in bounds]
    (member,) = gangs([*by, template, podgroup("g")])["default", "g"].members
    return member.count


def test_an_autoscaler_sets_the_number() -> None:
    path = ("spec", "replicas")
    assert scaled("Deployment") == Count(1, 1, path)
    assert scaled("Deployment", (2, 8)) == Count(2, 8, path)
    assert scaled("Deployment", (4, 6), (2, 8)) == Count(2, 8, path)
    assert scaled("Deployment", (4, 6), (2, None)) == Count(2, None, path)
    assert scaled("LeaderWorkerSet", (2, 8)) == Count(0, None, path)
