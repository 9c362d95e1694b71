"""Splits: the smallest parts of a source that can be read again separately."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.stored_fields import Stored, added


@frozen(kw_only=True)
class Split(Stored):
    """A part of a source with a fixed start and end; reading it again returns the same rows."""

    index: int
    """Index in the enumeration of the source, starting at 0 and contiguous."""

    weight_bytes: int
    """Number of bytes to read, if known. It affects only the size of work units."""

    rows: int
    """Exact or estimated number of rows, at least 1. Used only for rate limits and estimates."""

    body: Mapping[str, Any] = field(repr=False)
    """Data that the source needs to read the split: JSON values only, a few hundred bytes."""

    ordering_key: str | None = added(None, omitted=True)
    """Short text. Two splits of an ordered source *commute* if both have a key and the keys differ: the rows of one may
    be written before, after or between the rows of the other. ``None`` for a split that commutes with no other split
    (protocol rule R13)."""
