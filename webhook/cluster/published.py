"""The Secret of the authorities and both webhook configurations, read and written for the keeper of certificates.

Verbs that the ServiceAccount needs: get and update on that one Secret and on those two configurations; where somebody
else keeps the certificate, get on the configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from certs.store import Away, Conflict, Denied, Seen, Thing
from webhook.cluster.rest import Api, Refused, Unreachable

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_MUTATING, _VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"


class Where(NamedTuple):
    """The names of what is published."""

    namespace: str
    secret: str
    mutating: str
    validating: str


class Published:
    """certs.store.Store over the API server."""

    def __init__(self, api: Api, where: Where) -> None:
        self._api = api
        self._secret = Thing("Secret", f"{where.namespace}/{where.secret}")
        self._configurations = Thing(_MUTATING, where.mutating), Thing(_VALIDATING, where.validating)
        self._paths = {
            "Secret": f"/api/v1/namespaces/{where.namespace}/secrets/{where.secret}",
            _MUTATING: f"{_ADMISSION}/mutatingwebhookconfigurations/{where.mutating}",
            _VALIDATING: f"{_ADMISSION}/validatingwebhookconfigurations/{where.validating}",
        }

    def read(self) -> Seen:
        secret, *configurations = (self._read(thing) for thing in (self._secret, *self._configurations))
        dates = [date for _, date in (secret, *configurations) if date is not None]
        return Seen(secret[0], tuple(thing for thing, _ in configurations), dates[-1] if dates else None)

    def configurations(self) -> tuple[Thing, ...]:
        """Both webhook configurations, and nothing of the Secret."""
        return tuple(self._read(thing)[0] for thing in self._configurations)

    def write(self, thing: Thing) -> None:
        try:
            self._api.put(self._paths[thing.kind], thing.body or {})
        except Refused as refused:
            if refused.status == HTTPStatus.CONFLICT:
                raise Conflict from refused
            # Also where it is the API server that fails: a broken webhook on Secrets must not keep caBundles unmended.
            raise Denied(str(refused)) from refused
        except Unreachable as error:
            raise Away(str(error)) from error

    def _read(self, thing: Thing) -> tuple[Thing, datetime | None]:
        try:
            body, headers = self._api.get_with_headers(self._paths[thing.kind])
        except Refused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return thing, None
            if refused.status == HTTPStatus.TOO_MANY_REQUESTS or refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Away(str(refused)) from refused
            return thing._replace(fault=str(refused)), None
        except Unreachable as error:
            raise Away(str(error)) from error
        return thing._replace(body=body), _date(headers)


def _date(headers: Mapping[str, Any]) -> datetime | None:
    try:
        return parsedate_to_datetime(str(headers["Date"]))
    except (KeyError, ValueError):
        return None
