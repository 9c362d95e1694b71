"""Chunks of tables on MySQL 5.7, which has no window functions: each bound is computed from the previous one."""

from collections.abc import Iterator
from typing import Any

from attrs import define

from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.jdbc.splitting import Piece

_AHEAD = 64
"""Maximum number of chunks to compute at a time."""


@define
class SteppedChunks(Chunks):
    """Chunks with ``split.size`` rows each, computed one after the other along an index."""

    def _require_pieces(self, found: Found, start: ChunkStart, connection: Any) -> None:
        first = self._pieces[0] if self._pieces else None
        if self._table != start.table or first is None or first.low != start.low:
            self._table, self._pieces = start.table, list(_pieces(found, start, connection))


def _pieces(found: Found, start: ChunkStart, connection: Any) -> Iterator[Piece]:
    """Yield the next chunks of a table."""
    column = found.split_column
    if column is None:
        yield Piece()
        return
    size = found.reading.options[jdbc.SPLIT_SIZE]
    name, low = column.order if start.low is None else start.order, start.low
    for _ in range(_AHEAD):
        high = _bound(found, name, low, size, connection)
        yield Piece(order=name, low=low, high=high, rows=size)
        low = high
        if high is None:
            return


def _bound(found: Found, name: str, low: str | None, size: int, connection: Any) -> str | None:
    """Return the upper bound of a chunk; ``None`` for the last chunk."""
    dialect, column = found.reading.dialect, found.split_column
    assert column is not None
    order = dialect.orders[name]
    by, shown = (part.replace("{}", dialect.quoted(column.name)) for part in (order.by, order.shown))
    relation = found.reading.relation
    least = "" if low is None else order.literal(low)
    rises, where = ("1", "") if low is None else (f"{by} > {least}", f" WHERE {by} >= {least}")
    asked = f"SELECT {shown}, {rises} FROM {relation}{where} ORDER BY {by} LIMIT 1 OFFSET {size}"
    rows = dialect.ask(connection, asked)
    if rows and not rows[0][1]:  # More equal keys than a chunk has rows.
        rows = dialect.ask(connection, f"SELECT {shown} FROM {relation} WHERE {by} > {least} ORDER BY {by} LIMIT 1")
    return str(rows[0][0]) if rows else None
