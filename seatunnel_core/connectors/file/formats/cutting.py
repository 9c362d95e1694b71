"""Division of text files into splits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.delimited.quoting import ChunkQuotes, compose, examine
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, OpenFile

CHUNK_BYTES = 4 << 20
"""Size of the chunks that are examined for quotes, in bytes; examining one takes twice as much memory."""

SAMPLE_BYTES = 1 << 20
"""Size of the sample from which the length of rows is estimated, in bytes."""

WORTH_READING_TWICE = 2
"""Number of splits above which a file with quotes is examined. The examination takes a third of the reading time."""

SMALLEST_PIECE = 4 << 10
"""Minimum size of a split when the rate is limited, in bytes."""


def piece(split_size: int, planning: PlanningContext, bytes_per_row: float | None = None) -> int:
    """Return the size of a split, in bytes."""
    wanted = split_size
    if planning.bytes_per_second:
        wanted = min(wanted, max(planning.bytes_per_second, SMALLEST_PIECE))
    if planning.rows_per_second and bytes_per_row:
        wanted = min(wanted, max(int(planning.rows_per_second * bytes_per_row), SMALLEST_PIECE))
    return max(wanted, 1)


@frozen(kw_only=True)
class SplitPlan:
    """Settings for dividing text files into splits."""

    dialect: Dialect
    split_size: int
    enabled: bool
    """True if ``enable_file_split`` is set."""

    @property
    def splittable(self) -> bool:
        """True if a file may be divided into several splits."""
        return self.enabled and self.dialect.splittable

    @property
    def quoted(self) -> bool:
        """True if a value may contain a line break; the whole file must then be examined before it is divided."""
        return bool(self.dialect.quote)

    def piece(self, planning: PlanningContext, bytes_per_row: float | None = None) -> int:
        """Return the size of a split, in bytes."""
        return piece(self.split_size, planning, bytes_per_row)

    def must_examine(self, version: FileVersion, planning: PlanningContext) -> bool:
        """Return True if a task must examine the file before it can be divided."""
        if not self.splittable or not version.size:
            return False
        return planning.rows_per_second is not None or (
            self.quoted and version.size > WORTH_READING_TWICE * self.piece(planning)
        )

    def chunks(self, version: FileVersion, planning: PlanningContext) -> list[tuple[int, int]]:
        """Return the byte ranges to examine, one per task."""
        if not (self.quoted and self.must_examine(version, planning)):
            return [(0, version.size)]
        return [(start, min(start + CHUNK_BYTES, version.size)) for start in range(0, version.size, CHUNK_BYTES)]

    def examine(self, file: OpenFile, start: int, end: int, planning: PlanningContext) -> dict[str, Any]:
        """Return the estimated number of rows in one chunk and its possible split positions, as JSON values."""
        if not self.quoted:
            sample = file.read_range(0, min(SAMPLE_BYTES, file.version.size))
            return {"rows": _scaled(sample, end - start)}
        first = self.dialect.preamble(file)[1] if start == 0 else start
        if first >= end:
            return {"rows": 0, "quotes": None} if end < file.version.size else {"rows": 0}
        data = self._complete(file, first, end)
        rows = _scaled(data[:SAMPLE_BYTES], len(data))
        step = self.piece(planning, len(data) / rows)
        before = file.read_range(start - 1, start) if start else b""
        wanted = range(max(-(-start // step), 1) * step, end, step)
        quotes = examine(data, first, wanted, self.dialect.quote_byte, self.dialect.delimiter_byte, before)
        return {"rows": rows, "quotes": quotes.body()}

    def _complete(self, file: OpenFile, start: int, end: int) -> bytes:
        """Return the bytes of a chunk, extended so that a run of quotes at its end is complete."""
        data = file.read_range(start, end)
        quote = self.dialect.quote_byte
        while data.endswith(quote) and (more := file.read_range(end, end + 1)) == quote:
            data, end = data + more, end + 1
        return data


def _scaled(sample: bytes, size: int) -> int:
    lines = max(sample.count(b"\n"), 1)
    return max(round(lines * size / max(len(sample), 1)), 1)


def file_ranges(
    plan: SplitPlan, version: FileVersion, examined: Sequence[dict[str, Any]], planning: PlanningContext
) -> list[tuple[int, int]]:
    """Return the byte ranges that divide a text file; ``examined`` is empty if the file was not examined."""
    if not plan.splittable:
        return [(0, version.size)]
    if plan.quoted:
        if not examined or any(chunk.get("quotes") is None for chunk in examined):
            return [(0, version.size)]
        cuts = compose([ChunkQuotes.of(chunk["quotes"]) for chunk in examined])
    else:
        rows = sum(chunk["rows"] for chunk in examined)
        step = plan.piece(planning, version.size / rows if rows else None)
        cuts = list(range(step, version.size, step))
    places = [0, *(cut for cut in cuts if 0 < cut < version.size), version.size]
    return list(pairwise(places))
