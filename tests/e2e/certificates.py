"""Keys and certificates for servers on loopback that live as long as a test run."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LOOPBACK = x509.SubjectAlternativeName(
    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))],
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key as PEM files; the certificate is its own authority, so it is the caBundle too."""

    certificate: Path
    key: Path


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    path.chmod(0o600)


def self_signed(folder: Path, name: str, *, days: int = 1) -> Pair:
    """A pair for 127.0.0.1 and localhost in `folder`; an expired one where `days` is negative."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=abs(days) + 1))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(LOOPBACK, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    pair.certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    _write_key(pair.key, key)
    return pair


def service_account_key(path: Path) -> None:
    """The RSA key that kube-apiserver signs the tokens of ServiceAccounts with."""
    _write_key(path, rsa.generate_private_key(public_exponent=65537, key_size=2048))
