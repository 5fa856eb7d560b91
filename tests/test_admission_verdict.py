"""What denies, what warns, and who hears of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked import LABEL, RULES, STACK, Object, answer, body_of, deployment, job, knows, owned_by, pod, podgroup, request

from webhook.admission import decode, judge, mutate
from webhook.admission.speech import WARNING_AT_MOST, denial, printable, warnings
from webhook.model import Member, Place, Pod, Ref
from webhook.review import Answer, Enforcement, Known, Operation, VgpuEnv
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

REVIEWS = Path(__file__).parent / "reviews"
EXPECTED = {
    name: [part.strip() for part in rest.split(",")]
    for name, _, rest in (line.partition(":") for line in (REVIEWS / "expected.txt").read_text().splitlines())
}
ANNOTATED = {LABEL: "g1"}
EMPTY = {"labels": {"app": "train", LABEL: ""}}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_review_answers_as_its_first_line_says(name: str) -> None:
    said = answer(decode(body_of(name)))
    verdict, *rules = EXPECTED[name]
    if verdict == "later":
        assert said.allowed
        return
    assert said.allowed == (verdict == "allowed")
    assert list(said.rules) == rules
    assert verdict.upper() in (REVIEWS / name).read_text(encoding="utf-8").split("\n")[0]


def test_every_review_is_recorded() -> None:
    assert set(EXPECTED) == {path.name for path in REVIEWS.glob("*.yaml")}


def test_a_denied_pod_of_a_controller_reads_the_cure_in_one_line() -> None:
    said = answer(decode(body_of("R136-review-denied-from-controller.yaml")))
    assert said.message == (
        'pod-group-annotation: metadata.annotations["scheduling.x-k8s.io/pod-group"]: Pod/trainer-5d9-* names its gang '
        "'g1' in an annotation; Coscheduling reads only the label scheduling.x-k8s.io/pod-group, so its members start "
        "one by one; move it to metadata.labels: scheduling.x-k8s.io/pod-group: g1; mend it in ReplicaSet/trainer-5d9, "
        "which makes it; gangcheck explain pod-group-annotation"
    )
    assert said.warnings == ()
    assert said.notices == ()
    assert said.audit == {"verdict": "denied", "rules": "pod-group-annotation", "vgpu": "main=1x4000MiB"}


def test_several_denials_are_one_message() -> None:
    first, second, last = answer(request(podgroup("My_Gang"))).message.splitlines()
    assert first.startswith("min-member-missing: spec: PodGroup/My_Gang has no minMember")
    assert second.startswith("pod-group-unmatchable: PodGroup/My_Gang metadata.name: the PodGroup name 'My_Gang'")
    assert last == "gangcheck explain min-member-missing; gangcheck explain pod-group-unmatchable"


def test_a_workload_is_denied_where_its_author_reads_it() -> None:
    said = answer(request(deployment(annotations=ANNOTATED)))
    assert not said.allowed
    assert "spec.template.metadata.labels: scheduling.x-k8s.io/pod-group: g1" in said.message
    assert "Deployment/train" in said.message
    assert said.notices == ()


def test_a_sound_object_gets_no_word() -> None:
    for made in (job(group="g1"), podgroup(minMember=2), deployment()):
        said = answer(request(made), look_up=knows(Known(0, None, quiet=False)))
        assert said == Answer(audit={"verdict": "allowed"})
    said = answer(request(pod(group="g1")), look_up=knows(Known(0, None, quiet=False)))
    assert said == Answer(audit={"verdict": "allowed", "vgpu": "main=1x4000MiB"})


def test_the_audit_log_tells_what_hami_will_read() -> None:
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "16Gi"}
    made = pod()
    made["spec"]["containers"] = [
        {"name": "main", "image": "x", "resources": {"limits": limits, "requests": limits}},
        {"name": "side", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "2", "nvidia.com/gpucores": "30"}}},
        {"name": "idle", "image": "x"},
    ]
    assert answer(request(made)).audit["vgpu"] == "main=unlimited|ignored side=2x100%x30%cores"
    made["spec"]["schedulerName"] = "volcano"
    assert "vgpu" not in answer(request(made)).audit
    assert "vgpu" not in answer(request(deployment())).audit
    updated = request(pod(labels={LABEL: "h"}), operation="UPDATE", old_object=pod(labels={LABEL: "g"}))
    assert "vgpu" not in answer(updated).audit


def test_the_request_in_the_audit_log_is_short() -> None:
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k"}
    made = pod()
    made["spec"]["containers"] = [{"name": f"c{n}", "image": "x", "resources": {"limits": limits}} for n in range(200)]
    told = answer(request(made)).audit["vgpu"]
    assert told.startswith("c0=1x4000MiB c1=1x4000MiB ")
    assert len(told) <= 240


@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "DELETE"},
        {"operation": "CONNECT"},
        {"subresource": "ephemeralcontainers"},
        {"subresource": "scale"},
        {"object": None},
    ],
)
def test_what_is_not_ours_is_let_through(fields: Object) -> None:
    assert answer(request(pod(annotations=ANNOTATED), **fields)) == Answer()
    assert mutate(request(pod(), **fields), STACK, VgpuEnv()) == Answer()


def test_warnings_lead_with_rule_and_cure() -> None:
    said = answer(request(pod(image="python:3.12-alpine")))
    assert said.allowed
    assert said.warnings[0].startswith("musl-image: use python:3.12-slim; python:3.12-alpine is musl")
    assert said.audit == {"verdict": "warned", "rules": "musl-image", "vgpu": "main=1x4000MiB"}
    assert said.rules == ("musl-image",)


def test_warn_mode_says_the_same_and_denies_nothing() -> None:
    asked = request(deployment(annotations=ANNOTATED))
    told = answer(asked, mode="warn")
    assert told.allowed
    assert told.message == ""
    assert told.warnings[0].startswith("pod-group-annotation: move it to spec.template.metadata.labels")
    assert told.audit == {"verdict": "warned", "rules": "pod-group-annotation", "admitted": "pod-group-annotation"}
    assert told.rules == answer(asked).rules


def test_dry_run_is_the_same_verdict_without_notices() -> None:
    owned = pod(labels={LABEL: ""}, ownerReferences=owned_by())
    said, dry = answer(request(owned)), answer(request(owned, dry_run=True))
    assert said.notices
    assert dry.notices == ()
    assert (dry.allowed, dry.warnings, dry.audit) == (said.allowed, said.warnings, said.audit)


# Owned objects


def test_an_owned_pod_is_denied_for_the_annotation_alone() -> None:
    owned = pod(generateName="trainer-5d9-", labels={LABEL: ""}, ownerReferences=owned_by())
    said = answer(request(owned))
    assert said.allowed
    told = {"verdict": "warned", "rules": "pod-group-empty", "admitted": "pod-group-empty", "vgpu": "main=1x4000MiB"}
    assert said.audit == told
    (notice,) = said.notices
    assert (notice.api_version, notice.kind, notice.namespace) == ("apps/v1", "ReplicaSet", "team-a")
    assert (notice.name, notice.uid, notice.reason) == ("trainer-5d9", "u-1", "PodGroupEmpty")
    assert notice.message == said.warnings[0]
    assert "Pod/trainer-5d9-*" in notice.message


def test_the_policy_may_admit_owned_pods_with_the_annotation() -> None:
    owned = request(pod(annotations=ANNOTATED, ownerReferences=owned_by()))
    assert not answer(owned).allowed
    said = answer(owned, enforcement=Enforcement(owned_pods="warn"))
    assert said.allowed
    assert [notice.reason for notice in said.notices] == ["PodGroupAnnotation"]


def test_events_can_be_switched_off() -> None:
    owned = request(pod(labels={LABEL: ""}, ownerReferences=owned_by()))
    assert answer(owned, enforcement=Enforcement(events=False)).notices == ()


@pytest.mark.parametrize(
    "owners",
    [
        owned_by(controller=False),
        owned_by(controller=None),
        ["x", None, 3],
        {"controller": True},
        None,
    ],
)
def test_what_no_controller_made_is_denied_for_any_error(owners: object) -> None:
    said = answer(request(pod(labels={LABEL: ""}, ownerReferences=owners)))
    assert not said.allowed
    assert "which makes it" not in said.message


def test_an_owner_without_a_name_gets_no_event() -> None:
    said = answer(request(pod(labels={LABEL: ""}, ownerReferences=owned_by(uid=7))))
    assert said.allowed
    assert said.warnings
    assert said.notices == ()


def test_a_static_pods_mirror_is_never_denied() -> None:
    assert answer(request(pod(annotations=ANNOTATED, ownerReferences=owned_by("Node", "node-1")))).allowed


def test_a_replica_set_that_an_old_deployment_makes_is_admitted() -> None:
    made = {**deployment(), "kind": "ReplicaSet"}
    made["metadata"] = {**made["metadata"], "ownerReferences": owned_by("Deployment", "train")}
    made["spec"]["template"]["metadata"]["labels"][LABEL] = ""
    said = answer(request(made))
    assert said.allowed
    assert [text.partition(":")[0] for text in said.warnings] == ["pod-group-empty"]
    assert said.notices == ()  # its Pods will have it said of them, and one Event is enough


def test_what_is_wrong_with_an_owned_workload_itself_becomes_an_event() -> None:
    made = {**deployment(), "kind": "ReplicaSet"}
    made["metadata"] = {**made["metadata"], "labels": {LABEL: "train"}, "ownerReferences": owned_by("Rollout", "train")}
    said = answer(request(made))
    assert said.allowed
    assert [(notice.kind, notice.reason) for notice in said.notices] == [("Rollout", "PodGroupOnWorkload")]


def test_an_operators_podgroup_is_never_denied() -> None:
    group = podgroup("x" * 64, minMember=2)
    assert not answer(request(group)).allowed
    group["metadata"]["ownerReferences"] = owned_by("PyTorchJob", "train", controller=None)
    said = answer(request(group))
    assert said.allowed
    assert said.audit["admitted"] == "pod-group-unmatchable"


# Updates


def test_an_old_mistake_does_not_stop_an_update() -> None:
    old = deployment(annotations=ANNOTATED)
    new = copy.deepcopy(old)
    new["spec"]["replicas"] = 5
    new["spec"]["template"]["spec"]["containers"].insert(0, {"name": "side", "image": "busybox:glibc"})
    said = answer(request(new, old))
    assert said.allowed
    assert said.warnings[0].startswith("pod-group-annotation: ")
    assert said.audit["admitted"] == "pod-group-annotation"


def test_a_new_mistake_does() -> None:
    old, new = deployment(annotations=ANNOTATED), deployment(annotations={LABEL: "g2"})
    assert not answer(request(new, old)).allowed
    assert not answer(request(new, deployment())).allowed
    assert answer(request(deployment(), old)).allowed


def test_a_mistake_that_was_none_before_is_new() -> None:
    """With the label beside it the annotation is a blemish; taking the label away makes it an error."""
    old, new = deployment("g1", annotations=ANNOTATED), deployment(annotations=ANNOTATED)
    assert answer(request(old)).allowed
    assert not answer(request(new, old)).allowed


def test_what_is_missing_in_a_collection_is_missing_still() -> None:
    old, new = podgroup(minResources={"cpu": "2"}), podgroup(minResources={"cpu": "3"}, scheduleTimeoutSeconds=30)
    assert not answer(request(old)).allowed
    assert answer(request(new, old)).allowed


def test_items_of_lists_are_known_by_their_names() -> None:
    @rule(Pod, Severity.ERROR, evidence="seen")
    def no_tag(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """An image has no tag.

        Why.
        """
        for container in pod.containers:
            if container.image == "bare":
                yield Finding(Place(pod.ref, (*container.path, "image")), "no tag", "add one")

    def with_images(*images: str) -> Object:
        made = deployment()
        containers = [{"name": image.strip("!"), "image": image.split("!")[0]} for image in images]
        made["spec"]["template"]["spec"]["containers"] = containers
        return made

    old = with_images("bare", "a:1")
    assert answer(request(with_images("b:1", "bare"), old), rules=(no_tag,)).allowed
    assert not answer(request(with_images("bare", "bare!!"), with_images("a:1")), rules=(no_tag,)).allowed


def test_an_update_whose_old_object_is_absent_denies_nothing() -> None:
    assert answer(request(deployment(annotations=ANNOTATED), operation="UPDATE")).allowed


def test_a_pods_update_is_asked_about_its_group_alone() -> None:
    image = {"image": "python:3.12-alpine"}
    said = answer(request(pod(annotations=ANNOTATED, **image), pod(**image)))  # type: ignore[arg-type]
    assert not said.allowed
    assert said.rules == ("pod-group-annotation",)


def test_an_owned_pods_update_writes_no_event() -> None:
    owners = owned_by()
    asked = request(pod(labels={LABEL: ""}, ownerReferences=owners), pod(ownerReferences=owners))
    assert answer(asked).notices == ()


def test_a_rule_that_raises_on_the_old_object_does_not_deny_the_new_one() -> None:
    @rule(Pod, Severity.ERROR, evidence="seen")
    def fragile(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A Pod exists.

        Why.
        """
        if pod.annotations:
            raise KeyError("x")
        yield Finding(pod.field("containers"), "it exists", "remove it")

    asked = request(deployment(), deployment(annotations={"a": "b"}))
    assert answer(asked, rules=(fragile,)).allowed


# Rules


def test_a_rule_that_raises_is_named_and_the_others_answer() -> None:
    @rule(Pod, Severity.ERROR, evidence="seen")
    def broken(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A rule raises.

        Why.
        """
        raise RuntimeError

    said = answer(request(pod(annotations=ANNOTATED)), rules=(broken, *RULES))
    assert not said.allowed
    assert said.failed == ("broken",)
    assert said.audit["failed"] == "broken"


def test_what_we_could_not_read_is_a_warning_at_most() -> None:
    made = deployment()
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "many"}}
    said = answer(request(made), severities={"malformed": Severity.ERROR})
    assert said.allowed
    assert said.rules == ("malformed",)


def test_a_kind_that_has_arrived_exists() -> None:
    made = {**deployment(), "kind": "Deploymnet"}
    assert answer(request(made)).rules == ()


def test_the_policys_severities_hold() -> None:
    asked = request(pod(image="python:3.12-alpine"))
    assert not answer(asked, severities={"musl-image": Severity.ERROR}).allowed
    assert answer(asked, severities={"musl-image": Severity.INFO}).warnings == ()


def test_a_guess_denies_nothing() -> None:
    @rule(Pod, Severity.ERROR, evidence="seen")
    def perhaps(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A Pod may be wrong.

        Why.
        """
        yield Finding(pod.field("containers"), "it may be wrong", "see to it", confidence="low")

    said = answer(request(pod()), rules=(perhaps,))
    assert said.allowed
    assert said.warnings == ("perhaps: see to it; it may be wrong",)


def test_rules_of_the_linter_alone_are_not_asked() -> None:
    names = {each.name for each in RULES if each.lint_only}
    assert "pod-group-unused" in names
    assert answer(request(podgroup(minMember=2))).rules == ()


def test_the_scheduler_that_stands_in_a_pod_is_its_own() -> None:
    """HAMi's webhook has had its turn: a Pod that is still on default-scheduler stays there."""
    seen: list[str] = []

    @rule(Pod, Severity.WARNING, evidence="seen")
    def where(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A Pod goes somewhere.

        Why.
        """
        seen.append(stack.scheduler_of(pod))
        return iter(())

    left = pod()
    left["spec"]["schedulerName"] = "default-scheduler"
    for made in (left, job()):
        answer(request(made), rules=(where,))
    made = job()
    del made["spec"]["template"]["spec"]["schedulerName"]
    answer(request(made), rules=(where,))
    assert seen == ["default-scheduler", "hami-scheduler", "hami-scheduler"]


def test_a_new_pod_is_no_dump_of_a_running_one() -> None:
    seen: list[bool] = []

    @rule(Pod | Member, Severity.WARNING, evidence="seen")
    def alive(subject: Pod | Member, stack: Stack) -> Iterator[Finding]:
        """A Pod is alive.

        Why.
        """
        seen.append((subject.pod if isinstance(subject, Member) else subject).live)
        return iter(())

    answer(request(pod()), rules=(alive,))
    assert seen == [False]


# Names


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"name": "w-0"}, "Pod/w-0"),
        ({"name": "", "generateName": "w-"}, "Pod/w-*"),
        ({"name": "w-abc", "generateName": "w-"}, "Pod/w-abc"),
        ({"name": "w-abc", "generateName": "w-", "ownerReferences": owned_by()}, "Pod/w-*"),
        ({"name": "w-abc", "generateName": 5, "ownerReferences": owned_by()}, "Pod/w-abc"),
    ],
)
def test_texts_name_the_pod_or_what_all_siblings_share(metadata: Object, shown: str) -> None:
    made = pod(annotations=ANNOTATED)
    made["metadata"].update(metadata)
    assert f"{shown} names its gang" in answer(request(made)).message


def test_a_generated_name_is_not_held_against_rules_about_names() -> None:
    group = podgroup("", minMember=2)
    group["metadata"]["generateName"] = "g-"
    assert answer(request(group)).allowed
    named = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"generateName": "ddp-"}}
    named["spec"] = {
        "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": deployment("g1")["spec"]["template"]}}
    }
    flag_on = Stack(operators={"training-operator": ""})
    assert "operator-overrides-label" not in answer(request(named), stack=flag_on).rules
    generated = job(group="My_Gang")
    generated["metadata"] = {"generateName": "train-"}
    assert "Job/train-*" in answer(request(generated)).message


def test_the_request_knows_namespace_and_kind() -> None:
    made = pod(group="g1")
    del made["metadata"]["namespace"], made["apiVersion"], made["kind"]
    asked: list[tuple[str, str]] = []

    def look_up(namespace: str, name: str) -> None:
        asked.append((namespace, name))

    answer(request(made), look_up=look_up)
    answer(request({**made, "metadata": {"labels": {LABEL: "g1"}}}, namespace=""), look_up=look_up)
    assert asked == [("team-a", "g1"), ("default", "g1")]
    assert answer(request({"metadata": 7}, version="")).allowed


# Silence


def test_an_annotation_silences_a_warning_but_no_denial() -> None:
    quiet = {"ignore.gangcheck.io/musl-image": "known", "ignore.gangcheck.io/pod-group-annotation": "no"}
    said = answer(request(pod(annotations={**ANNOTATED, **quiet}, image="python:3.12-alpine")))
    assert not said.allowed
    assert said.warnings == ()
    lifted = Enforcement(suppressions_lift_denials=True)
    again = answer(request(pod(annotations={**ANNOTATED, **quiet}, image="python:3.12-alpine")), enforcement=lifted)
    assert again == Answer(audit={"verdict": "allowed", "vgpu": "main=1x4000MiB"})


def test_an_annotation_covers_what_is_below_it() -> None:
    made = deployment(annotations={**ANNOTATED, "ignore.gangcheck.io/pod-group-annotation": ""})
    assert answer(request(made), mode="warn").warnings == ()
    made = deployment(annotations=ANNOTATED)
    made["metadata"]["annotations"] = {"ignore.gangcheck.io/pod-group-annotation": "old"}
    assert answer(request(made), mode="warn").warnings == ()
    made["metadata"]["annotations"] = {"ignore.gangcheck.io/pod-group-empty": "other"}
    assert answer(request(made), mode="warn").warnings


def test_a_silenced_finding_writes_no_event() -> None:
    quiet = {"ignore.gangcheck.io/pod-group-empty": "x"}
    said = answer(request(pod(labels={LABEL: ""}, annotations=quiet, ownerReferences=owned_by())))
    assert said == Answer(audit={"verdict": "allowed", "vgpu": "main=1x4000MiB"})


# Words


def finding(message: str = "it is so", fix: str = "mend it", name: str = "a-rule") -> Finding:
    place = Place(Ref("v1", "Pod", "d", "w"), ("spec", "containers", 0, "image"))
    return Finding(place, message, fix, severity=Severity.ERROR, rule=name)


def test_warnings_are_few_short_and_different() -> None:
    assert warnings([finding(), finding()]) == ("a-rule: mend it; it is so",)
    many = warnings([finding(str(number)) for number in range(11)])
    assert len(many) == 10
    assert many[-1] == "… and 2 more; run gangcheck lint"
    assert len(warnings([finding(str(number)) for number in range(10)])) == 10
    (long,) = warnings([finding("x" * 500)])
    assert len(long) == WARNING_AT_MOST
    assert long.endswith("x…")


def test_no_text_has_a_control_character() -> None:
    assert printable("a\nb\tc\x07d\ud83de\u202ef", 99) == "a b c\ufffdd\ufffde\ufffdf"
    assert "\n" not in denial([finding("two\nlines")], None)


def test_a_denial_names_the_object_where_the_fact_does_not() -> None:
    assert denial([finding()], None) == (
        "a-rule: Pod/w spec.containers[0].image: it is so; mend it; gangcheck explain a-rule"
    )
    assert denial([finding("Pod/w is so")], None).startswith("a-rule: spec.containers[0].image: Pod/w is so")


def test_a_long_denial_is_cut() -> None:
    lines = denial([finding(str(number)) for number in range(30)], None).splitlines()
    assert len(lines) == 22
    assert lines[-2:] == ["… and 10 more; run gangcheck lint", "gangcheck explain a-rule"]


# The mutator


def test_the_patch_is_that_of_inject() -> None:
    left = pod()
    left["spec"]["schedulerName"] = "default-scheduler"
    left["metadata"] = {"name": "w-0"}
    said = mutate(request(left), STACK, VgpuEnv())
    assert said.allowed
    assert Operation("add", "/spec/schedulerName", "hami-scheduler") in said.patch
    assert said.audit == {"verdict": "injected"}
    assert said.warnings == ()


def test_only_new_pods_are_completed() -> None:
    assert mutate(request(pod(), pod()), STACK, VgpuEnv()) == Answer()
    assert mutate(request(deployment()), STACK, VgpuEnv()) == Answer()
    assert mutate(request(pod(limits={})), STACK, VgpuEnv()) == Answer()


def test_a_patch_that_does_not_apply_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*parts: Any) -> tuple[Operation, ...]:  # noqa: ANN401 - stands for any
        return (Operation("add", "/nowhere/at/all", 1),)

    monkeypatch.setattr("webhook.admission.injection.operations", wrong)
    said = mutate(request(pod()), STACK, VgpuEnv())
    assert (said.allowed, said.patch, said.skipped) == (True, (), ("patch: does not apply",))


def test_a_mutator_that_raises_leaves_the_pod_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*parts: Any) -> tuple[Operation, ...]:  # noqa: ANN401 - as above
        raise KeyError("x")

    monkeypatch.setattr("webhook.admission.injection.operations", broken)
    said = mutate(request(pod()), STACK, VgpuEnv())
    assert (said.allowed, said.patch, said.failed) == (True, (), ("inject",))


def test_a_rule_that_can_only_inform_is_not_asked_unless_the_policy_makes_it_louder() -> None:
    asked: list[str] = []

    @rule(Pod, Severity.INFO, evidence="seen")
    def mild(pod: Pod, stack: Stack) -> Iterator[Finding]:
        """A Pod is there.

        Why.
        """
        asked.append("mild")
        yield Finding(Place(pod.ref, ("spec",)), "it is there", "remove it")

    assert judge(request(pod()), (mild,), STACK, Enforcement()).warnings == ()
    assert asked == []
    loud = judge(request(pod()), (mild,), STACK, Enforcement(), severities={"mild": Severity.WARNING})
    assert loud.warnings == ("mild: remove it; it is there",)
