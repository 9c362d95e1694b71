"""Kinds of snapshots that pyiceberg lacks, built from pyiceberg's own classes. Imports pyiceberg."""

from collections.abc import Callable
from typing import Any

from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    ManifestWriterV2,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries
from pyiceberg.table.update import UpdatesAndRequirements, update_table_metadata
from pyiceberg.table.update.snapshot import _FastAppendFiles, _OverwriteFiles
from pyiceberg.typedef import TableVersion
from pyiceberg.types import IntegerType, ListType, NestedField, StructType


class Replacement(_OverwriteFiles):  # type: ignore[misc]  # pyiceberg is not looked into
    """A snapshot of ``main`` that replaces data files with other data files."""

    _deleted_data_files: set[DataFile]
    _whole: bool
    """True if all data files, and therefore all delete files, are removed."""

    @classmethod
    def of(cls, transaction: Transaction, summary: dict[str, str], *, whole: bool) -> "Replacement":
        """Return a snapshot that accepts files; its ``commit`` adds the snapshot to the transaction."""
        made = cls(
            operation=Operation.OVERWRITE,
            transaction=transaction,
            io=transaction._table.io,
            snapshot_properties=summary,
        )
        made._whole = whole
        return made

    def _existing_manifests(self) -> list[ManifestFile]:
        kept: list[ManifestFile] = [] if self._whole else super()._existing_manifests()
        return kept

    def _summary(self, snapshot_properties: dict[str, str] = {}) -> Summary:  # noqa: B006 - never changed
        data = self._deleted_data_files
        self._deleted_data_files = data | self._dropped()
        try:
            return super()._summary(snapshot_properties)
        finally:
            self._deleted_data_files = data

    def _dropped(self) -> set[DataFile]:
        parent = self._parent_snapshot_id
        snapshot = self._transaction.table_metadata.snapshot_by_id(parent) if parent is not None else None
        manifests: list[Any] = snapshot.manifests(self._io) if snapshot is not None and self._whole else []
        entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(self._io))
        return {entry.data_file for entry in entries if entry.data_file.content != DataFileContent.DATA}


class Chain(Transaction):  # type: ignore[misc]
    """A transaction of many snapshots. pyiceberg's own class reapplies all changes whenever its state is read."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._applied = 0
        self._state = table.metadata

    @property
    def table_metadata(self) -> TableMetadata:
        """Metadata of the table after the changes so far."""
        if self._applied < len(self._updates):
            self._state = update_table_metadata(self._state, self._updates[self._applied :])
            self._applied = len(self._updates)
        return self._state


class RowDelta(_FastAppendFiles):  # type: ignore[misc]
    """A snapshot of ``main`` that adds files and deletes rows of older snapshots."""

    _added_data_files: list[DataFile]
    _deleting: list[DataFile]

    @classmethod
    def of(cls, transaction: Transaction, summary: dict[str, str]) -> "RowDelta":
        """Return a snapshot that accepts files; its ``commit`` adds the snapshot to the transaction."""
        made = cls(
            operation=Operation.OVERWRITE,
            transaction=transaction,
            io=transaction._table.io,
            snapshot_properties=summary,
        )
        made._deleting = []
        return made

    def append_deleting_file(self, file: DataFile) -> None:
        """Add a delete file."""
        self._deleting.append(file)

    def _manifests(self) -> list[ManifestFile]:
        return [*super()._manifests(), *([self._of_deleting()] if self._deleting else [])]

    def _of_deleting(self) -> ManifestFile:
        metadata = self._transaction.table_metadata
        writer = _DeletingManifest(
            metadata.spec(), metadata.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        )
        with writer:
            for file in self._deleting:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self._snapshot_id,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=file,
                    )
                )
        return writer.to_manifest_file()

    def _summary(self, snapshot_properties: dict[str, str] = {}) -> Summary:  # noqa: B006 - never changed
        data = self._added_data_files
        self._added_data_files = [*data, *self._deleting]
        try:
            return super()._summary(snapshot_properties)
        finally:
            self._added_data_files = data


class _DeletingManifest(ManifestWriterV2):  # type: ignore[misc]
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: TableVersion) -> Schema:
        """Return the schema of an entry with the IDs of key columns as ``int``, as Java requires."""
        found = data_file_with_partition(
            format_version=format_version, partition_type=self._spec.partition_type(self._schema)
        )
        return manifest_entry_schema_with_data_file(
            format_version=format_version, data_file=StructType(*map(_with_small_ids, found.fields))
        )


_EQUALITY_IDS = 135
"""ID of the manifest entry field that contains the IDs of key columns."""


def _with_small_ids(field: NestedField) -> NestedField:
    kind = field.field_type
    if field.field_id != _EQUALITY_IDS or not isinstance(kind, ListType):
        return field
    ids = ListType(kind.element_id, IntegerType(), element_required=kind.element_required)
    return NestedField(field.field_id, field.name, ids, required=field.required)


class Rewrite(_FastAppendFiles):  # type: ignore[misc]
    """A snapshot of ``main`` that has the same rows in other files and omits the dropped delete files."""

    _gone: frozenset[str]
    """Paths of the dropped files."""

    _number: int
    """Sequence number of the rewritten snapshot. The new files get this number, so that later deletes apply to them."""

    _entries: Callable[[ManifestFile], list[ManifestEntry]]
    _dropped: list[DataFile]

    @classmethod
    def of(
        cls,
        transaction: Transaction,
        gone: frozenset[str],
        number: int,
        entries: Callable[[ManifestFile], list[ManifestEntry]],
    ) -> "Rewrite":
        """Return a snapshot that accepts files; its ``commit`` adds the snapshot to the transaction."""
        made = cls(operation=Operation.OVERWRITE, transaction=transaction, io=transaction._table.io)
        made._gone, made._number, made._entries, made._dropped = gone, number, entries, []
        return made

    def _manifests(self) -> list[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_id(self._parent_snapshot_id)
        assert parent is not None, "the table has files"
        found = [made for manifest in parent.manifests(self._io) for made in self._kept(manifest)]
        for spec in sorted({file.spec_id for file in self._added_data_files}):
            with self._writer(spec, ManifestContent.DATA) as writer:
                for file in (each for each in self._added_data_files if each.spec_id == spec):
                    writer.add(
                        ManifestEntry.from_args(
                            status=ManifestEntryStatus.ADDED, sequence_number=self._number, data_file=file
                        )
                    )
            found.append(writer.to_manifest_file())
        return found

    def _kept(self, manifest: ManifestFile) -> list[ManifestFile]:
        """Return the manifest, or a copy in which the dropped files are marked as deleted."""
        entries = self._entries(manifest)
        dropped = [entry.data_file for entry in entries if entry.data_file.file_path in self._gone]
        if not dropped:
            return [manifest]
        self._dropped += dropped
        with self._writer(manifest.partition_spec_id, manifest.content) as writer:
            for entry in entries:
                add = writer.delete if entry.data_file.file_path in self._gone else writer.existing
                add(entry)
        return [writer.to_manifest_file()]

    def _commit(self) -> UpdatesAndRequirements:
        try:
            return super()._commit()
        except BaseException:
            self._clean_all_uncommitted()
            raise

    def _writer(self, spec: int, content: ManifestContent) -> ManifestWriter:
        if content == ManifestContent.DATA:
            return self.new_manifest_writer(self.spec(spec))
        output, schema = self.new_manifest_output(), self._transaction.table_metadata.schema()
        return _DeletingManifest(self.spec(spec), schema, output, self._snapshot_id, self._compression)

    def _summary(self, snapshot_properties: dict[str, str] = {}) -> Summary:  # noqa: B006 - never changed
        """Return the summary. pyiceberg's own method assumes the table's default spec for all added files."""
        metadata = self._transaction.table_metadata
        limit = metadata.properties.get(
            TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, TableProperties.WRITE_PARTITION_SUMMARY_LIMIT_DEFAULT
        )
        found = SnapshotSummaryCollector(partition_summary_limit=int(limit))
        for file in self._added_data_files:
            found.add_file(file, metadata.schema(), self.spec(file.spec_id))
        for file in self._dropped:
            found.remove_file(file, metadata.schema(), self.spec(file.spec_id))
        parent = metadata.snapshot_by_id(self._parent_snapshot_id)
        made = update_snapshot_summaries(  # The method does not support REPLACE.
            Summary(operation=Operation.OVERWRITE, **found.build(), **snapshot_properties), parent.summary
        )
        return Summary(operation=Operation.REPLACE, **made.additional_properties)
