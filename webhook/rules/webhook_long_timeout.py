from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.hookrules import pod_operations
from webhook.model import Hook, HookChain, HookConfiguration
from webhook.rule import Finding, Related, Severity, rule
from webhook.selectors import selects
from webhook.stack import Stack

_PATIENCE = 34
_DEFAULT = 10
_LONGEST = 30
_SHOWN = 8

_Called = tuple[HookConfiguration, Hook, int]
"""A webhook with its configuration and the seconds that it may take."""


@rule(HookChain, Severity.WARNING, evidence="read", lint_only=True)
def webhook_long_timeout(chain: HookChain, stack: Stack) -> Iterator[Finding]:
    """The webhooks for one Pod may together take longer than the API server gives a request.

    Mutating webhooks are called one after another, in the order of their configurations' names, then the validating
    ones all at once; each may take its timeoutSeconds, 10 where none is written. The API server gives a whole request
    34 seconds (apiserver pkg/endpoints/handlers/rest.go, requestTimeoutUpperBound), and once these are over even a
    webhook with failurePolicy Ignore ends in an error (webhook/mutating/dispatcher.go): when the webhooks hang, Pods
    are refused although every one of them fails open. HAMi's own webhook takes up to 10 of the 34 seconds, and
    kube-scheduler and controllers wait as long with every Pod.

    Counted are the webhooks of the input that an ordinary Pod of an ordinary namespace meets at its creation: those
    that a label or matchConditions ask for are left out, since they may exclude each other. Only configurations of one
    folder are added up, unless the input is a whole installation.
    """
    mutating = list(_called(chain, mutating=True))
    validating = list(_called(chain, mutating=False))
    longest = max((seconds for *_, seconds in validating), default=0)
    total = sum(seconds for *_, seconds in mutating) + longest
    if total <= _PATIENCE:
        return
    first, *others = sorted(mutating or validating, key=lambda each: -each[2])
    configuration, hook, seconds = first
    yield Finding(
        configuration.field(hook, "timeoutSeconds"),
        f"webhooks may take {total} seconds for an ordinary Pod, {hook} {seconds} of them, and the API server gives a "
        f"request {_PATIENCE}: when they hang, Pods are refused, with failurePolicy Ignore too",
        fix="set timeoutSeconds to 3 or less for each of them",
        related=tuple(_related([*others, *validating])),
    )


def _called(chain: HookChain, *, mutating: bool) -> Iterator[_Called]:
    for configuration in chain.configurations:
        for hook in configuration.hooks if configuration.mutating is mutating else ():
            if "CREATE" in pod_operations(hook) and _takes_anything(hook):
                yield configuration, hook, _seconds(hook)


def _takes_anything(hook: Hook) -> bool:
    """Whether a Pod without labels in a namespace without labels, which is none of those listed, reaches it."""
    return not hook.has_conditions and all(selects(each, {}, sealed=True) for each in (hook.namespaces, hook.objects))


def _seconds(hook: Hook) -> int:
    """Of a value that is filled in later, or that the API server refuses, nothing is counted."""
    if hook.fields.get("timeoutSeconds") is None:
        return _DEFAULT
    return hook.timeout if hook.timeout is not None and hook.timeout <= _LONGEST else 0


def _related(others: Iterable[_Called]) -> Iterator[Related]:
    for configuration, hook, seconds in list(others)[:_SHOWN]:
        yield Related(configuration.field(hook, "timeoutSeconds"), f"{hook} may take {seconds} seconds")
