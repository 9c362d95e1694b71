"""The format ``orc``: reads stripes, and writes with Arrow's ORC library, which collects rows into stripes."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.orc as orc

from seatunnel_core.connector_api.errors import SinkError, SourceError
from seatunnel_core.connectors.file.formats.orc import process
from seatunnel_core.connectors.file.formats.orc.child import microseconds
from seatunnel_core.connectors.file.formats.row_groups import Footer, Placed, RowGroups
from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.types import type_name

BATCH_ROWS = 65_536


class Orc(RowGroups):
    """The format ``orc``. A split is a run of consecutive stripes, which a child process loads one at a time."""

    group: ClassVar[str] = "stripe"

    def opened(self, file: OpenFile) -> AbstractContextManager[Any]:
        return nullcontext(file)

    def footer(self, opened: Any) -> Footer:
        """Return the footer. The sizes of stripes are unknown, so each is assigned an equal share of the bytes."""
        try:
            found, columns = process.footer(opened)
        except process.OrcChildError as error:
            path = opened.version.path
            raise SourceError(f"{path} is not an ORC file, or is damaged: {error}") from (
                None if error.lasts else error
            )
        stripes = max(found["stripes"], 1)
        share = (-(-found["rows"] // stripes), -(-found["bytes"] // stripes))
        kept = pa.schema([pa.field(each.name, microseconds(each.type)) for each in columns])
        return Footer(columns=kept, groups=(share,) * found["stripes"])

    def batches(self, opened: Any, groups: Sequence[int], names: Sequence[str]) -> Iterator[Placed]:
        for group in groups:
            stripe = process.stripe(opened, group, list(names))
            for start in range(0, stripe.num_rows, BATCH_ROWS):
                rows = stripe.slice(start, BATCH_ROWS)
                losses = tuple(_cut_off(rows))
                yield Placed(rows=_microseconds(rows), first=start + 1, within=f"stripe {group}, ", losses=losses)


class OrcFileWriter(FileWriter):
    """Writer that stores times as strings, because ORC has no type for them."""

    suffix: ClassVar[str] = ".orc"
    is_text: ClassVar[bool] = False
    codecs: ClassVar[tuple[str, ...]] = ("snappy", "zlib", "lz4", "zstd")
    default_codec: ClassVar[str] = "snappy"
    packs_itself: ClassVar[bool] = True

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        self._held = pa.schema([pa.field(each.name, _held(each.type)) for each in columns])
        self._writer = orc.ORCWriter(self.stream, compression=style.codec or "uncompressed")
        self._writer.write(self._held.empty_table())  # Even a file without rows has its columns.

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        for column in columns:
            if not _can_hold(_held(column.type)):
                raise SinkError(
                    f"column {column.name!r} of type {type_name(column.type)} cannot be written as orc; use parquet"
                )

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        held = pa.schema([pa.field(each.name, _held(each.type)) for each in rows.schema])
        return pa.RecordBatch.from_arrays(
            [array.cast(each.type) for array, each in zip(rows.columns, held, strict=True)], schema=held
        )

    def write(self, rows: pa.RecordBatch) -> None:
        self._writer.write(pa.Table.from_batches([rows]))

    def close(self) -> None:
        self._writer.close()
        super().close()


def _held(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind


def _can_hold(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _can_hold(kind.key_type) and _can_hold(kind.item_type)
    if pa.types.is_struct(kind):
        return all(_can_hold(part.type) for part in kind)
    if pa.types.is_nested(kind):
        return _can_hold(kind.value_type)
    unknown = pa.types.is_unsigned_integer, pa.types.is_float16, pa.types.is_decimal256, pa.types.is_time
    return not any(matches(kind) for matches in (*unknown, pa.types.is_null))


def _cut_off(rows: pa.RecordBatch) -> Iterator[tuple[str, int, int]]:
    """Yield a note, the first affected row and the number of affected rows for each column that is truncated."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if not _is_exact(column):
            cut = [row for row in range(len(column)) if not _is_exact(column.slice(row, 1))]
            yield f"have nanoseconds in the column {name!r}, which are truncated to microseconds", cut[0], len(cut)


def _is_exact(column: pa.Array) -> bool:
    try:
        column.cast(microseconds(column.type))
    except pa.ArrowInvalid:
        return False
    return True


def _microseconds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Cast timestamps to microseconds, truncating smaller units."""
    kinds = [microseconds(column.type) for column in rows.schema]
    arrays = [array.cast(kind, safe=False) for array, kind in zip(rows.columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=rows.schema.names)
