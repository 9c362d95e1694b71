"""Decompression of MariaDB's column values and event parts."""

import zlib

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError, UnsupportedLogError

_ZLIB = 8
_NO_ZLIB_HEADER = 8
"""Bit in the first byte of a value that marks a raw deflate stream."""


def uncompressed(value: bytes) -> bytes:
    """Decompress a value of a column with the attribute COMPRESSED.

    The first byte contains the method in its upper half, and in its lower half the size of the big-endian length that
    follows. Method 0 means an uncompressed value.

    Raises:
        MalformedLogError: The value is damaged.
        UnsupportedLogError: The method is unknown.
    """
    if not value or value[0] >> 4 == 0:
        return value[1:]
    if value[0] >> 4 != _ZLIB:
        raise UnsupportedLogError(
            f"a compressed value uses compression method {value[0] >> 4}, which this version does not support"
        )
    size = value[0] & 7
    wbits = -zlib.MAX_WBITS if value[0] & _NO_ZLIB_HEADER else zlib.MAX_WBITS
    return _inflated(value[1 + size :], int.from_bytes(value[1 : 1 + size], "big"), wbits)


def uncompressed_part(data: bytes) -> bytes:
    """Decompress a part of an event that was compressed with ``log_bin_compress``.

    The first byte has bit 7 set, and contains the method in bits 4 to 6 and the size of the big-endian length that
    follows.

    Raises:
        MalformedLogError: The part is damaged.
        UnsupportedLogError: The method is unknown.
    """
    if not data or not data[0] & 0x80:
        raise MalformedLogError("the compressed part of an event has no header")
    if data[0] >> 4 & 7:
        raise UnsupportedLogError(
            f"a compressed event uses compression method {data[0] >> 4 & 7}, which this version does not support"
        )
    size = data[0] & 7
    return _inflated(data[1 + size :], int.from_bytes(data[1 : 1 + size], "big"), zlib.MAX_WBITS)


def _inflated(data: bytes, length: int, wbits: int) -> bytes:
    inflate = zlib.decompressobj(wbits)
    try:
        found = inflate.decompress(data, length + 1)
    except zlib.error as error:
        raise MalformedLogError(f"compressed bytes of the log are damaged: {error}") from None
    if len(found) != length:
        raise MalformedLogError(f"compressed bytes of the log expand to {len(found)} bytes or more, expected {length}")
    return found
