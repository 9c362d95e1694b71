"""Python's text encodings, and their conversion to UTF-8."""

import codecs

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError

_MARK, _MARKED = "\udcff", "seatunnel.marked"
"""Byte that replaces undecodable bytes. ``FF`` is also invalid in UTF-8."""

codecs.register_error(_MARKED, lambda error: (_MARK, error.end))  # type: ignore[attr-defined]


def is_text_encoding(name: str) -> bool:
    """Return True if Python has an incremental text codec with that name."""
    try:
        codecs.getincrementalencoder(name)().encode("a")
        codecs.getincrementaldecoder(name)().decode(b"")
    except (LookupError, TypeError, ValueError):
        return False
    return True


def no_characters(encoding: str) -> str:
    """Return the last part of an error message about undecodable bytes, with a remedy."""
    return (
        f"has bytes that are not valid {encoding}; set the encoding of the file, for example encoding = "
        "ISO-8859-1 or encoding = GBK"
    )


def as_utf8(stream: pa.NativeFile, encoding: str, path: str) -> pa.NativeFile:
    """Convert a stream to UTF-8. Undecodable bytes become invalid UTF-8, so that the reader rejects the row."""
    decoder = codecs.getincrementaldecoder(encoding)(_MARKED)

    def transcoded(piece: bytes) -> bytes:
        try:
            text = decoder.decode(piece, not len(piece))
        except UnicodeError:  # UTF-16 and UTF-32 without a byte-order mark.
            raise SourceError(
                f"{path}: the file has no byte-order mark; set encoding = {encoding}LE or {encoding}BE"
            ) from None
        return text.encode("utf-8", "surrogateescape")

    return pa.TransformInputStream(stream, transcoded)
