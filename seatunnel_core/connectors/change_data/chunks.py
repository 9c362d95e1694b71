"""Chunks of tables: key ranges that are read separately.

A cursor only contains the start of the next chunk. The later chunks may differ after a restart, but together they
always cover the remaining keys.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from attrs import define, evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.jdbc.order import OWN
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.jdbc.splitting import Divided, Piece, condition

ROW_BYTES = 100
"""Estimated size of a row in bytes. The weight of a split only affects how splits are grouped into work units."""


@frozen(kw_only=True)
class ChunkStart:
    """Start of the next chunk."""

    table: int = 0
    """Index of the table."""

    order: str = OWN
    """Key of the sort order of ``low`` in ``Dialect.orders``."""

    low: str | None = None
    """Lower bound of the next chunk; ``None`` for the first chunk of a table."""

    column: str = ""
    """Split column to which ``low`` applies; empty if there is no bound, or if an older version stored the start."""

    def record(self) -> dict[str, Any]:
        """Return the start as JSON values."""
        return {"table": self.table, "order": self.order, "low": self.low, "column": self.column}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "ChunkStart":
        """Create a start from JSON values."""
        low = None if record.get("low") is None else stored.string(record, "low")
        column = stored.string(record, "column") if "column" in record else ""
        return cls(table=stored.number(record, "table"), order=stored.string(record, "order"), low=low, column=column)


@frozen(kw_only=True)
class Chunk:
    """A key range of a table."""

    table: int
    """Index of the table."""

    found: Found = field(repr=False)
    piece: Piece
    next: ChunkStart
    """Start of the following chunk."""

    def body(self) -> dict[str, Any]:
        """Return the part of the split's body from which ``Found.statement`` builds the SELECT."""
        return {"table": self.found.reading.name, "column": split_column_of(self.found), **self.piece.body()}


def ordering_key_of(number: int) -> str:
    """Return the ordering key of the split of a chunk.

    Chunks that are in flight at the same time are disjoint in a column of the key, so they contain different rows of
    the target. A log range has no ordering key: it runs after all earlier chunks and before all later ones.
    """
    return f"chunk {number}"


@define
class Chunks:
    """Chunks of the tables, computed on demand table by table."""

    _tables: Sequence[Found]
    _table: int = field(default=-1, init=False)
    _pieces: list[Piece] = field(factory=list, init=False)
    """Remaining chunks of the current table."""

    taken: dict[int, int] = field(factory=dict, init=False)
    """Number of returned chunks of each table."""

    sizes: dict[int, int | None] = field(factory=dict, init=False)
    """Number of chunks of each table, counted from the first returned one; ``None`` while it is unknown."""

    def only(self, table: int) -> "Chunks":
        """Return the chunks of one table only, which then has the index 0."""
        return type(self)([self._tables[table]])

    def take(self, start: ChunkStart, most: int, connection: Any) -> tuple[list[Chunk], ChunkStart]:
        """Return the next chunks, and the start of the chunk after them.

        After the last chunk, the table index of that start is the number of tables.

        Args:
            start: The start that the last call returned, or a stored one.
            most: Maximum number of chunks.
            connection: A connection from the pool of the tables' dialect.

        Raises:
            SourceChangedError: The first chunks of a table were divided by another column.
        """
        taken: list[Chunk] = []
        while len(taken) < most and start.table < len(self._tables):
            found = self._tables[start.table]
            require_split_column(found, start.column)
            self._require_pieces(found, start, connection)
            before = len(taken)
            for piece in islice(self._pieces, most - len(taken)):
                column = split_column_of(found)
                after = ChunkStart(table=start.table, order=piece.order, low=piece.high, column=column)
                if piece.high is None:
                    after = ChunkStart(table=start.table + 1)
                taken.append(Chunk(table=start.table, found=found, piece=piece, next=after))
            self._count(start.table, len(taken) - before)
            start = taken[-1].next
        return taken, start

    def _count(self, table: int, returned: int) -> None:
        """Count the returned chunks of the current table, and remove them."""
        self.taken[table] = self.taken.get(table, 0) + returned
        is_whole = self._pieces[-1].high is None
        self.sizes[table] = self.taken[table] + len(self._pieces) - returned if is_whole else None
        del self._pieces[:returned]

    def _require_pieces(self, found: Found, start: ChunkStart, connection: Any) -> None:
        """Divide the rest of a table into chunks, unless this was already done from the same start."""
        first = self._pieces[0] if self._pieces else None
        if self._table == start.table and first is not None and (first.order, first.low) == (start.order, start.low):
            return
        self._table, self._pieces = start.table, divided_from(found, start, connection)


def split_column_of(found: Found) -> str:
    """Return the name of the split column of a table; empty if it has none."""
    return "" if found.split_column is None else found.split_column.name


def require_split_column(found: Found, column: str) -> None:
    """Check that the bounds of a table's chunks still apply to its split column.

    Args:
        found: The table.
        column: Split column of the chunks; empty if they have no bounds, or if it is unknown.

    Raises:
        SourceChangedError: The table has another split column.
    """
    now = split_column_of(found)
    if column and now != column:
        raise SourceChangedError(
            f"the split column of {found.reading.name} has changed since the table was divided into chunks, from "
            f"{column} to {now or 'none'}; restore the table and the options, or start a new job"
        )


def divided_from(found: Found, start: ChunkStart, connection: Any) -> list[Piece]:
    """Divide the rows of a table after a start into at least one chunk."""
    column, dialect = found.split_column, found.reading.dialect
    if column is None:
        return [Piece()]
    where = ""
    if start.low is not None:
        column = evolve(column, order=start.order)
        side = {"column": column.name, "order": start.order, "low": start.low, "high": None}
        where = condition(dialect, {**side, "closed": False, "nulls": False}, "").removeprefix(" WHERE ")
    divided = Divided(
        dialect=dialect,
        ask=lambda statement: dialect.ask(connection, statement),
        relation=found.reading.relation,
        where=where,
        column=column,
        options=found.reading.options,
        rows=_rows(found, where, connection),
    )
    pieces = divided.pieces(None, 1)
    if start.low is None:
        return pieces
    if any(piece.order != start.order for piece in pieces):
        return [Piece(order=start.order, low=start.low, rows=divided.rows)]
    return [evolve(pieces[0], low=start.low), *pieces[1:]]


def _rows(found: Found, where: str, connection: Any) -> int:
    """Return the number of rows to divide, estimated if the database supports it."""
    reading = found.reading
    assert reading.path is not None, "a captured table has a path"
    estimated = None if where else reading.dialect.estimated_rows(connection, reading.path)
    if estimated is None:
        count = f"SELECT count(*) FROM {reading.relation}" + (f" WHERE {where}" if where else "")
        estimated = int(reading.dialect.ask(connection, count)[0][0])
    return max(1, estimated)
