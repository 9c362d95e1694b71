"""An authority that signs certificates, and stores of keys in the formats that people have."""

import datetime
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12


@frozen
class Identity:
    """A key, its certificate, and those of who signed it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...] = ()

    def key_pem(self, password: str | None = None) -> bytes:
        """Return the key as PEM, encrypted with a password if there is one."""
        cipher = form.BestAvailableEncryption(password.encode()) if password else form.NoEncryption()
        return self.key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, cipher)

    def certificates_pem(self) -> bytes:
        """Return the certificates as PEM, the own one first."""
        return b"".join(each.public_bytes(form.Encoding.PEM) for each in (self.certificate, *self.chain))

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        """Write key and certificates into a file that others may not read, and return the path."""
        path.touch(0o600)
        path.write_bytes(self.key_pem(password) + self.certificates_pem())
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        """Write key and certificates, those of signers in the wrong order, and return the path."""
        cipher = form.BestAvailableEncryption(password.encode())
        others = tuple(reversed(self.chain))
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"node", self.key, self.certificate, others, cipher))
        return path


def signed(name: str, signer: Identity | None = None, *, is_authority: bool = False) -> Identity:
    """Return a new identity, signed by itself without a signer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    certificate = builder.sign(key if signer is None else signer.key, hashes.SHA256())
    return Identity(key, certificate, () if signer is None else (signer.certificate, *signer.chain))
