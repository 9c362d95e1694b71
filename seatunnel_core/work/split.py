"""Splits: the smallest pieces of a source that can be read again separately."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored


@frozen(kw_only=True)
class Split:
    """A replayable piece of a source with a fixed start and end: reading it twice gives the same rows."""

    index: int
    """Position in the source's enumeration, from 0, without gaps."""

    weight_bytes: int
    """Number of bytes to read, as far as known; affects packing and unit size, never correctness."""

    rows: int
    """Exact or estimated number of rows, at least 1. Used only for rate limits and prediction."""

    body: Mapping[str, Any] = field(repr=False)
    """Data that the source needs to read it: JSON values only, a few hundred bytes. Opaque to the protocol."""


def split_json(split: Split) -> dict[str, object]:
    """Return the split as JSON, the form in stored checkpoints."""
    return {
        "index": split.index,
        "weight_bytes": split.weight_bytes,
        "rows": split.rows,
        "body": dict(split.body),
    }


def read_split(split: Mapping[str, object]) -> Split:
    """Return the split that ``split_json`` wrote.

    Raises:
        StoredValueError: The value is not a split.
    """
    return Split(
        index=stored.number(split, "index"),
        weight_bytes=stored.number(split, "weight_bytes"),
        rows=stored.number(split, "rows"),
        body=stored.below(split, "body"),
    )
