"""Signatures, with a shared secret, of requests between nodes and clients of a cluster.

A signature covers the *boot* ID of the receiver, which is random for each start, and a *nonce*: a random sender name
with an increasing number. A replayed request is rejected because its number is not new or, after a restart, because the
boot ID differs. No clocks are compared. Only the digest of the body, which is also a header, is signed, so an
unauthenticated body is never received. A response is signed with the nonce of its request, so that it cannot be forged
or replayed.
"""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from seatunnel_core.control.private_files import read_private
from seatunnel_core.errors import UsageError

CLUSTER, BOOT, AUTHORIZATION = "x-seatunnel-cluster", "x-seatunnel-boot", "x-seatunnel-signature"
DIGEST, ANSWER = "x-seatunnel-digest", "x-seatunnel-answer"

SECRET_FILE = "cluster.secret"
OLD_SECRET_FILE = "cluster.secret.old"
"""File with the previous secret, which may still decrypt the state but never signs requests."""

LEAST_SECRET = 32
"""Minimum number of characters of a secret."""

_MOST_SENDERS = 10_000
_NAME_LENGTH = 32


@frozen(repr=False)
class Secret:
    """Shared secret of a cluster; never displayed."""

    value: bytes

    def sign(self, *, boot: str, nonce: str, cluster: str, method: str, target: str, digest: str) -> str:
        """Return the hexadecimal signature of a request; ``digest`` is the digest of its body."""
        return self._signature("request", boot, nonce, cluster, method, target, digest)

    def sign_answer(self, *, nonce: str, status: int, body: bytes) -> str:
        """Return the hexadecimal signature of the response to the request with this nonce."""
        return self._signature("answer", nonce, str(status), digest_of(body))

    def _signature(self, *parts: str) -> str:
        return hmac.new(self.value, "\n".join(parts).encode(), hashlib.sha256).hexdigest()


def digest_of(body: bytes) -> str:
    """Return the hexadecimal digest of a body."""
    return hashlib.sha256(body).hexdigest()


def read_secret(path: Path) -> Secret | None:
    """Return the secret in a file, or ``None`` if the file does not exist.

    Raises:
        UsageError: Other users can read the file, another user created it, or the secret is too short.
    """
    try:
        found = path.stat()
        text = read_private(path).strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the cluster's secret in {path} cannot be read: {error}") from error
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(f"other users may read the cluster's secret: chmod 600 {path}")
    if len(text) < LEAST_SECRET:
        raise UsageError(f"{path} contains {len(text)} characters; a secret must have at least {LEAST_SECRET}")
    return Secret(text.encode())


def write_secret(path: Path) -> None:
    """Write a new secret to an owner-only file.

    Raises:
        UsageError: The file already exists; it is not changed.
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} already exists; nothing was written") from None
    with open(opened, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")


class Authenticator:
    """Verifier of signatures for one process. Without a secret, it accepts all requests."""

    def __init__(self, secret: Secret | None, cluster: str) -> None:
        self._secret = secret
        self._cluster = cluster
        self.boot = secrets.token_hex(16)
        self._last: dict[str, int] = {}
        """Largest number used by each sender."""

    def refusal(self, headers: Mapping[str, str], method: str, target: str) -> str | None:
        """Return the reason for rejecting a request; ``None`` if it is accepted. Header names must be in lower case.

        The body need not be received yet. Check it later with ``owns``.
        """
        cluster = headers.get(CLUSTER)
        if cluster is not None and cluster != self._cluster:
            return f"this is the cluster {self._cluster!r}, not {cluster!r}"
        if self._secret is None:
            return None
        nonce, _, given = headers.get(AUTHORIZATION, "").partition(" ")
        if not given:
            return "the request is not signed with the cluster's secret"
        if headers.get(BOOT) != self.boot:
            return "the request is signed for an earlier process"
        expected = self._secret.sign(
            boot=self.boot,
            nonce=nonce,
            cluster=self._cluster,
            method=method,
            target=target,
            digest=headers.get(DIGEST, ""),
        )
        if not hmac.compare_digest(expected, given):
            return f"the request is signed with a different secret: copy {SECRET_FILE} from this node to the client"
        return self._repetition(nonce)

    def owns(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Return True if the body belongs to an accepted request."""
        return self._secret is None or headers.get(DIGEST) == digest_of(body)

    def answered(self, headers: Mapping[str, str], status: int, body: bytes) -> dict[str, str]:
        """Return the headers of a response: its signature if there is a secret."""
        if self._secret is None:
            return {}
        nonce = headers.get(AUTHORIZATION, "").partition(" ")[0]
        return {ANSWER: self._secret.sign_answer(nonce=nonce, status=status, body=body)}

    def _repetition(self, nonce: str) -> str | None:
        sender, _, number = nonce.partition("-")
        if not (number.isdecimal() and len(sender) <= _NAME_LENGTH and len(number) <= _NAME_LENGTH):
            return "the request's nonce does not have the form NAME-NUMBER"
        if int(number) <= self._last.get(sender, -1):
            return "the request has already been received"
        if sender not in self._last and len(self._last) >= _MOST_SENDERS:
            self._last.clear()
            self.boot = secrets.token_hex(16)  # rejects all earlier signatures
            return "the request is signed for an earlier process"
        self._last[sender] = int(number)
        return None
