"""The sink ``Jdbc``: write rows into tables of a database, or with a user's own statement."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import TASK_MODULES, dialect_of
from seatunnel_core.connectors.jdbc.databases.table_path import TablePath
from seatunnel_core.connectors.jdbc.publishing import Publishing
from seatunnel_core.connectors.jdbc.save_mode import WAIT_S, TableSaveMode
from seatunnel_core.connectors.jdbc.statement import statement_of
from seatunnel_core.connectors.jdbc.target import (
    Target,
    new_columns,
    target_of_statement,
    target_table,
)
from seatunnel_core.connectors.jdbc.writer import JdbcWriter
from seatunnel_core.connectors.sink import Guarantee, SaveMode, Sink, SinkContext, WriterContext
from seatunnel_core.connectors.staging.table_names import VARIABLE, filled
from seatunnel_core.connectors.written_options import written_options
from seatunnel_core.errors import CommitError, ConnectorError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable

_log = logging.getLogger(__name__)

_saving = [threading.Lock() for _ in range(64)]
"""Locks of the sinks of this process that apply a save mode; a table uses the one that its hash selects."""

_PAUSE_S = 1.0
"""The pause between two attempts of a commit, about the time that a killed server takes to restart."""


class JdbcSink(Sink):
    """With ``is_exactly_once``, rows are staged in tables of their own, and one transaction moves them.

    There are staging tables for each work unit. The transaction also drops them, and records what was committed and by
    which engine.
    """

    identifier: ClassVar[str] = "Jdbc"
    takes_any_moment = True
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    saves_later = True
    guarantee = Guarantee.EXACTLY_ONCE
    example = """
        url = "jdbc:postgresql://localhost:5432/shop"
        user = writer
        password = "the one of writer"
        generate_sink_sql = true
        table = "public.orders"
        primary_keys = [id]
        is_exactly_once = true
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        address = address_of(options)
        self.task_modules = TASK_MODULES.get(address.kind, ())  # type: ignore[misc]
        self._dialect = dialect_of(address, options[opt.POOL])
        if self._dialect.not_written:
            raise UsageError(
                f"option 'url': the sink Jdbc does not write jdbc:{address.kind}: {self._dialect.not_written}"
            )
        self._stages: bool = options[opt.EXACTLY_ONCE]
        self._batch_rows: int = options[opt.BATCH_SIZE]
        generates = options[opt.GENERATE] and not options[opt.SINK_QUERY]
        self._statement = None if generates else statement_of(_query(options))
        if options[opt.GENERATE] and not generates:
            _log.warning("the sink Jdbc: query stands beside generate_sink_sql = true, and rows go into query alone")
        if options[opt.DATA_SAVE_MODE] == "CUSTOM_PROCESSING" and not options[opt.CUSTOM_SQL]:
            raise UsageError("option 'custom_sql': data_save_mode is CUSTOM_PROCESSING, and the statement is missing")
        self._check_names()
        if not self._stages:
            keyed = self._statement is None and options[opt.PRIMARY_KEYS] and options[opt.UPSERT]
            self.guarantee = Guarantee.IDEMPOTENT if keyed else Guarantee.AT_LEAST_ONCE  # type: ignore[misc]
            self.weakness = "writes at once; write is_exactly_once = true to stage rows and move them once"
        self._empties = (
            options[opt.DATA_SAVE_MODE] != "APPEND_DATA" or options[opt.SCHEMA_SAVE_MODE] == "RECREATE_SCHEMA"
        )
        self._claims = self._stages or (self._empties and self._statement is None)
        """Whether the database records which engine has the pipeline."""

        self._targets: Mapping[str, Target] = {}
        self._driver: _Driver | None = _Driver()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None, "options": None, "_statement": None}

    def _check_names(self) -> None:
        for option in (opt.TABLE, opt.DATABASE):
            if "${" in VARIABLE.sub("", self.options[option] or ""):
                raise UsageError(f"option {option.key!r}: it has a variable that no table has; write ${{table_name}}")

    @property
    def bound_to(self) -> Mapping[str, str]:
        """The database and the options that decide how rows are written; a committable itself names its table."""
        how = written_options(self.options, opt.EXACTLY_ONCE, opt.SINK_QUERY, opt.GENERATE, opt.UPSERT)
        return {opt.URL.key: str(self._dialect.address), **how}

    @property
    def save_mode(self) -> SaveMode | None:
        if self._statement is not None:
            return None
        data, schema = self.options[opt.DATA_SAVE_MODE], self.options[opt.SCHEMA_SAVE_MODE]
        does = [data] if data != "APPEND_DATA" else []
        where = (str(self._dialect.address), self.options[opt.DATABASE] or "", self.options[opt.TABLE] or "")
        return SaveMode(target="/".join(where), does=", ".join(does + [schema] * (schema == "RECREATE_SCHEMA")))

    # -- at the start ---------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        self._of_driver.save_mode_left = False
        with self._errors_wrapped(context, "the database cannot be prepared"):
            if self._claims:
                self._publishing(context).claim()
            else:
                with self._dialect.pool.lend():
                    return

    def apply_save_mode(self, context: SinkContext) -> None:
        """Note that the save mode is due; ``create_tables`` applies it, as the tables are known only then."""
        self._of_driver.save_mode_left = True
        self._of_driver.seen = set()

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        with self._of_driver.lock:  # the sources of a pipeline come here at the same time
            for schema in schemas:
                with self._errors_wrapped(context, f"the table for the rows of {schema.table} cannot be made ready"):
                    self._targets = {**self._targets, schema.table: self._ready(schema, context)}

    def _ready(self, schema: TableSchema, context: SinkContext) -> Target:
        publishing = self._publishing(context)
        with publishing.transaction() as connection:
            if self._claims:
                publishing.hold(connection)
            if self._statement is not None:
                return self._checked_statement(connection, schema)
            path = self._path(schema)
            names = {name: self._written(name) for name in schema.columns.names}
            keys = tuple(self._written(name) for name in self._keys(schema))
            with self._saved(connection, path, context):
                table = self._dialect.table(connection, path)
                if table is None:
                    self._create(connection, path, schema, names, keys)
                    table = self._dialect.table(connection, path)
                connection.commit()
            if table is None:
                raise SinkError(f"the table {self._dialect.table_name(path)} was dropped by somebody else")
            if self._stages and not table.transactional:
                raise SinkError(
                    f"the table {self._dialect.table_name(path)} has no transactions, so rows cannot come exactly "
                    "once: give it ENGINE=InnoDB, or write is_exactly_once = false"
                )
            upserts = self.options[opt.UPSERT]
            return target_table(self._dialect, table, path, schema, names=names, keys=keys, upserts=upserts)

    def _keys(self, schema: TableSchema) -> Sequence[str]:
        return self.options[opt.PRIMARY_KEYS] or schema.primary_key or schema.unique_key

    def _written(self, name: str) -> str:
        """Return a column's name in the table, in the case of ``field_ide``."""
        case = self.options[opt.FIELD_IDE]
        return name.upper() if case == "UPPERCASE" else name.lower() if case == "LOWERCASE" else name

    def _path(self, schema: TableSchema) -> TablePath:
        written = filled(self.options[opt.TABLE] or "${table_name}", schema)
        database = filled(self.options[opt.DATABASE] or "", schema)
        try:
            return self._dialect.path_in(database, written)
        except ValueError as error:
            raise SinkError(f"the rows of {schema.table}: {error}") from None

    @contextmanager
    def _saved(self, connection: Any, path: TablePath, context: SinkContext) -> Iterator[None]:
        """Apply the save mode in the transaction, if it is due, and keep other processes from doing so meanwhile."""
        driver = self._of_driver
        if not (self._empties and driver.save_mode_left and path not in driver.seen):
            yield
            return
        mode = TableSaveMode(dialect=self._dialect, context=context, path=path)
        with _saving[hash(mode.lock) % len(_saving)], self._dialect.exclusively(connection, mode.lock, WAIT_S):
            acts = mode.may_act(connection)
            if acts:
                self._empty(connection, path)
            mode.note(connection, acted=acts)
            yield
        driver.seen.add(path)

    def _empty(self, connection: Any, path: TablePath) -> None:
        """Empty or drop the table, as ``data_save_mode`` and ``schema_save_mode`` require."""
        table, mode = self._dialect.quoted(*path), self.options[opt.DATA_SAVE_MODE]
        cursor = self._dialect.cursor(connection)
        if self._dialect.table(connection, path) is not None:
            if mode == "ERROR_WHEN_DATA_EXISTS" and self._dialect.ask(connection, f"SELECT 1 FROM {table} LIMIT 1"):
                raise SinkError(
                    f"the table {self._dialect.table_name(path)} has rows, and data_save_mode is "
                    "ERROR_WHEN_DATA_EXISTS; empty it, choose another, or write APPEND_DATA"
                )
            if self.options[opt.SCHEMA_SAVE_MODE] == "RECREATE_SCHEMA":
                cursor.execute(f"DROP TABLE {table}")
            elif mode == "DROP_DATA":
                cursor.execute(self._dialect.empty(path))
        if mode == "CUSTOM_PROCESSING" and not self._of_driver.seen:
            cursor.execute(self.options[opt.CUSTOM_SQL])

    def _create(
        self, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str], keys: Sequence[str]
    ) -> None:
        mode, named = self.options[opt.SCHEMA_SAVE_MODE], self._dialect.table_name(path)
        if mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
            raise SinkError(
                f"there is no table {named} and schema_save_mode is {mode}; create it, or write "
                "CREATE_SCHEMA_WHEN_NOT_EXIST"
            )
        missing = [key for key in keys if key not in names.values()]
        if missing:
            raise SinkError(f"the key column {missing[0]!r} is not among the columns of the rows of {schema.table}")
        columns = new_columns(self._dialect, schema, names)
        self._dialect.cursor(connection).execute(self._dialect.create_table(path, columns, keys))

    def _checked_statement(self, connection: Any, schema: TableSchema) -> Target:
        """Return the target for the user's statement, after an EXPLAIN of it on an empty staging table."""
        assert self._statement is not None
        target_of_statement(self._dialect, self._statement, schema)
        places = self._dialect.place_types(connection, self._statement.asked())
        target = target_of_statement(self._dialect, self._statement, schema, places)
        cursor, tried = self._dialect.cursor(connection), "seatunnel_tried"
        cursor.execute(target.staging_table(self._dialect, tried, temporary=True))
        try:
            for statement in target.moves(self._dialect, self._dialect.quoted(tried), changes=False):
                cursor.execute(f"EXPLAIN {statement}")
        finally:
            if self._dialect.ddl_commits:
                cursor.execute(self._dialect.drop_temporary(self._dialect.quoted(tried)))
        connection.rollback()
        return target

    # -- in tasks -------------------------------------------------------------------------------------------------

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> JdbcWriter:
        missing = [schema.table for schema in schemas if schema.table not in self._targets]
        if missing:
            raise SinkError(f"{missing[0]} was not made ready before its first row: create_tables comes first")
        return JdbcWriter(self._dialect, self._targets, context, stages=self._stages, batch_rows=self._batch_rows)

    # -- committing and sweeping ----------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, again: bool) -> None:
        if not self._stages:
            return
        for left in reversed(range(self.options[opt.COMMIT_ATTEMPTS])):
            try:
                with self._errors_wrapped(context, "staged rows cannot be moved", CommitError):
                    self._publishing(context).commit(committables, again=again)
            except CommitError as error:
                if not error.retryable or not left:
                    raise
                time.sleep(_PAUSE_S)
                again = True  # the connection may have been lost after the database had committed
            else:
                return

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        if not self._stages:
            return 0
        with self._errors_wrapped(context, "what was staged cannot be swept"):
            return self._publishing(context).sweep(keep, final=final)

    def published(self, context: SinkContext) -> Iterable[str]:
        """Ask also where rows are written at once now: former processes of the job may have staged them."""
        with self._errors_wrapped(context, "the database cannot be asked what was committed"):
            return self._publishing(context).committed()

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        if self._claims:
            with self._errors_wrapped(context, "what is recorded of the pipeline cannot be removed"):
                self._publishing(context).clear()

    def _publishing(self, context: SinkContext) -> Publishing:
        return Publishing(
            dialect=self._dialect, context=context, upserts=self.options[opt.UPSERT], statement=self._statement
        )

    @property
    def _of_driver(self) -> "_Driver":
        assert self._driver is not None, "a task asks for what only the driver has"
        return self._driver

    @contextmanager
    def _errors_wrapped(
        self, context: SinkContext, what: str, kind: Callable[[str], SinkError] = SinkError
    ) -> Iterator[None]:
        """Turn errors of the database into ``kind``, with whether a retry may help."""
        who = f"pipeline {context.pipeline_id}, sink Jdbc"
        try:
            yield
        except SinkError as error:
            if str(error).startswith("pipeline "):
                raise
            named = type(error)(f"{who}: {error}")
            named.retryable = error.retryable
            raise named from error
        except ConnectorError as error:
            found = kind(f"{who}: {what}: {error}")
            found.retryable = error.retryable
            raise found from error
        except Exception as error:
            raise self._dialect.failed(kind, f"{who}: {self._dialect.address}: {what}", error) from error


class _Driver:
    """State that only the driver's process has, shared by its threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held while tables are created and checked."""

        self.save_mode_left = False
        self.seen: set[TablePath] = set()
        """The tables to which the save mode was applied since the job started."""


def _query(options: Options) -> str:
    query: str | None = options[opt.SINK_QUERY]
    if not query:
        raise UsageError("option 'query': it is missing; write it, or generate_sink_sql = true and table")
    return query
