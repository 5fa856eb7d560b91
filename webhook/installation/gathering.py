"""The parts of an installation that all inputs hold to the subjects that rules ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webhook.installation import processes as run
from webhook.installation.accesses import accesses
from webhook.installation.configs import device_configs, scheduler_configs
from webhook.installation.definitions import definitions
from webhook.installation.releases import FileOf, Parts, controllers, joined_configs, releases
from webhook.installation.values import Given, given
from webhook.model import DeviceConfig, Malformed, Object, Pod, Process, Ref, SchedulerConfig, Subject, Workload


def installations(
    known: Sequence[Subject], *, files: Sequence[str] = (), whole: bool = False, namespace: str = "default"
) -> Iterator[Subject]:
    """Yield every SchedulerConfig, Release and Access, and what could not be read of them.

    `files` gives the file of each document by its index, `namespace` is where objects are that name none.
    """
    objects = [each for each in known if type(each) is Object]
    pods = [each for each in known if type(each) is Pod]
    running = list(run.processes(pods))
    schedulers = [each for each in running if run.is_kube_scheduler(each)]
    extenders = [each for each in running if run.is_extender(each)]
    plugins = [each for each in running if run.is_device_plugin(each)]
    if not objects and not extenders and not schedulers:
        return
    read = [*scheduler_configs(objects), *device_configs(objects), *given(objects)]
    yield from (each for each in read if type(each) is Malformed)
    parts = Parts(
        schedulers,
        extenders,
        plugins,
        [each for each in read if type(each) is SchedulerConfig],
        [each for each in read if type(each) is DeviceConfig],
        [each for each in read if type(each) is Given],
        {each.ref: each for each in known if type(each) is Workload},
    )
    file_of = _file_of(files)
    configs = joined_configs(parts, file_of)
    yield from configs
    yield from releases(parts, configs, file_of, whole=whole)
    yield from accesses(objects, _with_rights(schedulers, pods), configs, namespace, whole=whole)
    yield from definitions(objects, configs, whole=whole)


def _with_rights(schedulers: Iterable[Process], pods: Iterable[Pod]) -> list[Process]:
    """The processes whose rights matter: schedulers, and the controller of PodGroups."""
    return [
        *schedulers,
        *controllers(pod for pod in pods if any("scheduler-plugins" in c.image for c in pod.containers)),
    ]


def _file_of(files: Sequence[str]) -> FileOf:
    def file_of(ref: Ref) -> str:
        return files[ref.document] if 0 <= ref.document < len(files) else ""

    return file_of
