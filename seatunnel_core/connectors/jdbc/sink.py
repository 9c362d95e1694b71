"""The sink ``Jdbc``: writes rows to database tables, or with an INSERT statement that the user provides."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import SupportsComplete, SupportsDryRun, SupportsPublishedQuery
from seatunnel_core.connector_api.errors import CommitError, SinkError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, SaveMode, SinkContext, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.collations import with_exact_keys
from seatunnel_core.connectors.jdbc.databases.dialect import TASK_MODULES, dialect_of
from seatunnel_core.connectors.jdbc.databases.families import index_of
from seatunnel_core.connectors.jdbc.databases.longest_names import require_short
from seatunnel_core.connectors.jdbc.looking import LookedMode, look_at_keys, look_at_table, look_into, tried
from seatunnel_core.connectors.jdbc.modes import mode_of, refuse_other_key, refuse_partial, refuse_unmatchable
from seatunnel_core.connectors.jdbc.pruning import require_key_of, target_of_keys
from seatunnel_core.connectors.jdbc.publishing import Publishing
from seatunnel_core.connectors.jdbc.replacing import JdbcReplacement
from seatunnel_core.connectors.jdbc.save_mode import TableSaveMode
from seatunnel_core.connectors.jdbc.statement import query_of, statement_of
from seatunnel_core.connectors.jdbc.target import Target, new_columns, target_table
from seatunnel_core.connectors.jdbc.writer import JdbcWriter
from seatunnel_core.connectors.nested.child_tables import require_place
from seatunnel_core.connectors.staging.table_names import VARIABLE, filled
from seatunnel_core.connectors.tables.column_growth import WAIT_S, Growth
from seatunnel_core.connectors.tables.errors import named_errors
from seatunnel_core.connectors.tables.growth import TARGET_CONTRACT
from seatunnel_core.connectors.tables.history import history_columns
from seatunnel_core.connectors.tables.options import SCHEMA_SAVE_MODE
from seatunnel_core.connectors.tables.save_mode import empty_table, has_rows
from seatunnel_core.connectors.tables.sink import TableSink
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.write_mode import DECIDING

_log = logging.getLogger(__name__)

_saving = [threading.Lock() for _ in range(64)]
"""Locks for sinks of this process that apply a save mode. The hash of the table selects the lock."""

_PAUSE_S = 1.0
"""Delay between two attempts to commit, in seconds; about the time that a killed server takes to restart."""


class JdbcSink(TableSink, SupportsComplete, SupportsDryRun, SupportsPublishedQuery):
    """With ``is_exactly_once``, rows are staged in separate tables for each work unit.

    One transaction moves them to the target, drops the staging tables, and records the commit.
    """

    keeps_absent = True
    identifier: ClassVar[str] = "Jdbc"
    takes_any_moment = True
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    example = """
        url = "jdbc:postgresql://localhost:5432/shop"
        user = writer
        password = "writer-password"
        generate_sink_sql = true
        table = "public.orders"
        primary_keys = [id]
        is_exactly_once = true
    """

    def __init__(self, options: Options) -> None:
        self._mode = mode_of(options)
        super().__init__(options, self._mode)
        address = address_of(options)
        self.task_modules = TASK_MODULES.get(address.kind, ())
        self._dialect = dialect_of(address, options[opt.POOL])
        self._search_path = self._dialect.search_path
        if said := self._dialect.not_written:
            raise UsageError(f"option 'url': the Jdbc sink cannot write to jdbc:{address.kind}: {said}")
        self._stages: bool = options[opt.EXACTLY_ONCE] or self.needs_order or self.needs_end
        self._batch_rows: int = options[opt.BATCH_SIZE]
        generates = (options[opt.GENERATE] or self._mode is not None) and not options[opt.SINK_QUERY]
        self._statement = None if generates else statement_of(query_of(options))
        self.replaces_rows |= self._mode is None and generates and options[opt.UPSERT]
        if options[opt.GENERATE] and not generates:
            _log.warning(
                "the sink Jdbc: query and generate_sink_sql = true are mutually exclusive; remove one of the two"
            )
        if self._statement is not None and options.is_set(TARGET_CONTRACT):
            raise UsageError("option 'schema_contract': requires a table, but rows are written with query; remove it")
        self._growth = Growth(database=self._dialect, contract=options[TARGET_CONTRACT])
        if options[opt.DATA_SAVE_MODE] == "CUSTOM_PROCESSING" and not options[opt.CUSTOM_SQL]:
            raise UsageError("option 'custom_sql': required with data_save_mode = CUSTOM_PROCESSING")
        self._check_names()
        if not self._stages:
            keyed = self._statement is None and options[opt.PRIMARY_KEYS] and options[opt.UPSERT]
            self.guarantee = Guarantee.IDEMPOTENT if keyed else Guarantee.AT_LEAST_ONCE
            self.weakness = "writes rows directly; set is_exactly_once = true to write each row once"
        self._claims = self._stages or self.empties
        """True if the database records which engine owns the pipeline."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_statement": None}

    def _check_names(self) -> None:
        for option in (opt.TABLE, opt.DATABASE):
            if "${" in VARIABLE.sub("", self.options[option] or ""):
                raise UsageError(f"option {option.key!r}: unknown variable; use ${{table_name}}")

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the database and the options that determine how rows are written. Committables contain the table."""
        how = written_options(self.options, opt.EXACTLY_ONCE, opt.SINK_QUERY, opt.GENERATE, opt.UPSERT, *DECIDING)
        return {opt.URL.key: str(self._dialect.address), **how}

    @property
    def save_mode(self) -> SaveMode | None:
        return None if self._statement is not None else super().save_mode

    @property
    def where(self) -> str:
        return "/".join((str(self._dialect.address), self.options[opt.DATABASE] or "", self.options[opt.TABLE] or ""))

    def check_schema(self, schema: TableSchema) -> None:
        if self._mode is not None:
            self._mode.check(schema, replaces_children=True)
        if root := self._root(schema):
            require_place(schema, root, self._path(schema))

    def _root(self, schema: TableSchema) -> TablePath:
        """Return the parent table of a child table; empty unless parents and children are replaced together."""
        if self._mode is None or not self._mode.merges or schema.root is None:
            return ()
        return self._path(evolve(schema, table=schema.root))

    # -- at the start ---------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        super().prepare(context)
        with self._errors_wrapped(context, "the database cannot be prepared"):
            if self._claims:
                self._publishing(context).claim()
            else:
                with self._dialect.pool.lend():
                    return

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        self.check_schemas(schemas)
        with self.driver.lock:  # the sources of a pipeline call this concurrently
            for schema in schemas:
                with self._errors_wrapped(context, f"the table for the rows of {schema.table} cannot be prepared"):
                    self._targets = {**self._targets, schema.table: self._ready(schema, context)}

    def _ready(self, schema: TableSchema, context: SinkContext) -> Target:
        publishing = self._publishing(context)
        with self._dialect.transaction() as connection:
            if self._claims:
                publishing.ledger.hold(connection)
            if self._statement is not None:
                return tried(self._dialect, connection, self._statement, schema)
            path, names, keys = self._named(schema)
            collecting = publishing.replacing
            if collecting is not None and self.prunes:
                return target_of_keys(collecting, connection, path, schema, names)
            with self._saved(connection, path, context):
                table = publishing.found(connection, path)
                columns = None if table is None else table.columns
                found = self._growth.resolved(columns, schema, names, keys)
                schema = evolve(schema, columns=found.columns)
                if columns is None:
                    self._create(connection, path, schema, names, keys)
                    table = self._dialect.table(connection, path)
                else:
                    done = self._growth.carried_out(connection, path, columns, schema, names, keys)
                    contract = self._growth.contract  # another process may have made the changes
                    table = self._dialect.table(connection, path) if contract.adds or contract.widens else table
                    self._note_existing(connection, path, schema, keys, done)
                connection.commit()
            target = self._target(connection, table, path, schema, names, keys)
            refuse_other_key(self._targets, schema.table, target, merges=self.needs_order)
            if collecting is not None:
                self._collect(connection, collecting, target)
            return evolve(target, without_values=found.without_values)

    def _note_existing(
        self, connection: Any, path: TablePath, schema: TableSchema, keys: Sequence[str], changes: Iterable[str]
    ) -> None:
        """Log the changes to an existing table, and record whether the job adds rows to existing ones."""
        name = self._dialect.table_name(path)
        for change in changes:
            _log.warning("the sink Jdbc: the table %s %s", name, change)
        if self.driver.save_mode_due and self._adds(keys) and has_rows(self._dialect, connection, path):
            self.note_rows(schema, f"the table {name}, which had rows")

    def _target(
        self,
        connection: Any,
        table: DatabaseTable | None,
        path: TablePath,
        schema: TableSchema,
        names: Mapping[str, str],
        keys: Sequence[str],
    ) -> Target:
        if table is None:
            raise SinkError(f"the table {self._dialect.table_name(path)} was dropped by another client")
        if self._stages and not table.transactional:
            raise SinkError(
                f"the table {self._dialect.table_name(path)} does not support transactions, so rows cannot be "
                "written exactly once: change its engine to InnoDB, or set is_exactly_once = false"
            )
        keyed = () if self.needs_end else keys
        how: Any = {"names": names, "keys": keyed, "upserts": self.options[opt.UPSERT], "history": self._history}
        target = target_table(self._dialect, connection, table, path, schema, **how)
        if keys and self.needs_order and not self._history:
            refuse_partial(target, table)
        whole = self._matches_whole_rows(schema)
        if whole:
            refuse_unmatchable(self._dialect, target, table, schema)
        return evolve(target, needs_key=self.needs_order, whole=whole, root=self._root(schema))

    def _matches_whole_rows(self, schema: TableSchema) -> bool:
        return self._mode is not None and self._mode.matches_whole_rows(schema)

    def _collect(self, connection: Any, collecting: JdbcReplacement, target: Target) -> None:
        """Create the table that collects rows until they replace the rows of a target."""
        made = target.staging_table(self._dialect, collecting.collected(target.path), temporary=False)
        collecting.collect_for(connection, target.path, lambda: self._dialect.run(connection, made))
        connection.commit()
        self._growth.follow(connection, collecting.place(target.path), target.columns, target.named)
        connection.commit()

    def _adds(self, keys: Sequence[str]) -> bool:
        """Return True if rows are added to existing rows without replacing them or being merged with them."""
        return not (self.needs_end or (keys and self.options[opt.UPSERT]))

    def _named(self, schema: TableSchema) -> tuple[TablePath, dict[str, str], tuple[str, ...]]:
        """Return the table for the rows of a schema, its column for each column of the rows, and its key columns."""
        names = {name: self._written(name) for name in schema.columns.names}
        path = self._path(schema)
        require_short(self._dialect, path[-1], names.values())
        return path, names, tuple(self._written(name) for name in self._key_of(schema))

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        return look_into(self._dialect, lambda connection: [self._looked(connection, each) for each in schemas or ()])

    def _looked(self, connection: Any, schema: TableSchema) -> Sequence[str]:
        if self._statement is not None:
            named = tried(self._dialect, connection, self._statement, schema).named
            return [
                f"the statement accepts the columns of {named}",
                "the permission to execute the statement was not checked",
            ]
        path, names, keys = self._named(schema)
        if self.prunes:
            there = require_key_of(self._dialect, connection, path, schema, names)
            return look_at_keys(self._dialect, connection, path, tuple(names.values()) if there else None)
        mode = LookedMode(
            upserts=self.options[opt.UPSERT],
            replaces=self.needs_end,
            empties=self.options[opt.DATA_SAVE_MODE] == "DROP_DATA",
            stages=self._stages,
            schema_mode=self.options[SCHEMA_SAVE_MODE],
            history=self._history,
            whole=self._matches_whole_rows(schema),
        )
        return look_at_table(self._dialect, self._growth, connection, path, schema, names=names, keys=keys, mode=mode)

    def _key_of(self, schema: TableSchema) -> Sequence[str]:
        """Return the key of a new table. Existing rows are matched by this key unless all of them are replaced."""
        named: Sequence[str] = self.options[opt.PRIMARY_KEYS] or ()
        if self._root(schema):
            return ()
        if self._mode is not None and self._mode.name != "replace":
            return self._mode.key_of(schema) or named
        return named or schema.primary_key or schema.unique_key

    def _written(self, name: str) -> str:
        """Return the name of a column in the table, in the case that ``field_ide`` requires."""
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
        """Apply the save mode in the transaction if it is due, while other processes are locked out."""
        driver = self.driver
        if not (self.empties and driver.save_mode_due and path not in driver.treated):
            yield
            return
        mode = TableSaveMode(ledger=self._publishing(context).ledger, path=path)
        with _saving[hash(mode.lock) % len(_saving)], self._dialect.exclusively(connection, mode.lock, WAIT_S):
            acts = mode.may_act(connection)
            if acts:
                if self._dialect.table(connection, path) is not None:
                    empty_table(self._dialect, connection, path, self.options)
                if self.options[opt.DATA_SAVE_MODE] == "CUSTOM_PROCESSING" and not driver.treated:
                    self._dialect.run(connection, self.options[opt.CUSTOM_SQL])
            mode.note(connection, acted=acts)
            yield
        driver.treated.add(path)

    def _create(
        self, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str], keys: Sequence[str]
    ) -> None:
        self.require_creatable(self._dialect.table_name(path))
        for missing in (key for key in keys if key not in names.values()):
            raise SinkError(f"the key column {missing!r} is not among the columns of the rows of {schema.table}")
        columns = with_exact_keys(self._dialect, connection, new_columns(self._dialect, schema, names), keys)
        if self._history:  # a key has several versions
            columns, keys = pa.schema([*columns, *history_columns(self._dialect, self._history)]), ()
        cursor = self._dialect.cursor(connection)
        cursor.execute(self._dialect.create_table(path, columns, keys))
        if self._root(schema):
            cursor.execute(index_of(self._dialect, path, columns.names))

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> JdbcWriter:
        self.require_prepared(schemas)
        return JdbcWriter(self._dialect, self._targets, context, stages=self._stages, batch_rows=self._batch_rows)

    # -- committing and sweeping ----------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        if not self._stages:
            return
        for left in reversed(range(self.options[opt.COMMIT_ATTEMPTS])):
            try:
                with self._errors_wrapped(context, "staged rows cannot be moved to the target table", CommitError):
                    self._publishing(context).commit(committables, may_be_committed=may_be_committed)
            except CommitError as error:
                if not error.retryable or not left:
                    raise
                time.sleep(_PAUSE_S)
                may_be_committed = True  # the connection may have been lost after the database had committed
            else:
                return

    def complete(self, context: SinkContext) -> None:
        if self.needs_end:
            what = (
                "rows whose keys were not in this run cannot be deleted"
                if self.prunes
                else "the new rows cannot replace the old ones"
            )
            with self._errors_wrapped(context, what):
                self._publishing(context).replace()

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        if not self._stages:
            return 0
        with self._errors_wrapped(context, "old staged rows cannot be removed"):
            return self._publishing(context).sweep(keep, final=final)

    def published(self, context: SinkContext) -> Iterable[str]:
        """Return the recorded commits, even without staging, because an earlier process may have staged rows."""
        with self._errors_wrapped(context, "the commit records cannot be read"):
            return self._publishing(context).committed()

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        if self._claims:
            with self._errors_wrapped(context, "the records of the pipeline cannot be removed"):
                self._publishing(context).clear()

    def _publishing(self, context: SinkContext) -> Publishing:
        partitions = tuple(map(self._written, self._mode.partitions)) if self._mode is not None else ()
        replacing = JdbcReplacement.of(self._dialect, context, partitions, deletes=self.prunes)
        return Publishing(
            dialect=self._dialect,
            context=context,
            upserts=self.options[opt.UPSERT],
            statement=self._statement,
            ordered=self.needs_order,
            history=self._history,
            replacing=replacing if self.needs_end else None,
        )

    @property
    def _history(self) -> tuple[str, ...]:
        return () if self._mode is None else tuple(map(self._written, self._mode.history))

    def _errors_wrapped(
        self, context: SinkContext, what: str, kind: Callable[[str], SinkError] = SinkError
    ) -> AbstractContextManager[None]:
        """Convert errors of the database to ``kind``, marked as retryable if a retry may help."""
        who, dialect = f"pipeline {context.pipeline_id}, sink Jdbc", self._dialect
        where = f"{who}: {dialect.address}: {what}"
        return named_errors(who, what, kind, lambda error: dialect.failed(kind, where, error))
