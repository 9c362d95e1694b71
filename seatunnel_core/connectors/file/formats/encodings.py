"""The text encodings that Python knows, and their conversion to UTF-8."""

import codecs

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError

_MARK, _MARKED = "\udcff", "seatunnel.marked"
"""What stands for bytes that are no character of their encoding: the byte ``FF``, which is none of UTF-8 either."""

codecs.register_error(_MARKED, lambda error: (_MARK, error.end))  # type: ignore[attr-defined]


def is_text_encoding(name: str) -> bool:
    """Return whether Python has an incremental codec of that name between text and bytes."""
    try:
        codecs.getincrementalencoder(name)().encode("a")
        codecs.getincrementaldecoder(name)().decode(b"")
    except (LookupError, TypeError, ValueError):
        return False
    return True


def no_characters(encoding: str) -> str:
    """Return what is wrong with bytes that are no text in an encoding, and what to write, behind what has them."""
    return (
        f"has bytes that are no characters in {encoding}; write the encoding of the file, for example "
        "encoding = ISO-8859-1 or encoding = GBK"
    )


def as_utf8(stream: pa.NativeFile, encoding: str, path: str) -> pa.NativeFile:
    """Return a stream of UTF-8 for that of a file in another encoding.

    Bytes that are no character become a byte that is none in UTF-8: who reads the value refuses its row, by name.
    """
    decoder = codecs.getincrementaldecoder(encoding)(_MARKED)

    def transcoded(piece: bytes) -> bytes:
        try:
            text = decoder.decode(piece, not len(piece))
        except UnicodeError:  # UTF-16 and UTF-32 without a byte-order mark
            raise SourceError(
                f"{path}: its first bytes do not say in which order bytes follow; write encoding = {encoding}LE or "
                f"{encoding}BE"
            ) from None
        return text.encode("utf-8", "surrogateescape")

    return pa.TransformInputStream(stream, transcoded)
