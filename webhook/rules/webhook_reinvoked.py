from __future__ import annotations

from collections.abc import Iterator

from webhook.model import HookConfiguration, Place, Release
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_HAMI = "vgpu.hami.io"


_KEYS = ("scheduler", "admissionWebhook", "reinvocationPolicy")


@rule(HookConfiguration | Release, Severity.WARNING, evidence="read", lint_only=True)
def webhook_reinvoked(subject: HookConfiguration | Release, stack: Stack) -> Iterator[Finding]:
    """HAMi's webhook has reinvocationPolicy IfNeeded, and each of its passes adds the same variables again.

    With IfNeeded the API server calls a mutating webhook once more when another one has changed the Pod after it.
    HAMi's is not made for that: it appends CUDA_TASK_PRIORITY (for `nvidia.com/priority`), and with its settings
    GPU_CORE_UTILIZATION_POLICY and NVIDIA_VISIBLE_DEVICES, without looking whether they are there (HAMi
    pkg/device/nvidia/device.go MutateAdmission, all versions from 2.5 to 2.10). The container ends up with two entries
    of one name; the kubelet takes the last, and server-side apply refuses the object: `duplicate entries for key
    [name="CUDA_TASK_PRIORITY"]` (seen). HAMi's chart sets Never
    (`scheduler.admissionWebhook.reinvocationPolicy`).

    Webhooks that only complete what is missing, as gangcheck's own does, are right to ask for IfNeeded.
    """
    for place in _places(subject):
        yield Finding(
            place,
            f"reinvocationPolicy IfNeeded for {_HAMI}: HAMi adds its variables once more at each pass, and server-side "
            "apply then refuses the Pod",
            fix="write reinvocationPolicy: Never, HAMi's default",
            edits=(Edit("replace", place, "Never"),),
        )


def _places(subject: HookConfiguration | Release) -> Iterator[Place]:
    """Where IfNeeded is written for HAMi's webhook: in the configuration, or in the values that make it."""
    if isinstance(subject, HookConfiguration):
        for hook in subject.hooks:
            if hook.name == _HAMI and hook.reinvocation == "IfNeeded":
                yield subject.field(hook, "reinvocationPolicy")
    elif subject.values and subject.values.text(*_KEYS) == "IfNeeded":
        yield subject.values.place(*_KEYS)
