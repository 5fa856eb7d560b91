from __future__ import annotations

from collections.abc import Iterator

from webhook.installation.flags import EXTRA
from webhook.model import Release
from webhook.rule import Finding, Severity, rule
from webhook.stack import Stack

_NEW = ("scheduler", "kubeScheduler", "extraNewArgs")
_CONFIG = "--config=/config/config.yaml"
_CONFIGURES = ("config", "policy-config-file")


@rule(Release, Severity.WARNING, evidence="read", lint_only=True)
def extra_args_replaced(release: Release, stack: Stack) -> Iterator[Finding]:
    """A list of arguments in the chart's values replaces the chart's own list, and an entry of that is missing.

    Helm merges mappings, but a list is replaced as a whole. `scheduler.kubeScheduler.extraNewArgs` holds
    `--config=/config/config.yaml` in the chart: without it kube-scheduler starts unconfigured, serves the name
    default-scheduler and never asks HAMi's extender, and every GPU Pod stays pending. `scheduler.extender.extraArgs`
    holds `--debug` and `-v=4`, whose loss changes nothing but the log (charts/hami/values.yaml, all versions from 2.5
    to 2.10; templates/scheduler/deployment.yaml). The same is said of a kube-scheduler container beside HAMi's
    extender that has arguments and no `--config`.

    Silent on lists that hold templates or anything but text.
    """
    values = release.values
    if values is not None:
        new = _texts(values.get(*_NEW))
        if new is not None and not any(_names(item, "config") for item in new):
            yield Finding(
                values.place(*_NEW, at="key"),
                f"{'.'.join(_NEW)} replaces the chart's list and has no --config: kube-scheduler runs without its "
                "configuration, as default-scheduler and without HAMi",
                fix=f"add {_CONFIG} to the list",
            )
        extra = _texts(values.get(*EXTRA))
        lost = [] if extra is None else [shown for name, shown in _LOG if not any(_names(item, name) for item in extra)]
        if lost:
            yield Finding(
                values.place(*EXTRA, at="key"),
                f"{'.'.join(EXTRA)} replaces the chart's list, which has {' and '.join(lost)}: the extender logs less",
                fix=f"add {' and '.join(lost)} to the list if you want its log as before",
                severity=Severity.INFO,
            )
    scheduler = release.scheduler
    if scheduler and scheduler.arguments and not scheduler.open and not scheduler.argument(*_CONFIGURES):
        yield Finding(
            scheduler.place("args" if scheduler.container.args else "command", at="key"),
            "kube-scheduler beside HAMi's extender has no --config: it runs as default-scheduler and never asks HAMi",
            fix=f"add {_CONFIG}",
        )


_LOG = (("debug", "--debug"), ("v", "-v=4"))


def _texts(items: object) -> list[str] | None:
    """The items of a list; None where it is no list, or not all of it can be read."""
    if not isinstance(items, list) or not all(isinstance(item, str) and "{{" not in item for item in items):
        return None
    return items


def _names(item: str, flag: str) -> bool:
    return item.lstrip("-").partition("=")[0].strip() == flag and item.startswith("-")
