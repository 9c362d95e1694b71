"""``write_mode = merge``: rows replace existing rows with the same keys, without reading the table.

A unit stages its rows and their keys. Its snapshot contains both, and Iceberg's readers skip rows of older snapshots
with these keys (equality deletes). Rows that a later row of the same unit replaces are deleted by their positions in
the unit's files (position deletes). Each unit has its own snapshot, all in one commit, so that rows of later units
replace rows of earlier units.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as of

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connectors.iceberg.columns import column_of
from seatunnel_core.connectors.iceberg.partitions import Partition, record
from seatunnel_core.connectors.iceberg.staged_tables import StagedFiles
from seatunnel_core.connectors.tables.messages import repeated_by_query, would_reset
from seatunnel_core.rows.extent import shown
from seatunnel_core.rows.types import type_name

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, DataFileContent
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


def key_columns(key: tuple[str, ...], table: "Schema", *, case_sensitive: bool) -> tuple[str, ...]:
    """Return the names of the key columns in the table."""
    found = (column_of(table, name, case_sensitive=case_sensitive) for name in key)
    return tuple(field.name for field in found if field is not None)


def refuse_unmergeable(
    rows: TableSchema, table: "Table", key: tuple[str, ...], named: str, *, case_sensitive: bool
) -> None:
    """Check, before any row is written, that rows can be merged into a table."""
    schema = table.schema()
    if table.metadata.format_version != 2:
        raise SinkError(
            f"the table {named} has format version {table.metadata.format_version}, but rows can be merged only "
            "into tables with version 2; set its property format-version = 2, or set write_mode to append or "
            "replace"
        )
    given = {column_of(schema, name, case_sensitive=case_sensitive).name for name in rows.columns.names}
    missing = [name for name in (field.name for field in schema.fields) if name not in given]
    if missing:
        raise SinkError(
            f"the table {named} has the column {missing[0]!r}, which the rows of {rows.table} lack: a merge replaces "
            "whole rows, so the column would become null; add the column to the rows"
        )
    refuse_split_keys(table.spec(), schema, key, named)
    refuse_other_specs(table, named)


def refuse_floating_keys(rows: TableSchema, key: tuple[str, ...]) -> None:
    """Raise ``SinkError`` for keys of types with NaN, which does not equal itself, or zero with two signs."""
    for name in key:
        kind = rows.columns.field(name).type
        if of.is_floating(kind):
            raise SinkError(
                f"option 'merge_key': column {name!r} of {rows.table} is a {type_name(kind)}, which Iceberg cannot "
                "compare exactly; choose other columns, or convert it to a decimal"
            )


def refuse_split_keys(spec: "PartitionSpec", schema: "Schema", key: tuple[str, ...], named: str) -> None:
    """Check that all rows with a key are in one partition, because Iceberg applies deletes only within a partition."""
    for field in spec.fields:
        column = schema.find_column_name(field.source_id)
        if column not in key:
            raise SinkError(
                f"the table {named} is partitioned by {field.name!r}, and {column!r} is not part of the key "
                f"({', '.join(key)}): the existing row of a key may be in another partition, where a merge does not "
                f"find it; add {column} to merge_key, or merge into a table without that partition field"
            )


def refuse_other_specs(table: "Table", named: str) -> None:
    """Check that no file has an earlier partition spec, because Iceberg would not apply the deletes to such a file."""
    spec = table.spec()
    if spec.is_unpartitioned():
        return
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot is not None else ():
        if manifest.partition_spec_id != spec.spec_id and (manifest.has_added_files() or manifest.has_existing_files()):
            raise SinkError(
                f"the table {named} has files that were written with a different partitioning, so a merge cannot find "
                "existing rows; rewrite the files with the current partitioning (rewrite_data_files)"
            )


def refuse_added_columns(table: "Table", staged: StagedFiles, who: str, named: str) -> None:
    """Check that no column was added after rows were staged, because a merge replaces whole rows."""
    if staged.last_column is None or not staged.files:
        return
    for column in table.schema().fields:
        if column.field_id > staged.last_column:
            raise CommitError(would_reset(who, named, column.name))


def by_unit(staged: Sequence[StagedFiles]) -> list[list[StagedFiles]]:
    """Group files by snapshot: one group per unit if rows are merged, otherwise one group."""
    units: dict[str, list[StagedFiles]] = {}
    for each in staged:
        units.setdefault(each.committable if each.by else "", []).append(each)
    return list(units.values())


def deleting_files(table: "Table", staged: StagedFiles, folder: str) -> "list[DataFile]":
    """Return the delete files of a unit; raise ``FileNotFoundError`` if a file does not exist."""
    from pyiceberg.manifest import DataFileContent

    fields = [table.schema().find_field(name).field_id for name in staged.by]
    return [
        *(_deleting(table, folder, each, DataFileContent.EQUALITY_DELETES, fields) for each in staged.keys),
        *(_deleting(table, folder, each, DataFileContent.POSITION_DELETES, None) for each in staged.positions),
    ]


def _deleting(
    table: "Table", folder: str, staged: tuple[str, Partition], content: "DataFileContent", fields: list[int] | None
) -> "DataFile":
    from pyiceberg.manifest import DataFile, FileFormat

    name, partition = staged
    input_ = table.io.new_input(f"{folder}/{name}")
    with input_.open() as stream:
        rows = pq.read_metadata(stream).num_rows
    file = DataFile.from_args(
        content=content,
        file_path=f"{folder}/{name}",
        file_format=FileFormat.PARQUET,
        partition=record(partition, table.spec(), table.schema()),
        record_count=rows,
        file_size_in_bytes=len(input_),
        equality_ids=fields,
    )
    file.spec_id = table.spec().spec_id
    return file


def refuse_clashing(table: "Table", unit: Sequence[StagedFiles], folder: str, named: str) -> None:
    """Check that no two tasks of a query return the same key, because their rows have no relative order."""
    names = [name for each in unit for name, _ in each.keys]
    if len(unit) < 2 or not names:
        return
    by = list(unit[0].by)
    keys = pa.concat_tables([_read(table, f"{folder}/{name}") for name in names])
    counts = keys.append_column("\0one", pa.repeat(1, keys.num_rows)).group_by(by).aggregate([("\0one", "sum")])
    twice = counts.filter(pc.greater(counts["\0one_sum"], 1))
    if twice.num_rows:
        values = [shown(twice[name][0])[:60] for name in by]
        raise CommitError(repeated_by_query(by, values, named))


def _read(table: "Table", path: str) -> pa.Table:
    with table.io.new_input(path).open() as stream:
        found: Any = pq.read_table(stream)
    return found
