from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.installation.releases import hami_extender
from webhook.model import Release, SchedulerConfig
from webhook.rule import Edit, Finding, Related, Severity, rule
from webhook.stack import Stack

_VERBS: Mapping[str, str] = {
    "filterVerb": "no card is chosen for any Pod, and the kubelet refuses them",
    "bindVerb": "kube-scheduler binds Pods itself, without HAMi's lock, and the kubelet refuses them",
}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@rule(Release, Severity.ERROR, evidence="seen", lint_only=True)
def extender_misconfigured(release: Release, stack: Stack) -> Iterator[Finding]:
    """The scheduler's entry for HAMi's extender lacks what the extender needs, or reaches it nowhere.

    HAMi's chart renders `filterVerb: filter`, `bindVerb: bind`, `nodeCacheCapable: true` and no `ignorable`
    (charts/hami/templates/scheduler/configmap.yaml). What happens in a configuration edited by hand (seen on HAMi 2.10
    but for `ignorable`, which is read):

    - without `filterVerb` no card is chosen (bind-phase stays `allocating`); without `bindVerb` kube-scheduler binds,
      so there is neither lock nor bind-phase, and the device plugin ends with `no binding pod found on node`;
    - without `nodeCacheCapable: true` Filter takes another path, in which nothing is reserved and no annotation
      written, and the Pod is bound all the same;
    - with `ignorable: true` a GPU Pod is placed without HAMi whenever the extender is away;
    - without `urlPrefix` kube-scheduler starts (seen) and its calls go nowhere (`unsupported protocol scheme`, read in
      kubernetes v1.35.4 pkg/scheduler/extender.go);
    - a port or scheme in `urlPrefix` that is not the extender's own ends in `connection refused` for every GPU Pod.
      The chart has https on port 443, and from 2.8 on http on port 80 where its admission webhook is switched off.
    """
    config = release.config
    if config is None:
        return
    for index, extender in _of_hami(config):
        yield from _fields(config, index, extender)
        yield from _address(config, index, extender, release)


def _of_hami(config: SchedulerConfig) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The extender that is HAMi's; where that cannot be told, those that manage resources, or the only one."""
    own, found = hami_extender(config), config.extenders
    if own:
        return iter([own])
    return ((index, each) for index, each in found if len(found) == 1 or each.get("managedResources"))


def _fields(config: SchedulerConfig, index: int, extender: Mapping[str, object]) -> Iterator[Finding]:
    at = ("extenders", index)
    for field, outcome in _VERBS.items():
        wanted, given = field.removesuffix("Verb"), extender.get(field)
        if given != wanted:
            what = f"{field} is {given}" if given else f"{field} is missing"
            yield _finding(config, (*at, field), f"{what}: {outcome}", (field, wanted), extender)
    if extender.get("nodeCacheCapable") is not True:
        what = "nodeCacheCapable is not true: HAMi books no card for the Pods that it lets through"
        yield _finding(config, (*at, "nodeCacheCapable"), what, ("nodeCacheCapable", True), extender)
    if extender.get("ignorable") is True:
        what = "ignorable is true: while HAMi's extender is away, GPU Pods are placed without it"
        yield _finding(config, (*at, "ignorable"), what, ("ignorable", False), extender)


def _finding(
    config: SchedulerConfig,
    path: tuple[str | int, ...],
    message: str,
    cure: tuple[str, object],
    extender: Mapping[str, object],
) -> Finding:
    field, wanted = cure
    value = str(wanted).lower() if isinstance(wanted, bool) else wanted
    edit = Edit("replace" if field in extender else "add", config.place(*path), wanted)
    return Finding(
        config.place(*(path if field in extender else path[:-1])),
        f"HAMi's extender: {message}",
        fix=f"write {field}: {value}",
        edits=() if config.path else (edit,),
    )


def _address(
    config: SchedulerConfig, index: int, extender: Mapping[str, object], release: Release
) -> Iterator[Finding]:
    """The address is compared with the flags of an extender in the scheduler's own Pod, which listens there itself."""
    prefix = extender.get("urlPrefix")
    process = release.extender
    if prefix is None or prefix == "":
        yield Finding(
            config.place("extenders", index),
            "HAMi's extender has no urlPrefix, so kube-scheduler asks nobody: no GPU Pod is placed",
            fix="write urlPrefix: https://127.0.0.1:443, as the chart has it, or where the extender listens",
        )
        return
    if not isinstance(prefix, str) or process is None or config.process is None:
        return
    scheme, _, rest = prefix.partition("://")
    host, _, port = rest.partition("/")[0].rpartition(":")
    bind = process.argument("http_bind")
    if host not in _LOOPBACK or process.pod.ref != config.process.pod.ref or bind is None or not bind.known:
        return
    listens = (bind.value or "").rpartition(":")[2]
    tls = process.argument("cert_file") is not None
    if port != listens and listens.isdigit():
        message = f"urlPrefix is {prefix}, and the extender listens on port {listens}: no GPU Pod is placed"
    elif tls and scheme == "http":
        message = f"urlPrefix is {prefix}, and the extender speaks https: no GPU Pod is placed"
    else:
        return
    yield Finding(
        config.place("extenders", index, "urlPrefix"),
        message,
        fix=f"write urlPrefix: {'https' if tls else scheme}://{host}:{listens}{', and enableHTTPS: true' * tls}",
        related=(Related(process.of(bind), "the extender listens here"),),
    )
