"""HAMi's webhook, played, and ours on the same Pods: in both orders, called once or called again."""

from collections import Counter
from collections.abc import Iterator

import hami
import hooks
import pytest
from apiserver import ControlPlane, create, delete, listed, made, named, wait_for
from objects import GROUP, SCHEDULER, Object, container, pod, template, workload
from server import Server, registered, registration, serving

GPU = {"nvidia.com/gpu": "1"}
LAST = "zzz-hami-webhook"


@pytest.fixture(scope="module")
def started(server_account: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(server_account, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module", params=["first", "last"])
def order(request: pytest.FixtureRequest) -> str:
    """Where HAMi's configuration stands among the names: in a cluster it is the first."""
    return str(request.param)


@pytest.fixture(scope="module", params=["Never", "IfNeeded"])
def both(
    request: pytest.FixtureRequest,
    control: ControlPlane,
    started: Server,
    order: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[hooks.Hook]:
    """HAMi's webhook, called again after ours where the parameter says so. Ours always may be."""
    with hooks.serving(hami.answer, tmp_path_factory.mktemp("hami"), "hami") as hook:
        configuration = hami.registration(hook.client_config, reinvocation=request.param)
        configuration["metadata"]["name"] = "hami-webhook" if order == "first" else LAST
        with hooks.registered(control, configuration, hook), registered(control, *registration(started)):
            hook.reviews.clear()
            yield hook


def twice(stored: Object) -> list[str]:
    """Names of variables that a container has more than once."""
    spec = stored["spec"]
    found = []
    for each in [*spec.get("initContainers", []), *spec["containers"]]:
        counts = Counter(entry["name"] for entry in each.get("env", []))
        found += [name for name, count in counts.items() if count > 1]
    return found


def env(stored: Object) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in stored["spec"]["containers"][0].get("env", [])}


PODS: dict[str, tuple[Object, dict[str, str]]] = {
    "card": ({"limits": GPU}, {"CUDA_TASK_PRIORITY": "1"}),
    "memory": ({"limits": {"nvidia.com/gpumem": "3000"}}, {"CUDA_TASK_PRIORITY": "1"}),
    "named": ({"limits": GPU, "scheduler": SCHEDULER}, {"CUDA_TASK_PRIORITY": "1"}),
    "member": ({"limits": GPU, "labels": {GROUP: "train"}}, {"CUDA_TASK_PRIORITY": "1"}),
    "launcher": ({"labels": {GROUP: "train"}}, {}),
    "own": ({"containers": [container(limits=GPU, env={"CUDA_TASK_PRIORITY": "0"})]}, {"CUDA_TASK_PRIORITY": "0"}),
}


def test_without_hami_ours_does_the_same(control: ControlPlane, namespace: str, started: Server) -> None:
    """Its webhook is registered with Ignore, and may be down. The first test here: no other may be registered."""
    with registered(control, *registration(started)):
        for key, (parts, wanted) in PODS.items():
            (stored,) = made(control, pod(namespace, key, **parts))
            assert (stored["spec"]["schedulerName"], env(stored)) == (SCHEDULER, wanted), key


@pytest.mark.parametrize("key", PODS)
def test_one_scheduler_and_each_name_once(control: ControlPlane, namespace: str, both: hooks.Hook, key: str) -> None:
    parts, wanted = PODS[key]
    answer = create(control, pod(namespace, "a", **parts))
    assert answer.status == 201
    assert not any("hides previous definition" in text for text in answer.warnings)
    assert answer.body["spec"]["schedulerName"] == SCHEDULER
    assert twice(answer.body) == []
    assert env(answer.body) == wanted
    assert both.reviews


def test_priority_that_hami_writes_too(control: ControlPlane, namespace: str, both: hooks.Hook, order: str) -> None:
    """HAMi appends its entry without a look at what is there (seen). Called before ours there is one, since then
    ours has nothing to add and HAMi's is not called again."""
    limits = GPU | {"nvidia.com/priority": "0"}
    (stored,) = made(control, pod(namespace, "a", limits=limits))
    assert env(stored)["CUDA_TASK_PRIORITY"] == "0"
    assert twice(stored) == ([] if order == "first" else ["CUDA_TASK_PRIORITY"])
    assert both.reviews


def test_pods_of_other_schedulers_are_left_alone(control: ControlPlane, namespace: str, both: hooks.Hook) -> None:
    (stored,) = made(control, pod(namespace, "a", limits=GPU, scheduler="volcano"))
    assert (stored["spec"]["schedulerName"], env(stored)) == ("volcano", {})
    assert both.reviews


def test_what_opts_out_of_hami_is_not_completed(control: ControlPlane, namespace: str, both: hooks.Hook) -> None:
    before = len(both.reviews)
    out = pod(namespace, "a", limits=GPU, labels={"hami.io/webhook": "ignore"})
    (stored,) = made(control, out)
    assert (stored["spec"]["schedulerName"], env(stored)) == ("default-scheduler", {})
    assert len(both.reviews) == before


def test_pods_of_a_job(control: ControlPlane, namespace: str, both: hooks.Hook) -> None:
    made(control, workload("Job", namespace, "j", template(limits=GPU, labels={GROUP: "train"}), parallelism=3))
    pods = wait_for(lambda: found if len(found := listed(control, "v1", "Pod", namespace)) == 3 else None)
    for each in pods or ():
        assert (each["spec"]["schedulerName"], env(each)) == (SCHEDULER, {"CUDA_TASK_PRIORITY": "1"})
    delete(control, named("batch/v1", "Job", "j", namespace), propagationPolicy="Background")
    assert both.reviews
