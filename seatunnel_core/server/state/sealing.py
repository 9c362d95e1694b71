"""Encryption of values in the cluster's state, with keys derived from the cluster's secret.

An encrypted value is a JSON object with the key id, and the nonce and ciphertext of AES-256-GCM. The entry's name is
authenticated data, so that a value is not accepted under another job's id. Key and key id are derived from the secret
by HKDF with different contexts, so that the id reveals nothing about the key.
"""

import base64
import json
import os
from collections.abc import Collection

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from seatunnel_core import stored
from seatunnel_core.control.signing import OLD_SECRET_FILE, SECRET_FILE, Secret
from seatunnel_core.errors import StoredValueError

PLAIN = ""
"""Key ID of an unencrypted value."""

_BEGINNING = b'{"sealed":'
"""Prefix of encrypted values; unencrypted records never have it."""

_VERSION = 1
_NONCE_BYTES = 12
_KEY_CONTEXT = b"seatunnel cluster state 1: key"
_ID_CONTEXT = b"seatunnel cluster state 1: key id"


class Seal:
    """Encryption with the key of the current secret, and decryption with the keys of current and former secrets."""

    def __init__(self, secret: Secret, old: Collection[Secret] = ()) -> None:
        self.key_id = _derived(secret, _ID_CONTEXT, 8).hex()
        self._ciphers = {
            _derived(each, _ID_CONTEXT, 8).hex(): AESGCM(_derived(each, _KEY_CONTEXT, 32)) for each in (secret, *old)
        }

    def close(self, key: str, body: bytes) -> bytes:
        """Encrypt the value of an entry."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._ciphers[self.key_id].encrypt(nonce, body, key.encode())
        block = {"sealed": _VERSION, "key": self.key_id, "body": base64.b64encode(sealed).decode()}
        return json.dumps(block, separators=(",", ":")).encode()

    def open(self, key: str, key_id: str, sealed: bytes) -> bytes:
        """Decrypt the value of an entry. Raise StoredValueError for an unknown key or a modified value."""
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise StoredValueError(
                f"it is encrypted with the key {key_id}, which belongs neither to config/{SECRET_FILE} nor to "
                f"config/{OLD_SECRET_FILE} of this node: put the secret that was used for the encryption into "
                f"config/{OLD_SECRET_FILE}, and start the node again"
            )
        try:
            return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], key.encode())
        except (InvalidTag, ValueError):
            raise StoredValueError(f"it was changed after it was encrypted with the key {key_id}") from None


def opened(seal: Seal | None, key: str, body: bytes) -> tuple[bytes, str]:
    """Return the decrypted value of an entry and its key ID. A StoredValueError states a remedy."""
    if not body.startswith(_BEGINNING):
        return body, PLAIN
    block = stored.parse(body)
    version = stored.number(block, "sealed")
    if version != _VERSION:
        raise StoredValueError(f"it is encrypted in the unknown format {version}: run the engine version that wrote it")
    key_id = stored.text(block, "key")
    if seal is None:
        raise StoredValueError(
            f"it is encrypted with the key {key_id}, but this node has no config/{SECRET_FILE}: copy the cluster's "
            "secret to this file, and start the node again"
        )
    try:
        sealed = base64.b64decode(stored.text(block, "body"), validate=True)
    except ValueError:
        raise StoredValueError(f"it was changed after it was encrypted with the key {key_id}") from None
    return seal.open(key, key_id, sealed), key_id


def _derived(secret: Secret, context: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=context).derive(secret.value)
