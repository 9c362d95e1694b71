"""Metrics of a job over time, kept in bounded memory."""

import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import astuple, frozen

LEVELS = ((5.0, 720), (60.0, 1_440), (600.0, 1_008))
"""Seconds between two points, and number of points kept: for the last hour, the last day and the last week."""

MOST_PIPELINES = 20
"""Maximum number of pipelines with their own series; the total includes all pipelines."""

MOST_POINTS = 1_000
POINTS = 300
POINTS_AT_END = 60
"""Number of points stored for an ended job, because thousands of such jobs may be kept."""

COLUMNS = (
    "timestamp",
    "rowsReadPerSecond",
    "rowsWrittenPerSecond",
    "rowsCommittedPerSecond",
    "bytesReadPerSecond",
    "unitsInFlight",
    "uncommitted",
)
"""Columns of ``Series.record``. Time is in milliseconds since 1970."""

_COUNTERS = 4
_WIDTH = len(COLUMNS)
_TOLERANCE_S = 0.5
"""Maximum time by which a timer may fire early, in seconds."""


@frozen
class Point:
    """Counters and gauges of a pipeline at a point in time."""

    rows_read: float = 0
    rows_written: float = 0
    rows_committed: float = 0
    bytes_read: float = 0
    units_in_flight: float = 0
    uncommitted: float = 0

    def __add__(self, other: "Point") -> "Point":
        return Point(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


class _Ring:
    """Ring buffer for the last points at one interval, in an array that grows up to the limit."""

    def __init__(self, every_s: float, most: int) -> None:
        self.every_s = every_s
        self._most = most
        self._values = array("d")
        self._next = 0
        self._last_s: float | None = None

    def add(self, at: float, values: Sequence[float]) -> None:
        if self._last_s is not None and 0 <= at - self._last_s < self.every_s - _TOLERANCE_S:
            return
        self._last_s = at
        row = array("d", (at, *values))
        if len(self._values) < self._most * _WIDTH:
            self._values.extend(row)
        else:
            start = self._next * _WIDTH
            self._values[start : start + _WIDTH] = row
            self._next = (self._next + 1) % self._most

    def rows(self) -> list[tuple[float, ...]]:
        """Return the points, oldest first."""
        values, start = self._values, self._next * _WIDTH
        flat = values[start:] + values[:start]
        return [tuple(flat[at : at + _WIDTH]) for at in range(0, len(flat), _WIDTH)]

    @property
    def is_full(self) -> bool:
        return len(self._values) >= self._most * _WIDTH


class Series:
    """Points of one pipeline or of a whole job. One thread adds points; any thread may read them."""

    def __init__(self) -> None:
        self._rings = tuple(_Ring(*level) for level in LEVELS)

    def add(self, at: float, point: Point) -> None:
        """Add the counters and gauges at a time in seconds since 1970."""
        values = astuple(point)
        for ring in self._rings:
            ring.add(at, values)

    def record(self, since_s: float = 0.0, most: int = POINTS) -> list[list[float]]:
        """Return at most ``most`` evenly spaced points since ``since_s``, as rows of ``COLUMNS`` with rates."""
        rows = [row for row in self._finest(since_s) if row[0] >= since_s]
        step = max(1, -(-len(rows) // max(1, most)))
        kept = rows[(len(rows) - 1) % step :: step] if rows else []
        return [_rates(before, row) for before, row in itertools.pairwise(kept)]

    def _finest(self, since_s: float) -> list[tuple[float, ...]]:
        """Return the points at the shortest interval for which they reach back to ``since_s``."""
        for ring in self._rings[:-1]:
            rows = ring.rows()
            if not ring.is_full or (rows and rows[0][0] <= since_s):
                return rows
        return self._rings[-1].rows()


def _rates(before: Sequence[float], row: Sequence[float]) -> list[float]:
    seconds = row[0] - before[0]
    counted = zip(before[1 : 1 + _COUNTERS], row[1 : 1 + _COUNTERS], strict=True)
    rates = [round(max(0.0, now - then) / seconds, 2) if seconds > 0 else 0.0 for then, now in counted]
    return [round(row[0] * 1000), *rates, *map(int, row[1 + _COUNTERS :])]


class JobSeries:
    """Points of a job: its totals and, if it has several pipelines, those of up to ``MOST_PIPELINES`` pipelines."""

    def __init__(self) -> None:
        self._sum = Series()
        self._by_pipeline: dict[int, Series] = {}

    def add(self, at: float, points: Mapping[int, Point]) -> None:
        """Add points, keyed by pipeline number."""
        self._sum.add(at, sum(points.values(), Point()))
        if len(points) > 1:
            for number in sorted(points)[:MOST_PIPELINES]:
                self._by_pipeline.setdefault(number, Series()).add(at, points[number])

    def record(self, pipeline: int = 0, since_s: float = 0.0, most: int = POINTS) -> dict[str, Any]:
        """Return the points of a pipeline, or of the whole job for 0, as JSON values."""
        series = self._by_pipeline.get(pipeline, Series()) if pipeline else self._sum
        points = series.record(since_s, most)
        return {"columns": list(COLUMNS), "points": points, "pipelines": sorted(self._by_pipeline)}
