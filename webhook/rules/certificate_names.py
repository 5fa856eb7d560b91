from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Certificate, HookSetting, Place
from webhook.parse.placeholders import templated
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(HookSetting, Severity.WARNING, evidence="read", lint_only=True)
def certificate_names(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A webhook's Certificate is not for the name by which the API server calls the webhook.

    The API server asks the server of `clientConfig.service` for a certificate of SERVICE.NAMESPACE.svc (apiserver
    pkg/util/webhook/client.go), and Go looks for names in the certificate's alternative names alone: commonName has
    counted for nothing since Go 1.17, the short name `SERVICE` does not fit, and a wildcard stands for one part. Every
    call fails with `x509: certificate is valid for …, not SERVICE.NAMESPACE.svc`; failurePolicy decides what becomes of
    the Pods.

    The Certificate is the one that the configuration names in `cert-manager.io/inject-ca-from`. Silent where that one
    is an authority (`isCA`) that signs the server's own, where names are filled in later, and where it is not in the
    input.
    """
    found = setting.certificate
    if found is None or found.authority or any(templated(name) or name != name.lower() for name in found.names):
        return
    seen: set[str] = set()
    for hook in setting.configuration.hooks:
        host = hook.endpoint.host if hook.endpoint else ""
        if not host or host in seen or _covers(found, host):
            continue
        seen.add(host)
        yield Finding(
            Place(found.ref, ("spec", "dnsNames"), "key"),
            f"{found.ref} is for {', '.join(found.names) or 'no name at all'}, not for {host}, by which the API server "
            f"calls {hook}: every call fails",
            fix=f"add {host} to dnsNames",
            related=(Related(setting.configuration.field(hook, "clientConfig", "service"), "it is called here"),),
            edits=(Edit("add", Place(found.ref, ("spec", "dnsNames", len(found.names))), host),) if found.names else (),
        )


def _covers(certificate: Certificate, host: str) -> bool:
    wildcard = f"*.{host.partition('.')[2]}"
    return any(name.rstrip(".") in {host, wildcard} for name in certificate.names)
