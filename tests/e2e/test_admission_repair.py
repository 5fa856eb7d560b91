"""stripMinResources: a gang whose minResources no node can ever meet is bound where the policy mends new PodGroups."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiserver import ControlPlane, create, found, kubectl, made, named, never, node_of, patch, wait_for, why_pending
from gangs import bound
from objects import Object, member, pod_group
from server import Server, registered, registration, serving

pytestmark = pytest.mark.e2e_slow  # a gang is seen not to be bound

LIMITS = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}
TRAP = {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "6000"}
TOLD = (
    "min-resources-unsatisfiable: took nvidia.com/gpumem out of minResources; HAMi keeps that out of the nodes' "
    "allocatable, and the gang would wait for ever"
)


@pytest.fixture(scope="module")
def repairing(
    control: ControlPlane, server_account: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The server with stripMinResources on, registered as `gangcheck registration` would have it then."""
    with (
        serving(server_account, tmp_path_factory.mktemp("server"), "--strip-min-resources") as started,
        registered(control, *registration(started, repairs=True)),
    ):
        yield started


def gang(namespace: str) -> list[Object]:
    """A PodGroup as operators make it, and its two members."""
    group = pod_group(namespace, "train", minMember=2, minResources=dict(TRAP))
    return [group, *(member(namespace, f"w-{n}", "train", limits=LIMITS) for n in range(2))]


def stuck(control: ControlPlane, pods: list[Object]) -> None:
    """The members wait for a resource that no node advertises, and go on waiting. The first one may have been asked
    only while it was alone."""
    wait_for(lambda: any("resource gap: map[nvidia.com/gpumem:" in why_pending(control, each) for each in pods))
    never(lambda: any(node_of(control, each) for each in pods), 3)


def test_without_it_the_gang_never_binds(control: ControlPlane, namespace: str) -> None:
    """No webhook of ours is there at all: this is what the scheduler does."""
    group, *pods = gang(namespace)
    made(control, group, *pods)
    stuck(control, pods)


def test_without_the_policy_it_is_warned_of_and_never_binds(
    control: ControlPlane, namespace: str, server_account: ControlPlane, tmp_path: Path
) -> None:
    group, *pods = gang(namespace)
    with serving(server_account, tmp_path) as started, registered(control, *registration(started)):
        answer = create(control, group)
        assert answer.status == 201
        assert [text.partition(":")[0] for text in answer.warnings] == ["min-resources-unsatisfiable"]
        assert set(found(control, group)["spec"]["minResources"]) == set(TRAP)
        made(control, *pods)
    stuck(control, pods)


def test_with_it_the_gang_is_bound(control: ControlPlane, namespace: str, repairing: Server) -> None:
    group, *pods = gang(namespace)
    done = kubectl(control, "apply", "--filename=-", stdin=json.dumps(group))
    assert (done.returncode, done.stderr) == (0, f"Warning: {TOLD}\n")
    stored = found(control, group)
    assert stored["spec"] == {"minMember": 2, "minResources": {"nvidia.com/gpu": "2"}}
    assert stored["metadata"]["annotations"]["gangcheck.io/injected"] == "-minResources/nvidia.com/gpumem"
    made(control, *pods)
    bound(control, *pods)
    assert [review["verdict"] for review in repairing.reviews(namespace)][:2] == ["patched", "allowed"]


def test_an_update_is_never_touched(control: ControlPlane, namespace: str, repairing: Server) -> None:
    """Operators write minResources again: that is theirs to settle, and the validating webhook warns of it."""
    group = pod_group(namespace, "train", minMember=2, minResources={"nvidia.com/gpu": "2"})
    made(control, group)
    answer = patch(control, group, {"spec": {"minResources": {"nvidia.com/gpumem": "6000"}}})
    assert answer.ok
    assert [text.partition(":")[0] for text in answer.warnings] == ["min-resources-unsatisfiable"]
    assert set(found(control, group)["spec"]["minResources"]) == set(TRAP)
    assert [review["entry"] for review in repairing.reviews(namespace)] == ["validate", "validate"]


@pytest.mark.usefixtures("repairing")
def test_a_group_without_the_trap_stays_as_it_is(control: ControlPlane, namespace: str) -> None:
    for name, resources in (("a", {"nvidia.com/gpu": "2", "cpu": "1"}), ("b", {}), ("c", None)):
        spec = {} if resources is None else {"minResources": resources}
        answer = create(control, pod_group(namespace, name, minMember=1, **spec))
        assert (answer.status, answer.warnings) == (201, ())
        stored = found(control, pod_group(namespace, name))
        assert stored["spec"] == {"minMember": 1, **spec}
        assert "annotations" not in stored["metadata"]


@pytest.mark.usefixtures("repairing")
def test_where_the_mode_is_off_nothing_is_taken_out(control: ControlPlane, namespace: str) -> None:
    patch(control, named("v1", "Namespace", namespace), {"metadata": {"labels": {"gangcheck.io/mode": "off"}}})
    group, *_ = gang(namespace)

    def untouched() -> bool:
        return set(create(control, group, dryRun="All").body["spec"]["minResources"]) == set(TRAP)

    wait_for(untouched, what="the namespace's mode")
