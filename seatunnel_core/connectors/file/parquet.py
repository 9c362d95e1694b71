"""Reads row groups of Parquet files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import field, frozen

from seatunnel_core.connectors.file.filesystem import OpenFile
from seatunnel_core.errors import RowError, SourceError, StoredValueError

BATCH_ROWS = 65_536


@frozen(kw_only=True)
class Footer:
    """What the end of a Parquet file tells."""

    columns: pa.Schema
    groups: tuple[tuple[int, int], ...]
    """Rows and packed bytes of each row group."""


def footer(file: OpenFile) -> Footer:
    """Read the footer only.

    Raises:
        SourceError: the file is not Parquet.
    """
    with _open(file) as parquet:
        metadata = parquet.metadata
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            packed = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
            groups.append((group.num_rows, packed))
        return Footer(columns=parquet.schema_arrow.remove_metadata(), groups=tuple(groups))


def _open(file: OpenFile) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file.stream(), pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{file.version.path} is not a Parquet file: {error}") from error


@frozen(kw_only=True)
class ParquetReader:
    """Reads row groups of one file."""

    columns: pa.Schema
    """The wanted columns; types of the file are cast to these where they differ and nothing is lost."""

    file: OpenFile = field(repr=False)

    def read(self, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        with _open(self.file) as parquet:
            absent = [name for name in self.columns.names if name not in parquet.schema_arrow.names]
            if absent:
                raise SourceError(
                    f"{self.file.version.path} has no column {', '.join(absent)}; it has "
                    f"{', '.join(parquet.schema_arrow.names)}"
                )
            known = range(parquet.num_row_groups)
            if not all(type(group) is int and group in known for group in groups):
                raise StoredValueError(f"'groups' must be numbers of the {len(known)} row groups of the file")
            try:
                for batch in parquet.iter_batches(
                    batch_size=BATCH_ROWS, row_groups=list(groups), columns=self.columns.names, use_threads=False
                ):
                    yield self._conform(batch)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
                raise RowError(f"{self.file.version.path}, row groups {list(groups)}: {error}") from error
        self.file.check()

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        for column in self.columns:
            array = batch.column(column.name)
            try:
                array = array if array.type == column.type else array.cast(column.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise RowError(f"{self.file.version.path}, column {column.name!r}: {error}") from error
            if array.null_count and not column.nullable:
                raise RowError(
                    f"{self.file.version.path}, column {column.name!r}: is null, and the schema says nullable = false"
                )
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


def group_ranges(groups: Sequence[tuple[int, int]], size: int, rows: int | None) -> Sequence[Mapping[str, Any]]:
    """Put neighbouring row groups together until they have ``size`` bytes or ``rows`` rows."""
    ranges: list[dict[str, Any]] = []
    for number, (group_rows, group_bytes) in enumerate(groups):
        last = ranges[-1] if ranges else None
        fits = last and last["bytes"] + group_bytes <= size and (rows is None or last["rows"] + group_rows <= rows)
        if last and fits:
            last["groups"].append(number)
            last["rows"] += group_rows
            last["bytes"] += group_bytes
        else:
            ranges.append({"groups": [number], "rows": group_rows, "bytes": group_bytes})
    return ranges
