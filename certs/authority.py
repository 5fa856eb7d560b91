"""One certificate authority and the serving certificates that it signs: ECDSA P-256, PEM in and out.

Nothing here reads a clock or a file: whoever calls says what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW = timedelta(minutes=5)
"""Certificates are valid from this much before they are made: the clocks of a cluster differ (ingress-nginx's
kube-webhook-certgen has the same five minutes)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def issue_authority(name: str, lifetime: timedelta, now: datetime) -> Pair:
    """A new self-signed authority.

    Its subject ends in a random number: two authorities of one name must differ while one replaces the other,
    since clients look for the issuer by subject.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} {x509.random_serial_number():040x}"[:64])])
    builder = _certificate(subject, subject, key.public_key(), (now, now + lifetime))
    usage = _key_usage(signs_certificates=True)
    signed = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(signed, key)


def issue_leaf(authority: Pair, names: Iterable[str], ips: Iterable[str], lifetime: timedelta, now: datetime) -> Pair:
    """A serving certificate for DNS names and IP addresses; it does not outlive its authority.

    Raises ValueError where neither is given, an address is none, or the authority has expired.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is no ECDSA key")  # noqa: TRY004 - the value's content is to blame
    if issuer.not_valid_after_utc <= now:
        raise ValueError(f"the authority expired at {issuer.not_valid_after_utc.isoformat()}")
    subjects = [*map(x509.DNSName, names), *(x509.IPAddress(_address(ip)) for ip in ips)]
    if not subjects:
        raise ValueError("a serving certificate needs a name or an address")
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + lifetime, issuer.not_valid_after_utc)
    signed = (
        _certificate(x509.Name([]), issuer.subject, key.public_key(), (now, until))
        .add_extension(x509.SubjectAlternativeName(subjects), critical=True)  # critical: the subject is empty
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_issued_by(issuer), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pair(signed, key)


def expiry(certificate: bytes) -> datetime:
    """When the first certificate of a PEM text expires. Raises ValueError where it holds none."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def issued(certificate: bytes) -> datetime:
    """When a certificate of ours was made; it is valid from a while before."""
    return x509.load_pem_x509_certificate(certificate).not_valid_before_utc + SKEW


def renewal(certificate: bytes) -> datetime:
    """When two thirds of the life of a certificate of ours are over, counted from when it was made."""
    made = issued(certificate)
    return made + (expiry(certificate) - made) * 2 / 3


def is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):  # another issuer, or a key of no use
        return False
    return True


def split(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """DNS names, and IP addresses."""
    given = tuple(dict.fromkeys(names))
    addresses = tuple(name for name in given if _is_address(name))
    return tuple(name for name in given if name not in addresses), addresses


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, validity: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0] - SKEW)
        .not_valid_after(validity[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _issued_by(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier.value)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _is_address(text: str) -> bool:
    try:
        _address(text)
    except ValueError:
        return False
    return True


def _address(text: str) -> IPv4Address | IPv6Address:
    return ip_address(text)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
