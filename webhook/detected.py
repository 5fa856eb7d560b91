"""The stack of a server that looks at its cluster once, at the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webhook.cluster import Api, Trouble, see
from webhook.errors import where
from webhook.report.stack import summary
from webhook.stack import Stack

Log = Callable[[Mapping[str, object]], object]

_UNSEEN = "nothing is taken from the cluster: the stack is what is declared; a restart tries again"


def detected(stack: Stack, api: Api | None, namespace: str, log: Log) -> Stack:
    """The stack with what HAMi's Deployment and ConfigMaps in the namespace show; as it was where that cannot be had,
    which keeps no server from starting. Says in the log which, and what was taken."""
    entry = {"event": "stack", "namespace": namespace}

    def unseen(level: str, why: str) -> Stack:
        log({**entry, "level": level, "error": why, "message": _UNSEEN})
        return stack

    if api is None:
        return unseen("warning", "there is no cluster to ask")
    try:
        seen = see(api, namespace, stack)
    except Trouble as trouble:
        return unseen("warning", str(trouble))
    except Exception as error:  # noqa: BLE001 - no strange object of somebody else may keep the server from starting
        return unseen("error", where(error))
    finally:
        api.close()  # the worker is forked from here on, and has connections of its own
    if not seen.releases:
        return unseen("warning", "no Deployment there runs HAMi's extender")
    taken, differs = summary(stack, seen.shown)
    log(
        {
            **entry,
            "level": "info",
            "from": list(seen.releases),
            "taken": taken,
            **({"differs": differs} if differs else {}),
        }
    )
    return seen.stack
