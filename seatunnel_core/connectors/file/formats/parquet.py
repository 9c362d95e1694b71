"""The format ``parquet``: reads row groups, and collects rows into row groups of a useful size."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.file.formats.row_groups import Footer, Placed, RowGroups
from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.types import own_types
from seatunnel_core.rows.unknown import unmarked

BATCH_ROWS = 65_536

ROW_GROUP_BYTES = 16 << 20
"""Size of a row group as Arrow data, in bytes: about 100,000 rows of a typical table."""

ROW_GROUP_ROWS = 1 << 20

SAMPLE_ROWS = 16_384
"""Number of sampled rows that determine which columns get a dictionary."""

MOST_DISTINCT = 0.2
"""Maximum fraction of distinct values in a column's sample for which a dictionary pays off."""


class Parquet(RowGroups):
    """The format ``parquet``. A split is a run of consecutive row groups."""

    group: ClassVar[str] = "row group"

    def opened(self, file: OpenFile) -> AbstractContextManager[Any]:
        try:
            return pq.ParquetFile(file.stream(), pre_buffer=False, coerce_int96_timestamp_unit="us")  # type: ignore[no-any-return]
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{file.version.path} is not a Parquet file: {error}") from error

    def footer(self, opened: Any) -> Footer:
        metadata = opened.metadata
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            packed = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
            groups.append((group.num_rows, packed))
        return Footer(columns=own_types(opened.schema_arrow.remove_metadata()), groups=tuple(groups))

    def batches(self, opened: Any, groups: Sequence[int], names: Sequence[str]) -> Iterator[Placed]:
        first = 1 + sum(opened.metadata.row_group(number).num_rows for number in range(min(groups, default=0)))
        for batch in opened.iter_batches(
            batch_size=BATCH_ROWS, row_groups=list(groups), columns=list(names), use_threads=False
        ):
            batch.validate(full=True)  # Strings of a damaged file may be invalid.
            yield Placed(rows=batch, first=first)
            first += batch.num_rows


class ParquetFileWriter(FileWriter):
    """Writer that collects batches into row groups of a useful size."""

    suffix: ClassVar[str] = ".parquet"
    is_text: ClassVar[bool] = False
    codecs: ClassVar[tuple[str, ...]] = ("snappy", "gzip", "zstd", "lz4", "brotli")
    default_codec: ClassVar[str] = "snappy"
    packs_itself: ClassVar[bool] = True

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        self._writer: pq.ParquetWriter | None = None
        self._gathered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._gathered.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._bytes >= ROW_GROUP_BYTES or self._rows >= ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._gathered, schema=self.columns)
        self._gathered, self._rows, self._bytes = [], 0, 0
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.stream,
                unmarked(self.columns),
                compression=self.style.codec or "none",
                use_dictionary=_worth_a_dictionary(table),
                use_deprecated_int96_timestamps=self.style.int96,
                store_decimal_as_integer=True,  # As Spark and Hive do for up to 18 digits.
            )
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self) -> None:
        if self._gathered or self._writer is None:
            self._flush()
        assert self._writer is not None
        self._writer.close()
        super().close()


def _worth_a_dictionary(table: pa.Table) -> bool | list[str]:
    """Return the columns in which values repeat; in others, Arrow would build a dictionary and discard it."""
    if table.num_rows < SAMPLE_ROWS or any(pa.types.is_nested(column.type) for column in table.schema):
        return True
    sample = table.slice(0, SAMPLE_ROWS)
    return [name for name, values in zip(sample.column_names, sample.columns, strict=True) if _come_again(values)]


def _come_again(values: pa.ChunkedArray) -> bool:
    try:
        return len(pc.unique(values)) <= SAMPLE_ROWS * MOST_DISTINCT
    except pa.ArrowNotImplementedError:  # Arrow does not yet compare decimals of 32 and 64 bits.
        return True
