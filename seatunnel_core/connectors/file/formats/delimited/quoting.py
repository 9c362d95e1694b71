"""Search for positions at which a CSV file can be divided, in each chunk separately.

A line break ends a row unless it is inside quotes, which depends on all preceding text. If quotes only enclose values
(and are doubled inside them), a position is inside quotes if an odd number of quotes precedes it. Therefore a chunk is
examined under both assumptions, and the number of quotes in the preceding chunks selects the correct result (D. Ge et
al., "Speculative Distributed CSV Data Parsing for Big Data Analytics", SIGMOD 2019). A file with a quote inside an
unquoted value (``5" pipe``) is not divided. NumPy is used because ``pyarrow.compute`` takes 0.17 s to load.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""Ascending offsets in a chunk."""

_LONGEST_SEARCH = 4096
"""Maximum number of quotes to examine after a wanted offset; under the wrong assumption, there may be no line break to
find."""

OUTSIDE, INSIDE = 0, 1
"""The two assumptions about the start of a chunk, as indexes of their results."""


@frozen(kw_only=True)
class ChunkQuotes:
    """Result of examining one chunk."""

    odd: bool
    """True if the chunk contains an odd number of quotes."""

    sound: tuple[bool, bool]
    """For each assumption, True if every opening quote is at the beginning of a value."""

    cuts: tuple[tuple[int | None, ...], tuple[int | None, ...]]
    """For each assumption and wanted offset, the offset after the next line break that ends a row, or ``None``."""

    def body(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {"odd": self.odd, "sound": list(self.sound), "cuts": [list(cuts) for cuts in self.cuts]}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ChunkQuotes":
        """Return the result stored as JSON values."""
        outside, inside = body["cuts"]
        return cls(odd=body["odd"], sound=(body["sound"][0], body["sound"][1]), cuts=(tuple(outside), tuple(inside)))


def examine(
    data: bytes, offset: int, wanted: Sequence[int], quote: bytes, delimiter: bytes, before: bytes
) -> ChunkQuotes:
    """Examine the chunk ``data``, which starts at ``offset`` of the file.

    Args:
        data: Bytes of the chunk. A run of quotes at its end must be complete.
        offset: Start of the chunk in the file.
        wanted: Ascending offsets in the file near which to divide it.
        quote: Quote character, empty for none.
        delimiter: Field delimiter.
        before: Byte before the chunk, empty at the beginning of the file. A run of quotes that started there belongs to
            the previous chunk.
    """
    if not quote or quote not in data:
        cuts = tuple(_next_line(data, offset, place) for place in wanted)
        return ChunkQuotes(odd=False, sound=(True, True), cuts=(cuts, tuple(None for _ in wanted) if quote else cuts))
    toggles, sound = _toggles(data, quote, delimiter, before)
    cuts_outside = tuple(_cut(data, offset, place, toggles, OUTSIDE) for place in wanted)
    cuts_inside = tuple(_cut(data, offset, place, toggles, INSIDE) for place in wanted)
    return ChunkQuotes(odd=len(toggles) % 2 == 1, sound=sound, cuts=(cuts_outside, cuts_inside))


def compose(chunks: Sequence[ChunkQuotes]) -> list[int]:
    """Return the ascending offsets at which to divide a file, from its chunks; empty if quotes are ambiguous."""
    state = OUTSIDE
    cuts: list[int] = []
    for chunk in chunks:
        if not chunk.sound[state]:
            return []
        cuts.extend(cut for cut in chunk.cuts[state] if cut is not None and (not cuts or cut > cuts[-1]))
        state ^= chunk.odd
    return cuts


def _toggles(data: bytes, quote: bytes, delimiter: bytes, before: bytes) -> tuple[Places, tuple[bool, bool]]:
    """Return the starts of odd runs of quotes; and for each assumption, True if all opening quotes begin a value.

    A run of even length is an empty value, or doubled quotes inside a value. Every second run of odd length opens a
    value, starting with the first or the second one depending on whether the chunk starts outside or inside quotes.
    """
    everything = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(everything == quote[0])
    first = np.flatnonzero(np.diff(quotes, prepend=-2) != 1)
    lengths = np.diff(first, append=len(quotes))
    toggles = quotes[first[lengths & 1 == 1]]
    if before == quote and len(toggles) and toggles[0] == 0:
        toggles = toggles[1:]
    preceding = everything[toggles - 1]
    if len(toggles) and toggles[0] == 0:
        preceding[0] = ord(before or b"\n")
    misplaced = ~np.isin(preceding, list(delimiter + b"\r\n"))
    return toggles, (not misplaced[0::2].any(), not misplaced[1::2].any())


def _next_line(data: bytes, offset: int, place: int) -> int | None:
    found = data.find(b"\n", max(place - offset - 1, 0))
    return offset + found + 1 if found >= 0 else None


def _cut(data: bytes, offset: int, place: int, toggles: Places, state: int) -> int | None:
    position = max(place - offset - 1, 0)
    passed = int(np.searchsorted(toggles, position))
    state = (passed + state) % 2
    near = toggles[passed : passed + _LONGEST_SEARCH].tolist()
    ends = near if passed + len(near) < len(toggles) else [*near, len(data)]
    for end in ends:
        line_end = data.find(b"\n", position, end) if state == OUTSIDE else -1
        if line_end >= 0:
            return offset + line_end + 1
        state ^= 1
        position = end
    return None
