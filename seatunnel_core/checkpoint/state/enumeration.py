"""Splits of a stored enumeration, in order (R12). The source itself reads the schemas.

::

    {"version": 1, "schemas": […], "splits": [[weight_bytes, rows, body], …], "ordering_keys": [text or null, …]}

``ordering_keys`` is omitted if no split has a key. Versions without ordering keys ignore this member and run the units
of the source one after another.
"""

from collections.abc import Mapping, Sequence

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
        splits = stored.items(document, "splits")
        keys = stored.items(document, "ordering_keys") if "ordering_keys" in document else (None,) * len(splits)
        if len(keys) != len(splits):
            raise StoredValueError(f"{len(splits)} splits have {len(keys)} ordering keys")
        return tuple(_split(index, *each) for index, each in enumerate(zip(splits, keys, strict=True)))
    except StoredValueError as error:
        raise StateFormatError(f"the stored enumeration is invalid: {error}") from error


def _split(index: int, written: object, ordering_key: object) -> Split:
    if not isinstance(written, list) or len(written) != len(_SPLIT):
        raise StoredValueError(f"split {index} is not a list of {', '.join(_SPLIT)}")
    return Split.from_record({"index": index, **dict(zip(_SPLIT, written, strict=True)), "ordering_key": ordering_key})


def ordering_keys_of(splits: Sequence[Split]) -> dict[str, list[str | None]]:
    """Return the member of the stored form that contains the ordering keys; empty if no split has one."""
    keys = [split.ordering_key for split in splits]
    return {"ordering_keys": keys} if any(key is not None for key in keys) else {}
