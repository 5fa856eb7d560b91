"""What containers say whose image does not get on with HAMi's library, and the device plugin on its node.

Sources: reference experiments with the dynamic loaders of glibc 2.36 and musl 1.2.3; HAMi's website, troubleshooting.
"""

from __future__ import annotations

from webhook.messages import Check, Message
from webhook.messages.checks import DEVICE_PLUGIN

_LOG = "the container's log and its last termination message (exit code 127, CrashLoopBackOff)"
_PLUGIN = "the log of HAMi's device plugin"
_IMAGE = Check(
    "the container's image and what it asks for",
    "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.containers[*].image}'",
)
_SITE = "HAMi website, docs/troubleshooting/troubleshooting.md"
_RUNTIME = Check("the RuntimeClass nvidia is there", "kubectl get runtimeclass nvidia")

CONTAINERS: tuple[Message, ...] = (
    Message(
        "libdl-missing",
        (
            "error while loading shared libraries: libdl.so.2: cannot open shared object file",
            "libdl.so.2: cannot open shared object file",
        ),
        _LOG,
        "The image is a glibc one without libdl.so.2 (busybox:glibc and its like). HAMi preloads libvgpu.so through "
        "/etc/ld.so.preload, that needs the driver's libcuda and this libdl, and what a preloaded library needs and "
        "lacks is fatal for every process. A musl image never says this: it starts, without any limit.",
        (
            _IMAGE,
            Check("use a Debian, Ubuntu, UBI or CUDA image, or ask for no GPU in this container"),
            Check(
                'a literal env CUDA_DISABLE_CONTROL: "true" leaves the library out in this container, and with it all '
                "limits"
            ),
        ),
        ("no-libdl-image",),
        versions=(("HAMi up to 2.9", "such an image may start, depending on how the library was built (inferred)"),),
        source="HAMi guide to Coscheduling, troubleshooting; experiments with busybox:glibc",
    ),
    Message(
        "musl-preload",
        (
            "Error relocating {library:token}: dlvsym: symbol not found",
            "Error relocating {library:token}: __register_atfork: symbol not found",
            "Error relocating {library:token}: __isoc99_fscanf: symbol not found",
            "dlvsym: symbol not found",
            "__register_atfork: symbol not found",
        ),
        _LOG,
        "A musl image (alpine) was told by LD_PRELOAD to load libvgpu.so, which is made for glibc.",
        (_IMAGE, Check("take LD_PRELOAD away; CUDA itself needs a glibc image")),
        ("musl-image", "isolation-env"),
        source="experiment with musl 1.2.3",
    ),
    Message(
        "libcuda-missing",
        (
            "libcuda.so.1: cannot open shared object file",
            "libnvidia-ml.so.1: cannot open shared object file",
        ),
        f"{_LOG}; events of the Pod",
        "The driver's libraries are not in the container: it did not start under the nvidia runtime, or "
        "NVIDIA_DRIVER_CAPABILITIES lacks compute or utility. With HAMi's library preloaded that is fatal for every "
        "process.",
        (
            _RUNTIME,
            Check(
                "the Pod's runtimeClassName",
                "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.runtimeClassName}'",
            ),
            Check("NVIDIA_DRIVER_CAPABILITIES: compute,utility at least"),
        ),
        ("driver-capabilities-incomplete", "runtime-class-missing"),
        versions=(("HAMi 2.10 and later", "the library itself needs them (inferred from its build)"),),
        source=f"experiment with glibc 2.36; {_SITE}",
    ),
    Message(
        "preload-ignored",
        (
            (
                "ERROR: ld.so: object '{library:token}' from /etc/ld.so.preload cannot be preloaded ({reason:text}): "
                "ignored"
            ),
            "from /etc/ld.so.preload cannot be preloaded",
        ),
        "the container's log; the container goes on",
        "HAMi's library is not where /etc/ld.so.preload says, is a folder, or is for another architecture. The "
        "container runs **without any GPU limit**.",
        (
            Check("libPath, gpuHookPath and ctrPath of the chart: libPath must be <gpuHookPath>/vgpu"),
            DEVICE_PLUGIN,
        ),
        ("preload-path-mismatch", "isolation-mount"),
        versions=(
            ("HAMi up to 2.9", "ld.so.preload says /usr/local/vgpu/libvgpu.so whatever gpuHookPath is"),
            ("HAMi 2.10 and later", "it is written from gpuHookPath"),
        ),
        source="experiment with glibc 2.36; HAMi v2.10.0 docker/vgpu-init.sh:68-74",
    ),
    Message(
        "glibc-too-old",
        ("version `GLIBC_{version:token}' not found", "version 'GLIBC_{version:token}' not found"),
        _LOG,
        "The image's glibc is older than {version}, which HAMi's library or the driver wants.",
        (_IMAGE, Check("use an image with a newer glibc; 2.17 (CentOS 7) is HAMi's floor")),
        ("old-glibc-image",),
        evidence="inferred",
        source="HAMi README; symbol versions of libvgpu.so",
    ),
    Message(
        "dlsym-missing",
        ("real dlsym not found",),
        "the container's log",
        "HAMi's library found no dlsym in the image's glibc.",
        (_IMAGE,),
        ("old-glibc-image",),
        versions=(("HAMi up to 2.7.1", "happens on arm64 with glibc 2.34 and later (inferred)"),),
        evidence="inferred",
        source="HAMi-core src/libvgpu.c:74-110",
    ),
    Message(
        "hami-core-out-of-memory",
        ("Device {index:number} OOM {used:number} / {limit:number}",),
        "the container's log (HAMi's library); the program sees CUDA_ERROR_OUT_OF_MEMORY or an unknown error",
        "The program asked for more memory on card {index} than its limit: it would have {used} bytes, and may have "
        "{limit}. The limit is what the Pod asks for as nvidia.com/gpumem, or its percentage.",
        (
            Check(
                "the Pod's limits", "kubectl get pod -n {namespace} {pod} -o jsonpath='{.spec.containers[*].resources}'"
            ),
            Check("nvidia.com/gpumem counts MiB per card; CUDA's own context needs some hundred of them"),
        ),
        ("gpu-memory-unit",),
        evidence="read",
        source="HAMi-core src/allocator/allocator.c",
    ),
    Message(
        "no-runtime-handler",
        ('no runtime for "{handler}" is configured',),
        "event FailedCreatePodSandBox of the Pod (containerd)",
        "The Pod's RuntimeClass asks for the handler {handler}, which the node's containerd does not have: the NVIDIA "
        "container toolkit is not set up there.",
        (
            Check("the RuntimeClass", "kubectl get runtimeclass"),
            Check(
                "on the node: `nvidia-ctk runtime configure --runtime=containerd`, then restart containerd; k3s and "
                "RKE2 find it by themselves once the toolkit is installed"
            ),
        ),
        evidence="inferred",
        source="containerd's CRI plugin, getSandboxRuntime; reports of users",
    ),
    Message(
        "hami-core-log",
        (
            "[HAMI-core Warn(",
            "[HAMI-core Msg(",
            "[HAMI-core Info(",
            "[HAMI-core Debug(",
            "[HAMi-core Warn(",
        ),
        "the container's log",
        "HAMi's library tells what it does in each process of a container with a GPU. It keeps the limits; the program "
        "is not disturbed.",
        (Check("to silence it set the env LIBCUDA_LOG_LEVEL to 0 in the container; errors are shown all the same"),),
        normal="yes",
        normal_when="but for lines with `ERROR`",
        evidence="read",
        versions=(("HAMi 2.6 and later", "the device plugin sets the level (libCudaLogLevel, 1 by default)"),),
        source="HAMi website, docs/faq/faq.md; HAMi-core src/log_utils.c",
    ),
    Message(
        "plugin-no-strategy",
        ("Incompatible strategy detected auto", "invalid device discovery strategy"),
        _PLUGIN,
        "The device plugin sees no NVIDIA driver: its own container did not get it. From GPU Operator 25.10 on the "
        "nvidia runtime is no longer the default, and the plugin needs runtimeClassName nvidia.",
        (
            _RUNTIME,
            Check(
                "set it",
                "helm upgrade hami hami-charts/hami -n {hami_namespace} --reuse-values "
                "--set devicePlugin.runtimeClassName=nvidia",
            ),
        ),
        ("runtime-class-missing",),
        evidence="read",
        source=_SITE,
    ),
    Message(
        "plugin-no-libraries",
        ("failed to locate libcuda.so", "failed to locate libnvidia-ml.so"),
        _PLUGIN,
        "HAMi cannot find the driver's libraries under the configured root while it writes a CDI specification.",
        (
            Check(
                "nvidiaDriverRoot and nvidiaHookPath in the values: /run/nvidia/driver with GPU Operator, / with a "
                "driver on the host",
                "helm get values hami -n {hami_namespace}",
            ),
        ),
        evidence="read",
        source=_SITE,
    ),
    Message(
        "cdi-unresolvable",
        ("unresolvable CDI devices {device:token}", "unresolvable CDI devices"),
        "event of the Pod (container runtime)",
        "The runtime was told to give the container the CDI device {device|} and has no specification of it. "
        "`management.nvidia.com` comes of the nvidia runtime, `k8s.device-plugin.nvidia.com` of HAMi's plugin in mode "
        "cdi-annotations.",
        (
            Check("the mode", "helm get values hami -n {hami_namespace} | grep -A 5 devicePlugin"),
            Check("on the node: /var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"),
        ),
        evidence="read",
        source=_SITE,
    ),
)
