"""Rewriting of data files that have deleted rows, for readers that do not support equality deletes.

The new files have the sequence number of the snapshot that was rewritten. Rows and deletes that a job commits during
the rewrite remain: later deletes apply to the new files as they applied to the old ones.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field, frozen

from seatunnel_core.connector_api.errors import SeaTunnelError, SinkError
from seatunnel_core.connectors.filesystems.local import sync_file, sync_folder
from seatunnel_core.connectors.iceberg.catalog import without_retries
from seatunnel_core.connectors.iceberg.data_files import DataFiles, access_of
from seatunnel_core.connectors.iceberg.manifests import ManifestEntries
from seatunnel_core.connectors.iceberg.partitions import comparable
from seatunnel_core.connectors.iceberg.staging import data_folder, local_path, make_folder
from seatunnel_core.connectors.iceberg.table import TRIES
from seatunnel_core.connectors.iceberg.table_ids import TableId
from seatunnel_core.connectors.iceberg.writer import OpenFile, StagingTable, arrow_columns

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

FILE_BYTES = 512 << 20
"""Approximate maximum size of a new file, in bytes."""

_ROUNDS = 3
"""Maximum number of attempts at a rewrite; an attempt fails if other programs change the files that it has read."""

_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
"""Initial pause between attempts to commit, which doubles each time, and the maximum pause, in seconds."""

_PARTITION = 3
"""Index of the partition in pyiceberg's ``DataFile``."""

_POSITIONS = 1
"""Value of pyiceberg's ``DataFileContent`` for position deletes."""


@frozen(kw_only=True)
class Compacted:
    """Result of compacting one table."""

    named: str
    rewritten: int = 0
    deletes: int = 0
    """Number of delete files that were dropped; 0 if the table had none and is unchanged."""

    added: int = 0


class _ChangedMeanwhileError(Exception):
    """Another program changed files that the rewrite had read."""


@define
class _NewFiles:
    paths: list[str] = field(factory=list)
    may_be_committed: bool = False
    """True if a snapshot may refer to the files."""

    def path(self, folder: str) -> str:
        """Return the path for another file."""
        self.paths.append(f"{folder}/{uuid.uuid4()}.parquet")
        return self.paths[-1]


@frozen(kw_only=True)
class Compacting:
    """Compaction of one table."""

    id: TableId
    catalog: "Callable[[], Catalog]" = field(repr=False)
    _entries: ManifestEntries = field(factory=ManifestEntries, init=False, repr=False)

    def run(self) -> Compacted:
        """Rewrite the data files to which deletes apply, and drop all delete files, in one commit."""
        try:
            return self._compacted()
        except SeaTunnelError:
            raise
        except Exception as error:
            raise SinkError(f"the table {self.named} cannot be rewritten: {type(error).__name__}: {error}") from error

    def _compacted(self) -> Compacted:
        for _ in range(_ROUNDS):
            table = self._table()
            snapshot = table.current_snapshot()
            deleting = [each for each in self._current(table) if _deletes(each)]
            if snapshot is None or not deleting:
                return Compacted(named=self.named)
            old = list(_affected(access_of(table, self.named, self._entries), table, snapshot))
            gone = frozenset(each.data_file.file_path for each in deleting) | {file.file_path for file, _ in old}
            with suppress(_ChangedMeanwhileError), _deleted_on_failure(table) as created:
                new = self._written(table, old, created)
                number = snapshot.sequence_number or 0
                self._commit(new, gone, {file.file_path for file, _ in old}, number, created)
                return Compacted(named=self.named, rewritten=len(old), deletes=len(deleting), added=len(new))
        raise SinkError(f"the table {self.named} was changed by another program {_ROUNDS} times during the rewrite")

    @property
    def named(self) -> str:
        """Name of the table, with its namespace."""
        return ".".join(self.id)

    def _table(self) -> "Table":
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self.catalog().load_table(self.id)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            missing = f"the table {self.named} does not exist in the catalog; check namespace and table"
            raise SinkError(missing) from error
        properties = without_retries(table.metadata.properties)
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def _current(self, table: "Table") -> "list[ManifestEntry]":
        snapshot = table.current_snapshot()
        manifests = snapshot.manifests(table.io) if snapshot is not None else []
        return [entry for manifest in manifests for entry in self._entries.of(manifest, table.io)]

    # -- writing --------------------------------------------------------------------------------------------------

    def _written(
        self, table: "Table", old: "Sequence[tuple[DataFile, Iterator[pa.RecordBatch]]]", created: _NewFiles
    ) -> "list[DataFile]":
        """Write the remaining rows of data files to new files, separately for each partition."""
        _refuse_nested_uuids(table, self.named)
        groups: dict[Any, list[tuple[DataFile, Iterator[pa.RecordBatch]]]] = {}
        for each in old:
            groups.setdefault((each[0].spec_id, comparable(each[0].partition)), []).append(each)
        folder = f"{data_folder(table)}/seatunnel-compacted"
        make_folder(table, folder)
        found = [file for group in groups.values() for file in self._group(table, folder, group, created)]
        for path in filter(None, [local_path(table.io.properties, folder)]):
            sync_folder(path)
        return found

    def _group(
        self,
        table: "Table",
        folder: str,
        group: "Sequence[tuple[DataFile, Iterator[pa.RecordBatch]]]",
        created: _NewFiles,
    ) -> "Iterator[DataFile]":
        staging = self._staging(table, folder)
        columns, file = arrow_columns(staging.schema), None
        try:
            for _, batches in group:
                for rows in (each for each in batches if each.num_rows):
                    file = file or OpenFile(staging, created.path(folder), 0, table.io, columns)
                    file.write(_with_types(rows, columns))
                    if file._stream.tell() > FILE_BYTES:
                        yield _closed(table, file, group[0][0])
                        file = None
            if file is not None:
                yield _closed(table, file, group[0][0])
        except BaseException:
            with suppress(Exception):
                if file is not None:
                    file.close()
            raise

    def _staging(self, table: "Table", folder: str) -> StagingTable:
        return StagingTable(
            id=self.id,
            uuid="",
            after=0,
            folder=folder,
            schema=table.schema().model_dump_json(),
            spec="",
            case_sensitive=True,
            properties=table.properties,
            io_properties={},
        )

    # -- committing -----------------------------------------------------------------------------------------------

    def _commit(
        self, new: "Sequence[DataFile]", gone: frozenset[str], old: set[str], number: int, created: _NewFiles
    ) -> None:
        """Replace files in the current snapshot; retry if other programs commit first.

        Raises:
            _ChangedMeanwhileError: A file is no longer in the table, or a later position delete refers to it.
        """
        from pyiceberg.exceptions import CommitFailedException

        from seatunnel_core.connectors.iceberg.snapshots import Rewrite

        for number_of_try in range(TRIES):
            if number_of_try:
                sleep(_pause_s(number_of_try))
            table = self._table()
            _require_unchanged(table, self._current(table), gone, old)
            transaction = table.transaction()
            with Rewrite.of(transaction, gone, number, partial(self._entries.of, io=table.io)) as rewrite:
                for file in new:
                    rewrite.append_data_file(file)
            created.may_be_committed = True
            try:
                transaction.commit_transaction()
            except CommitFailedException:
                created.may_be_committed = False
                continue
            return
        raise SinkError(
            f"{TRIES} commits to the table {self.named} failed, because another writer committed first each time"
        )


@contextmanager
def _deleted_on_failure(table: "Table") -> Iterator[_NewFiles]:
    """Delete the created files on failure, including a keyboard interrupt, unless they may already be committed."""
    created = _NewFiles()
    try:
        yield created
    except BaseException:
        for path in () if created.may_be_committed else created.paths:
            with suppress(Exception):  # The file may not exist.
                table.io.delete(path)
        raise


def _pause_s(number: int) -> float:
    """Return a random pause before the next attempt, so that concurrent writers do not collide again."""
    longest: float = min(_PAUSE_S * 2 ** (number - 1), _LONGEST_PAUSE_S)
    return random.uniform(longest / 2, longest)


def _deletes(entry: "ManifestEntry") -> bool:
    return bool(entry.data_file.content.value != 0)


def _affected(
    files: DataFiles, table: "Table", snapshot: "Snapshot"
) -> "Iterator[tuple[DataFile, Iterator[pa.RecordBatch]]]":
    """Yield the data files to which deletes may apply, with their remaining rows."""
    for body, _, _ in files.listed([snapshot], table.metadata.current_schema_id, added=False):
        if (file := files.reached(body)) is not None:
            yield file, files.rows(body, ())


def _refuse_nested_uuids(table: "Table", named: str) -> None:
    from pyiceberg.types import UUIDType

    schema = table.schema()
    for number in sorted(schema.field_ids - {column.field_id for column in schema.fields}):
        if isinstance(schema.find_type(number), UUIDType):
            raise SinkError(
                f"the table {named} contains UUIDs in the nested column {schema.find_column_name(number)!r}, which "
                "cannot be rewritten; rewrite the table with Spark (rewrite_data_files)"
            )


def _with_types(rows: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Convert rows from the engine's types to the types of the files. Arrow does not convert strings to UUIDs."""
    found = [
        pa.array([text and uuid.UUID(text).bytes for text in array.to_pylist()], column.type)
        if column.type == pa.uuid()
        else array.cast(column.type)
        for array, column in zip(rows.columns, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(found, schema=columns)


def _closed(table: "Table", file: OpenFile, like: "DataFile") -> "DataFile":
    """Close a file, and return its ``DataFile`` with the partition of the file ``like``."""
    from pyiceberg.io.pyarrow import parquet_file_to_data_file
    from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC

    file.close()
    for path in filter(None, [local_path(table.io.properties, file.path)]):
        sync_file(path)
    plain = table.metadata.model_copy(update={"partition_specs": [UNPARTITIONED_PARTITION_SPEC], "default_spec_id": 0})
    found: DataFile = parquet_file_to_data_file(table.io, plain, file.path)
    found[_PARTITION] = like.partition
    found.spec_id = like.spec_id
    return found


def _require_unchanged(table: "Table", entries: "Sequence[ManifestEntry]", gone: frozenset[str], old: set[str]) -> None:
    if not gone <= {entry.data_file.file_path for entry in entries}:
        raise _ChangedMeanwhileError
    for entry in entries:
        file = entry.data_file
        if file.content.value == _POSITIONS and file.file_path not in gone:
            with table.io.new_input(file.file_path).open() as stream:
                if old & set(pq.read_table(stream, columns=["file_path"])["file_path"].unique().to_pylist()):
                    raise _ChangedMeanwhileError
