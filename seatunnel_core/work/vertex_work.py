"""Rows and task time by vertex of a pipeline, which show the bottleneck."""

from typing import Any

from attrs import frozen

from seatunnel_core.errors import StoredValueError


@frozen
class VertexWork:
    """Work of one vertex in ended work units."""

    rows_in: int = 0
    rows_out: int = 0
    busy_ms: float = 0.0
    """Time that tasks spent in the vertex."""

    behind_ms: float = 0.0
    """Time that these tasks spent in downstream vertices while this vertex waited."""

    def __add__(self, other: "VertexWork") -> "VertexWork":
        return VertexWork(
            self.rows_in + other.rows_in,
            self.rows_out + other.rows_out,
            self.busy_ms + other.busy_ms,
            self.behind_ms + other.behind_ms,
        )

    def __sub__(self, other: "VertexWork") -> "VertexWork":
        return self + VertexWork(-other.rows_in, -other.rows_out, -other.busy_ms, -other.behind_ms)

    def record(self) -> list[Any]:
        """Return the work as JSON values."""
        return [self.rows_in, self.rows_out, round(self.busy_ms, 3), round(self.behind_ms, 3)]

    @classmethod
    def from_record(cls, record: Any) -> "VertexWork":
        """Restore the work from the value returned by ``record``."""
        match record:
            case [int(rows_in), int(rows_out), int(busy_ms) | float(busy_ms), int(behind_ms) | float(behind_ms)]:
                return cls(rows_in, rows_out, busy_ms, behind_ms)
        raise StoredValueError(f"expected rows and times of a vertex, found {ascii(record)[:60]}")
