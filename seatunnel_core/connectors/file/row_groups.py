"""The formats whose files are made of groups of rows with an index at their end: ``parquet`` and ``orc``.

A split holds ``groups``, the numbers of neighbouring row groups, or stripes as ORC calls them.
"""

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.filesystem import FileVersion, OpenFile
from seatunnel_core.connectors.file.planning import piece
from seatunnel_core.connectors.file.source_format import Piece, SourceFormat
from seatunnel_core.connectors.source import Planning, ReadContext
from seatunnel_core.errors import RowError, SourceError, StoredValueError
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import plain


@frozen(kw_only=True)
class Footer:
    """What the end of a file tells."""

    columns: pa.Schema
    groups: tuple[tuple[int, int], ...]
    """Rows and packed bytes of each group."""


class RowGroups(SourceFormat):
    """What these formats have in common."""

    typed = True
    group: ClassVar[str]
    """What the format calls a group of rows, such as ``stripe``."""

    @abstractmethod
    def opened(self, file: OpenFile) -> AbstractContextManager[Any]:
        """The file in the library's hands.

        Raises:
            SourceError: it is not of this format.
        """

    @abstractmethod
    def footer(self, opened: Any) -> Footer:
        """Read the end of the file only."""

    @abstractmethod
    def batches(self, opened: Any, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some groups, with the named columns. May raise Arrow's errors, and ``OSError``."""

    # -- planning -------------------------------------------------------------------------------------------------

    def must_inspect(self, version: FileVersion, planning: Planning) -> bool:
        return True

    def examine(self, file: OpenFile, start: int, end: int, planning: Planning) -> dict[str, Any]:
        return {"groups": [list(group) for group in self._footer(file).groups]}

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: Planning
    ) -> Iterator[Piece]:
        size = piece(self.options[opt.SPLIT_SIZE], planning) if self.options[opt.SPLIT] else sys.maxsize
        for each in group_ranges(examined[0]["groups"], size, planning.rows_per_second):
            yield {"groups": each["groups"]}, each["bytes"], each["rows"]

    def whole(self, file: OpenFile) -> dict[str, Any]:
        return {"groups": list(range(len(self._footer(file).groups)))}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        groups = [group for body in bodies for group in stored.items(body, "groups")]
        return f"{self.group}s {groups[0]} to {groups[-1]}"

    # -- in tasks -------------------------------------------------------------------------------------------------

    def infer(self, file: OpenFile) -> pa.Schema:
        return self._footer(file).columns

    def _footer(self, file: OpenFile) -> Footer:
        with self.opened(file) as opened:
            return self._footer_of(opened, file)

    def _footer_of(self, opened: Any, file: OpenFile) -> Footer:
        try:
            return self.footer(opened)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{file.version.path} has columns that cannot be read: {error}") from error

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        groups = stored.items(body, "groups")
        with self.opened(file) as opened:
            footer = self._footer_of(opened, file)
            absent = [name for name in wanted.names if name not in footer.columns.names]
            if absent:
                raise SourceError(
                    f"{file.version.path} has no column {', '.join(absent)}; it has {', '.join(footer.columns.names)}"
                )
            known = range(len(footer.groups))
            if not all(type(group) is int and group in known for group in groups):
                raise StoredValueError(f"'groups' must be numbers of the {len(known)} {self.group}s of the file")
            try:
                for batch in self.batches(opened, groups, wanted.names):
                    yield self._conform(batch, wanted, f"{file.version.path}, {self.group}s {groups}")
            except (pa.ArrowException, OSError) as error:
                raise RowError(f"{file.version.path}, {self.group}s {groups}: {error}") from error
        file.check()

    def _conform(self, batch: pa.RecordBatch, wanted: pa.Schema, where: str) -> pa.RecordBatch:
        """Cast the types of the file to the wanted ones where they differ and nothing is lost."""
        arrays = []
        for column in wanted:
            array = batch.column(column.name)
            try:
                array = array if array.type == column.type else _cast(array, column.type)
            except (pa.ArrowNotImplementedError, ValueError) as error:
                raise RowError(
                    f"{where}, column {column.name!r}: the file has {type_name(array.type)}, expected "
                    f"{type_name(column.type)}: {error}"
                ) from error
            if array.null_count and not column.nullable:
                raise RowError(f"{where}, column {column.name!r}: is null, and the schema says nullable = false")
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """As Arrow does it, and from texts, which stand for times and nulls where a format has no type for them."""
    if pa.types.is_string(array.type) and (pa.types.is_time(kind) or pa.types.is_null(kind)):
        return pa.array([plain(value, kind) for value in array.to_pylist()], kind)
    return array.cast(kind)


def group_ranges(groups: Sequence[tuple[int, int]], size: int, rows: int | None) -> Sequence[Mapping[str, Any]]:
    """Put neighbouring groups together until they have ``size`` bytes or ``rows`` rows."""
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
