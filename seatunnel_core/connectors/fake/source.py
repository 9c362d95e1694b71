"""The source ``FakeSource``. The body of a split holds the numbers of its first row and of its rows."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from attrs import asdict, frozen

from seatunnel_core import stored
from seatunnel_core.checkpoint.split import Split
from seatunnel_core.config.option import Options
from seatunnel_core.connectors.fake import options as opt
from seatunnel_core.connectors.fake.generate import Generator, counting
from seatunnel_core.connectors.source import Enumeration, Item, News, Planning, ReadContext, Source
from seatunnel_core.errors import UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.schema_block import table_schema
from seatunnel_core.rows.values import plain

BATCH_ROWS = 65_536
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


_GROUP_MS = 1_000
"""Splits that come more often than this, in a streaming job, come together."""


_MOST_SPLITS = 10_000
"""So many splits are given by one look: until they are emitted, they are part of every checkpoint."""


class FakeSource(Source):
    """Makes rows up, or repeats the rows that the job writes down. Reading a split again gives the same rows.

    In a streaming job it gives the same rows, one split of each parallel reader per ``split.read-interval``, and then
    waits. It remembers how many splits it has given, and how they were cut, so that other options change nothing.
    """

    identifier: ClassVar[str] = "FakeSource"
    declared = opt.FAKE_OPTIONS

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        try:
            schema = table_schema(options[opt.SCHEMA_BLOCK])
        except ValueError as error:
            raise UsageError(f"option 'schema': {error}") from None
        if schema is None:
            raise UsageError("option 'schema': no column is declared; write schema { fields { id = bigint } }")
        self._schema: TableSchema = schema
        self._rows = _rows(options[opt.ROWS], schema.columns) if options[opt.ROWS] is not None else None
        self._counted = _counted(schema.columns) if options[opt.AUTO_INCREMENT] else None
        self._generator = _generator(options)

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (self._schema,)

    def run_in(self, *, streaming: bool) -> None:
        self.bounded = not streaming

    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
        cut = self._cut(planning)
        bodies: Sequence[Item] = inspected
        if self.bounded:
            bodies = [cut.body(reader, piece) for reader in range(cut.readers) for piece in range(cut.pieces)]
        width = _row_bytes(self._schema.columns)
        splits = tuple(
            Split(index=index, weight_bytes=body["rows"] * width, rows=body["rows"], body=body)
            for index, body in enumerate(body for body in bodies if body["rows"])
        )
        return Enumeration(schemas=(self._schema,), splits=splits)

    def look(self, memory: Item, planning: Planning) -> News:
        cut = _Cut.of(memory) if memory else self._cut(planning)
        given = stored.number(memory, "given") if memory else 0
        interval_ms = self.options[opt.READ_INTERVAL]
        rounds = max(1, _GROUP_MS // max(interval_ms, 1))
        some = min(rounds * cut.readers, _MOST_SPLITS)
        numbers = range(given, min(given + some, cut.readers * cut.pieces))
        items = (cut.body(number % cut.readers, number // cut.readers) for number in numbers)
        return News(
            items=tuple(items),
            memory={"given": given + len(numbers), **asdict(cut)},
            again_ms=rounds * interval_ms if numbers else None,
        )

    def _cut(self, planning: Planning) -> "_Cut":
        per_reader = len(self._rows[0]) if self._rows else self.options[opt.ROW_NUM]
        pieces = self.options[opt.SPLIT_NUM]
        if planning.rows_per_second:
            pieces = max(pieces, -(-per_reader // planning.rows_per_second))
        return _Cut(readers=planning.parallelism, rows=per_reader, pieces=min(pieces, max(per_reader, 1)))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        if self.bounded:
            time.sleep(self.options[opt.READ_INTERVAL] / 1000)
        start, count = stored.number(split.body, "start"), stored.number(split.body, "rows")
        if self._rows is not None:
            yield self._written(start, count)
            return
        for first in range(start, start + count, BATCH_ROWS):
            some = min(BATCH_ROWS, start + count - first)
            columns = [self._column(column, first, some) for column in self._schema.columns]
            rows = pa.RecordBatch.from_arrays(columns, schema=self._schema.columns)
            yield Batch(table=self._schema.table, rows=rows)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        pieces = [(stored.number(split.body, "start"), stored.number(split.body, "rows")) for split in splits]
        return [f"rows {start + 1} to {start + count}" for start, count in pieces]

    def _written(self, start: int, count: int) -> Batch:
        assert self._rows is not None
        rows, kinds = self._rows
        start %= len(rows)
        batch = pa.RecordBatch.from_pylist(rows[start : start + count], schema=self._schema.columns)
        some = kinds[start : start + count]
        changes = pa.array(some, pa.int8()) if any(some) else None
        return Batch(table=self._schema.table, rows=batch, kinds=changes)

    def _column(self, column: pa.Field, first: int, count: int) -> pa.Array:
        if column.name == self._counted:
            return counting(self.options[opt.AUTO_INCREMENT_START] + first, count, column.type)
        return self._generator.column(column.name, column.type, first, count)


@frozen(kw_only=True)
class _Cut:
    """How the rows are cut into splits: each reader has its own rows, in pieces of about the same size."""

    readers: int
    rows: int
    """Of each reader."""

    pieces: int
    """Of each reader."""

    @classmethod
    def of(cls, memory: Item) -> "_Cut":
        """As ``look`` remembers it."""
        named = {name: stored.number(memory, name, least=least) for name, least in _LEAST.items()}
        return cls(**named)

    def body(self, reader: int, piece: int) -> Item:
        start, end = (reader * self.rows + self.rows * bound // self.pieces for bound in (piece, piece + 1))
        return {"start": start, "rows": end - start}


_LEAST = {"readers": 1, "rows": 0, "pieces": 1}


def _generator(options: Options) -> Generator:
    limits = {name: (options[f"{name}.min"], options[f"{name}.max"]) for name in _NUMBERS}
    for name, (low, high) in limits.items():
        if low > high:
            raise UsageError(f"option '{name}.min': {low} is more than {name}.max, which is {high}")
    templates = {name: options[f"{name}.template"] or () for name in ("string", *_NUMBERS)}
    for name, template in templates.items():
        mode = options[f"{name}.fake.mode"]
        if mode == "template" and not template:
            raise UsageError(f"option '{name}.fake.mode': template needs {name}.template = [value, …]")
        if mode == "range":
            templates[name] = ()
    return Generator(
        seed=options[opt.SEED],
        limits=limits,
        templates=templates,
        string_length=options[opt.STRING_LENGTH],
        bytes_length=options[opt.BYTES_LENGTH],
        array_size=options[opt.ARRAY_SIZE],
        map_size=options[opt.MAP_SIZE],
    )


def _rows(written: Any, columns: pa.Schema) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows that a job writes down, with their kinds."""
    rows, kinds = [], []
    if not isinstance(written, list | tuple):
        raise UsageError("option 'rows': expected a list [{ kind = INSERT, fields = [1, a] }, …]")
    for number, row in enumerate(written, 1):
        try:
            kind, fields = row["kind"], row["fields"]
            kinds.append(RowKind[str(kind).upper()].value)
            if len(fields) != len(columns):
                raise ValueError(f"it has {len(fields)} fields and the schema has {len(columns)}")
            named = fields.values() if isinstance(fields, dict) else fields
            rows.append({column.name: plain(value, column.type) for column, value in zip(columns, named, strict=True)})
        except (KeyError, TypeError):
            kinds_known = ", ".join(each.name for each in RowKind)
            raise UsageError(
                f"option 'rows', row {number}: expected {{ kind = INSERT, fields = […] }} with a kind of {kinds_known}"
            ) from None
        except ValueError as error:
            raise UsageError(f"option 'rows', row {number}: {error}") from None
    return rows, kinds


def _counted(columns: pa.Schema) -> str:
    for column in columns:
        if column.type in (pa.int32(), pa.int64()):
            return str(column.name)
    raise UsageError("option 'auto.increment.enabled': the schema has no column of type int or bigint")


def _row_bytes(columns: pa.Schema) -> int:
    """About how many bytes a row has in memory; used for packing only."""
    return sum(column.type.bit_width // 8 if _fixed(column.type) else 16 for column in columns) or 1


def _fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind)) and kind.bit_width >= 8
