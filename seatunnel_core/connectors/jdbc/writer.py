"""Writer for the rows of one work unit. It writes to staging tables or directly to the target."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import ConnectorError, RowError, SinkError
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.windows import require_windows
from seatunnel_core.connectors.jdbc.misfit import misfit, put
from seatunnel_core.connectors.jdbc.pool import BULK, Lent
from seatunnel_core.connectors.jdbc.sent_values import narrowed, sent_type
from seatunnel_core.connectors.jdbc.staging import PIPELINES, staging_name
from seatunnel_core.connectors.jdbc.target import Target, require_filling, with_key
from seatunnel_core.connectors.tables.absent_values import absent_marks
from seatunnel_core.connectors.tables.fitting import Fitting
from seatunnel_core.connectors.tables.ledger import key_of
from seatunnel_core.connectors.tables.messages import taken_over
from seatunnel_core.connectors.tables.rounds import Rounds, together
from seatunnel_core.connectors.tables.sql_database import ABSENT
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.whole_rows import ends_before_update
from seatunnel_core.rows.columns import kinds_and_numbers, require_arrived
from seatunnel_core.rows.extent import shown
from seatunnel_core.rows.unknown import require_no_values

_FLUSH_BYTES = 16 << 20
"""Number of buffered bytes at which the rows of a table are sent, unless ``batch_size`` is reached first."""

_RAW, _FILLING = "seatunnel_raw", "seatunnel_filling"


@define
class _Table:
    """Rows of the unit with the same target and columns: the buffered rows and the number of sent ones."""

    target: Target
    number: int
    """Number of the staged table in the unit, from 0, in order of first occurrence."""

    batches: list[pa.RecordBatch] = field(factory=list)
    rows: int = 0
    bytes: int = 0
    """Buffered rows, their number, and their size in bytes."""

    sent: int = 0

    changes: bool = False
    """True if any row is an update or a delete."""

    marks: bool = False
    """True if the rows have the column ``ABSENT``, because at least one row has an absent value."""

    place: TablePath = ()
    """Table to which the rows are sent; empty before any are sent."""


class JdbcWriter(SinkWriter):
    """A writer with one connection and one transaction.

    In databases that allow only one writer at a time, each batch is sent in its own transaction. Otherwise, another
    writer of the same unit would wait forever for a lock that is held while rows are read.

    Staging tables of a killed writer disappear, except in these databases and in those in which DDL ends the
    transaction; in these cases, the sink sweeps them.
    """

    def __init__(
        self,
        dialect: Dialect,
        targets: Mapping[str, Target],
        context: WriterContext,
        *,
        stages: bool,
        batch_rows: int,
    ) -> None:
        """Create a writer. If ``stages`` is False, it writes rows to the targets when the unit ends."""
        self._dialect = dialect
        self._targets = targets
        self._context = context
        self._stages = stages
        self._batch_rows = batch_rows
        self._tables: dict[Any, _Table] = {}
        """Staged tables, keyed by target, columns and key."""

        self._in_update: dict[str, bool] = {}
        """True for tables whose last row is the old row of an update, and its new row has not arrived yet."""

        self._arrived = 0
        """Number of rows. Rows are numbered across the unit, because several tables may have the same target."""

        self._lent: Lent | None = None
        self._has_begun = False
        """True if the connection is in a transaction."""

        self._is_last = False
        """True if all rows have arrived, so that the transaction is about to end."""

        self._bytes = 0

    def write(self, batch: Batch) -> None:
        table = self._table(batch)
        marks = self._marks(table, batch) if batch.absent else None
        rows = self._fitted(table, batch, marks)
        if table.batches and table.batches[0].schema != rows.schema:  # decimals that keep all their digits
            self._send(table)
        self._arrived += rows.num_rows
        table.batches.append(rows)
        table.rows += rows.num_rows
        table.bytes += rows.nbytes
        if table.rows >= self._batch_rows or table.bytes >= _FLUSH_BYTES:
            self._send(table)

    def _table(self, batch: Batch) -> _Table:
        target = self._targets[batch.table]
        which = (target.path, target.columns, target.keys) if target.path else batch.table
        return self._tables.setdefault(which, _Table(target, len(self._tables)))

    def finish(self) -> Staged:
        self._is_last = True
        for table in self._tables.values():
            self._send(table)
        used = [table for table in self._tables.values() if table.sent]
        parts = []
        for tables in _by_target(used):
            self._refuse_repeated(tables)
            if self._stages:
                parts += [{"staging": table.place[-1], "rows": table.sent, **_said(table)} for table in tables]
            elif tables[0].place != tables[0].target.path:
                self._move(tables)
        if self._lent is not None:
            with self._errors_wrapped("the rows cannot be committed"):
                self._refuse_stale()
                self._commit()
            self._dialect.pool.give_back(self._lent)
            self._lent = None
        return Staged(
            body={"tables": parts},
            rows=sum(table.sent for table in used),
            bytes=self._bytes,
            tables={table.target.named: "" for table in used if table.target.path},
        )

    def abort(self) -> None:
        if self._lent is not None:
            with suppress(Exception):
                self._drop_staged()
            with suppress(Exception):
                self._dialect.pool.discard(self._lent)
            self._lent, self._has_begun = None, False

    def _drop_staged(self) -> None:
        """Drop the staging tables that are already committed; a rollback removes all others."""
        if self._stages and (self._dialect.ddl_commits or self._dialect.one_writer):
            for table in self._tables.values():
                if table.place:
                    gone = f"DROP TABLE IF EXISTS {self._dialect.quoted(*table.place)}"
                    self._dialect.execute(self._connection(), gone)
            self._commit()

    # -- sending --------------------------------------------------------------------------------------------------

    def _send(self, table: _Table) -> None:
        if not table.rows:
            return
        (rows,) = pa.Table.from_batches(table.batches).combine_chunks().to_batches() or (table.batches[0],)
        table.batches, table.rows = [], 0
        self._bytes += table.bytes
        table.bytes = 0
        try:
            self._put(table, rows)
        except RowError as error:
            found = None
            with suppress(Exception):  # the original error is reported, without the value
                found = misfit(self._dialect, table.target.columns, rows)
            if found is None:
                raise
            named = f"the rows of {table.target.named} cannot be written"
            raise RowError(f"{self._who()}: {named}: {found}") from error
        table.sent += rows.num_rows

    def _put(self, table: _Table, rows: pa.RecordBatch) -> None:
        with self._errors_wrapped(f"the rows of {table.target.named} cannot be written", RowError):
            connection = self._connection()
            if not table.place:
                table.place = self._made(table)
            temporary = not self._stages and table.place != table.target.path
            raw = f"{_RAW}_{table.number}"
            put(self._dialect, connection, table.place, table.target.columns, rows, temporary=temporary, raw=raw)
            if self._dialect.one_writer and not self._is_last:
                self._commit()

    def _connection(self) -> Any:
        if self._lent is None:
            self._lent = self._dialect.pool.take(BULK)
        if not self._has_begun:
            self._dialect.begin_rows(self._lent.connection)
            self._has_begun = True
        return self._lent.connection

    def _commit(self) -> None:
        self._connection().commit()
        self._has_begun = False

    def _made(self, table: _Table) -> TablePath:
        """Return the table to which rows are sent: the target if they can be written directly, else a staging table."""
        target, whole = table.target, self._is_last or not self._dialect.one_writer
        if not self._stages and not target.keys and target.statement is None and whole:
            return target.path
        if not self._stages and target.keys:
            require_windows(self._dialect.address, "write is_exactly_once = true, or use MySQL 8")
        name = staging_name(self._context, table.number)
        # A temporary table cannot get the column ABSENT later: in MySQL, ALTER TABLE ends the transaction.
        marks = table.marks or not self._stages
        made = target.staging_table(self._dialect, name, temporary=not self._stages, marks=marks)
        self._dialect.execute(self._connection(), made)
        return (name,)

    def _move(self, tables: Sequence[_Table]) -> None:
        """Apply the rows of the temporary tables of one target, and drop these tables."""
        target = tables[0].target
        with self._errors_wrapped(f"the rows of {target.named} cannot be written", RowError):
            staged = [self._dialect.quoted(*table.place) for table in tables]
            rounds = Rounds(
                database=self._dialect,
                run=self._run,
                first=self._first,
                who=self._who(),
                named=target.named,
                staged=staged,
                incomplete=[table.marks for table in tables],
                key=target.keys,
            )
            for at, staging in rounds.slices():
                of, changes = tables[at].target, tables[at].changes
                for rows in self._complete(of, staging) if tables[at].marks else [staging]:
                    for statement in of.moves(self._dialect, rows, changes=changes):
                        self._run(statement)
            for staging in staged:
                self._run(self._dialect.drop_temporary(staging))

    def _complete(self, target: Target, staging: str) -> Iterator[str]:
        """Yield table expressions that together contain all rows of a temporary table; fill in absent values."""
        return target.complete(
            self._dialect,
            staging,
            run=self._run,
            first=self._first,
            who=self._who(),
        )

    def _run(self, statement: str) -> None:
        self._dialect.execute(self._connection(), statement)

    def _first(self, asked: str) -> Sequence[Any] | None:
        return self._dialect.first_row(self._connection(), asked)

    def _refuse_repeated(self, tables: Sequence[_Table]) -> None:
        """Raise an error if a key is repeated within this unit and this is not allowed.

        Keys that already exist in the target are detected by its unique index, or by this method if there is none.
        """
        target = tables[0].target
        if tables[0].place == target.path:
            return
        also_there = not self._stages and not target.unique
        staged = [self._dialect.quoted(*table.place) for table in tables]
        rows = staged[0] if len(staged) == 1 else together(self._dialect, staged, target.keys)
        asked = target.repeated(self._dialect, rows, also_there=also_there)
        if asked is None:
            return
        with self._errors_wrapped(f"the rows of {target.named} cannot be written", RowError):
            key = self._first(asked)
            if key is not None:
                raise RowError(f"{self._who()}: {target.repetition(key)}")

    def _refuse_stale(self) -> None:
        """Raise an error if another engine has taken over, because it would remove the rows that are staged now."""
        if not self._stages:
            return
        pipeline = self._dialect.literal(key_of(self._context))
        asked = f"SELECT epoch FROM {PIPELINES} WHERE pipeline = {pipeline}"
        found = self._dialect.first_row(self._connection(), asked)
        epoch = None if found is None else int(found[0])
        if epoch != self._context.epoch:
            raise SinkError(taken_over(self._who(), epoch, self._context.epoch))

    # -- rows -----------------------------------------------------------------------------------------------------

    def _marks(self, table: _Table, batch: Batch) -> pa.StringArray | None:
        """Return the column ``ABSENT`` of a batch, and prepare the table for it; ``None`` if it is not needed."""
        target = self._targets[batch.table]
        if not target.keys:
            require_arrived(batch, self._who())
        key = [name for name, column in zip(target.given, target.columns, strict=True) if column.name in target.keys]
        found = absent_marks(batch, target.given, key, self._who())
        if found is not None and not table.marks:
            self._send(table)
            self._prepare_marks(table)
            table.marks = True
        return found

    def _prepare_marks(self, table: _Table) -> None:
        """Add the column ``ABSENT`` to a staging table; check before the commit that absent values can be filled in."""
        named, run = table.target.named, self._dialect.execute
        needs = "completing them requires the permission to create temporary tables"
        with self._errors_wrapped(f"the changed rows of {named} are incomplete: some values are missing, and {needs}"):
            connection = self._connection()
            require_filling(self._dialect)
            if self._stages:
                tried = self._dialect.create_temporary(_FILLING, "SELECT 1 AS seatunnel_one")
                for statement in (*tried, self._dialect.drop_temporary(_FILLING)):
                    run(connection, statement)
                if table.place:
                    added = f"ADD {self._dialect.quoted(ABSENT)} {self._dialect.declared_type(pa.string())}"
                    run(connection, f"ALTER TABLE {self._dialect.quoted(*table.place)} {added}")
            if self._dialect.one_writer:
                self._commit()

    def _fitted(self, table: _Table, batch: Batch, marks: pa.StringArray | None) -> pa.RecordBatch:
        """Return the rows with the names and types of the target's columns."""
        target = self._targets[batch.table]
        require_no_values(batch.rows, target.without_values, f"{self._who()}: {batch.table}")
        if not batch.inserts_only:
            if not target.has_changes:
                raise RowError(
                    f"{self._who()}: {batch.table} has updated or deleted rows, but {target.named} has no key to "
                    "identify these rows; set primary_keys, or write_mode = merge with merge_key or match_whole_rows = "
                    "true, or select rows with FilterRowKind"
                )
            table.changes = True
        if target.whole:
            is_open = self._in_update.get(batch.table, False)
            self._in_update[batch.table] = ends_before_update(batch, self._who(), is_open=is_open)
        by_name = dict(zip(batch.rows.schema.names, batch.rows.columns, strict=True))
        given = [by_name[name] for name in target.given]
        arrays, fields = [], []
        for column, values in zip(target.columns, given, strict=True):
            fitting = Fitting(who=self._who(), batch=batch, column=column.name)
            if target.needs_key and column.name in target.keys:
                fitting.require_values(values, f"{column.name!r} of {target.named}", is_key=True)
            kind = sent_type(column.arrow, column.declared, values.type)
            arrays.append(fitting.cast(values, kind, narrowed))
            self._refuse_beyond(arrays[-1], fitting)
            fields.append(pa.field(column.name, kind))
        columns = pa.schema(fields)
        if target.has_changes:
            kinds, numbers = kinds_and_numbers(batch, self._arrived)
            arrays += [kinds.cast(pa.int16()), numbers]
            columns = with_key(columns, marks=table.marks)
            if table.marks:
                arrays.append(pa.nulls(batch.rows.num_rows, pa.string()) if marks is None else marks)
        return pa.RecordBatch.from_arrays(arrays, schema=columns)

    def _refuse_beyond(self, values: pa.Array, fitting: Fitting) -> None:
        """Raise an error for timestamps that the database would store as different values."""
        refused, why = self._dialect.unstorable(values)
        if refused is not None:
            row = pc.index(refused, True).as_py()
            raise fitting.refused(row, f"{shown(values[row])!r} {why}")

    def _who(self) -> str:
        return f"pipeline {self._context.pipeline_id}, sink Jdbc"

    @contextmanager
    def _errors_wrapped(self, what: str, kind: type[ConnectorError] = SinkError) -> Iterator[None]:
        try:
            yield
        except ConnectorError:
            self.abort()
            raise
        except Exception as error:
            self.abort()
            cause = getattr(error, "orig", None) or error
            made = SinkError if self._dialect.may_pass(cause) or self._dialect.is_full(cause) else kind
            raise self._dialect.failed(made, f"{self._who()}: {what}", error) from error


def _by_target(tables: Iterable[_Table]) -> Iterable[Sequence[_Table]]:
    """Group the staged tables of each target whose rows have a key."""
    found: dict[Any, list[_Table]] = {}
    for table in tables:
        found.setdefault(table.target.path if table.target.keys else table.number, []).append(table)
    return found.values()


def _said(table: _Table) -> dict[str, Any]:
    """Return the entries of a committable's body that cannot be derived from the staging table and the options."""
    target = table.target
    root = {"root": list(target.root)} if target.root else {}
    more = {**({"absent": True} if table.marks else {}), **({"whole": True} if target.whole else {})}
    return {"target": list(target.path), "keys": list(target.keys), "changes": table.changes, **root, **more}
