"""The ``FakeSource`` source. The body of a split contains its first row number and its number of rows."""

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pyarrow as pa
from attrs import asdict, evolve, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.schema import named_block
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.fake import options as opt
from seatunnel_core.connectors.fake.generate import Generator, counting
from seatunnel_core.connectors.fake.settings import dimensions, generator
from seatunnel_core.connectors.fake.written import at, written_rows
from seatunnel_core.rows.defaults import Moment, default_values
from seatunnel_core.rows.schema_block import Column, declared_table
from seatunnel_core.rows.types import LARGEST_DIMENSION

BATCH_ROWS = 65_536
_BATCH_BYTES = 64 << 20


_GROUP_MS = 1_000
"""Minimum interval between polls, in ms. Splits that are due more often are emitted in groups."""


_IDLE_MS = 60_000
"""Interval between polls after all rows were emitted, in ms. A streaming job then waits until it is stopped."""


_MOST_SPLITS = 10_000
"""Maximum number of splits in a poll. Checkpoints contain these splits until they are read."""


_WORTH_MS = 20
"""Minimum delay between splits for which reader threads are used, in ms."""


class FakeSource(Source):
    """Generates rows, or repeats the rows listed in the job. Reading a split again returns the same rows.

    In a streaming job it emits the same rows, one split per reader and ``split.read-interval``, and then waits. Its
    cursor contains the number of emitted splits and the division of rows into splits, so later changes to the options
    do not affect it.
    """

    identifier: ClassVar[str] = "FakeSource"
    declared = opt.FAKE_OPTIONS
    example = """
        row.num = 100
        schema { table = "shop.people", fields { id = bigint, name = string } }
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        general = generator(options)
        try:
            table = declared_table(named_block(options), dimensions(options))
            self._defaults = default_values(table.columns) if table else {}
        except ValueError as error:
            raise UsageError(f"option 'schema': {error}") from None
        if table is None:
            raise UsageError("option 'schema': expected at least one column; write schema { fields { id = bigint } }")
        self._schema: TableSchema = table.schema
        self._rows = (
            written_rows(options[opt.ROWS], table.columns, self._defaults) if options[opt.ROWS] is not None else None
        )
        self._counted = _counted(self._schema) if options[opt.AUTO_INCREMENT] else None
        self._generators = {column.field.name: _of_column(general, column) for column in table.columns}
        widths = (self._generators[column.name].width(column.type) for column in self._schema.columns)
        self._row_bytes = max(sum(widths), 1)
        written = [value for row in self._rows.rows for value in row] if self._rows else self._defaults.values()
        self.waits = options[opt.READ_INTERVAL] >= _WORTH_MS
        self._dated = any(value is Moment.NOW for value in written)

    @classmethod
    def tables(cls, options: Options) -> Sequence[Options]:
        names, entries = options[opt.TABLE_NAMES] or (), super().tables(options)
        if not names or entries:
            return entries
        asked = {option.key: options[option] for option in opt.OF_A_TABLE if options.is_set(option)}
        schema = asked.get(opt.SCHEMA_BLOCK.key) or {}
        return [
            Options({**asked, opt.SCHEMA_BLOCK.key: {**schema, "table": name}}, opt.OF_A_TABLE)
            for name in dict.fromkeys(names)
        ]

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (self._schema,)

    def run_in(self, *, streaming: bool) -> None:
        self.bounded = not streaming
        self.waits = self.bounded and self.options[opt.READ_INTERVAL] >= _WORTH_MS

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        cut = self._cut(planning)
        bodies: Sequence[DiscoveredObject] = inspected
        if self.bounded:
            pieces = [cut.body(reader, piece) for reader in range(cut.readers) for piece in range(cut.pieces)]
            bodies = self._stamped(pieces)
        splits = tuple(
            Split(index=index, weight_bytes=body["rows"] * self._row_bytes, rows=body["rows"], body=body)
            for index, body in enumerate(body for body in bodies if body["rows"])
        )
        return Enumeration(schemas=(self._schema,), splits=splits)

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        cut = _Cut.of(cursor) if cursor else self._cut(planning)
        given = stored.number(cursor, "given") if cursor else 0
        interval_ms = self.options[opt.READ_INTERVAL]
        rounds = max(1, _GROUP_MS // max(interval_ms, 1))
        some = min(rounds * cut.readers, _MOST_SPLITS)
        numbers = range(given, min(given + some, cut.readers * cut.pieces))
        items = [cut.body(number % cut.readers, number // cut.readers) for number in numbers]
        return PollResult(
            items=tuple(self._stamped(items)),
            cursor={"given": given + len(numbers), **asdict(cut)},
            again_ms=rounds * interval_ms if numbers else _IDLE_MS,
        )

    def _cut(self, planning: PlanningContext) -> "_Cut":
        per_reader = self.options[opt.ROW_NUM] if self._rows is None else len(self._rows.rows)
        if self._counted is not None and self._rows is None:
            self._check_count(planning.parallelism * per_reader)
        pieces = self.options[opt.SPLIT_NUM]
        if planning.rows_per_second:
            pieces = max(pieces, -(-per_reader // planning.rows_per_second))
        return _Cut(readers=planning.parallelism, rows=per_reader, pieces=min(pieces, max(per_reader, 1)))

    def _check_count(self, rows: int) -> None:
        column = self._schema.columns.field(self._counted)
        first, limit = self.options[opt.AUTO_INCREMENT_START], 2 ** (column.type.bit_width - 1)
        if not (-limit <= first and first + rows <= limit):
            raise SourceError(
                f"FakeSource: with auto.increment.start = {first}, the numbers of {rows} rows do not fit into "
                f"column {column.name!r} with the range {-limit} to {limit - 1}; set a lower start, or declare the "
                "column as bigint"
            )

    def _stamped(self, bodies: Sequence[DiscoveredObject]) -> Sequence[DiscoveredObject]:
        """Add the current time to the bodies of splits, if any value needs it."""
        if not self._dated:
            return bodies
        now = dt.datetime.now().astimezone().isoformat(timespec="microseconds")
        return [{**body, "now": now} for body in bodies]

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        if self.bounded:
            time.sleep(self.options[opt.READ_INTERVAL] / 1000)
        start, count = stored.number(split.body, "start"), stored.number(split.body, "rows")
        now = _moment(split) if self._dated else None
        if self._rows is not None:
            yield self._written(start, count, now)
            return
        most = max(1, min(BATCH_ROWS, _BATCH_BYTES // self._row_bytes))
        for first in range(start, start + count, most):
            some = min(most, start + count - first)
            columns = [self._column(column, first, some, now) for column in self._schema.columns]
            rows = pa.RecordBatch.from_arrays(columns, schema=self._schema.columns)
            yield Batch(table=self._schema.table, rows=rows)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        pieces = [(stored.number(split.body, "start"), stored.number(split.body, "rows")) for split in splits]
        return [f"rows {start + 1} to {start + count}" for start, count in pieces]

    def _written(self, start: int, count: int, now: dt.datetime | None) -> Batch:
        assert self._rows is not None
        start %= len(self._rows.rows)
        some = self._rows.kinds[start : start + count]
        return Batch(
            table=self._schema.table,
            rows=self._rows.batch(self._schema.columns, start, count, now),
            kinds=pa.array(some, pa.int8()) if any(some) else None,
        )

    def _column(self, column: pa.Field, first: int, count: int, now: dt.datetime | None) -> pa.Array:
        if column.name == self._counted:
            return counting(self.options[opt.AUTO_INCREMENT_START] + first, count, column.type)
        if column.name in self._defaults:
            value = pa.array([at(self._defaults[column.name], column.type, now)], column.type)
            return value.take(pa.repeat(0, count))
        return self._generators[column.name].column(column.name, column.type, first, count)


@frozen(kw_only=True)
class _Cut:
    """Division of the rows into splits. Each reader has its own rows, in splits of about equal size."""

    readers: int
    rows: int
    """Number of rows per reader."""

    pieces: int
    """Number of splits per reader."""

    @classmethod
    def of(cls, memory: PollCursor) -> "_Cut":
        """Return the division that is stored in the cursor."""
        named = {name: stored.number(memory, name, least=least) for name, least in _LEAST.items()}
        return cls(**named)

    def body(self, reader: int, piece: int) -> DiscoveredObject:
        start, end = (reader * self.rows + self.rows * bound // self.pieces for bound in (piece, piece + 1))
        return {"start": start, "rows": end - start}


_LEAST = {"readers": 1, "rows": 0, "pieces": 1}


def _moment(split: Split) -> dt.datetime:
    if "now" not in split.body:
        raise SourceError(
            "FakeSource: the splits were planned before CURRENT_DATE, _TIME or _TIMESTAMP was added to the job; "
            "remove these values, or start a new job"
        )
    return dt.datetime.fromisoformat(stored.text(split.body, "now"))


def _of_column(general: Generator, column: Column) -> Generator:
    """Return the generator for a column. ``columnLength`` and ``columnScale`` override the options."""
    return evolve(
        general,
        string_length=min(column.length or general.string_length, opt.LONGEST),
        sparse_size=min(column.scale or general.sparse_size, LARGEST_DIMENSION),
        float_digits=column.scale,
    )


def _counted(schema: TableSchema) -> str:
    columns = [column.name for column in schema.columns if column.type in (pa.int32(), pa.int64())]
    if not columns:
        raise UsageError("option 'auto.increment.enabled': the schema has no column of type int or bigint")
    return str(next((name for name in columns if name in schema.primary_key), columns[0]))
