"""Certificates: what is in them, and a handshake with a client that checks them."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import SKEW, Pair, expiry, issue_authority, issue_leaf, renewal

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def loaded(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_an_authority_signs_and_nothing_below_it_does() -> None:
    authority = issue_authority("gangcheck", 30 * DAY, NOW)
    leaf = loaded(issue_leaf(authority, ["localhost"], ["127.0.0.1", "::1"], 7 * DAY, NOW))
    root = loaded(authority)
    leaf.verify_directly_issued_by(root)
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert root.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert not leaf.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.SERVER_AUTH
    ]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_two_authorities_of_one_name_differ_in_subject_and_key_identifier() -> None:
    first, second = (loaded(issue_authority("gangcheck", DAY, NOW)) for _ in range(2))
    assert first.subject != second.subject
    assert str(first.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value).startswith("gangcheck ")
    key = x509.SubjectKeyIdentifier
    assert first.extensions.get_extension_for_class(key).value != second.extensions.get_extension_for_class(key).value


def test_the_clock_is_the_callers_and_may_be_a_little_wrong() -> None:
    authority = issue_authority("gangcheck", 30 * DAY, NOW)
    leaf = issue_leaf(authority, ["localhost"], [], 7 * DAY, NOW)
    assert loaded(leaf).not_valid_before_utc == NOW - SKEW
    assert expiry(leaf.certificate) == NOW + 7 * DAY
    assert NOW + 4 * DAY < renewal(leaf.certificate) < NOW + 5 * DAY


def test_a_leaf_does_not_outlive_its_authority() -> None:
    authority = issue_authority("gangcheck", 2 * DAY, NOW)
    assert expiry(issue_leaf(authority, ["localhost"], [], 7 * DAY, NOW).certificate) == NOW + 2 * DAY
    with pytest.raises(ValueError, match="expired at 2026-03-03"):
        issue_leaf(authority, ["localhost"], [], DAY, NOW + 2 * DAY)


def test_what_cannot_be_signed() -> None:
    authority = issue_authority("gangcheck", DAY, NOW)
    with pytest.raises(ValueError, match="needs a name or an address"):
        issue_leaf(authority, [], [], DAY, NOW)
    with pytest.raises(ValueError, match="does not appear to be an IPv4 or IPv6 address"):
        issue_leaf(authority, [], ["localhost"], DAY, NOW)
    other = rsa.generate_private_key(65537, 2048)
    key = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="no ECDSA key"):
        issue_leaf(Pair(authority.certificate, key), ["localhost"], [], DAY, NOW)
    with pytest.raises(ValueError, match="PEM"):
        expiry(b"no certificate")


def test_a_client_that_checks_everything_shakes_hands(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = issue_authority("gangcheck", DAY, now)
    leaf = issue_leaf(authority, ["localhost"], ["127.0.0.1"], DAY, now)
    file = tmp_path / "pair.pem"
    file.write_bytes(leaf.certificate + leaf.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve_once, args=(listener, server))
        thread.start()
        with (
            socket.create_connection(listener.getsockname(), timeout=5) as plain,
            client.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            assert secure.recv(5) == b"hello"
        thread.join(5)


def _serve_once(listener: socket.socket, context: ssl.SSLContext) -> None:
    plain, _ = listener.accept()
    with context.wrap_socket(plain, server_side=True) as secure:
        secure.sendall(b"hello")
