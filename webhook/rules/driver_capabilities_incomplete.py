from __future__ import annotations

from collections.abc import Iterator

from webhook.isolation import last, limited, sets_gpu_env
from webhook.model import Place, Pod
from webhook.parse.placeholders import templated
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack
from webhook.vgpu.wording import excerpt

_NAME = "NVIDIA_DRIVER_CAPABILITIES"
_NEEDED = ("compute", "utility")


@rule(Pod, Severity.WARNING, evidence="inferred", where=sets_gpu_env)
def driver_capabilities_incomplete(pod: Pod, stack: Stack) -> Iterator[Finding]:
    """NVIDIA_DRIVER_CAPABILITIES leaves out compute or utility, which HAMi's library needs in every GPU container.

    The NVIDIA runtime mounts only the driver libraries that the variable names: libcuda.so.1 comes with compute,
    libnvidia-ml.so.1 with utility. HAMi's library is linked with both (HAMi-core src/CMakeLists.txt) and is loaded
    into every process of the container. The build of HAMi 2.10 (ubi8) most likely keeps both as needed, and a preloaded
    library that lacks one ends every process: `error while loading shared libraries: libcuda.so.1`, exit code 127
    (seen with a library built so, not with the released file). Builds up to 2.9 start, without CUDA (compute) or
    without the memory figures that limits rest on (utility).

    `all` has both, and without the variable or with an empty one the runtime gives both. Nothing is said of values that
    come from elsewhere, of MIG, and of containers without a GPU.
    """
    for container in limited(pod, stack):
        entry = last(container, _NAME)
        if entry is None or not entry.value or templated(entry.value):
            continue
        given = [word.strip() for word in entry.value.split(",") if word.strip()]
        lacking = [word for word in _NEEDED if word not in given]
        if not given or "all" in given or not lacking:
            continue
        whole, lacks = ",".join([*given, *lacking]), " and ".join(lacking)
        place = Place(pod.ref, (*entry.path, "value"))
        yield Finding(
            place,
            f"container {container.name} of {pod} has {_NAME}: {excerpt(entry.value)}, without {lacks}, "
            "which HAMi's library needs",
            fix=f"write {_NAME}: {whole}",
            edits=(Edit("replace", place, whole),),
        )
