from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Hook, HookSetting
from webhook.rule import Confidence, Finding, Related, Severity, rule
from webhook.stack import Stack

_OWN = ".gangcheck.io"
_SHOWN = 8


@rule(HookSetting, Severity.WARNING, evidence="seen", lint_only=True)
def webhook_ca_missing(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A webhook's caBundle is empty, expired or no certificate, and nothing fills it in: no call succeeds.

    The API server calls a webhook by TLS and trusts what `caBundle` holds: base64 of certificates in PEM. Without one
    it trusts the public authorities of its own host (API admissionregistration/v1 types.go), which never sign a name
    such as `policy.gpu.svc`. Every call then fails before the webhook sees it: with failurePolicy Fail all Pods that
    match are refused, with Ignore the webhook is skipped in silence, and only a metric of the API server tells (seen).
    A bundle whose certificates have all expired, or that holds none, is as good as nothing; text that is no base64 is
    refused.

    Silent where something of the input may fill it in: an annotation of cert-manager's CA injector or OpenShift's
    service CA, a ClusterRole that may write this configuration, a container that is told its name (the Jobs of
    kube-webhook-certgen). gangcheck's own server fills in those of its webhooks. A webhook that is called at a URL may
    have a public certificate. Whether a bundle has expired is told by the time of the run; that it is the right one
    for the server's certificate, nobody can see here.
    """
    if setting.filled:
        return
    faults: dict[str, list[Hook]] = {}
    for hook in setting.configuration.hooks:
        fault = "" if hook.name.endswith(_OWN) else _fault(hook, setting.now)
        if fault:
            faults.setdefault(fault, []).append(hook)
    for fault, (first, *others) in faults.items():
        absent = first.authorities is None
        confidence: Confidence = "low" if absent and not setting.whole else "high"
        yield Finding(
            setting.configuration.field(first, "clientConfig", "caBundle"),
            f"{first} {fault}: {_effect(first)}",
            fix="annotate it with cert-manager.io/inject-ca-from: NAMESPACE/CERTIFICATE, or put the authority's PEM "
            "there in base64",
            confidence=confidence,
            related=tuple(
                Related(setting.configuration.field(hook, "clientConfig", "caBundle"), f"{hook} too")
                for hook in others[:_SHOWN]
            ),
        )


def _fault(hook: Hook, now: int) -> str:
    found = hook.authorities
    if found is None:
        return "has no caBundle, and nothing in the input fills it in" if hook.endpoint else ""
    if found.fault:
        return f"has a caBundle that {found.fault}"
    return f"has a caBundle that expired on {_day(found.expires)}" if 0 < found.expires < now else ""


def _effect(hook: Hook) -> str:
    if hook.fails_closed:
        return "no call succeeds, so every Pod that it is called for is refused"
    return "no call succeeds, and failurePolicy Ignore hides it"


def _day(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
