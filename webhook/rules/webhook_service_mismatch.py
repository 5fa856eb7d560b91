from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Endpoint, Hook, HookSetting, Place, Service
from webhook.rule import Finding, Related, Severity, rule
from webhook.stack import Stack


@rule(HookSetting, Severity.WARNING, evidence="seen", lint_only=True)
def webhook_service_mismatch(setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    """A webhook calls a Service or a port that the input's Service does not offer.

    The API server looks the Service up by namespace and name and the port by its number, 443 where none is written;
    the container's own port plays no part. What is not there is an error before any connection: `service "x" not
    found`, or `no service port 8443 found for service "x"` (seen; apiserver pkg/util/proxy/proxy.go, findServicePort).
    failurePolicy then decides: with Fail the Pods are refused, with Ignore the webhook is skipped in silence.

    Judged against the Services of the input: the port where the very Service is there with ports; the namespace where
    a Service of that name in the same folder stands in one other namespace, and it is not the default one, which a
    manifest without a namespace only seems to be in. That there is no such Service is told of a whole installation
    only. Services of another host's name (ExternalName) are left alone.
    """
    seen: set[Endpoint] = set()
    for hook in setting.configuration.hooks:
        endpoint = hook.endpoint
        if endpoint is None or endpoint in seen:
            continue
        seen.add(endpoint)
        own = [each for each in setting.services if _is_called(each, endpoint)]
        yield from _wrong_port(hook, endpoint, own, setting) if own else _not_there(hook, endpoint, setting, stack)


def _is_called(service: Service, endpoint: Endpoint) -> bool:
    return service.ref.namespace == endpoint.namespace and service.ref.name == endpoint.name


def _wrong_port(hook: Hook, endpoint: Endpoint, own: list[Service], setting: HookSetting) -> Iterator[Finding]:
    """A Service that stands in several folders may be another in each: one that has the port will do."""
    unknown = any(service.external or not service.ports for service in own)
    if unknown or endpoint.port is None or any(endpoint.port in service.ports for service in own):
        return
    offered = sorted({port for service in own for port in service.ports})
    ports = ", ".join(map(str, offered))
    default = "" if _has_port(hook) else " (the default)"
    yield Finding(
        setting.configuration.field(hook, "clientConfig", "service", "port"),
        f"{hook} calls port {endpoint.port}{default} of Service/{endpoint.name}, which offers {ports}: no call reaches "
        "it",
        fix=f"set clientConfig.service.port to {ports if len(offered) == 1 else f'one of {ports}'}",
        related=(Related(Place(own[0].ref, ("spec", "ports"), "key"), "the Service's ports are here"),),
    )


def _has_port(hook: Hook) -> bool:
    client = hook.fields.get("clientConfig")
    service = client.get("service") if isinstance(client, dict) else None
    return isinstance(service, dict) and service.get("port") is not None


def _not_there(hook: Hook, endpoint: Endpoint, setting: HookSetting, stack: Stack) -> Iterator[Finding]:
    homes = {each.ref.namespace: each for each in setting.services}
    if len(homes) == 1 and stack.default_namespace not in homes:
        ((namespace, service),) = homes.items()
        yield Finding(
            setting.configuration.field(hook, "clientConfig", "service", "namespace"),
            f"{hook} calls Service/{endpoint.name} in namespace {endpoint.namespace}; the one of the input is in "
            f"{namespace}",
            fix=f"set clientConfig.service.namespace to {namespace}",
            related=(Related(Place(service.ref, ("metadata", "namespace")), "the Service is here"),),
        )
    elif setting.whole and stack.default_namespace not in homes:
        yield Finding(
            setting.configuration.field(hook, "clientConfig", "service", "name"),
            f"{hook} calls Service/{endpoint.name} in namespace {endpoint.namespace}, which is not there",
            fix="name the Service that the webhook's Pods stand behind",
        )
