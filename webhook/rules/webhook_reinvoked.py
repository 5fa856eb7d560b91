from __future__ import annotations

from collections.abc import Iterator

from webhook.model import HookConfiguration
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_HAMI = "vgpu.hami.io"


@rule(HookConfiguration, Severity.WARNING, evidence="read", lint_only=True)
def webhook_reinvoked(configuration: HookConfiguration, stack: Stack) -> Iterator[Finding]:
    """HAMi's webhook has reinvocationPolicy IfNeeded, and each of its passes adds the same variables again.

    With IfNeeded the API server calls a mutating webhook once more when another one has changed the Pod after it.
    HAMi's is not made for that: it appends CUDA_TASK_PRIORITY (for `nvidia.com/priority`), and with its settings
    GPU_CORE_UTILIZATION_POLICY and NVIDIA_VISIBLE_DEVICES, without looking whether they are there (HAMi
    pkg/device/nvidia/device.go MutateAdmission, all versions from 2.5 to 2.10). The container ends up with two entries
    of one name; the kubelet takes the last, and server-side apply refuses the object: `duplicate entries for key
    [name="CUDA_TASK_PRIORITY"]` (seen). HAMi's chart sets Never.

    Webhooks that only complete what is missing, as gangcheck's own does, are right to ask for IfNeeded.
    """
    for hook in configuration.hooks:
        if hook.name != _HAMI or hook.reinvocation != "IfNeeded":
            continue
        place = configuration.field(hook, "reinvocationPolicy")
        yield Finding(
            place,
            f"{hook} has reinvocationPolicy IfNeeded: HAMi adds its variables once more at each pass, and server-side "
            "apply then refuses the Pod",
            fix="write reinvocationPolicy: Never, HAMi's default",
            edits=(Edit("replace", place, "Never"),),
        )
