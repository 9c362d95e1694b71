"""Data files of a snapshot, and their rows without the deleted ones.

An equality delete file removes rows from data files with a smaller sequence number, in its partition or, if it has no
partition, in all partitions. A position delete file removes rows from data files with a sequence number up to its own.
pyiceberg reads data files by column IDs and applies position deletes; it rejects equality deletes, which are applied
here.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import RowError, SourceError
from seatunnel_core.connectors.file.formats.casting import cast
from seatunnel_core.connectors.iceberg.manifests import ManifestEntries
from seatunnel_core.connectors.iceberg.partitions import codes_of, comparable
from seatunnel_core.rows.types import own_types

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_DATA, _PLACES, _KEYS = 0, 1, 2
"""Values of pyiceberg's ``DataFileContent``."""

_PARQUET = "PARQUET"
_VERSIONS = (1, 2)
"""Supported versions of the Iceberg table format."""

_ADDED = 1
"""Value of pyiceberg's ``ManifestEntryStatus`` for a file that was added by the snapshot of its entry."""

_PATH = 2147483546
"""ID of the column ``file_path`` in position delete files."""

_UNKEYED = ("float", "double", "uuid")
"""Types that cannot identify a key, because their values have several representations."""

_KEPT = 64
"""Maximum number of manifests, and of equality delete files, that a task caches."""

_MOST_TOGETHER = 1_000_000
"""Maximum number of rows compared with deleted keys at a time."""

Listed = tuple[dict[str, Any], int, int]
"""Body of a split, with the numbers of rows and bytes in its file."""


def columns_of(schema: "Schema") -> pa.Schema:
    """Return the columns of a table with the engine's types."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    columns = own_types(schema_to_pyarrow(schema, include_field_ids=False))
    return pa.schema([column.remove_metadata() for column in columns])


def access_of(table: "Table", named: str, entries: ManifestEntries | None = None) -> "DataFiles":
    """Return a reader of a table's data files; it contains neither the catalog nor the snapshots."""
    version = table.metadata.format_version
    if version not in _VERSIONS:
        raise SourceError(
            f"the table {named} has format version {version}, but only versions 1 and 2 are supported; read it "
            "with the Spark source, format = iceberg"
        )
    small: dict[str, Any] = {
        "snapshots": [],
        "snapshot_log": [],
        "metadata_log": [],
        "refs": {},
        "current_snapshot_id": None,
    }
    metadata = table.metadata.model_copy(update=small).model_dump_json()
    return DataFiles(str(table.metadata.table_uuid), metadata, table.io.properties, entries)


class DataFiles:
    """Data files of a table. Pickled to tasks together with the credentials of the file system."""

    def __init__(
        self, uuid: str, metadata: str, io_properties: Mapping[str, Any], entries: ManifestEntries | None = None
    ) -> None:
        """Create the reader from the table's UUID, metadata in Iceberg's JSON, and file system properties."""
        self.uuid = uuid
        self._text = metadata
        self._io_properties = dict(io_properties)
        self._entries = entries or ManifestEntries(_KEPT)
        self._lists: dict[str, list[ManifestFile]] = {}
        self._keys: dict[str, pa.Table] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return DataFiles, (self.uuid, self._text, self._io_properties)

    @cached_property
    def _metadata(self) -> "TableMetadata":
        from pyiceberg.table.metadata import TableMetadataUtil

        return TableMetadataUtil.parse_raw(self._text)

    @cached_property
    def _io(self) -> Any:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        return PyArrowFileIO(self._io_properties)

    # -- in the driver --------------------------------------------------------------------------------------------

    def listed(self, snapshots: "Sequence[Snapshot]", schema_id: int, *, added: bool) -> list[Listed]:
        """Return the data files of snapshots, oldest first; if ``added`` is true, only files that these snapshots add.

        Raises:
            SourceError: A file has an unsupported format, or rows were deleted by keys that cannot be compared.
        """
        schema, found = self._schema(schema_id), []
        for snapshot, number, manifest in _manifests_of(snapshots, self._io, added=added):
            for entry in self._entries.listed(manifest, self._io):
                if added and (entry.snapshot_id != snapshot.snapshot_id or entry.status.value != _ADDED):
                    continue
                file = entry.data_file
                _refuse_unreadable(file, schema)
                if file.content.value != _DATA:
                    if added:
                        raise SourceError(
                            f"the snapshot {snapshot.snapshot_id} has the operation append, but deletes rows"
                        )
                    continue
                body = {
                    "uuid": self.uuid,
                    "snapshot": snapshot.snapshot_id,
                    "schema": schema_id,
                    "list": snapshot.manifest_list,
                    "manifest": number,
                    "file": file.file_path,
                }
                order = entry.sequence_number or 0, file.file_path
                found.append((order, (body, file.record_count, file.file_size_in_bytes)))
        return [listed for _, listed in sorted(found, key=lambda each: each[0])]

    def _schema(self, number: int) -> "Schema":
        found = self._metadata.schema_by_id(number)
        if found is None:
            raise SourceError(f"the table no longer has the schema with the ID {number}; start a new job")
        return found

    # -- in tasks -------------------------------------------------------------------------------------------------

    def rows(self, body: Mapping[str, Any], chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a data file; an empty ``chosen`` selects all columns.

        Raises:
            RowError: The file cannot be read, or none of the engine's types can represent a value.
            FileNotFoundError: A file is missing.
        """
        entry, schema = self._entry(body), self._schema(stored.number(body, "schema"))
        places = {each.data_file for each in self._applying(body, entry, _PLACES)}
        names = list(chosen or columns_of(schema).names)
        try:
            keys = self._deleted_keys(self._applying(body, entry, _KEYS), schema)
            read = schema.select(*{*names, *(name for deleted in keys for name in deleted.column_names)})
            for rows in _together(self._scanned(entry.data_file, places, read), keys):
                stays = _staying(rows, keys)
                if stays is None:
                    yield rows.select(names)
                elif stays.true_count:
                    yield rows.select(names).filter(stays)
        except FileNotFoundError:
            raise
        except (pa.ArrowException, ValueError) as error:
            raise RowError(f"{entry.data_file.file_path}: {error}") from error

    def reached(self, body: Mapping[str, Any]) -> "DataFile | None":
        """Return the data file of a split if deletes may apply to it; otherwise ``None``."""
        entry = self._entry(body)
        applying = (*self._applying(body, entry, _PLACES), *self._applying(body, entry, _KEYS))
        return entry.data_file if applying else None

    def _scanned(self, file: "DataFile", places: "set[DataFile]", schema: "Schema") -> Iterator[pa.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files
        from pyiceberg.table import FileScanTask

        task, columns = FileScanTask(file, delete_files=places), columns_of(schema)
        scan = ArrowScan(self._metadata, self._io, schema, AlwaysTrue())
        # pyiceberg's own reader keeps all rows of a file in memory.
        for rows in scan._record_batches_from_scan_tasks_and_deletes([task], _read_all_delete_files(self._io, [task])):
            arrays = [cast(array, column.type) for array, column in zip(rows.columns, columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=columns)

    def _entry(self, body: Mapping[str, Any]) -> "ManifestEntry":
        path, manifests = stored.text(body, "file"), self._manifests(stored.text(body, "list"))
        number = stored.number(body, "manifest")
        for entry in self._entries.of(manifests[number], self._io) if number < len(manifests) else ():
            if entry.data_file.file_path == path:
                return entry
        raise SourceError(f"{path} is not a data file of the snapshot {body.get('snapshot')}")

    def _applying(self, body: Mapping[str, Any], entry: "ManifestEntry", content: int) -> "list[ManifestEntry]":
        """Return the delete files of one kind that may apply to a data file."""
        return [
            each
            for manifest in self._manifests(stored.text(body, "list"))
            if manifest.content.value != _DATA
            for each in self._entries.of(manifest, self._io)
            if each.data_file.content.value == content and self._reaches(each, entry)
        ]

    def _reaches(self, deleting: "ManifestEntry", entry: "ManifestEntry") -> bool:
        file, data = deleting.data_file, entry.data_file
        newer, own = deleting.sequence_number or 0, entry.sequence_number or 0
        same = file.spec_id == data.spec_id and comparable(file.partition) == comparable(data.partition)
        if file.content.value == _KEYS:
            fields = self._metadata.specs()[file.spec_id].fields
            return newer > own and (same or all(str(field.transform) == "void" for field in fields))
        return newer >= own and same and _may_name(file, data.file_path)

    def _deleted_keys(self, deleting: "Sequence[ManifestEntry]", schema: "Schema") -> list[pa.Table]:
        """Return the deleted keys, as one table for each set of columns."""
        found: dict[tuple[int, ...], list[pa.Table]] = {}
        for each in deleting:
            ids = tuple(sorted(each.data_file.equality_ids or ()))
            path = each.data_file.file_path
            if path not in self._keys:
                _make_room(self._keys)
                self._keys[path] = self._read_keys(path, ids, schema)
            found.setdefault(ids, []).append(self._keys[path])
        return [pa.concat_tables(tables).combine_chunks() for tables in found.values()]

    def _read_keys(self, path: str, ids: Sequence[int], schema: "Schema") -> pa.Table:
        with self._io.new_input(path).open() as stream:
            rows = pq.read_table(stream)
        by_id = {int((part.metadata or {}).get(b"PARQUET:field_id", b"-1")): part.name for part in rows.schema}
        if not {*ids} <= {*by_id}:
            raise ValueError(f"the delete file {path} lacks key columns that its manifest lists")
        columns = columns_of(schema)
        names = [schema.find_field(number).name for number in ids]
        values = (rows[by_id[number]].combine_chunks() for number in ids)
        found = [cast(value, columns.field(name).type) for value, name in zip(values, names, strict=True)]
        return pa.table(found, names=names)

    def _manifests(self, path: str) -> "list[ManifestFile]":
        from pyiceberg.manifest import _manifests

        found = self._lists.get(path)
        if found is None:
            found = list(_manifests(self._io, path))
            self._lists = {path: found}
        return found


def _manifests_of(
    snapshots: "Sequence[Snapshot]", io: Any, *, added: bool
) -> "Iterator[tuple[Snapshot, int, ManifestFile]]":
    """Yield the snapshots' manifests, each with its index in the manifest list; if ``added``, omit older manifests."""
    for snapshot in snapshots:
        for number, manifest in enumerate(snapshot.manifests(io)):
            if not added or manifest.added_snapshot_id == snapshot.snapshot_id:
                yield snapshot, number, manifest


def _make_room(kept: dict[str, Any]) -> None:
    if len(kept) >= _KEPT:
        del kept[next(iter(kept))]


def _may_name(deleting: "DataFile", path: str) -> bool:
    """Return True if a position delete file may contain positions in a data file."""
    lower, upper = ((bounds or {}).get(_PATH) for bounds in (deleting.lower_bounds, deleting.upper_bounds))
    return (lower is None or lower <= path.encode()) and (upper is None or path.encode() <= upper)


def _together(batches: Iterator[pa.RecordBatch], keys: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Combine batches until they contain about as many rows as there are deleted keys."""
    least = min(max((deleted.num_rows for deleted in keys), default=0), _MOST_TOGETHER)
    held: list[pa.RecordBatch] = []
    for rows in batches:
        held.append(rows)
        if sum(each.num_rows for each in held) >= least:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _staying(rows: pa.RecordBatch, keys: Sequence[pa.Table]) -> pa.BooleanArray | None:
    """Return a mask of the rows whose keys are not deleted; ``None`` if all rows remain."""
    stays = None
    for deleted in keys:
        columns = [pa.concat_arrays([*deleted[name].chunks, rows.column(name)]) for name in deleted.column_names]
        codes = codes_of(columns)
        gone = pc.is_in(codes.slice(deleted.num_rows), value_set=codes.slice(0, deleted.num_rows))
        stays = pc.invert(gone) if stays is None else pc.and_(stays, pc.invert(gone))
    return stays


def _refuse_unreadable(file: "DataFile", schema: "Schema") -> None:
    form = file.file_format.name
    if form != _PARQUET:
        raise SourceError(
            f"{file.file_path} has the format {form}, but only Parquet is supported; read the table "
            "with the Spark source, format = iceberg, or rewrite its files (rewrite_data_files)"
        )
    kinds = {field.field_id: str(field.field_type) for field in schema.fields if field.field_type.is_primitive}
    for number in file.equality_ids or ():
        kind = kinds.get(number)
        if kind is None or kind in _UNKEYED:
            name = schema.find_column_name(number)
            column = f"the column {name!r}, a {kind}" if kind else "a nested field or a dropped column"
            raise SourceError(
                f"{file.file_path} deletes rows by {column}, which is not supported; compact the table before "
                "reading it (rewrite_data_files)"
            )
