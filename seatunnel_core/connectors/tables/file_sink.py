"""Base class of table sinks in which tasks stage files, and only the driver writes to the database."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import SupportsComplete, SupportsProbe, SupportsPublishedQuery
from seatunnel_core.connector_api.errors import CommitError, SinkError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.nested.child_tables import require_place
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.connectors.staging.table_names import VARIABLE, filled
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.connectors.tables.column_growth import Growth
from seatunnel_core.connectors.tables.deletion import require_key
from seatunnel_core.connectors.tables.errors import named_errors
from seatunnel_core.connectors.tables.file_publishing import FilePublishing
from seatunnel_core.connectors.tables.file_writer import TableFileWriter
from seatunnel_core.connectors.tables.growth import TARGET_CONTRACT
from seatunnel_core.connectors.tables.options import TABLE
from seatunnel_core.connectors.tables.save_mode import empty_table, has_rows
from seatunnel_core.connectors.tables.sink import TableSink
from seatunnel_core.connectors.tables.sql_database import SqlDatabase
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.target import (
    TargetTable,
    create,
    repeated_key,
    require_one_key,
    target_of,
    with_types_of,
)
from seatunnel_core.connectors.tables.whole_rows import require_matchable
from seatunnel_core.connectors.write_mode import DECIDING, write_mode_of

_log = logging.getLogger(__name__)


class FileStagedTableSink(TableSink, SupportsComplete, SupportsProbe, SupportsPublishedQuery):
    """Table sink: tasks stage rows as Parquet files, and the driver loads them into the database.

    The driver records a commit in the transaction that loads its rows, so that a repeated commit is recognised. A
    subclass declares ``TABLE``, ``FILE_STAGED_OPTIONS`` and the options of its database, and creates the database.
    """

    isolates_bad_rows = True
    keeps_absent = True

    def __init__(self, options: Options, database: SqlDatabase, folder: str) -> None:
        """Create a sink; tasks stage files in ``.seatunnel`` below ``folder``, which they share with the driver."""
        self.mode = write_mode_of(options)
        super().__init__(options, self.mode)
        if "${" in VARIABLE.sub("", options[TABLE.key]):
            raise UsageError("option 'table': unknown variable; only ${table_name} is supported")
        self._database = database
        self._folder = folder

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_database": None}

    @property
    def target_folder(self) -> str | None:
        return self._folder

    @property
    @abstractmethod
    def location(self) -> Mapping[str, str]:
        """Options that identify the database, without secrets."""

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the database and the write mode. Committables contain the table."""
        declared = {option.key for option in self.options.declared}
        deciding = (option for option in DECIDING if option.key in declared)
        return {**self.location, **written_options(self.options, *deciding)}

    @property
    def where(self) -> str:
        return f"{self._database.where} {self.options[TABLE.key]}"

    def check_schema(self, schema: TableSchema) -> None:
        path = self._path(schema)
        has_children = type(self._database).children is not SqlDatabase.children
        self.mode.check(schema, replaces_children=has_children)
        if self.mode.merges and schema.root is not None:
            require_place(schema, self._path(evolve(schema, table=schema.root)), path)

    # -- at the start -----------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        super().prepare(context)
        with self._errors_wrapped(context, "cannot be written"):
            publishing = self._publishing(context)
            publishing.staging.create(context)
            publishing.claim()

    def probe(self, context: SinkContext, token: str) -> None:
        self._staging(context).probe(context.epoch, token)

    def prove(self, context: SinkContext, token: str) -> None:
        self._staging(context).prove(context.epoch, token)

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        publishing = self._publishing(context)
        for schema in schemas:
            self.check_schema(schema)
        with self._errors_wrapped(context, "cannot be prepared for rows"), publishing.held() as connection:
            for schema in schemas:  # the transaction makes the sources of a pipeline wait for each other
                target = self._ready(connection, publishing, schema)
                others = {table: with_types_of(other, target) for table, other in self._targets.items()}
                self._targets = {**others, schema.table: target}
            connection.commit()

    def _ready(self, connection: Any, publishing: FilePublishing, schema: TableSchema) -> TargetTable:
        database, path, key = self._database, self._path(schema), self.mode.key_of(schema)
        if self.mode.prunes:
            return self._ready_for_keys(connection, publishing, schema, path)
        contract, history = self.options[TARGET_CONTRACT.key], self.mode.history
        growth = Growth(database=database, contract=contract)
        existed = self._existing(connection, publishing, schema, path)
        if not existed:
            made = growth.resolved(None, schema, {name: name for name in schema.columns.names}, key)
            create(database, connection, path, evolve(schema, columns=made.columns), key, history)
            if self.driver.save_mode_due and self.empties:
                publishing.saved_now(connection, path)
        columns = database.table_columns(connection, path)
        by_name = {column.name.lower(): column.name for column in columns}
        names = {name: by_name.get(name.lower(), name) for name in schema.columns.names}
        found = growth.resolved(columns, schema, names, key)
        schema, keys = evolve(schema, columns=found.columns), [names[name] for name in key]
        for change in growth.carried_out(connection, path, columns, schema, names, keys) if existed else ():
            _log.warning("the sink %s: the table %s %s", self.identifier, ".".join(path), change)
        target = target_of(database, connection, path, schema, key, contract, history, found.without_values)
        if self.mode.merges and schema.root is not None:
            target = evolve(target, root=self._path(evolve(schema, table=schema.root)))
        if self.mode.matches_whole_rows(schema):
            every, unique = database.columns(connection, path), database.unique_keys(connection, path)
            require_matchable(target.named, schema, every, target.columns.names, unique)
            target = evolve(target, whole=True)
        others = (other for table, other in self._targets.items() if table != schema.table and other.path == path)
        require_one_key(target.named, target.key, (other.key for other in others))
        self._require_one_version(connection, target)
        if self.mode.replaces:
            place, written = publishing.collect_for(connection, path), target.columns.names
            wanted = [each for each in database.table_columns(connection, path) if each.name in written]
            growth.follow(connection, place, wanted, target.named)
        return target

    def _existing(self, connection: Any, publishing: FilePublishing, schema: TableSchema, path: TablePath) -> bool:
        """Apply the save mode to a table; return True if the table exists afterwards."""
        exists, named = bool(self._database.columns(connection, path)), ".".join(path)
        require_same_table(publishing.context, publishing.who, named, "" if exists else None)
        due = self.driver.save_mode_due
        if due and exists and self.empties and publishing.saved_now(connection, path):
            exists = empty_table(self._database, connection, path, self.options)
        if not exists:
            self.require_creatable(named)
        elif due and self.mode.appends and has_rows(self._database, connection, path):
            self.note_rows(schema, f"the table {named}, which had rows")
        return exists

    def _require_one_version(self, connection: Any, target: TargetTable) -> None:
        """Reject a table with several rows for a key or, with history, several current versions."""
        if repeated := repeated_key(self._database, connection, target, self.mode.history):
            raise SinkError(
                f"the table {target.named} has several rows with {repeated}, so it is undefined which row a merge "
                "should replace; remove the duplicates, or choose another merge_key"
            )

    def _ready_for_keys(
        self, connection: Any, publishing: FilePublishing, schema: TableSchema, path: TablePath
    ) -> TargetTable:
        columns = {column.name.lower() for column in self._database.columns(connection, path)}
        if columns:  # otherwise another sink may still create it
            require_key(".".join(path), columns, [name.lower() for name in schema.columns.names], schema.table)
        collected = publishing.collect_for(connection, path, schema)
        target = target_of(self._database, connection, collected, schema, (), self.options[TARGET_CONTRACT.key])
        keys = pa.schema([column.with_nullable(False) for column in target.columns])  # null cannot be part of a key
        return evolve(target, path=path, columns=keys)

    def _path(self, schema: TableSchema) -> TablePath:
        written = filled(self.options[TABLE.key], schema)
        try:
            return self._database.table_path(written)
        except ValueError as error:
            raise SinkError(f"the rows of {schema.table}: option 'table': {error}") from None

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> TableFileWriter:
        self.require_prepared(schemas)
        return TableFileWriter(self._targets, self._staging(context), context)

    # -- committing and sweeping ------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        with self._errors_wrapped(context, "cannot publish staged rows", CommitError):
            self._publishing(context).commit(committables, may_be_committed=may_be_committed)

    def complete(self, context: SinkContext) -> None:
        if self.mode.collects:
            with self._errors_wrapped(context, "cannot publish the collected rows"):
                self._publishing(context).replace()

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        removed = self._staging(context).sweep(context.epoch + final, keep)
        if not final:
            with self._errors_wrapped(context, "cannot be cleaned up"):
                self._publishing(context).expire(keep)
        return removed

    def published(self, context: SinkContext) -> Iterable[str]:
        with self._errors_wrapped(context, "has an unreadable record of commits"):
            return self._publishing(context).committed()

    def clear(self, context: SinkContext) -> None:
        with self._errors_wrapped(context, "does not allow removal of the job's records"):
            self._publishing(context).clear()
        self._staging(context).clear(context.epoch)

    # -- parts ------------------------------------------------------------------------------------------------------

    def _staging(self, context: SinkContext | WriterContext) -> Target:
        return Target.of(self._folder, context, self.identifier)

    def _publishing(self, context: SinkContext) -> FilePublishing:
        return FilePublishing(database=self._database, staging=self._staging(context), context=context, mode=self.mode)

    def _errors_wrapped(
        self, context: SinkContext, what: str, kind: type[SinkError] = SinkError
    ) -> AbstractContextManager[None]:
        """Convert errors of the database and of files to ``kind``, marked as retryable if a retry may help."""
        who, database = self._staging(context).who, self._database
        what = f"{database.where} {what}"
        return named_errors(who, what, kind, lambda error: database.failed(kind, f"{who}: {what}", error))
