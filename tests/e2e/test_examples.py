"""The examples are really scheduled: all members of a good gang are bound, by the real Coscheduling, with us asked."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import apiserver
import operators
import pytest
import yaml
from apiserver import ControlPlane, Object, kubectl, listed, made, named, never, node_of, wait_for
from objects import GROUP, SCHEDULER
from server import Server

pytestmark = pytest.mark.e2e_slow  # gangs are placed one after the other

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"
NAMESPACE = "research"
BUILT_IN = ("gang-of-pods", "gang-of-a-job", "gang-of-a-statefulset", "mended-gang")


@pytest.fixture
def research(control: ControlPlane) -> Iterator[str]:
    """The namespace that the examples name, anew for each of them."""
    wait_for(lambda: not apiserver.get(control, named("v1", "Namespace", NAMESPACE)).ok, 30)
    made(control, named("v1", "Namespace", NAMESPACE))
    account = named("v1", "ServiceAccount", "default", NAMESPACE)
    wait_for(lambda: apiserver.get(control, account).ok, what="the namespace's ServiceAccount")
    yield NAMESPACE
    apiserver.remove_namespace(control, NAMESPACE)


Heard = Callable[[], list[Object]]


@pytest.fixture
def heard(gangcheck: Server, research: str) -> Heard:
    """The reviews of this test alone: all of them are in one namespace, and the server's log is the module's."""
    before = len(gangcheck.reviews(research))
    return lambda: gangcheck.reviews(research)[before:]


def quorum(path: Path) -> int:
    (group,) = (each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each["kind"] == "PodGroup")
    return int(group["spec"]["minMember"])


def members(control: ControlPlane, namespace: str) -> list[Object]:
    return listed(control, "v1", "Pod", namespace, labelSelector=GROUP)


@pytest.mark.parametrize("name", BUILT_IN)
def test_good_gang_is_bound_whole(control: ControlPlane, heard: Heard, research: str, name: str) -> None:
    path = EXAMPLES / f"{name}.yaml"
    done = kubectl(control, "apply", "--server-side", "-f", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    wanted = quorum(path)
    pods = wait_for(lambda: found if len(found := members(control, research)) == wanted else None)
    assert {pod["spec"]["schedulerName"] for pod in pods or ()} == {SCHEDULER}
    for pod in pods or ():
        wait_for(partial(node_of, control, pod), what=f"a node for {pod['metadata']['name']}")
    reviews = heard()
    assert {review["verdict"] for review in reviews} <= {"allowed", "patched"}
    assert sum(review["kind"] == "Pod" and review["entry"] == "validate" for review in reviews) >= wanted


@pytest.mark.usefixtures("gangcheck")
def test_gang_that_lacks_one_is_not_bound(control: ControlPlane, research: str) -> None:
    """It is Coscheduling that binds them, and not some scheduler that takes Pods as they come."""
    things = list(yaml.safe_load_all((EXAMPLES / "gang-of-pods.yaml").read_text(encoding="utf-8")))
    made(control, *things[:-1])
    pods = members(control, research)
    assert len(pods) == quorum(EXAMPLES / "gang-of-pods.yaml") - 1
    never(lambda: any(node_of(control, pod) for pod in pods), 3)
    made(control, things[-1])
    for pod in members(control, research):
        wait_for(partial(node_of, control, pod))


@pytest.mark.usefixtures("research")
def test_broken_gang_is_refused_and_warned_of(control: ControlPlane, heard: Heard) -> None:
    done = kubectl(control, "apply", "--server-side", "-f", str(EXAMPLES / "broken-gang.yaml"))
    assert done.returncode != 0
    assert "denied the request: pod-group-annotation: " in done.stderr
    assert "Pod/llama-launcher names its gang 'llama-finetune' in an annotation" in done.stderr
    assert "Warning: musl-image: use python:3.12-slim" in done.stderr
    assert any(review["verdict"] == "denied" for review in heard())


@pytest.fixture
def kinds(control: ControlPlane) -> Iterator[None]:
    """The operators' own CRDs in the API server."""
    made_ = [operators.install(control, kind) for kind in ("JobSet", "MPIJob", "PyTorchJob", "RayCluster")]
    yield
    for crd in made_:
        apiserver.delete(control, crd)


@pytest.mark.e2e_slow
@pytest.mark.usefixtures("kinds", "research")
def test_operators_example_is_valid_and_admitted_without_a_word(control: ControlPlane, heard: Heard) -> None:
    """Held strictly against the real schemas: an unknown field would be refused. No operator runs here."""
    for name in ("gang-of-a-jobset", "gang-of-an-mpijob", "gang-of-a-pytorchjob", "gang-of-a-raycluster"):
        path = str(EXAMPLES / f"{name}.yaml")
        done = kubectl(control, "apply", "--server-side", "--validate=strict", "-f", path)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    reviews = heard()
    assert {review["kind"] for review in reviews} == {"PodGroup", "JobSet", "MPIJob", "PyTorchJob", "RayCluster"}
    assert {review["verdict"] for review in reviews} == {"allowed"}
