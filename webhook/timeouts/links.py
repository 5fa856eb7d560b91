"""Subjects to the links of the chain, each with its value and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.hookrules import pod_operations
from webhook.installation.durations import seconds
from webhook.installation.flags import DEFAULT_RETRY, RETRIES, Flags, extender_flags, lock_retry, version_of_hami
from webhook.installation.profiles import arguments, is_enabled
from webhook.installation.releases import hami_extender
from webhook.model import Hook, HookChain, HookConfiguration, PodGroup, Release, SchedulerConfig
from webhook.selectors import selects
from webhook.stack import DEFAULT_QPS, Stack, Version
from webhook.timeouts import (
    BACKOFF,
    CALL,
    CLIENT_LIMIT,
    FIRST_ANSWER,
    FLUSH,
    LOCK,
    LONGEST,
    NO_EXTENDER,
    PERMIT,
    REQUEST,
    RETRY,
    WEBHOOKS,
    Link,
    Origin,
)

PERMIT_DEFAULT = 60
"""scheduler-plugins v0.34.7 apis/config/v1/defaults.go:30."""

LONGEST_SECONDS = 900
PATIENCE = 34
"""apiserver pkg/endpoints/handlers/rest.go requestTimeoutUpperBound."""

_OMITTED = 5.0
_CHARTS = 30.0
_LOCK_DEFAULT = 300.0
_LOCK_FLAG: Version = (2, 7)
_QPS_FLAG: Version = (2, 6)
_BURST_DEFAULT = "10"
_HOOK_DEFAULT = 10


def links(release: Release | None, stack: Stack) -> Iterator[Link]:
    """The links of a release in their order; without one, those of the defaults."""
    version = version_of_hami(release, stack) if release else stack.hami
    flags = extender_flags(release) if release else None
    yield _client_limit(flags, version, stack, seen=release is None or flags is not None)
    yield _retry(flags, version)
    yield _call(release)
    yield Link(FIRST_ANSWER, "", 15.0, "up to 15s", "fixed", "HAMi registers nodes every 15 s (seen with 2.10.0)")
    yield _lock(flags, version)
    yield from scheduler_links(release.config if release else None, stack)


def scheduler_links(config: SchedulerConfig | None, stack: Stack) -> Iterator[Link]:
    """Those of kube-scheduler and Coscheduling alone."""
    yield from _plugin(config, stack)
    yield Link(LONGEST, "", LONGEST_SECONDS, "15m", "fixed", "kube-scheduler framework/runtime, maxTimeout")
    yield Link(FLUSH, "", 300.0, "5m", "fixed", "kube-scheduler's queue (seen: 327 s)")


def _client_limit(flags: Flags | None, version: Version | None, stack: Stack, *, seen: bool) -> Link:
    setting = "--kube-qps, --kube-burst"
    qps = flags.last("kube-qps") if flags else None
    burst = flags.last("kube-burst") if flags else None
    bursts = (burst.value or "?") if burst else _BURST_DEFAULT
    if qps is not None:
        amount = _number(qps.value) if qps.known else None
        return Link(
            CLIENT_LIMIT,
            setting,
            None,
            f"{qps.value or '?'} requests/s, bursts of {bursts}",
            "input",
            "",
            qps.place,
            amount,
        )
    if stack.kube_qps is not None:
        return Link(
            CLIENT_LIMIT, setting, None, f"{stack.kube_qps:g} requests/s", "declared", "kubeQps", None, stack.kube_qps
        )
    if flags is not None and not flags.complete:
        return Link(CLIENT_LIMIT, setting, None, "unknown", "unknown", "the flags cannot all be seen")
    if not seen:
        known = "default of client-go; the extender's flags are not in the input"
        return Link(CLIENT_LIMIT, setting, None, "5 requests/s, or raised", "unknown", known)
    fixed = version is not None and version < _QPS_FLAG
    source = "HAMi up to 2.5 has no flag for it" if fixed else "default of client-go, which the chart leaves alone"
    return Link(CLIENT_LIMIT, setting, None, "5 requests/s, bursts of 10", "default", source, None, DEFAULT_QPS)


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _retry(flags: Flags | None, version: Version | None) -> Link:
    setting = "--node-lock-retry-timeout"
    if version is not None and version < RETRIES:
        return Link(RETRY, "", 0.0, "none", "default", f"HAMi {_said(version)} does not wait: it came with 2.10")
    retry = lock_retry(flags, version)
    possible = None if retry.sure else retry.seconds
    given = _given(RETRY, setting, flags)
    if given:
        return given._replace(possible=possible)
    if version is None:
        known = "default of HAMi 2.10 and later; earlier ones do not wait"
        return Link(RETRY, setting, None, "28s, or none", "unknown", known, possible=possible)
    return Link(RETRY, setting, DEFAULT_RETRY, "28s", "default", "default of HAMi 2.10 and later")


def _lock(flags: Flags | None, version: Version | None) -> Link:
    setting = "--node-lock-timeout"
    if version is not None and version < _LOCK_FLAG:
        return Link(LOCK, "", _LOCK_DEFAULT, "5m", "fixed", f"HAMi {_said(version)} has no flag for it")
    return _given(LOCK, setting, flags) or Link(
        LOCK, setting, _LOCK_DEFAULT, "5m", "default", "default of all HAMi releases"
    )


def _given(name: str, setting: str, flags: Flags | None) -> Link | None:
    """The link of a flag that is given, or that may be; None where its default holds."""
    flag = flags.last(setting.removeprefix("--")) if flags else None
    if flag is not None:
        amount = seconds(flag.value or "") if flag.known else None
        return Link(name, setting, amount, flag.value or "?", "input", "", flag.place)
    if flags is not None and not flags.complete:
        return Link(name, setting, None, "unknown", "unknown", "the flags cannot all be seen")
    return None


def _call(release: Release | None) -> Link:
    setting = "extenders[].httpTimeout"
    config = release.config if release else None
    if config is None and release is not None and release.values is None:
        known = "HAMi's chart writes it; the scheduler's configuration is not in the input"
        return Link(CALL, setting, None, "30s, or another", "unknown", known)
    if config is None:
        return Link(CALL, setting, _CHARTS, "30s", "default", "HAMi's chart writes it, in all releases")
    found = hami_extender(config)
    if found is None:
        return Link(
            CALL, setting, None, NO_EXTENDER, "input", "the configuration has no extender of HAMi", config.place()
        )
    index, body = found
    place = config.place("extenders", index, "httpTimeout")
    if body.get("httpTimeout") is None:
        absent = place._replace(path=place.path[:-1])
        return Link(CALL, setting, _OMITTED, "5s", "default", "default of kube-scheduler, for it is left out", absent)
    text = body["httpTimeout"]
    amount = seconds(text) if isinstance(text, str) else None
    return Link(CALL, setting, amount, str(text), "input", "", place)


def _plugin(config: SchedulerConfig | None, stack: Stack) -> Iterator[Link]:
    """Coscheduling's own two, by the first profile that gives arguments."""
    if config is not None and not is_enabled(config):
        why = "Coscheduling is not enabled in the configuration"
        yield Link(PERMIT, "permitWaitingTimeSeconds", None, "none", "input", why, config.place("profiles", at="key"))
        return
    entries = list(arguments(config)) if config else []
    for name, key, default in ((PERMIT, "permitWaitingTimeSeconds", PERMIT_DEFAULT), (BACKOFF, _BACKOFF, 0)):
        entry = next((each for each in entries if each.body.get(key) is not None), None)
        if config is not None and entry is not None:
            value = entry.body[key]
            amount = float(value) if type(value) is int else None
            place = config.place(*entry.path, "args", key)
            yield Link(name, key, amount, f"{value}s" if amount is not None else str(value), "input", "", place)
        elif name == PERMIT and stack.permit_waiting_seconds is not None and config is None:
            wait = stack.permit_waiting_seconds
            yield Link(name, key, wait, f"{wait}s", "declared", "permitWaitingSeconds")
        else:
            yield Link(name, key, default, f"{default}s" if default else "off", "default", _PLUGIN_DEFAULT)


_BACKOFF = "podGroupBackoffSeconds"
_PLUGIN_DEFAULT = "default of scheduler-plugins"


def group_link(group: PodGroup, permit: Link | None) -> Link:
    """How long the members of a PodGroup wait for each other: its own time, else the plugin's, at most 15 minutes.

    `permit` is the plugin's, None where nobody knows which scheduler's that is."""
    name, setting = str(group.ref), "scheduleTimeoutSeconds"
    own = group.timeout
    if not own:
        why = "0 means permitWaitingTimeSeconds" if own == 0 else "permitWaitingTimeSeconds, for it has none"
        place = group.field(setting) if own == 0 else None
        if permit is None:
            return Link(name, setting, None, "its scheduler's", "unknown", why, place)
        return Link(name, setting, permit.seconds, permit.value, "input" if own == 0 else "default", why, place)
    cut = ", cut to 900s" if own > LONGEST_SECONDS else ""
    return Link(name, setting, float(min(own, LONGEST_SECONDS)), f"{own}s{cut}", "input", "", group.field(setting))


def webhook_links(chain: HookChain) -> Iterator[Link]:
    """The webhooks that an ordinary Pod of an ordinary namespace meets, what they come to, and what is allowed.

    Those that a label or matchConditions ask for are left out: they may exclude each other.
    """
    met = [
        (configuration.mutating, _hook(configuration, hook))
        for configuration in chain.configurations
        for hook in configuration.hooks
        if "CREATE" in pod_operations(hook) and _takes_anything(hook)
    ]
    if not met:
        return
    yield from (link for _, link in met)
    total = sum(link.seconds or 0 for mutating, link in met if mutating)
    total += max((link.seconds or 0 for mutating, link in met if not mutating), default=0)
    why = "mutating ones one after another, then the slowest of the validating ones"
    yield Link(WEBHOOKS, "", total, f"{total:g}s", "input", why)
    yield Link(REQUEST, "", PATIENCE, f"{PATIENCE}s", "fixed", "apiserver pkg/endpoints/handlers/rest.go")


def _takes_anything(hook: Hook) -> bool:
    return not hook.has_conditions and all(selects(each, {}, sealed=True) for each in (hook.namespaces, hook.objects))


def _hook(configuration: HookConfiguration, hook: Hook) -> Link:
    kind = "mutating" if configuration.mutating else "validating"
    name, setting = f"{kind} {hook}", "timeoutSeconds"
    written: Mapping[str, object] = hook.fields
    if hook.timeout is not None:
        return Link(
            name, setting, hook.timeout, f"{hook.timeout}s", "input", "", configuration.field(hook, "timeoutSeconds")
        )
    origin: Origin = "unknown" if written.get(setting) is not None else "default"
    amount = None if origin == "unknown" else float(_HOOK_DEFAULT)
    value = str(written[setting]) if origin == "unknown" else f"{_HOOK_DEFAULT}s"
    return Link(name, setting, amount, value, origin, "default of the API server" if origin == "default" else "")


def _said(version: Version) -> str:
    return ".".join(map(str, version))
