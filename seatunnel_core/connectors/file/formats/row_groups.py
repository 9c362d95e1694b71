"""The formats ``parquet`` and ``orc``. A split has ``groups``, the numbers of consecutive row groups (ORC stripes)."""

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import RowError, SourceError, StoredValueError
from seatunnel_core.connector_api.source import PlanningContext, ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats.casting import cast
from seatunnel_core.connectors.file.formats.cutting import piece
from seatunnel_core.connectors.file.formats.source_format import Piece, SourceFormat
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, OpenFile
from seatunnel_core.rows.schema_block import declared_table
from seatunnel_core.rows.types import type_name


@frozen(kw_only=True)
class Footer:
    """Content of a file's footer."""

    columns: pa.Schema
    groups: tuple[tuple[int, int], ...]
    """Number of rows and compressed bytes of each group."""


@frozen(kw_only=True)
class Placed:
    """Consecutive rows of a file with their position."""

    rows: pa.RecordBatch
    first: int
    within: str = ""
    """Prefix of the row number, such as ``stripe 0, ``; empty if rows are numbered within the file."""

    losses: Sequence[tuple[str, int, int]] = ()
    """For each truncated column: the note, the index of the first affected row, and the number of affected rows."""


class RowGroups(SourceFormat):
    """Base class of the formats with row groups."""

    typed = True
    group: ClassVar[str]
    """Name of a row group in the format, such as ``stripe``."""

    @abstractmethod
    def opened(self, file: OpenFile) -> AbstractContextManager[Any]:
        """Open the file with the library of the format; raise ``SourceError`` if the file does not have this format."""

    @abstractmethod
    def footer(self, opened: Any) -> Footer:
        """Return the footer, reading only the end of the file."""

    @abstractmethod
    def batches(self, opened: Any, groups: Sequence[int], names: Sequence[str]) -> Iterator["Placed"]:
        """Yield the named columns of the groups; raise ``pa.ArrowException`` or ``OSError`` for a damaged file."""

    @property
    def _declared(self) -> bool:
        return declared_table(self.options[opt.SCHEMA_BLOCK]) is not None

    def must_inspect(self, version: FileVersion, planning: PlanningContext) -> bool:
        return True

    def examine(self, file: OpenFile, start: int, end: int, planning: PlanningContext) -> dict[str, Any]:
        return {"groups": [list(group) for group in self._footer(file).groups]}

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[Piece]:
        size = piece(self.options[opt.SPLIT_SIZE], planning) if self.options[opt.SPLIT] else sys.maxsize
        for each in group_ranges(examined[0]["groups"], size, planning.rows_per_second):
            yield {"groups": each["groups"]}, each["bytes"], each["rows"]

    def whole(self, file: OpenFile) -> dict[str, Any]:
        return {"groups": list(range(len(self._footer(file).groups)))}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        groups = [group for body in bodies for group in stored.items(body, "groups")]
        return f"{self.group}s {groups[0]} to {groups[-1]}"

    def infer(self, file: OpenFile) -> pa.Schema:
        columns = self._footer(file).columns
        for column in columns:
            if pa.types.is_duration(column.type):
                raise SourceError(
                    f"{file.version.path}: column {column.name!r} contains durations ({column.type}), which no type "
                    "supports; declare the columns in schema, with the type bigint for this column"
                )
        return columns

    def _footer(self, file: OpenFile) -> Footer:
        with self.opened(file) as opened:
            return self._footer_of(opened, file)

    def _footer_of(self, opened: Any, file: OpenFile) -> Footer:
        try:
            return self.footer(opened)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"the columns of {file.version.path} cannot be read: {error}") from error

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        groups = stored.items(body, "groups")
        with self.opened(file) as opened:
            footer = self._footer_of(opened, file)
            wanted = self.present(wanted, footer.columns.names, f"{file.version.path} has no column")
            known = range(len(footer.groups))
            if not all(type(group) is int and group in known for group in groups):
                raise StoredValueError(
                    f"'groups' must contain only numbers of the {len(known)} {self.group}s of the file"
                )
            try:
                for placed in self.batches(opened, groups, wanted.names):
                    for what, first, count in placed.losses:
                        where = f"{file.version.path}, {placed.within}row {placed.first + first}"
                        context.note(what, where, count)
                    yield from _conform(placed, wanted, file.version.path, context, declared=self._declared)
            except (pa.ArrowException, OSError) as error:
                raise RowError(f"{file.version.path}, {self.group}s {groups}: {error}") from (
                    None if getattr(error, "lasts", False) else error
                )
        file.check()


def _conform(
    placed: Placed, wanted: pa.Schema, path: str, context: ReadContext, *, declared: bool
) -> Iterator[pa.RecordBatch]:
    """Cast columns to the wanted types without changing values; skip bad rows."""
    rows = placed.rows.select(wanted.names)
    try:
        try:
            arrays = [
                _fit(array, column, declared=declared) for array, column in zip(rows.columns, wanted, strict=True)
            ]
        except ValueError:
            bad = _bad_rows(rows, wanted, declared=declared)
            for number in sorted(bad):
                context.skip(RowError(f"{path}, {placed.within}row {placed.first + number}, {bad[number]}"))
            rows = rows.filter(pa.array([number not in bad for number in range(rows.num_rows)], pa.bool_()))
            arrays = [
                _fit(array, column, declared=declared) for array, column in zip(rows.columns, wanted, strict=True)
            ]
    except pa.ArrowNotImplementedError as error:  # Caused by the types and not by a row.
        pairs = zip(rows.schema, wanted, strict=True)
        differ = [f"column {to.name!r}: {_kinds(own.type, to.type)}" for own, to in pairs if own.type != to.type]
        raise RowError(f"{path}, {'; '.join(differ)}: {error}") from error
    if rows.num_rows:
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _fit(array: pa.Array, column: pa.Field, *, declared: bool) -> pa.Array:
    """Cast the values to the type of a column; raise ``ValueError`` if a value does not fit, or null is not allowed."""
    found = array if array.type == column.type else cast(array, column.type, declared=declared)
    if found.null_count and not column.nullable:
        raise ValueError("the value is null, but the schema has nullable = false")
    return found


def _bad_rows(rows: pa.RecordBatch, wanted: pa.Schema, *, declared: bool) -> dict[int, str]:
    found: dict[int, str] = {}
    for array, column in zip(rows.columns, wanted, strict=True):
        for number, why in _misfits(array, column, 0, declared=declared):
            found.setdefault(number, f"column {column.name!r}: {why}")
    return found


def _misfits(array: pa.Array, column: pa.Field, start: int, *, declared: bool) -> Iterator[tuple[int, str]]:
    """Yield the index and the problem of each value that does not fit, found by bisection."""
    try:
        _fit(array, column, declared=declared)
    except ValueError as error:
        if len(array) > 1:
            half = len(array) // 2
            yield from _misfits(array.slice(0, half), column, start, declared=declared)
            yield from _misfits(array.slice(half), column, start + half, declared=declared)
        elif array.null_count:
            yield start, str(error)
        else:
            yield start, f"{_text(array)[:60]!r}: {_kinds(array.type, column.type)}: {error}"


def _text(array: pa.Array) -> str:
    return str(array.cast(pa.string())[0] if pa.types.is_temporal(array.type) else array[0])


def _kinds(found: pa.DataType, expected: pa.DataType) -> str:
    return f"the file has {type_name(found)}, expected {type_name(expected)}"


def group_ranges(groups: Sequence[tuple[int, int]], size: int, rows: int | None) -> Sequence[Mapping[str, Any]]:
    """Merge consecutive groups into splits of at least ``size`` bytes or ``rows`` rows."""
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
