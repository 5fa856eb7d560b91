"""The caBundles of a webhook configuration: which authorities they hold, and how ours come in and go out.

What others put there stays: cert-manager's injector, or whoever signs for a proxy in between.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.x509.oid import NameOID

from certs.ring import Ring, fingerprint, is_ours

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class Trusted(NamedTuple):
    """A certificate in a caBundle: PEM, its SHA-256, and whether it is an authority of ours."""

    certificate: bytes
    fingerprint: str
    ours: bool
    subject: str


class Bundle(NamedTuple):
    """One entry of a configuration: the webhook's name and what its caBundle holds, in its order."""

    webhook: str
    held: tuple[Trusted, ...]

    def holds(self, authority: str) -> bool:
        return any(each.fingerprint == authority for each in self.held)


def bundles(configuration: Mapping[str, Any]) -> tuple[Bundle, ...]:
    """What each entry of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration trusts."""
    return tuple(
        Bundle(str(hook.get("name", "")), tuple(_certificates(_decoded(hook)))) for hook in _webhooks(configuration)
    )


def is_right(bundle: Bundle, trust: Ring, distrust: frozenset[str]) -> bool:
    """Whether it holds all that it must, and nothing that it must not."""
    held = {each.fingerprint for each in bundle.held}
    return held.isdisjoint(distrust) and held.issuperset(authority.fingerprint for authority in trust)


def corrected(configuration: Mapping[str, Any], trust: Ring, distrust: frozenset[str]) -> Mapping[str, Any]:
    """The configuration with every wrong caBundle put right; the others keep every byte."""
    hooks = [_corrected(hook, trust, distrust) for hook in _webhooks(configuration)]
    return {**configuration, "webhooks": hooks}


def _corrected(hook: Mapping[str, Any], trust: Ring, distrust: frozenset[str]) -> Mapping[str, Any]:
    bundle = Bundle("", tuple(_certificates(_decoded(hook))))
    if is_right(bundle, trust, distrust):
        return hook
    kept = [each.certificate for each in bundle.held if each.fingerprint not in distrust]
    added = [authority.certificate for authority in trust if not bundle.holds(authority.fingerprint)]
    text = b"".join(pem.strip() + b"\n" for pem in (*kept, *added))
    client = {**(hook.get("clientConfig") or {}), "caBundle": base64.b64encode(text).decode()}
    return {**hook, "clientConfig": client}


def _webhooks(configuration: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return configuration.get("webhooks") or ()


def _decoded(hook: Mapping[str, Any]) -> bytes:
    """The caBundle's text; what the API server could not use is as good as empty."""
    try:
        return base64.b64decode((hook.get("clientConfig") or {}).get("caBundle") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        return b""


def _certificates(text: bytes) -> Iterable[Trusted]:
    """Go's own reader leaves out blocks that it cannot parse too (crypto/x509 AppendCertsFromPEM)."""
    return filter(None, map(_parsed, _BLOCK.findall(text)))


@lru_cache(maxsize=64)  # the same few certificates in every entry, at every look
def _parsed(pem: bytes) -> Trusted | None:
    try:
        loaded = x509.load_pem_x509_certificate(pem)
        subject = loaded.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        name = str(subject[0].value) if subject else loaded.subject.rfc4514_string()
        return Trusted(pem, fingerprint(pem), is_ours(loaded), name)
    except ValueError:
        return None


def last_writer(configuration: Mapping[str, Any], own: str = "gangcheck") -> str:
    """Who else has written a caBundle since we have, as the API server calls them: kubectl-edit, cainjector …

    Empty where nobody has; whoever takes a field out leaves no trace in managedFields.
    """
    fields = (configuration.get("metadata") or {}).get("managedFields") or ()
    writers = [each for each in fields if "f:caBundle" in json.dumps(each.get("fieldsV1"))]
    last: Mapping[str, Any] = max(writers, key=lambda each: str(each.get("time", "")), default={})
    manager = str(last.get("manager", own))[:60]
    return "" if manager == own else manager
