"""Splits: the smallest pieces of a source that can be read again separately."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.stored_fields import Stored


@frozen(kw_only=True)
class Split(Stored):
    """A replayable piece of a source with a fixed start and end: reading it twice gives the same rows."""

    index: int
    """Position in the source's enumeration, from 0, without gaps."""

    weight_bytes: int
    """Number of bytes to read, as far as known; affects packing and unit size, never correctness."""

    rows: int
    """Exact or estimated number of rows, at least 1. Used only for rate limits and prediction."""

    body: Mapping[str, Any] = field(repr=False)
    """Data that the source needs to read it: JSON values only, a few hundred bytes. Opaque to the protocol."""
