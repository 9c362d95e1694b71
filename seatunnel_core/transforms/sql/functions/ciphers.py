"""Encryption functions: DES with SeaTunnel's fixed settings, and AES in CBC mode. They need cryptography."""

import base64
import binascii
import hashlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from seatunnel_core.installing import install_command
from seatunnel_core.transforms.sql.call import Call, function
from seatunnel_core.transforms.sql.engine_function import rows
from seatunnel_core.transforms.sql.value import STRING, SqlError, Value

_DES_START = b"12345678"
"""SeaTunnel's fixed initialization vector; equal strings are encrypted to equal strings."""


@function("DES_ENCRYPT", least=2)
def des_encrypt(call: Call) -> Value:
    """Compile DES_ENCRYPT(key, string); DES uses only the first eight bytes of the key."""
    return _make(call, lambda key, text: _encoded(_encrypted(_des(key), text)), text=1)


@function("DES_DECRYPT", least=2)
def des_decrypt(call: Call) -> Value:
    """Compile DES_DECRYPT(key, encrypted string)."""
    return _make(call, lambda key, text: _decrypted(_des(key), _decoded(text)), text=1)


@function("AES_ENCRYPT", least=2, most=3)
def aes_encrypt(call: Call) -> Value:
    """Compile AES_ENCRYPT(string, key[, initialization vector]); a random default is prepended to the result."""

    def encrypted(text: str, key: str, start: str | None = None) -> str:
        first = os.urandom(16) if start is None else _start(start)
        made = _encrypted(_aes(key, first), text)
        return _encoded(first + made if start is None else made)

    return _make(call, encrypted, stays=len(call.args) == 3)


@function("AES_DECRYPT", least=2, most=3)
def aes_decrypt(call: Call) -> Value:
    """Compile AES_DECRYPT(encrypted string, key[, initialization vector])."""

    def decrypted(text: str, key: str, start: str | None = None) -> str:
        made = _decoded(text)
        if start is None:
            return _decrypted(_aes(key, made[:16]), made[16:])
        return _decrypted(_aes(key, _start(start)), made)

    return _make(call, decrypted)


def _make(call: Call, made: Callable[..., str], *, text: int = 0, stays: bool = True) -> Value:
    """Compile a call with string arguments; ``stays`` is True for a deterministic function.

    Messages do not contain the values. If the argument at index ``text`` is null, the result is null. A null key or
    initialization vector is an error, because the string would be lost.
    """

    def of_row(row: tuple[Any, ...]) -> str | None:
        if row[text] is None:
            return None
        if None in row:
            raise ValueError("the key or the initialization vector is null")
        return made(*row)

    if find_spec("cryptography") is None:
        raise SqlError(f"Sql: {call.what} requires cryptography, which is not installed: {install_command('sql')}")
    args = [call.text(at) for at in range(len(call.args))]
    if not stays:  # every row gets a different value, even for constant arguments
        args[0] = Value(sql=args[0].sql, type=STRING, fails=args[0].fails)

    def of_all(*columns: Any) -> pa.Array:
        return pa.array(map(of_row, rows(columns)), STRING)

    return call.functions.call(call.what, of_all, args, STRING, secret=True)


def _des(key: str) -> Any:
    """Return the DES cipher: Triple DES with three equal keys."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    if len(key.encode()) < 8:
        raise ValueError("a DES key must have at least 8 characters")
    return Cipher(TripleDES(key.encode()[:8] * 3), modes.CBC(_DES_START))


def _aes(key: str, start: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if len(start) != 16:
        raise ValueError("the value is too short for AES: expected a 16-byte initialization vector at its beginning")
    return Cipher(algorithms.AES(_aes_key(key)), modes.CBC(start))


def _aes_key(key: str) -> bytes:
    """Return the AES key for a string: ``base64:`` and 16, 24 or 32 bytes, or a passphrase."""
    if not key.strip():
        raise ValueError("the key is empty")
    if not key.startswith("base64:"):
        return hashlib.sha256(key.encode()).digest()[:16]
    made = _decoded(key.removeprefix("base64:").strip())
    if len(made) not in (16, 24, 32):
        raise ValueError("a key with the prefix base64: must contain 16, 24 or 32 bytes")
    return made


def _start(text: str) -> bytes:
    if len(text.encode()) != 16:
        raise ValueError("an initialization vector must have 16 bytes")
    return text.encode()


def _encrypted(cipher: Any, text: str) -> bytes:
    from cryptography.hazmat.primitives.padding import PKCS7

    padder, encryptor = PKCS7(cipher.algorithm.block_size).padder(), cipher.encryptor()
    padded = padder.update(text.encode()) + padder.finalize()
    return bytes(encryptor.update(padded) + encryptor.finalize())


def _decrypted(cipher: Any, made: bytes) -> str:
    from cryptography.hazmat.primitives.padding import PKCS7

    unpadder, decryptor = PKCS7(cipher.algorithm.block_size).unpadder(), cipher.decryptor()
    try:
        padded = decryptor.update(made) + decryptor.finalize()
        return (unpadder.update(padded) + unpadder.finalize()).decode()
    except ValueError:
        raise ValueError("the value was not encrypted with this key") from None


def _encoded(made: bytes) -> str:
    return base64.b64encode(made).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("the value is not base64") from None
