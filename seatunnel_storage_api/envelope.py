"""Seal of stored bytes: a header, the body, and a SHA-256 over both.

::

    magic            12 bytes
    format version    2 bytes, big endian
    header length     4 bytes, big endian
    header           JSON object, UTF-8
    body             ``length`` bytes of the header
    SHA-256          32 bytes, over everything before

In every format version, the last 32 bytes are the SHA-256 of all preceding bytes, so that damage is distinguished from
a newer version before any other content is used. The header is JSON and the body is returned as bytes: no content of a
storage is ever executed.
"""

import functools
import hashlib
import hmac
import json
import os
import struct
import time
from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError

MAGIC = b"\x89SeaTunnel\r\n"
FORMAT_VERSION = 1
DIGEST_BYTES = 32

_LENGTHS = ">HI"
_PREAMBLE_BYTES = len(MAGIC) + struct.calcsize(_LENGTHS)
_CODEC = "none"
_to_json = json.JSONEncoder(separators=(",", ":")).encode


@frozen(kw_only=True)
class Opened:
    """Sealed object with verified bytes."""

    header: Mapping[str, object]
    """Header fields: ``kind``, ``library`` (version), ``codec``, ``length`` (bytes of the body), ``created_at_ms``
    (since 1970), ``seal`` (random, so that no two seals are equal) and the additional fields of the kind."""

    body: bytes = field(repr=False)


@functools.cache
def library_version() -> str:
    """Return the version of this distribution, or ``unknown`` if the code runs without being installed."""
    from importlib import metadata  # 35 ms, only in a process that stores something

    try:
        return metadata.version("seatunnel-core")
    except metadata.PackageNotFoundError:
        return "unknown"


def seal(kind: str, body: bytes, **fields: object) -> bytes:
    """Return the sealed bytes of ``body`` in one piece. This copies the body once; see ``seal_in_pieces``."""
    return b"".join(seal_in_pieces(kind, body, **fields))


def seal_in_pieces(kind: str, body: bytes, **fields: object) -> tuple[bytes, bytes, bytes]:
    """Return the sealed bytes of ``body`` as three pieces to concatenate; the second one is ``body`` itself.

    Two seals of the same content differ, so a caller that later finds exactly its own bytes knows that it put them.

    Args:
        kind: The kind of the object; ``unseal`` checks it.
        body: The content; it is not copied.
        **fields: Additional header fields; JSON values.
    """
    described = {
        "kind": kind,
        "library": library_version(),
        "codec": _CODEC,
        "length": len(body),
        "created_at_ms": time.time_ns() // 1_000_000,
        "seal": os.urandom(8).hex(),
        **fields,
    }
    header = _to_json(described).encode()
    preamble = MAGIC + struct.pack(_LENGTHS, FORMAT_VERSION, len(header)) + header
    digest = hashlib.sha256(preamble)
    digest.update(body)
    return preamble, body, digest.digest()


def unseal(sealed: bytes, *, kind: str, where: str) -> Opened:
    """Verify every byte of a sealed object and return its header and body; copies the body once.

    Args:
        sealed: All bytes of the object.
        kind: The expected kind.
        where: The path, for messages.

    Raises:
        CheckpointCorruptedError: A byte is flipped, missing or extra, or the object has the wrong kind.
        UnsupportedFormatError: The object is intact, but has a newer format.
    """
    view = memoryview(sealed)
    if len(view) < _PREAMBLE_BYTES + DIGEST_BYTES:
        raise _damaged(where, f"it has {len(view)} bytes, fewer than an empty object has")
    if not hmac.compare_digest(hashlib.sha256(view[:-DIGEST_BYTES]).digest(), view[-DIGEST_BYTES:]):
        raise _damaged(where, "its SHA-256 does not match the stored checksum")
    version, header_bytes = struct.unpack_from(_LENGTHS, view, len(MAGIC))
    if view[: len(MAGIC)] != MAGIC:
        raise _damaged(where, "it does not start with the header of a sealed object")
    if version != FORMAT_VERSION:
        raise UnsupportedFormatError(
            f"cannot read {where}: it has format version {version}, but this library reads version "
            f"{FORMAT_VERSION}. Use the version that wrote it, or a newer one"
        )
    body_start = _PREAMBLE_BYTES + header_bytes
    header = _parse(bytes(view[_PREAMBLE_BYTES:body_start]), where)
    body = view[body_start:-DIGEST_BYTES]
    if header.get("kind") != kind or header.get("length") != len(body):
        raise _damaged(where, f"its header does not describe a {kind} of {len(body)} bytes")
    if header.get("codec") != _CODEC:
        raise UnsupportedFormatError(
            f"cannot read {where}: its body has the codec {header.get('codec')!r}, but this library supports only "
            f"{_CODEC!r}. Use the version that wrote it, or a newer one"
        )
    return Opened(header=header, body=bytes(body))


def _parse(header: bytes, where: str) -> Mapping[str, object]:
    try:
        fields = json.loads(header)
    except (ValueError, RecursionError) as cause:
        raise _damaged(where, "its header is not JSON") from cause
    if not isinstance(fields, dict):
        raise _damaged(where, "its header is not a JSON object")
    return fields


def _damaged(where: str, problem: str) -> CheckpointCorruptedError:
    return CheckpointCorruptedError(
        f"cannot read {where}: it is damaged: {problem}. Restore the object from a copy, or resume from an older "
        "checkpoint"
    )
