"""Credentials of Spark's processes, derived from the cluster's secret and stored in files with mode 600.

All nodes of a cluster derive the same credentials, so that they need not be distributed. The credentials reveal
neither the cluster's secret nor each other.
"""

import base64
import hmac
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.control.signing import Secret

_FILTER = "org.apache.spark.ui.JWSFilter"


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


@frozen
class Credentials:
    """Keys for the Spark processes of one cluster; never displayed."""

    rpc: str = field(repr=False)
    """Secret with which masters, workers, drivers and executors authenticate."""

    pages: bytes = field(repr=False)
    """Key that signs the tokens for web pages."""

    @classmethod
    def of(cls, secret: Secret, cluster: str) -> "Credentials":
        """Derive the keys of a cluster."""
        return cls(_derived(secret, cluster, "spark rpc").hex(), _derived(secret, cluster, "spark pages"))

    def properties(self) -> dict[str, str]:
        """Return the settings with which all Spark processes authenticate and encrypt their communication."""
        return {
            "spark.authenticate": "true",
            "spark.authenticate.secret": self.rpc,
            "spark.network.crypto.enabled": "true",
            "spark.network.crypto.saslFallback": "false",
        }

    def page_properties(self) -> dict[str, str]:
        """Return the settings of a process with a web page, which requires a token."""
        key = base64.urlsafe_b64encode(self.pages).decode()
        return {"spark.ui.filters": _FILTER, f"spark.{_FILTER}.param.secretKey": key}

    def token(self) -> str:
        """Return the token for a web page."""
        claims = _encoded(b'{"alg":"HS256","typ":"JWT"}') + "." + _encoded(b'{"sub":"seatunnel"}')
        return f"{claims}.{_encoded(hmac.digest(self.pages, claims.encode(), 'sha256'))}"


def _derived(secret: Secret, cluster: str, purpose: str) -> bytes:
    return hmac.digest(secret.value, f"seatunnel {purpose}\n{cluster}".encode(), sha256)


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a file of Spark properties that only its owner can access."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in properties.items())
    draft.replace(path)
