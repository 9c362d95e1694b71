"""Splits of a stored enumeration, in order (R12). The source itself reads the schemas.

::

    {"version": 1, "schemas": […], "splits": [[weight_bytes, rows, body], …]}
"""

from collections.abc import Mapping

from seatunnel_core import stored
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.errors import StoredValueError
from seatunnel_core.work.split import Split

FORMAT_VERSION = 1

_SPLIT = ("weight_bytes", "rows", "body")
"""Fields of a split, in this order."""


def document_of(body: bytes) -> Mapping[str, object]:
    """Decode a stored enumeration; raise ``StateFormatError`` if it is invalid or has a newer version."""
    try:
        document: Mapping[str, object] = stored.parse(body)
        version = stored.number(document, "version")
    except StoredValueError as error:
        raise StateFormatError(f"the stored enumeration is invalid: {error}") from error
    if version != FORMAT_VERSION:
        raise StateFormatError(
            f"the enumeration has format version {version}; this engine reads {FORMAT_VERSION}: "
            "resume the job with the version of seatunnel-core that started it, or a newer one"
        )
    return document


def splits_of(document: Mapping[str, object]) -> tuple[Split, ...]:
    """Return the splits of an enumeration, numbered from 0; raise ``StateFormatError`` if they are invalid."""
    try:
        return tuple(_split(index, written) for index, written in enumerate(stored.items(document, "splits")))
    except StoredValueError as error:
        raise StateFormatError(f"the stored enumeration is invalid: {error}") from error


def _split(index: int, written: object) -> Split:
    if not isinstance(written, list) or len(written) != len(_SPLIT):
        raise StoredValueError(f"split {index} is not a list of {', '.join(_SPLIT)}")
    return Split.from_record({"index": index, **dict(zip(_SPLIT, written, strict=True))})
