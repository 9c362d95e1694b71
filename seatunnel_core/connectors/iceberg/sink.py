"""The sink ``Iceberg``: tasks stage data files, and the driver appends them in one commit per table and checkpoint."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.config.option import Options
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg import options as opt
from seatunnel_core.connectors.iceberg.catalog import catalog_properties, may_pass
from seatunnel_core.connectors.iceberg.columns import iceberg_schema, refuse_unfit
from seatunnel_core.connectors.iceberg.partitions import new_spec, partition_keys, refuse_unwritable
from seatunnel_core.connectors.iceberg.staged_tables import StagedFiles, by_table, staged_files
from seatunnel_core.connectors.iceberg.staging import epoch_folder, make_folder
from seatunnel_core.connectors.iceberg.table import TargetTable
from seatunnel_core.connectors.iceberg.table_ids import TableId, TableIds
from seatunnel_core.connectors.iceberg.writer import IcebergWriter, StagingTable
from seatunnel_core.connectors.sink import Guarantee, SaveMode, Sink, SinkContext, WriterContext
from seatunnel_core.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from seatunnel_storage_api.secret import shown

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_making = threading.Lock()
"""Held by a sink of this process that creates what others share: a new catalog's own tables, or a namespace."""


class IcebergSink(Sink):
    """Rows are appended to one table, or to one for each table of the rows.

    The catalog checks that nobody else has committed in between. So a commit happens once, even when an engine that was
    replaced resumes in the middle of one.
    """

    identifier: ClassVar[str] = "Iceberg"
    tells_rows_apart = True
    declared = opt.SINK_OPTIONS
    example = """
        iceberg.catalog.config { type = sql, uri = "sqlite:////data/catalog.db", warehouse = "file:///data/warehouse" }
        namespace = shop
        table = orders
    """
    guarantee = Guarantee.EXACTLY_ONCE
    forgets = False
    retracts = True
    saves_later = True
    task_modules: ClassVar[tuple[str, ...]] = ("pyiceberg",)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._properties = catalog_properties(options)
        self._ids = TableIds(options[opt.NAMESPACE], options[opt.TABLE])
        self._keys = partition_keys(options[opt.PARTITION_KEYS] or "")
        self._staging: Mapping[TableId, StagingTable] = {}
        self._driver = _Driver()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task, without the catalog and its properties."""
        return {**self.__dict__, "_driver": None, "_properties": {}, "options": None}

    def check_schema(self, schema: TableSchema) -> None:
        new_spec(self._keys, iceberg_schema(schema), ".".join(self._ids.of(schema)))

    @property
    def bound_to(self) -> Mapping[str, str]:
        """The catalog, and the table of a sink with a single one; a committable itself names its table."""
        return self._where if self._ids.one is None else {**self._where, opt.TABLE.key: str(self._ids)}

    @property
    def _where(self) -> Mapping[str, str]:
        """The catalog's type, uri and warehouse, by the keys of the options."""
        named = {key: self._properties[key] for key in ("type", "uri", "warehouse") if key in self._properties}
        return {f"{opt.CATALOG.key}.{key}": shown(key, value) for key, value in named.items()}

    @property
    def save_mode(self) -> SaveMode | None:
        data, schema = self.options[opt.DATA_SAVE_MODE], self.options[opt.SCHEMA_SAVE_MODE]
        does = [data] if data != "APPEND_DATA" else []
        target = " ".join((*self._where.values(), str(self._ids)))
        return SaveMode(target=target, does=", ".join(does + [schema] * (schema == "RECREATE_SCHEMA")))

    # -- at the start ---------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        self._driver.save_mode_left = False
        for table in self._existing(context, "cannot be reached"):
            with self._errors_wrapped(context, "cannot be reached", table):
                table.found()
            return

    def apply_save_mode(self, context: SinkContext) -> None:
        """Note that the save mode is due; ``create_tables`` applies it, as the tables are known only then."""
        self._driver.save_mode_left, self._driver.emptied = True, set()

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        modes = self.options[opt.DATA_SAVE_MODE], self.options[opt.SCHEMA_SAVE_MODE]
        with self._driver.lock:  # the sources of a pipeline come here at the same time
            for schema in schemas:
                table = self._at(self._ids.of(schema), context)
                if self._driver.save_mode_left and table.id not in self._driver.emptied:
                    with self._errors_wrapped(context, "cannot be emptied", table):
                        table.apply_save_modes(*modes)
                    self._driver.emptied.add(table.id)
                with self._errors_wrapped(context, "cannot be made ready", table):
                    self._staging = {**self._staging, table.id: self._ready(table, schema)}

    def _ready(self, target: TargetTable, schema: TableSchema) -> StagingTable:
        table = target.found() or self._created(target, schema)
        sensitive = self.options[opt.CASE_SENSITIVE]
        refuse_unfit(schema, table.schema(), target.named, case_sensitive=sensitive)
        refuse_unwritable(table.spec(), table.schema(), target.named)
        folder = epoch_folder(table, target.context, target.context.epoch)
        make_folder(table, folder)
        return StagingTable(
            id=target.id,
            uuid=str(table.metadata.table_uuid),
            after=history.last_number(table),
            folder=folder,
            schema=table.schema().model_dump_json(),
            spec=table.spec().model_dump_json(),
            case_sensitive=sensitive,
            properties={**table.properties, **(self.options[opt.WRITE_PROPERTIES] or {})},
            io_properties=dict(table.io.properties),
        )

    def _created(self, target: TargetTable, schema: TableSchema) -> "Table":
        from pyiceberg.exceptions import TableAlreadyExistsError

        mode = self.options[opt.SCHEMA_SAVE_MODE]
        if mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
            raise SinkError(
                f"{target.who}: there is no table {target.named} and schema_save_mode is {mode}; create it, or write "
                "CREATE_SCHEMA_WHEN_NOT_EXIST"
            )
        catalog, columns = self._catalog(), iceberg_schema(schema)
        spec = new_spec(self._keys, columns, target.named)
        with _making:
            catalog.create_namespace_if_not_exists(target.id[:-1])
        try:
            properties = self.options[opt.CREATE_PROPERTIES] or {}
            made: Table = catalog.create_table(target.id, columns, partition_spec=spec, properties=properties)
        except TableAlreadyExistsError:  # another pipeline was faster
            made = catalog.load_table(target.id)
        return made

    # -- in tasks -------------------------------------------------------------------------------------------------

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> IcebergWriter:
        tables = {schema.table: self._staging.get(self._ids.of(schema)) for schema in schemas}
        known = {table: staging for table, staging in tables.items() if staging is not None}
        if len(known) < len(tables):
            raise SinkError("a table was not made ready before its first row: create_tables has to be called first")
        return IcebergWriter(known, context)

    # -- committing, sweeping and taking back ---------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, again: bool) -> None:
        """Make one commit for each table; after a kill between two of them, a repetition skips those that were made."""
        found = [each for committable in committables for each in self._staged(committable, context)]
        for table_id, staged in by_table(found).items():
            table = self._at(table_id, context)
            with self._errors_wrapped(context, "cannot be committed to", table, CommitError):
                table.commit(staged, again=again)

    def _staged(self, committable: Committable, context: SinkContext) -> list[StagedFiles]:
        try:
            return list(staged_files(committable, context, self._ids.one))
        except StoredValueError as error:
            raise CommitError(
                f"{_who(context)}: the committable {ascii(committable.id)[:60]} is not one that this sink made: {error}"
                ". Nothing of it was published; restore an older checkpoint"
            ) from error

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        removed = 0
        for table in self._existing(context, "cannot be swept"):
            with self._errors_wrapped(context, "cannot be swept", table):
                removed += table.sweep(keep, context.epoch + final)
        return removed

    def retract(self, context: SinkContext, retraction: Retraction) -> int:
        removed = 0
        for table in self._existing(context, "cannot take rows back"):
            with self._errors_wrapped(context, "cannot take rows back", table):
                removed += table.retract(retraction)
        return removed

    def published(self, context: SinkContext) -> Iterable[str]:
        found: set[str] = set()
        for target in self._existing(context, "cannot be looked at"):
            with self._errors_wrapped(context, "cannot be looked at", target):
                table = target.found()
                if table is not None:
                    found |= history.committed_ids(table, context) - history.retracted_ids(table, context)
        return found

    # -- the catalog ----------------------------------------------------------------------------------------------

    def _catalog(self) -> "Catalog":
        return self._driver.catalog(self.options[opt.CATALOG_NAME], self._properties)

    def _at(self, table: TableId, context: SinkContext) -> TargetTable:
        return TargetTable(id=table, context=context, catalog=self._catalog)

    def _existing(self, context: SinkContext, what: str) -> list[TargetTable]:
        """Return the tables that may contain rows of this sink: its single one, or all whose names match."""
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
        """Turn errors of the catalog and of files into ``kind``, with whether a retry may help."""
        try:
            yield
        except SinkError:
            raise
        except Exception as error:
            named = self._ids if table is None else table.named
            found = kind(f"{_who(context)}: the table {named} {what}: {type(error).__name__}: {error}")
            found.retryable = may_pass(error)
            raise found from error


class _Driver:
    """State that only the driver's process has, shared by its threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held while tables are created and checked."""

        self.save_mode_left = False
        self.emptied: set[TableId] = set()
        """The tables to which the save mode was applied since the job started."""

        self._catalog: Catalog | None = None

    def catalog(self, name: str, properties: dict[str, str]) -> "Catalog":
        from pyiceberg.catalog import load_catalog

        with _making:
            if self._catalog is None:
                self._catalog = load_catalog(name, **properties)
            return self._catalog


def _who(context: SinkContext) -> str:
    return f"pipeline {context.pipeline_id}, sink Iceberg"
