"""The sink ``DuckDB``: rows come into tables of one file, by the driver as its only writer."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import Guarantee, SaveMode, SinkContext, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.additions import AddingSink
from seatunnel_core.connectors.duckdb import options as opt
from seatunnel_core.connectors.duckdb.columns import quoted
from seatunnel_core.connectors.duckdb.database import Database, ask, failed
from seatunnel_core.connectors.duckdb.growth import grow
from seatunnel_core.connectors.duckdb.publishing import OWN, Publishing
from seatunnel_core.connectors.duckdb.table import TargetTable, columns_of, create, repeated_key, target_of, types_of
from seatunnel_core.connectors.duckdb.writer import DuckDBWriter
from seatunnel_core.connectors.growing import TARGET_CONTRACT
from seatunnel_core.connectors.jdbc import options as of_jdbc
from seatunnel_core.connectors.nested.child_tables import require_place
from seatunnel_core.connectors.sink_errors import named_errors
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.connectors.staging.table_names import VARIABLE, filled
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.connectors.tables.deletion import require_key
from seatunnel_core.connectors.tables.messages import missing_table, not_empty
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of
from seatunnel_core.connectors.write_mode import DECIDING, write_mode_of
from seatunnel_core.rows.unknown import resolved

_log = logging.getLogger(__name__)


class DuckDBSink(AddingSink):
    """Tasks stage rows as Parquet beside the file, and the driver takes them in with the record of what it took.

    Both are one transaction of DuckDB, so a commit that is repeated after a kill is recognised.
    """

    identifier: ClassVar[str] = "DuckDB"
    declared = opt.SINK_OPTIONS
    guarantee = Guarantee.EXACTLY_ONCE
    isolates_bad_rows = True
    defers_save_mode = True
    example = """
        path = "/data/shop.duckdb"
        table = orders
        write_mode = merge
        merge_key = [id]
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.mode = write_mode_of(options)
        self.needs_order = self.mode.merges
        self.needs_end = self.mode.collects
        self.prunes = self.mode.prunes
        path = os.path.abspath(options[opt.PATH])
        if wrong := [sign for sign in "*?[\\" if sign in path]:
            raise UsageError(
                f"option 'path': {path!r} has a {wrong[0]}, which DuckDB takes for a pattern of files; choose another"
            )
        if "${" in VARIABLE.sub("", options[opt.TABLE]):
            raise UsageError("option 'table': it has a variable that no table has; write ${table_name}")
        self._database = Database(path=path, properties=dict(options[opt.PROPERTIES] or {}), wait_s=options[opt.WAIT])
        self._folder: str = os.path.dirname(path)
        self._targets: Mapping[str, TargetTable] = {}
        self._driver: _Driver | None = _Driver()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None, "options": None, "_database": None}

    @property
    def target_folder(self) -> str | None:
        return self._folder

    @property
    def bound_to(self) -> Mapping[str, str]:
        """The file and what happens to rows there; a committable itself names its table."""
        return {opt.PATH.key: self._database.path, **written_options(self.options, *DECIDING)}

    @property
    def save_mode(self) -> SaveMode | None:
        data, schema = self._modes
        does = [data] if data != "APPEND_DATA" else []
        target = f"{self._database.path} {self.options[opt.TABLE]}"
        return SaveMode(target=target, does=", ".join(does + [schema] * (schema == "RECREATE_SCHEMA")))

    @property
    def _modes(self) -> tuple[str, str]:
        return self.options[opt.DATA_SAVE_MODE], self.options[of_jdbc.SCHEMA_SAVE_MODE]

    def check_schema(self, schema: TableSchema) -> None:
        path = self._path(schema)
        self.mode.check(schema, replaces_children=True)
        if self.mode.merges and schema.root is not None:
            require_place(schema, self._path(evolve(schema, table=schema.root)), path)

    # -- at the start ---------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        self._of_driver.save_mode_left = False
        with self._errors_wrapped(context, "cannot be written"):
            publishing = self._publishing(context)
            publishing.staging.create(context)
            publishing.claim()

    def probe(self, context: SinkContext, token: str) -> None:
        self._staging(context).probe(context.epoch, token)

    def prove(self, context: SinkContext, token: str) -> None:
        self._staging(context).prove(context.epoch, token)

    def apply_save_mode(self, context: SinkContext) -> None:
        """Note that the save mode is due; ``create_tables`` applies it, as the tables are known only then."""
        self._of_driver.save_mode_left = True

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        publishing = self._publishing(context)
        for schema in schemas:
            self.check_schema(schema)
        with self._errors_wrapped(context, "cannot be made ready"), publishing.held() as connection:
            for schema in schemas:  # the sources of a pipeline come one after the other: the transaction lets one in
                self._targets = {**self._targets, schema.table: self._ready(connection, publishing, schema)}
            connection.commit()

    def _ready(self, connection: Any, publishing: Publishing, schema: TableSchema) -> TargetTable:
        path, key = self._path(schema), self.mode.key_of(schema)
        if self.mode.prunes:
            return self._ready_for_keys(connection, publishing, schema, path)
        there = bool(columns_of(connection, path))
        require_same_table(publishing.context, publishing.who, ".".join(path), "" if there else None)
        contract, history = self.options[TARGET_CONTRACT], self.mode.history
        if self._of_driver.save_mode_left and there and self._acts and publishing.saved_now(connection, path):
            there = self._emptied(connection, path)
        if not there:
            mode = self.options[of_jdbc.SCHEMA_SAVE_MODE]
            if mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
                raise SinkError(missing_table(".".join(path), mode))
            made = resolved(schema.columns, None, grows=contract.adds, keys=key)
            create(connection, path, evolve(schema, columns=made.columns), key, history)
            if self._of_driver.save_mode_left and self._acts:
                publishing.saved_now(connection, path)
        elif self._of_driver.save_mode_left and self.mode.appends:
            self._note_rows(connection, path, schema)
        found = resolved(schema.columns, types_of(connection, path, schema.columns.names))
        schema = evolve(schema, columns=found.columns)
        for told in grow(connection, path, schema, key, contract) if there else ():
            _log.warning("the sink DuckDB: the table %s %s", ".".join(path), told)
        target = target_of(connection, path, schema, key, contract, history, found.without_values)
        if self.mode.merges and schema.root is not None:
            target = evolve(target, root=self._path(evolve(schema, table=schema.root)))
        self._require_one_version(connection, target)
        if self.mode.replaces:
            publishing.collect_for(connection, path)
        return target

    def _require_one_version(self, connection: Any, target: TargetTable) -> None:
        """Reject a table of which a key has several rows, or of which it is not known which version is current."""
        history, table = self.mode.history, quoted(*target.path)
        if history and ask(connection, f"SELECT 1 FROM {table} WHERE {quoted(history[2])} IS NULL LIMIT 1"):
            raise SinkError(
                f"the table {target.named} has rows of which {history[2]} is null, so that it is not known which "
                "version is the current one; fill it with true or false"
            )
        if repeated := repeated_key(connection, target, history):
            raise SinkError(
                f"the table {target.named} has several rows with {repeated}, so that it is not known which one a merge "
                "should replace; remove them, or choose another merge_key"
            )

    def _ready_for_keys(
        self, connection: Any, publishing: Publishing, schema: TableSchema, path: TablePath
    ) -> TargetTable:
        there = {column.name.lower() for column in columns_of(connection, path)}
        if there:  # else another sink may make it meanwhile
            require_key(".".join(path), there, [name.lower() for name in schema.columns.names], schema.table)
        collected = publishing.collect_for(connection, path, schema)
        target = target_of(connection, collected, schema, (), self.options[TARGET_CONTRACT])
        columns = pa.schema([column.with_nullable(False) for column in target.columns])  # null is no key
        return evolve(target, path=path, columns=columns)

    @property
    def _acts(self) -> bool:
        return self._modes[0] != "APPEND_DATA" or self._modes[1] == "RECREATE_SCHEMA"

    def _emptied(self, connection: Any, path: TablePath) -> bool:
        """Empty or drop a table, as the save modes require, and return whether it is there."""
        data, schema = self._modes
        table = quoted(*path)
        if data == "ERROR_WHEN_DATA_EXISTS" and ask(connection, f"SELECT 1 FROM {table} LIMIT 1"):
            raise SinkError(not_empty(".".join(path)))
        if schema == "RECREATE_SCHEMA":
            connection.execute(f"DROP TABLE {table}")
            return False
        if data == "DROP_DATA":
            connection.execute(f"DELETE FROM {table}")
        return True

    def _note_rows(self, connection: Any, path: TablePath, schema: TableSchema) -> None:
        """Keep in mind that a table has rows, to which the job adds."""
        if ask(connection, f"SELECT 1 FROM {quoted(*path)} LIMIT 1"):
            self.adds_to = {schema.table: f"the table {'.'.join(path)}, which had rows", **self.adds_to}

    def _path(self, schema: TableSchema) -> TablePath:
        written = filled(self.options[opt.TABLE], schema)
        try:
            parts = parts_of(written)
        except ValueError as error:
            raise SinkError(f"the rows of {schema.table}: {error}") from None
        path = parts if len(parts) > 1 else ("main", *parts)
        if len(path) > 2 or path[0].lower() == OWN:
            raise SinkError(
                f"option 'table': {written!r} is no table for rows; write schema.table, or a name in quotes "
                f"(the schema {OWN} is the engine's own)"
            )
        return path

    # -- in tasks -------------------------------------------------------------------------------------------------

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> DuckDBWriter:
        missing = [schema.table for schema in schemas if schema.table not in self._targets]
        if missing:
            raise SinkError(f"{missing[0]} was not made ready before its first row: create_tables comes first")
        return DuckDBWriter(self._targets, self._staging(context), context)

    # -- committing and sweeping ----------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        with self._errors_wrapped(context, "cannot take staged rows in", CommitError):
            self._publishing(context).commit(committables, may_be_committed=may_be_committed)

    def complete(self, context: SinkContext) -> None:
        if self.mode.collects:
            with self._errors_wrapped(context, "cannot be given its new rows"):
                self._publishing(context).replace()

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        removed = self._staging(context).sweep(context.epoch + final, keep)
        if not final:
            with self._errors_wrapped(context, "cannot be swept"):
                self._publishing(context).forget(keep)
        return removed

    def published(self, context: SinkContext) -> Iterable[str]:
        with self._errors_wrapped(context, "cannot be asked what was committed"):
            return self._publishing(context).committed()

    def clear(self, context: SinkContext) -> None:
        with self._errors_wrapped(context, "cannot be cleared of what was remembered"):
            self._publishing(context).clear()
        self._staging(context).clear(context.epoch)

    # -- parts ----------------------------------------------------------------------------------------------------

    def _staging(self, context: SinkContext | WriterContext) -> Target:
        return Target.of(self._folder, context, self.identifier)

    def _publishing(self, context: SinkContext) -> Publishing:
        return Publishing(database=self._database, staging=self._staging(context), context=context, mode=self.mode)

    @property
    def _of_driver(self) -> "_Driver":
        assert self._driver is not None, "a task asks for what only the driver has"
        return self._driver

    def _errors_wrapped(
        self, context: SinkContext, what: str, kind: type[SinkError] = SinkError
    ) -> AbstractContextManager[None]:
        """Turn errors of DuckDB and of files into ``kind``, with whether a retry may help."""
        who = self._staging(context).who
        what = f"{self._database.path} {what}"
        return named_errors(who, what, kind, lambda error: failed(kind, f"{who}: {what}", error))


class _Driver:
    """State that only the driver's process has."""

    def __init__(self) -> None:
        self.save_mode_left = False
