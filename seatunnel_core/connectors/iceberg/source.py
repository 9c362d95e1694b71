"""The source ``Iceberg``: reads a table as of one snapshot, either the newest one at the start or a given one."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connector_api.increments import Increment, OptionIncrements
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Cursor, Split, Window
from seatunnel_core.connectors.file.source_options import READ_COLUMNS
from seatunnel_core.connectors.iceberg import options as opt
from seatunnel_core.connectors.iceberg.catalog import catalog_properties, located, may_pass
from seatunnel_core.connectors.iceberg.data_files import DataFiles, access_of, columns_of
from seatunnel_core.connectors.iceberg.increments import SnapshotIncrements, snapshot_increments
from seatunnel_core.connectors.iceberg.table_ids import TableIds

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


class IcebergSource(Source, OptionIncrements[SnapshotIncrements]):
    """Each data file of the snapshot is one split, read without its deleted rows.

    Rows deleted by key or by position are skipped, so tables with merged rows are read correctly.
    """

    identifier: ClassVar[str] = "Iceberg"
    declared = opt.SOURCE_OPTIONS
    example = """
        iceberg.catalog.config { type = rest, uri = "http://catalog:8181", warehouse = "s3://lake/warehouse" }
        namespace = shop
        table = orders
    """
    task_modules: tuple[str, ...] = ("pyiceberg",)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._properties = catalog_properties(options)
        found = TableIds(options[opt.NAMESPACE], options[opt.TABLE]).one
        if found is None:
            raise UsageError("option 'table': a source does not support table variables; write the name of the table")
        self._id = found
        self._named = ".".join(self._id)
        self._chosen: tuple[str, ...] = tuple(options[READ_COLUMNS] or ())
        self._files: DataFiles | None = None
        self._window: Window | None = None
        self._increments = self._begin_increments(options)

    def _begin_increments(self, options: Options) -> SnapshotIncrements | None:
        increment: Increment | None = options[opt.INCREMENTAL]
        at = [option.key for option in (opt.SNAPSHOT, opt.SNAPSHOT_TIME) if options[option] is not None]
        if len(at) > 1 or (at and increment is not None):
            one, other = [*at, opt.INCREMENTAL.key][:2]
            raise UsageError(f"options {one!r} and {other!r} both select snapshots; remove one of the two")
        reads = {"source": "iceberg", **located(self._properties), "table": self._named}
        return None if increment is None else snapshot_increments(increment, self._named, reads)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task: the data needed to read files, without the catalog and its properties."""
        return {**self.__dict__, "_files": self._access(), "_properties": {}, "_increments": None, "options": None}

    def open(self, *, restored: bool) -> None:
        self._files = None
        self._access()

    def require_input(self) -> None:
        self._table()

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        table = self._table()
        return (self._schema(table, self._snapshot(table)),)

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        table = self._table()
        snapshot = self._snapshot(table)
        self._files = access_of(table, self._named)
        added = self._added(table)
        snapshots = added if added is not None else () if snapshot is None else (snapshot,)
        try:
            found = self._files.listed(snapshots, self._schema_id(table, snapshot), added=added is not None)
        except (OSError, ValueError) as error:
            raise self._failed("cannot be listed", error) from error
        splits = [
            Split(index=index, weight_bytes=size, rows=max(1, rows), body=body)
            for index, (body, rows, size) in enumerate(found)
        ]
        return Enumeration(schemas=(self._schema(table, snapshot),), splits=tuple(splits))

    def _schema(self, table: "Table", snapshot: "Snapshot | None") -> TableSchema:
        schema = table.schemas()[self._schema_id(table, snapshot)]
        columns, names = columns_of(schema), self._chosen_of(schema)
        key = tuple(schema.find_column_name(number) or "" for number in schema.identifier_field_ids)
        return TableSchema(
            table=self._named,
            columns=pa.schema([columns.field(name) for name in names]),
            primary_key=key if {*key} <= {*names} else (),
        )

    def _chosen_of(self, schema: "Schema") -> Sequence[str]:
        """Return the columns to read; raise ``SourceError`` if the table lacks one of them."""
        names = [field.name for field in schema.fields]
        for name in self._chosen:
            if name not in names:
                meant = nearest(name, names)
                raise SourceError(
                    f"option 'read_columns': the table {self._named} has no column {name!r}"
                    + (f"; did you mean {meant}?" if meant else f"; it has {', '.join(names)}")
                )
        return self._chosen or names

    def _schema_id(self, table: "Table", snapshot: "Snapshot | None") -> int:
        """Return the ID of the schema to read: the snapshot's if the job sets a snapshot, else the current one."""
        named = self.options[opt.SNAPSHOT] is not None or self.options[opt.SNAPSHOT_TIME] is not None
        at = snapshot.schema_id if named and snapshot is not None else None
        return int(table.metadata.current_schema_id if at is None else at)

    def _snapshot(self, table: "Table") -> "Snapshot | None":
        number, time = self.options[opt.SNAPSHOT], self.options[opt.SNAPSHOT_TIME]
        if self._window is not None and self._window.upto is not None:
            number = int(self._window.upto.value)
        if number is None and time is None:
            return table.current_snapshot()
        found = table.snapshot_by_id(number) if number is not None else table.snapshot_as_of_timestamp(time)
        if found is None:
            what = f"has no snapshot {number}" if number is not None else f"had no snapshot yet at {time}"
            known = ", ".join(str(each.snapshot_id) for each in table.snapshots()[-5:]) or "none"
            raise SourceError(
                f"the table {self._named} {what}, or the snapshot has expired; the newest snapshots are {known}"
            )
        return found

    def _table(self) -> "Table":
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return load_catalog(self.options[opt.CATALOG_NAME], **self._properties).load_table(self._id)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            raise SourceError(f"the table {self._named} does not exist in the catalog; check namespace") from error
        except Exception as error:
            raise self._failed("cannot be reached", error) from error

    def _access(self) -> DataFiles:
        if self._files is None:
            self._files = access_of(self._table(), self._named)
        return self._files

    def _failed(self, what: str, error: Exception) -> SourceError:
        found = SourceError(f"the table {self._named} {what}: {type(error).__name__}: {error}")
        found.retryable = may_pass(error)
        return found

    def window(self, after: Cursor | None) -> Window:
        return self._asked_increments().window(self._table().metadata, after)

    def _added(self, table: "Table") -> "Sequence[Snapshot] | None":
        """Return the snapshots with added files to read; ``None`` if a whole snapshot is read."""
        if self._increments is None or self._window is None:
            return None
        return self._increments.added(table.metadata, self._window)

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        files = self._access()
        if stored.text(split.body, "uuid") != files.uuid:
            raise SourceChangedError(
                f"the table {self._named} is not the table with which this job started: it was dropped and created "
                "again; start a new job"
            )
        try:
            for rows in files.rows(split.body, self._chosen):
                yield Batch(table=self._named, rows=rows)
        except FileNotFoundError as error:
            raise SourceChangedError(
                f"the table {self._named}: a file of the snapshot {split.body['snapshot']} no longer exists, "
                f"probably because the snapshot expired: {error}; start a new job"
            ) from error
        except OSError as error:
            raise self._failed("cannot be read", error) from error

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [stored.text(split.body, "file") for split in splits]
