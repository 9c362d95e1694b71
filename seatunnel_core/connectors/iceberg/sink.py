"""The sink ``Iceberg``: tasks stage data files, and the driver appends them in one commit per table and checkpoint."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import (
    SupportsComplete,
    SupportsDryRun,
    SupportsPublishedQuery,
    SupportsRollback,
    can_roll_back,
)
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connector_api.values import Committable, Retraction
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg import options as opt
from seatunnel_core.connectors.iceberg.catalog import catalog_properties, located, may_pass
from seatunnel_core.connectors.iceberg.columns import iceberg_schema, refuse_unfit, types_of
from seatunnel_core.connectors.iceberg.compacting import Compacting
from seatunnel_core.connectors.iceberg.merging import (
    key_columns,
    refuse_floating_keys,
    refuse_split_keys,
    refuse_unmergeable,
)
from seatunnel_core.connectors.iceberg.merging_writer import MergingWriter
from seatunnel_core.connectors.iceberg.partitions import new_spec, partition_keys, positions_of, refuse_unwritable
from seatunnel_core.connectors.iceberg.replacing import Replacing, branch_of
from seatunnel_core.connectors.iceberg.staged_tables import StagedFiles, by_table, staged_files
from seatunnel_core.connectors.iceberg.staging import epoch_folder, make_folder
from seatunnel_core.connectors.iceberg.table import MAIN, TargetTable
from seatunnel_core.connectors.iceberg.table_ids import TableId, TableIds
from seatunnel_core.connectors.iceberg.writer import IcebergWriter, StagingTable
from seatunnel_core.connectors.staging.lost_table import lost
from seatunnel_core.connectors.tables.messages import not_own, not_prepared
from seatunnel_core.connectors.tables.sink import TableSink
from seatunnel_core.connectors.tables.target import require_one_key
from seatunnel_core.connectors.write_mode import MERGE_KEY, REPLACE_PARTITIONS, WRITE_MODE, WriteMode, write_mode_of
from seatunnel_core.quantity import pick
from seatunnel_core.rows.unknown import resolved

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_making = threading.Lock()
"""Lock for creating objects that sinks share: the tables of a new catalog, or a namespace."""


class IcebergSink(TableSink, SupportsComplete, SupportsDryRun, SupportsPublishedQuery, SupportsRollback):
    """The target is one table, or one table per input table. Existing rows can be replaced.

    The catalog rejects a commit if the table has changed since it was loaded. Therefore a commit takes effect only
    once, even if a replaced engine resumes in the middle of it.
    """

    identifier: ClassVar[str] = "Iceberg"
    isolates_bad_rows = True
    keeps_absent = True
    declared = opt.SINK_OPTIONS
    example = """
        iceberg.catalog.config { type = sql, uri = "sqlite:////data/catalog.db", warehouse = "file:///data/warehouse" }
        namespace = shop
        table = orders
    """
    expires_commit_records = False
    task_modules: tuple[str, ...] = ("pyiceberg",)

    def __init__(self, options: Options) -> None:
        self.mode = _mode(options)
        super().__init__(options, self.mode)
        if not self.mode.appends:  # other modes remove rows that cannot be restored
            self.disable(SupportsRollback)
        self._properties = catalog_properties(options)
        self._ids = TableIds(options[opt.NAMESPACE], options[opt.TABLE])
        self._keys = partition_keys(options[opt.PARTITION_KEYS] or "")
        self._staging: Mapping[TableId, StagingTable] = {}
        self._loaded: Catalog | None = None
        """The catalog; loaded only in the driver."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task, without the catalog and its properties."""
        return {**super().__getstate__(), "_loaded": None, "_properties": {}}

    def check_schema(self, schema: TableSchema) -> None:
        self.mode.check(schema)
        refuse_floating_keys(schema, self.mode.key_of(schema))
        new_spec(self._keys, iceberg_schema(schema), ".".join(self._path(schema)))

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the catalog, the write mode, and the table; if there are several, committables contain the table."""
        how = written_options(self.options, WRITE_MODE, MERGE_KEY, REPLACE_PARTITIONS, opt.UPSERT)
        bound = {**located(self._properties), **how}
        return bound if self._ids.one is None else {**bound, opt.TABLE.key: str(self._ids)}

    @property
    def where(self) -> str:
        return " ".join((*located(self._properties).values(), str(self._ids)))

    def _path(self, schema: TableSchema) -> TableId:
        return self._ids.of(schema)

    # -- at the start ---------------------------------------------------------------------------------------------

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        try:
            found = [self._looked(schema) for schema in schemas or ()]
            found = found or ["target tables are known only when the data is read"]
        except SinkError:
            raise
        except Exception as error:
            raise SinkError(f"the catalog or its tables cannot be read: {type(error).__name__}: {error}") from error
        return [*found, "write permission not checked"]

    def _looked(self, schema: TableSchema) -> str:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        table_id = self._path(schema)
        named = ".".join(table_id)
        try:
            table = self._catalog().load_table(table_id)
        except (NoSuchTableError, NoSuchNamespaceError):
            return f"the table {named} will be created"
        self._refuse(schema, table, named)
        return f"the table {named} exists and has all {len(schema.columns)} columns"

    def prepare(self, context: SinkContext) -> None:
        super().prepare(context)
        for table in self._existing(context, "cannot be reached"):
            with self._errors_wrapped(context, "cannot be reached", table):
                table.found()
            return

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        modes = self.options[opt.DATA_SAVE_MODE], self.options[opt.SCHEMA_SAVE_MODE]
        for schema in schemas:
            self.check_schema(schema)
        with self.driver.lock:  # the sources of a pipeline call this concurrently
            for schema in schemas:
                table = self._at(self._path(schema), context)
                if self.driver.save_mode_due and table.id not in self.driver.treated:
                    with self._errors_wrapped(context, "cannot be emptied", table):
                        table.apply_save_modes(*modes)
                    self.driver.treated.add(table.id)
                with self._errors_wrapped(context, "cannot be prepared", table):
                    if self.driver.save_mode_due and self.mode.appends and (rows := table.rows()):
                        self.note_rows(schema, f"the table {table.named}, which had {pick(rows, 'row')}")
                    self._staging = {**self._staging, table.id: self._ready(table, schema)}

    def _ready(self, target: TargetTable, schema: TableSchema) -> StagingTable:
        table = target.found()
        target.require_same(table)
        sensitive = self.options[opt.CASE_SENSITIVE]
        held = None if table is None else types_of(schema.columns, table.schema(), case_sensitive=sensitive)
        schema = evolve(schema, columns=resolved(schema.columns, held).columns)
        table = table or self._created(target, schema)
        key = self._refuse(schema, table, target.named)
        other = self._staging.get(target.id)
        require_one_key(target.named, key, () if other is None else (other.key,), target.who)
        if self.mode.replaces:
            self._replacing(target).collect()
        folder = epoch_folder(table, target.context, target.context.epoch)
        make_folder(table, folder)
        return StagingTable(
            id=target.id,
            uuid=history.identity_of(table),
            after=history.last_number(table),
            folder=folder,
            schema=table.schema().model_dump_json(),
            spec=table.spec().model_dump_json(),
            key=key,
            case_sensitive=self.options[opt.CASE_SENSITIVE],
            properties={**table.properties, **(self.options[opt.WRITE_PROPERTIES] or {})},
            io_properties=dict(table.io.properties),
        )

    def _refuse(self, schema: TableSchema, table: "Table", named: str) -> tuple[str, ...]:
        """Return the key columns of a table; raise ``SinkError`` if it cannot accept the rows in this write mode."""
        sensitive = self.options[opt.CASE_SENSITIVE]
        refuse_unfit(schema, table.schema(), named, case_sensitive=sensitive)
        refuse_unwritable(table.spec(), table.schema(), named)
        positions_of(self.mode.partitions, table.spec(), table.schema(), named)
        key = key_columns(self.mode.key_of(schema), table.schema(), case_sensitive=sensitive)
        if self.mode.merges:
            refuse_unmergeable(schema, table, key, named, case_sensitive=sensitive)
        return key

    def _created(self, target: TargetTable, schema: TableSchema) -> "Table":
        from pyiceberg.exceptions import TableAlreadyExistsError

        self.require_creatable(target.named, f"{target.who}: ")
        catalog, columns = self._catalog(), iceberg_schema(schema)
        spec = new_spec(self._keys, columns, target.named)
        positions_of(self.mode.partitions, spec, columns, target.named)
        if self.mode.merges:
            refuse_split_keys(spec, columns, self.mode.key_of(schema), target.named)
        with _making:
            catalog.create_namespace_if_not_exists(target.id[:-1])
        try:
            properties = self.options[opt.CREATE_PROPERTIES] or {}
            made: Table = catalog.create_table(target.id, columns, partition_spec=spec, properties=properties)
        except TableAlreadyExistsError:  # another pipeline was faster
            made = catalog.load_table(target.id)
        return made

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> IcebergWriter:
        tables = {schema.table: self._staging.get(self._path(schema)) for schema in schemas}
        known = {table: staging for table, staging in tables.items() if staging is not None}
        for table in tables.keys() - known.keys():
            raise not_prepared(table)
        return MergingWriter(known, context) if self.mode.merges else IcebergWriter(known, context)

    # -- committing, sweeping and rollback -------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Make one commit per table. If the process is killed between two commits, the retry skips completed ones."""
        found = [each for committable in committables for each in self._staged(committable, context)]
        for table_id, staged in by_table(found).items():
            table = self._at(table_id, context)
            with self._errors_wrapped(context, "cannot be updated", table, CommitError):
                table.commit(staged, may_be_committed=may_be_committed)

    def _staged(self, committable: Committable, context: SinkContext) -> list[StagedFiles]:
        try:
            return list(staged_files(committable, context, self._ids.one))
        except StoredValueError as error:
            raise CommitError(not_own(_who(context), committable, error)) from error

    def complete(self, context: SinkContext) -> None:
        existing = self._existing(context, "cannot be updated with the new rows") if self.mode.replaces else []
        if gone := context.published_to.keys() - {table.named for table in existing} if self.mode.replaces else ():
            raise SinkError(lost(_who(context), min(gone), exists=False))
        for table in existing:
            with self._errors_wrapped(context, "cannot be updated with the new rows", table):
                table.require_same(table.found())
                self._replacing(table).replace()

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        for table in self._existing(context, "cannot be cleared") if self.mode.replaces else ():
            with self._errors_wrapped(context, "cannot be cleared", table):
                self._replacing(table).forget()

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        removed = 0
        for table in self._existing(context, "cannot be cleaned up"):
            with self._errors_wrapped(context, "cannot be cleaned up", table):
                removed += table.sweep(keep, context.epoch + final)
        return removed

    def roll_back(self, context: SinkContext, retraction: Retraction) -> int:
        if not can_roll_back(self):
            raise SinkError(f"the sink {self.identifier} cannot roll back published output with these options")
        removed = 0
        for table in self._existing(context, "cannot be rolled back"):
            with self._errors_wrapped(context, "cannot be rolled back", table):
                removed += table.retract(retraction)
        return removed

    def published(self, context: SinkContext) -> Iterable[str]:
        found: set[str] = set()
        for target in self._existing(context, "cannot be read"):
            with self._errors_wrapped(context, "cannot be read", target):
                table = target.found()
                if table is not None:
                    found |= history.committed_ids(table, context) - history.retracted_ids(table, context)
        return found

    def to_compact(self) -> list[Compacting]:
        """Return one operation for each table of this sink, which rewrites the table without its deleted rows."""
        try:
            return [Compacting(id=table_id, catalog=self._catalog) for table_id in self._ids.existing(self._catalog)]
        except Exception as error:
            raise SinkError(f"the table {self._ids} cannot be rewritten: {type(error).__name__}: {error}") from error

    # -- the catalog ----------------------------------------------------------------------------------------------

    def _catalog(self) -> "Catalog":
        from pyiceberg.catalog import load_catalog

        with _making:
            if self._loaded is None:
                self._loaded = load_catalog(self.options[opt.CATALOG_NAME], **self._properties)
            return self._loaded

    def _at(self, table: TableId, context: SinkContext) -> TargetTable:
        branch = branch_of(context) if self.mode.replaces else MAIN
        return TargetTable(id=table, context=context, catalog=self._catalog, branch=branch)

    def _replacing(self, table: TargetTable) -> Replacing:
        return Replacing(target=table, partitions=self.mode.partitions)

    def _existing(self, context: SinkContext, what: str) -> list[TargetTable]:
        """Return the tables that may contain rows of this sink: its only table, or all tables with matching names."""
        with self._errors_wrapped(context, what):
            return [self._at(each, context) for each in self._ids.existing(self._catalog)]

    @contextmanager
    def _errors_wrapped(
        self,
        context: SinkContext,
        what: str,
        table: TargetTable | None = None,
        kind: Callable[[str], SinkError] = SinkError,
    ) -> Iterator[None]:
        """Convert errors of the catalog and of files to ``kind``, marked as retryable if a retry may help."""
        try:
            yield
        except SinkError:
            raise
        except Exception as error:
            named = self._ids if table is None else table.named
            found = kind(f"{_who(context)}: the table {named} {what}: {type(error).__name__}: {error}")
            found.retryable = may_pass(error)
            raise found from error


def _mode(options: Options) -> WriteMode:
    upserts = options[opt.UPSERT]
    if upserts and options[WRITE_MODE] not in (None, "merge"):
        raise UsageError(
            f"option {opt.UPSERT.key!r}: true means write_mode = merge, but write_mode is {options[WRITE_MODE]}; "
            "remove one of the two"
        )
    return write_mode_of(options, default="merge" if upserts else "append")


def _who(context: SinkContext) -> str:
    return f"pipeline {context.pipeline_id}, sink Iceberg"
