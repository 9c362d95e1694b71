"""Reader of a chunk. It returns the rows as of an exact log position, the mark of the chunk."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.change_data.chunks import require_split_column
from seatunnel_core.connectors.change_data.column_rules import path_of
from seatunnel_core.connectors.jdbc.databases.mysql import READING
from seatunnel_core.connectors.jdbc.databases.mysql_session import Reader
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.jdbc.splitting import Piece
from seatunnel_core.connectors.mysql_cdc.chunk_places import places_of
from seatunnel_core.connectors.mysql_cdc.correction import Correction
from seatunnel_core.connectors.mysql_cdc.log_reader import Distributed, LogReader
from seatunnel_core.connectors.mysql_cdc.server import Marking, Server, ServerState
from seatunnel_core.connectors.mysql_cdc.table_checks import locked_table
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, gtid_set_of
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of

Rows = Generator[Fetched, None, LogPosition]
"""Generator that yields batches of rows and returns the mark."""


@frozen(kw_only=True)
class ChunkReader:
    """Reads a chunk of a table, with a method that depends on the server."""

    server: Server
    state: ServerState
    found: Found = field(repr=False)
    piece: Piece
    log: LogReader = field(repr=False)
    """Log reader that captures only this table."""

    planned: LogPosition
    """End of the planned log ranges at the time when the chunk was planned."""

    rereads: bool = False
    """True if the table is read again: its earlier changes were emitted, so the rows must contain them."""

    batch_rows: int = 65_536

    @classmethod
    def of(
        cls, server: Server, state: ServerState, found: Found, log: LogReader, body: Mapping[str, Any]
    ) -> "ChunkReader":
        """Return the reader for the body of a split.

        Raises:
            SourceChangedError: The chunk was planned with another split column.
        """
        require_split_column(found, stored.string(body, "column"))
        return cls(
            server=server,
            state=state,
            found=found,
            piece=Piece(order=stored.text(body, "order"), low=body["low"], high=body["high"]),
            log=log,
            planned=position_of(stored.text(body, "log")),
            rereads="reread" in body,
        )

    def rows(self) -> Rows:
        """Yield the rows, and return the mark. The rows contain exactly the transactions before the mark."""
        if self.state.marking is not Marking.SNAPSHOT and not self.found.schema().primary_key:
            return self._table()
        read = {Marking.SNAPSHOT: self._snapshot, Marking.GTIDS: self._gtids, Marking.LOCKS: self._locks}
        return read[self.state.marking]()

    # -- MariaDB --------------------------------------------------------------------------------------------------

    def _snapshot(self) -> Rows:
        with self._connection() as connection:
            self._begin(connection)
            found = dict(_rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'"))
            if not found.get("Binlog_snapshot_file"):
                raise SourceError(
                    f"{self.server.dialect.address} does not report a log position for the snapshot; check that "
                    "log_bin is set"
                )
            mark = LogPosition(found["Binlog_snapshot_file"], int(found["Binlog_snapshot_position"]))
            correction = Correction(self.found.schema().primary_key)
            if self.rereads and mark < self.planned:  # logged transactions that are not committed yet
                correction.add(self._logged(mark, self.planned), self.planned)
                mark = self.planned
            for rows in self._selected(connection, ""):
                yield correction.unchanged(rows)
        yield from correction.changed(self._inside)
        return mark

    # -- MySQL with GTIDs -----------------------------------------------------------------------------------------

    def _gtids(self) -> Rows:
        """Read a snapshot, and apply the transactions before the mark that the snapshot may not contain.

        All transactions executed before the snapshot are visible in it. All visible transactions are logged before the
        mark, because the mark is taken after the snapshot.
        """
        executed = self.server.variable("gtid_executed")
        with self._connection() as connection:
            self._begin(connection)
            mark = self.server.position(self.state)
            correction = Correction(self.found.schema().primary_key)
            # A logged transaction is owned until it is executed, so the order of these two matters.
            owned, later = self.server.variable("gtid_owned"), self.server.variable("gtid_executed")
            if owned or later != executed:
                correction.add(self._logged(gtid_set_of(executed), mark), mark)
            for rows in self._selected(connection, ""):
                yield correction.unchanged(rows)
        yield from correction.changed(self._inside)
        return mark

    # -- MySQL without GTIDs --------------------------------------------------------------------------------------

    def _locks(self) -> Rows:
        """Read the current rows with locks, and apply all transactions that were logged during the read.

        The read waits for logged transactions that are not committed yet, because they hold locks.
        """
        start = self.server.position(self.state)
        with self._connection() as connection:
            connection.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.run("START TRANSACTION")
            found = list(self._selected(connection, " LOCK IN SHARE MODE"))
            mark = self.server.position(self.state)
        correction = Correction(self.found.schema().primary_key)
        if mark > start:
            correction.add(self._logged(start, mark), mark)
        yield from map(correction.unchanged, found)
        yield from correction.changed(self._inside)
        return mark

    # -- MySQL, a table without a key -----------------------------------------------------------------------------

    def _table(self) -> Rows:
        """Read a snapshot that begins while the table is locked.

        Without a key, rows cannot be corrected from the log afterwards. The lock waits for all transactions that have
        changed the table, so they are visible, and logged before the mark. It is released before any row is read.
        """
        with self._connection() as connection:
            with locked_table(self.server, path_of(self.found)):
                self._begin(connection)
                mark = self.server.position(self.state)
            yield from self._selected(connection, "")
        return mark

    # -- all ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[Reader]:
        with self.server.dialect.pool.lend(READING) as connection:
            self.server.require_known(connection, partial(_rows, connection))
            yield connection

    def _begin(self, connection: Reader) -> None:
        connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def _logged(self, start: LogPosition | GtidSet, mark: LogPosition) -> Iterator[ChangeBatch]:
        """Read the log up to the mark.

        The reader of the window's log range checks commits of distributed transactions that were prepared earlier. If
        the table is read again, the log before ``planned`` was already checked.
        """
        distributed = Distributed(seen_from=self.planned, is_checked=self.rereads)
        return self.log.batches(start, mark, distributed=distributed)

    def _selected(self, connection: Reader, lock: str) -> Iterator[Fetched]:
        column = self.found.split_column
        body = {"column": "" if column is None else column.name, **self.piece.body()}
        statement = self.found.statement(body) + lock
        return self.server.dialect.fetched(connection, statement, self.found.columns, self.batch_rows)

    def _inside(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows inside the chunk."""
        if self.found.split_column is None:
            return np.ones(rows.num_rows, np.bool_)
        low, high = self.piece.low, self.piece.high
        bounds = [bound for bound in (low, high) if bound is not None]
        keys = rows.column(self.found.split_column.name)
        places = places_of(self.server, self.found, self.piece.order, bounds, keys)
        inside: npt.NDArray[np.bool_] = places == (0 if low is None else 1)
        return inside


def _rows(connection: Reader, statement: str) -> list[tuple[Any, ...]]:
    return [row for some in connection.rows(statement, 100) for row in some]
