"""A split: the smallest piece of a source that can be read again on its own."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored


@frozen(kw_only=True)
class Split:
    """A replayable piece of a source, with a definite start and end: reading it twice gives the same rows."""

    index: int
    """The position in the source's enumeration, from 0, without gaps."""

    weight_bytes: int
    """How many bytes a task has to read, as far as known; decides packing and unit size, never correctness."""

    rows: int
    """How many rows it has: exact or estimated, at least 1. Used for speed limits and prediction only."""

    body: Mapping[str, Any] = field(repr=False)
    """What the source needs to read it: JSON values only, a few hundred bytes. Opaque to the protocol."""


def split_json(split: Split) -> dict[str, object]:
    """Return the split as JSON, as a stored checkpoint has it."""
    return {
        "index": split.index,
        "weight_bytes": split.weight_bytes,
        "rows": split.rows,
        "body": dict(split.body),
    }


def read_split(split: Mapping[str, object]) -> Split:
    """Return the split that ``split_json`` wrote.

    Raises:
        StoredValueError: it is not one.
    """
    return Split(
        index=stored.number(split, "index"),
        weight_bytes=stored.number(split, "weight_bytes"),
        rows=stored.number(split, "rows"),
        body=stored.below(split, "body"),
    )
