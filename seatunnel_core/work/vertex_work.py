"""Rows and task time of each vertex of a pipeline, to find the bottleneck."""

from attrs import frozen

from seatunnel_core.stored_fields import Stored


@frozen
class VertexWork(Stored):
    """Work of one vertex in finished work units."""

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
