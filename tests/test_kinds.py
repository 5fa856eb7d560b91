"""For each kind: where its Pod templates stand, how many Pods they make at once, and what makes them wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.kinds import TABLE, Template, embedded, is_left_alone, known_kinds, shaped_like_templates, templates
from webhook.model import Stage, dig

TEMPLATE = r"\bT\b"
POD = "{metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: x}]}}"


def read(api: str, kind: str, spec: str, rest: str = "") -> tuple[Template, ...]:
    """The templates of an object with this spec, in flow style; `T` stands for a Pod template."""
    text = f"{{apiVersion: {api}, kind: {kind}, {rest} spec: {re.sub(TEMPLATE, POD, spec)}}}"
    found = templates(yaml.safe_load(text))
    assert found is not None
    return found


def counts(found: tuple[Template, ...]) -> list[tuple[str, int, int | None]]:
    return [(template.role, template.count.least, template.count.most) for template in found]


def field(template: Template) -> str:
    return ".".join(str(step) for step in template.count.path)


REPLICATED = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("extensions/v1beta1", "Deployment"),
    ("v1", "ReplicationController"),
    ("argoproj.io/v1alpha1", "Rollout"),
]


@pytest.mark.parametrize(("api", "kind"), REPLICATED)
@pytest.mark.parametrize(("replicas", "least", "most"), [("3", 3, 3), ("null", 1, 1), ("0", 0, 0), ("'${N}'", 0, None)])
def test_replicas_are_all_there_at_once(api: str, kind: str, replicas: str, least: int, most: int | None) -> None:
    (template,) = read(api, kind, f"{{replicas: {replicas}, template: T}}")
    assert (template.metadata, template.spec) == (("spec", "template", "metadata"), ("spec", "template", "spec"))
    assert (template.count.least, template.count.most) == (least, most)
    assert field(template) == "spec.replicas"
    assert template.count.stage is None


JOBS = [
    ("{template: T}", 1, 1, "parallelism"),
    ("{parallelism: 4, template: T}", 4, 4, "parallelism"),
    ("{parallelism: 4, completions: 2, template: T}", 2, 2, "completions"),
    ("{parallelism: 2, completions: 4, template: T}", 2, 2, "parallelism"),
    ("{parallelism: 4, completions: 4, completionMode: Indexed, template: T}", 4, 4, "parallelism"),
    ("{completions: 5, template: T}", 1, 1, "parallelism"),
    ("{parallelism: 0, template: T}", 0, 0, "parallelism"),
    ("{parallelism: 3, suspend: true, template: T}", 3, 3, "parallelism"),
    ("{parallelism: 3, managedBy: kueue.x-k8s.io/multikueue, template: T}", 0, None, "managedBy"),
    ("{parallelism: 3, managedBy: kubernetes.io/job-controller, template: T}", 3, 3, "parallelism"),
    ("{parallelism: '{{ n }}', template: T}", 0, None, "parallelism"),
    ("{parallelism: 4, completions: '{{ n }}', template: T}", 0, 4, "completions"),
    ("{parallelism: 4.0, template: T}", 4, 4, "parallelism"),
    ("{parallelism: -1, template: T}", 0, None, "parallelism"),
    ("{parallelism: true, template: T}", 0, None, "parallelism"),
]


@pytest.mark.parametrize(("spec", "least", "most", "path"), JOBS)
def test_job_has_parallelism_pods_and_never_more_than_completions(
    spec: str, least: int, most: int | None, path: str
) -> None:
    (job,) = read("batch/v1", "Job", spec)
    assert (job.count.least, job.count.most, field(job)) == (least, most, f"spec.{path}")
    (run,) = read("batch/v1", "CronJob", f"{{schedule: '@daily', jobTemplate: {{spec: {spec}}}}}")
    assert (run.count.least, run.count.most, field(run)) == (least, most, f"spec.jobTemplate.spec.{path}")
    assert run.spec == ("spec", "jobTemplate", "spec", "template", "spec")


STATEFUL_SETS = [
    ("{replicas: 3, template: T}", True),
    ("{replicas: 3, podManagementPolicy: OrderedReady, template: T}", True),
    ("{replicas: '${N}', template: T}", True),
    ("{replicas: 3, podManagementPolicy: Parallel, template: T}", False),
    ("{replicas: 3, podManagementPolicy: '${P}', template: T}", False),
    ("{replicas: 1, template: T}", False),
    ("{template: T}", False),
]


@pytest.mark.parametrize(("spec", "staged"), STATEFUL_SETS)
def test_stateful_set_makes_one_pod_after_the_other_unless_parallel(spec: str, staged: bool) -> None:  # noqa: FBT001
    (template,) = read("apps/v1", "StatefulSet", spec)
    assert (template.count.stage is not None) == staged
    if template.count.stage:
        assert template.count.stage.first == 1
        assert template.count.stage.seen
        assert template.count.stage.path == ("spec", "podManagementPolicy")


def test_a_pod_is_one_and_a_template_alone_is_unknown() -> None:
    (pod,) = read("v1", "Pod", "{containers: []}")
    assert (pod.metadata, pod.spec, pod.count.most) == (("metadata",), ("spec",), 1)
    (template,) = read("v1", "PodTemplate", "{}", f"template: {POD},")
    assert (template.spec, template.count.most) == (("template", "spec"), None)
    (daemon,) = read("apps/v1", "DaemonSet", "{template: T}")
    assert daemon.count.most is None


TWICE_THREE = "{name: b, replicas: 2, template: {spec: {parallelism: 3, completions: 3, template: T}}}"
SETS = [
    ("{replicatedJobs: [{name: a, template: {spec: {parallelism: 2, template: T}}}]}", [("a", 2, 2)]),
    (
        f"{{replicatedJobs: [{{name: a, template: {{spec: {{template: T}}}}}}, {TWICE_THREE}]}}",
        [("a", 1, 1), ("b", 6, 6)],
    ),
    ("{replicatedJobs: [{name: a, replicas: '${N}', template: {spec: {template: T}}}]}", [("a", 0, None)]),
    ("{replicatedJobs: [{name: a, template: {spec: {parallelism: x, template: T}}}]}", [("a", 0, None)]),
    ("{replicatedJobs: [7, {name: a, replicas: 0, template: {spec: {template: T}}}]}", [("a", 0, 0)]),
    ("{replicatedJobs: null}", []),
]


@pytest.mark.parametrize(("spec", "wanted"), SETS)
def test_job_set_multiplies_its_jobs(spec: str, wanted: list[tuple[str, int, int | None]]) -> None:
    assert counts(read("jobset.x-k8s.io/v1alpha2", "JobSet", spec)) == wanted


TWO_JOBS = (
    "replicatedJobs: [{name: a, template: {spec: {template: T}}},"
    " {name: b, replicas: 2, ON template: {spec: {parallelism: 3, template: T}}}]"
)
TOPOLOGY = "metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack MORE}},"


def stages(spec: str, rest: str = "") -> list[Stage | None]:
    return [template.count.stage for template in read("jobset.x-k8s.io/v1alpha2", "JobSet", spec, rest)]


def test_job_set_that_starts_in_order() -> None:
    first, second = stages(f"{{startupPolicy: {{startupPolicyOrder: InOrder}}, {TWO_JOBS.replace('ON', '')}}}")
    assert first is None
    assert second is not None
    assert (second.first, second.seen) == (0, True)
    assert second.path == ("spec", "startupPolicy", "startupPolicyOrder")
    assert second.after == ("a",)
    any_order = f"{{startupPolicy: {{startupPolicyOrder: AnyOrder}}, {TWO_JOBS.replace('ON', '')}}}"
    assert stages(any_order) == [None, None]


def test_job_set_whose_job_depends_on_another() -> None:
    depends = "dependsOn: [{name: a, status: Ready}],"
    first, second = stages(f"{{{TWO_JOBS.replace('ON', depends)}}}")
    assert first is None
    assert second is not None
    assert (second.first, second.seen) == (0, True)
    assert second.path == ("spec", "replicatedJobs", 1, "dependsOn")
    assert "only after a" in second.why
    assert second.after == ("a",)
    chain = ", ".join(
        f"{{name: {name}, dependsOn: [{{name: {on}, status: Ready}}], template: {{spec: {{template: T}}}}}}"
        for name, on in (("b", "a"), ("c", "b"), ("d", "d"))
    )
    after = [stage.after for stage in stages(f"{{replicatedJobs: [{chain}]}}") if stage]
    assert after == [("a",), ("b", "a"), ("d",)]


def test_job_set_with_exclusive_topology() -> None:
    jobs = f"{{{TWO_JOBS.replace('ON', '')}}}"
    first, second = stages(jobs, TOPOLOGY.replace("MORE", ""))
    assert first is None, "a Job of one Pod has no followers"
    assert second is not None
    assert second.first == 2, "the first Pod of each of two Jobs"
    assert second.seen
    selector = TOPOLOGY.replace("MORE", ", alpha.jobset.sigs.k8s.io/node-selector: 'true'")
    assert stages(jobs, selector) == [None, None]
    inner = TOPOLOGY.replace("MORE", "")
    (own,) = stages(f"{{replicatedJobs: [{{name: a, template: {{{inner} spec: {{parallelism: 2, template: T}}}}}}]}}")
    assert own is not None
    assert own.path[:4] == ("spec", "replicatedJobs", 0, "template")


GROUPS = [
    ("{leaderWorkerTemplate: {size: 4, workerTemplate: T}}", [("", 4, 4)], [1]),
    ("{replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: T}}", [("", 8, 8)], [2]),
    (
        "{replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: T, workerTemplate: T}}",
        [("leader", 2, 2), ("worker", 6, 6)],
        [2, 2],
    ),
    ("{leaderWorkerTemplate: {leaderTemplate: T, workerTemplate: T}}", [("leader", 1, 1), ("worker", 0, 0)], [1, 1]),
    (
        "{leaderWorkerTemplate: {size: '${N}', leaderTemplate: T, workerTemplate: T}}",
        [("leader", 1, 1), ("worker", 0, None)],
        [1, 1],
    ),
]


@pytest.mark.parametrize(("spec", "wanted", "copies"), GROUPS)
def test_leader_worker_set(spec: str, wanted: list[tuple[str, int, int | None]], copies: list[int]) -> None:
    found = read("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
    assert counts(found) == wanted
    assert [template.count.copies for template in found] == copies


def test_leader_worker_set_that_waits_for_its_leader() -> None:
    api, kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
    ready = "{startupPolicy: LeaderReady, replicas: 2, leaderWorkerTemplate: {size: 3, LEADER workerTemplate: T}}"
    leader, worker = read(api, kind, ready.replace("LEADER", "leaderTemplate: T,"))
    assert leader.count.stage is None
    assert worker.count.stage is not None
    assert (worker.count.stage.first, worker.count.stage.seen, worker.count.stage.after) == (0, True, ("leader",))
    (both,) = read(api, kind, ready.replace("LEADER", ""))
    assert both.count.stage is not None
    assert (both.count.stage.first, both.count.stage.after) == (2, ())
    topology = "metadata: {annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}},"
    (near,) = read(api, kind, "{leaderWorkerTemplate: {size: 3, workerTemplate: T}}", topology)
    assert near.count.stage is not None
    assert not near.count.stage.seen


KUBEFLOW = [
    ("PyTorchJob", "pytorchReplicaSpecs"),
    ("TFJob", "tfReplicaSpecs"),
    ("XGBoostJob", "xgbReplicaSpecs"),
    ("PaddleJob", "paddleReplicaSpecs"),
    ("JAXJob", "jaxReplicaSpecs"),
]


@pytest.mark.parametrize(("kind", "specs"), KUBEFLOW)
def test_training_operator_jobs(kind: str, specs: str) -> None:
    roles = f"{{{specs}: {{Master: {{template: T}}, Worker: {{replicas: 3, template: T}}, Odd: 3, Patch: {{}}}}}}"
    found = read("kubeflow.org/v1", kind, roles)
    assert counts(found) == [("Master", 1, 1), ("Worker", 3, 3)]
    assert found[1].spec == ("spec", specs, "Worker", "template", "spec")


ELASTIC = [
    ("{minReplicas: 1, maxReplicas: 4}", "2", 1, 4, "minReplicas"),
    ("{maxReplicas: 4}", "2", 2, 4, "maxReplicas"),
    ("{maxReplicas: 1}", "3", 1, 3, "maxReplicas"),
    ("{minReplicas: 4}", "2", 2, 4, "minReplicas"),
    ("{minReplicas: 1}", "3", 1, 3, "minReplicas"),
    ("{minReplicas: 3, maxReplicas: 4}", "2", 2, 4, "minReplicas"),
    ("{minReplicas: '${N}', maxReplicas: 4}", "2", 0, None, "minReplicas"),
    ("{maxReplicas: 4}", "x", 0, None, "maxReplicas"),
]


@pytest.mark.parametrize(("policy", "replicas", "least", "most", "path"), ELASTIC)
def test_elastic_workers_are_a_range(policy: str, replicas: str, least: int, most: int | None, path: str) -> None:
    spec = f"{{elasticPolicy: {policy}, pytorchReplicaSpecs: {{Worker: {{replicas: {replicas}, template: T}}}}}}"
    (worker,) = read("kubeflow.org/v1", "PyTorchJob", spec)
    assert (worker.count.least, worker.count.most, field(worker)) == (least, most, f"spec.elasticPolicy.{path}")


def test_an_elastic_job_without_bounds_has_its_replicas() -> None:
    (worker,) = read(
        "kubeflow.org/v1",
        "PyTorchJob",
        "{elasticPolicy: {}, pytorchReplicaSpecs: {Worker: {replicas: 3, template: T}}}",
    )
    assert (counts((worker,)), field(worker)) == ([("Worker", 3, 3)], "spec.pytorchReplicaSpecs.Worker.replicas")


def test_a_job_that_another_cluster_runs_is_unknown() -> None:
    spec = "{runPolicy: {managedBy: kueue.x-k8s.io/multikueue}, tfReplicaSpecs: {Worker: {replicas: 3, template: T}}}"
    assert counts(read("kubeflow.org/v1", "TFJob", spec)) == [("Worker", 0, None)]


@pytest.mark.parametrize(
    ("version", "manager", "most"),
    [
        ("v1", "training-operator", 2),
        ("v1", "mpi-operator", None),
        ("v2beta1", "mpi-operator", 2),
        ("v2beta1", "training-operator", None),
    ],
)
def test_an_mpi_job_that_names_its_own_operator_is_run_here(version: str, manager: str, most: int | None) -> None:
    policy = f"runPolicy: {{managedBy: kubeflow.org/{manager}}}"
    (worker,) = read(
        f"kubeflow.org/{version}", "MPIJob", f"{{{policy}, mpiReplicaSpecs: {{Worker: {{replicas: 2, template: T}}}}}}"
    )
    assert worker.count.most == most


def test_mpi_job() -> None:
    roles = "mpiReplicaSpecs: {Launcher: {template: T}, Worker: {REPLICAS template: T}}"
    for api in ("kubeflow.org/v1", "kubeflow.org/v2beta1"):
        assert counts(read(api, "MPIJob", f"{{{roles.replace('REPLICAS', '')}}}")) == [
            ("Launcher", 1, 1),
            ("Worker", 0, 0),
        ]
    waits = f"{{launcherCreationPolicy: WaitForWorkersReady, {roles.replace('REPLICAS', 'replicas: 2,')}}}"
    launcher, worker = read("kubeflow.org/v2beta1", "MPIJob", waits)
    assert launcher.count.stage is not None
    assert (launcher.count.stage.first, launcher.count.stage.seen, launcher.count.stage.after) == (0, True, ("Worker",))
    assert launcher.spec == ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec")
    assert worker.count.stage is None
    assert counts((worker,)) == [("Worker", 2, 2)]


def test_train_job_and_its_runtimes() -> None:
    assert read("trainer.kubeflow.org/v1alpha1", "TrainJob", "{trainer: {numNodes: 4}}") == ()
    jobs = (
        "{mlPolicy: {numNodes: 2}, template: {spec: {replicatedJobs: ["
        "{name: dataset-initializer, template: {spec: {template: T}}},"
        " {name: node, dependsOn: [{name: dataset-initializer, status: Complete}], template: {spec: {template: T}}}]}}}"
    )
    for kind in ("ClusterTrainingRuntime", "TrainingRuntime"):
        first, node = read("trainer.kubeflow.org/v1alpha1", kind, jobs)
        assert counts((first, node)) == [("dataset-initializer", 0, None), ("node", 0, None)]
        assert first.count.stage is None
        assert node.count.stage is not None
        assert node.spec == (
            *("spec", "template", "spec", "replicatedJobs", 1),
            *("template", "spec", "template", "spec"),
        )


AUTO = "enableInTreeAutoscaling: true,"
WORKERS = [
    ("{groupName: w, replicas: 2, template: T}", "", 2, 2),
    ("{groupName: w, template: T}", "", 0, 0),
    ("{groupName: w, minReplicas: 2, template: T}", "", 2, 2),
    ("{groupName: w, replicas: 9, maxReplicas: 3, template: T}", "", 3, 3),
    ("{groupName: w, replicas: 1, minReplicas: 2, template: T}", "", 2, 2),
    ("{groupName: w, replicas: 2, numOfHosts: 2, template: T}", "", 4, 4),
    ("{groupName: w, replicas: 2, suspend: true, template: T}", "", 2, 2),
    ("{groupName: w, replicas: '${N}', template: T}", "", 0, None),
    ("{groupName: w, replicas: 2, numOfHosts: '${N}', template: T}", "", 0, None),
    ("{groupName: w, replicas: 2, minReplicas: 1, maxReplicas: 5, template: T}", AUTO, 1, 5),
    ("{groupName: w, replicas: 2, numOfHosts: 2, maxReplicas: 5, template: T}", AUTO, 0, 10),
    ("{groupName: w, replicas: 2, template: T}", AUTO, 0, None),
]


@pytest.mark.parametrize(("group", "scaling", "least", "most"), WORKERS)
def test_ray_workers(group: str, scaling: str, least: int, most: int | None) -> None:
    cluster = f"{{{scaling} headGroupSpec: {{template: T}}, workerGroupSpecs: [{group}]}}"
    wanted = [("head", 1, 1), ("w", least, most)]
    assert counts(read("ray.io/v1", "RayCluster", cluster)) == wanted
    assert counts(read("ray.io/v1alpha1", "RayService", f"{{rayClusterConfig: {cluster}}}")) == wanted
    assert counts(read("ray.io/v1", "RayJob", f"{{rayClusterSpec: {cluster}}}")) == wanted
    assert counts(read("ray.io/v1", "RayCronJob", f"{{jobTemplate: {{rayClusterSpec: {cluster}}}}}")) == wanted


RAY_JOBS = [
    ("{submitterPodTemplate: T}", ["submitter"]),
    ("{submissionMode: K8sJobMode, submitterPodTemplate: T}", ["submitter"]),
    ("{submissionMode: HTTPMode, submitterPodTemplate: T}", []),
    ("{clusterSelector: {a: b}}", []),
    ("{rayClusterSpec: {headGroupSpec: {template: T}}, submitterPodTemplate: T}", ["head", "submitter"]),
    ("{rayClusterSpec: {workerGroupSpecs: [{template: T}]}}", ["worker"]),
]


@pytest.mark.parametrize(("spec", "roles"), RAY_JOBS)
def test_ray_job_has_a_submitter(spec: str, roles: list[str]) -> None:
    assert [template.role for template in read("ray.io/v1", "RayJob", spec)] == roles


SPARK = [
    ("executor: {instances: 3}", 3, 3),
    ("executor: {}", 1, 1),
    ("executor: {instances: '${N}'}", 0, None),
    ("dynamicAllocation: {enabled: true, minExecutors: 2, maxExecutors: 8}, executor: {instances: 3}", 2, 8),
    ("dynamicAllocation: {enabled: true}, executor: {}", 0, None),
    ("dynamicAllocation: {enabled: false}, executor: {instances: 2}", 2, 2),
]


@pytest.mark.parametrize(("spec", "least", "most"), SPARK)
def test_spark_driver_makes_the_executors(spec: str, least: int, most: int | None) -> None:
    driver, executor = read("sparkoperator.k8s.io/v1beta2", "SparkApplication", f"{{driver: {{cores: 1}}, {spec}}}")
    assert counts((driver, executor)) == [("driver", 1, 1), ("executor", least, most)]
    assert driver.own
    assert driver.more == ("metadata",)
    assert driver.count.stage is None
    assert executor.count.stage is not None
    assert not executor.count.stage.seen
    scheduled = read(
        "sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", f"{{template: {{driver: {{}}, {spec}}}}}"
    )
    assert [template.metadata for template in scheduled] == [
        ("spec", "template", "driver"),
        ("spec", "template", "executor"),
    ]
    assert scheduled[0].more == ()


def test_argo_workflow_is_of_unknown_size() -> None:
    steps = (
        "{templates: [{name: a, container: {image: x}}, {name: b, script: {image: x}}, {name: c, dag: {}},"
        " {container: {}}, {name: e, containerSet: {containers: []}}]}"
    )
    for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"):
        found = read("argoproj.io/v1alpha1", kind, steps)
        assert counts(found) == [("a", 0, None), ("b", 0, None), ("", 0, None), ("e", 0, None)]
        assert found[0].more == ("spec", "podMetadata")
    cron = read("argoproj.io/v1alpha1", "CronWorkflow", f"{{workflowSpec: {steps}}}")
    assert cron[0].spec == ("spec", "workflowSpec", "templates", 0)


def test_kinds_without_templates_of_their_own() -> None:
    assert read("argoproj.io/v1alpha1", "Rollout", "{workloadRef: {name: x}, replicas: 3}") == ()
    assert read("batch.volcano.sh/v1alpha1", "Job", "{tasks: [{replicas: 3, template: T}]}") == ()
    assert read("serving.knative.dev/v1", "Service", "{}") == ()
    assert read("serving.kserve.io/v1beta1", "InferenceService", "{}") == ()
    assert is_left_alone("batch.volcano.sh")
    assert not is_left_alone("batch")


def test_served_models_are_of_unknown_size() -> None:
    (service,) = read("serving.knative.dev/v1", "Service", "{template: T}")
    assert service.count.most is None
    (predictor,) = read("serving.kserve.io/v1beta1", "InferenceService", "{predictor: {labels: {a: b}}}")
    assert (predictor.metadata, predictor.own) == (("spec", "predictor"), True)


def test_app_wrapper_holds_whole_objects() -> None:
    body = {"kind": "AppWrapper", "spec": {"components": [{"template": {"kind": "Pod"}}, {}, 3]}}
    assert list(embedded(body)) == [("spec", "components", 0, "template")]
    assert list(embedded({"kind": "Pod"})) == []


@pytest.mark.parametrize(
    "body", [{}, {"kind": "Pod"}, {"apiVersion": 1, "kind": "Pod"}, {"apiVersion": "x/v1", "kind": "Pod"}]
)
def test_other_kinds_are_not_in_the_table(body: Mapping[str, object]) -> None:
    assert templates(body) is None


def test_every_kind_of_the_table_is_known_to_its_group() -> None:
    for group, kinds in TABLE.items():
        known = known_kinds(f"{group}/v1" if group else "v1")
        assert not known or set(kinds) <= set(known)


def test_known_kinds_go_by_the_group() -> None:
    assert "Deployment" in known_kinds("apps/v1beta2")
    assert "Pod" in known_kinds("v1")
    assert known_kinds("v2") == ()
    assert known_kinds("example.com/v1") == ()


def test_a_pod_template_in_an_unknown_resource_is_found_by_its_shape() -> None:
    template = yaml.safe_load(POD)
    body = {"spec": {"a": [{"deep": {"template": template}}, 3], "b": template, "c": {"spec": {"containers": []}}}}
    assert [each.spec for each in shaped_like_templates(body)] == [
        ("spec", "a", 0, "deep", "template", "spec"),
        ("spec", "b", "spec"),
    ]
    assert shaped_like_templates({"spec": {"containers": [{"name": "a", "image": "b"}]}}) == ()
    assert shaped_like_templates({"spec": {"x": {"spec": {"containers": [{"image": "b"}]}}}}) == ()


def test_the_search_for_shapes_is_bounded() -> None:
    deep: Any = yaml.safe_load(POD)
    for _ in range(50):
        deep = {"a": deep}
    assert shaped_like_templates({"spec": deep}) == ()
    many = {"spec": [yaml.safe_load(POD) for _ in range(1000)]}
    assert len(shaped_like_templates(many)) == 64


NAMES = (
    "spec template replicas metadata annotations parallelism completions replicatedJobs dependsOn size rayClusterSpec"
    " leaderWorkerTemplate leaderTemplate workerGroupSpecs headGroupSpec elasticPolicy mpiReplicaSpecs Worker driver"
    " executor dynamicAllocation enabled templates container components predictor runPolicy startupPolicy jobTemplate"
    " pytorchReplicaSpecs minReplicas maxReplicas numOfHosts name groupName containers"
)
KEYS = st.sampled_from(NAMES.split())
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["${N}", "InOrder"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
KINDS = st.sampled_from([(group, kind) for group, kinds in TABLE.items() for kind in kinds])


@given(KINDS, st.dictionaries(KEYS, VALUES, max_size=6), VALUES)
def test_no_object_is_too_odd(kind: tuple[str, str], body: dict[str, object], spec: object) -> None:
    api = f"{kind[0]}/v1" if kind[0] else "v1"
    whole: dict[str, object] = {**body, "apiVersion": api, "kind": kind[1], "spec": spec}
    found = templates(whole)
    assert found is not None
    shaped_like_templates(whole)
    for path in embedded(whole):
        assert isinstance(dig(whole, *path), dict)
    for template in found:
        assert template.count.least >= 0
        assert template.count.most is None or template.count.least <= template.count.most
        assert template.count.copies >= 1
        assert template.metadata
        assert template.spec
