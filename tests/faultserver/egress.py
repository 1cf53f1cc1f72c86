"""Side listeners: one that must never be spoken to, one that is a forward proxy, and certificates of an own CA."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faultserver.listener import Listener


@dataclass
class Canary(Listener):
    """Counts who comes; a secret that reaches it is lost."""

    heard: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.read(65536))


@dataclass
class ForwardProxy(Listener):
    """Takes absolute-form requests and sends them all to one place; ``silent`` takes them and says nothing."""

    target: int
    silent: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://user:proxy-password@127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.asked.append(head.split(b"\r\n", 1)[0].decode())
            if self.silent:
                await reader.read(65536)
                await asyncio.sleep(30)
            there, onward = await asyncio.open_connection("127.0.0.1", self.target)
            self._writers.append(onward)
            method, url, version = head.split(b"\r\n", 1)[0].split(b" ")
            path = b"/" + url.split(b"/", 3)[3]
            onward.write(b" ".join((method, path, version)) + b"\r\n" + head.split(b"\r\n", 1)[1])
            async with asyncio.TaskGroup() as both:
                both.create_task(_copied(reader, onward))
                both.create_task(_copied(there, writer))


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@dataclass
class OwnCa:
    """A CA nobody trusts, and a certificate of its for 127.0.0.1."""

    bundle: Path
    server: ssl.SSLContext


def own_ca(folder: Path, *, expired: bool = False) -> OwnCa:
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    until = datetime.datetime(2026, 2, 1 if expired else 28, tzinfo=datetime.UTC).replace(
        year=2026 if expired else 2066
    )
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "Corporate Inspection CA")])

    def usage(*, ca: bool) -> x509.KeyUsage:
        """What Python 3.13 wants to see said."""
        never = dict.fromkeys(
            ("content_commitment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"), False
        )
        return x509.KeyUsage(digital_signature=True, key_encipherment=not ca, key_cert_sign=ca, crl_sign=ca, **never)

    def certificate(
        subject: str, public: ec.EllipticCurvePublicKey, *, ca: bool, end: datetime.datetime
    ) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, subject)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(usage(ca=ca), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        )
        if not ca:
            here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([here]), critical=False)
        return builder.sign(ca_key, hashes.SHA256())

    far = now + datetime.timedelta(days=14_600)
    root = certificate("Corporate Inspection CA", ca_key.public_key(), ca=True, end=far)
    leaf = certificate("127.0.0.1", key.public_key(), ca=False, end=until)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    (folder / "leaf.pem").write_bytes(leaf.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "leaf.key").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "leaf.pem", folder / "leaf.key")
    return OwnCa(folder / "ca.pem", context)
