"""Columns of messages that a job does not declare: those of the first messages of each partition, and rows of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.fitted import fitted
from seatunnel_core.connectors.schema_options import (
    INFERENCE,
    MAX_NESTING,
    SCHEMA_CONTRACT,
    SCHEMA_SAMPLE,
    nesting_of,
)
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.fitting import DiscardedRowError, Fitting
from seatunnel_core.rows.inference.looking import look
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.native_json import parsed
from seatunnel_core.rows.nesting import ROW_ID, Nesting, row_id


@frozen(kw_only=True)
class Sampling:
    """How columns are inferred from messages of JSON, and what becomes of those that do not fit."""

    messages: int
    """How many messages of each partition are looked at, the first ones of those that are read."""

    contract: SchemaContract
    levels: int
    """How many levels of objects and lists below a row are looked into."""

    nesting: Nesting

    @classmethod
    def of(cls, options: Options, *, format: str, declared: bool) -> "Sampling | None":
        """Return the sampling that options ask for; ``None`` for columns that are declared, or ``content``.

        Raises:
            UsageError: Options contradict one another.
        """
        if options[SCHEMA_SAMPLE] is None:
            for option in INFERENCE:
                if options.is_set(option):
                    raise UsageError(f"option {option.key!r}: it is for columns that are inferred; write schema_sample")
            return None
        if declared:
            raise UsageError("option 'schema_sample': schema declares the columns, so none are inferred; leave one out")
        if format != "json":
            raise UsageError(f"option 'schema_sample': columns are inferred of format = json, and it is {format}")
        return cls(
            messages=options[SCHEMA_SAMPLE],
            contract=options[SCHEMA_CONTRACT],
            levels=options[MAX_NESTING],
            nesting=nesting_of(options),
        )

    @property
    def looked_at(self) -> str:
        """What the columns are inferred from, for messages."""
        return f"first {self.messages:,} messages of each partition"

    def shape(self, found: Iterable[Sequence[Any]]) -> Shape:
        """Return the shape of the first messages of a partition, which come in lists."""
        shape, left = Shape(), self.messages
        for some in found:
            shape.unite(look((message.value() for message in some[:left] if message.value()), self.levels))
            left -= len(some)
            if left <= 0:
                break
        return shape

    def with_columns(self, schema: TableSchema, columns: pa.Schema) -> TableSchema:
        """Return the schema of rows with these columns, and with that of the row's id where it is needed.

        Raises:
            SourceError: A column has its name.
        """
        try:
            return evolve(schema, columns=self.nesting.identified(columns))
        except ValueError as error:
            raise SourceError(str(error)) from None

    def tables(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return the table of the rows, and the child tables of its lists.

        Raises:
            SourceError: Two of their columns would have the same name.
        """
        try:
            return self.nesting.schemas(schema)
        except ValueError as error:
            raise SourceError(str(error)) from None

    def batches(self, schema: TableSchema, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        """Yield the rows of messages, in order; messages that are none go to ``context.skip``."""
        identified = self.nesting.identifies and schema.columns.names[:1] == [ROW_ID]
        columns = schema.columns.remove(0) if identified else schema.columns
        fitting = Fitting(columns, self.contract, self.looked_at, child_tables=self.nesting.identifies)
        rows = []
        for message in messages:
            where = f"topic {message.topic()}, partition {message.partition()}, offset {message.offset()}"
            try:
                row = _row(fitting, message.value(), where, context)
            except RowError as error:
                context.skip(error)
            except DiscardedRowError as discarded:
                context.leave_out(str(discarded), where)
            else:
                place = (message.topic(), message.partition(), message.offset())
                rows.append({ROW_ID: row_id(*place), **row} if identified else row)
        if rows:
            found = pa.RecordBatch.from_pylist(rows, schema=schema.columns)
            yield from self.nesting.batches(Batch(table=schema.table, rows=found))


def _row(fitting: Fitting, value: bytes | None, where: str, context: ReadContext) -> dict[str, Any]:
    """Return the values of a message; raise ``RowError`` for one that is no row of these columns."""
    if value is None:
        raise RowError(f"{where}: the message has a key and no value, and is no row")
    try:
        document = parsed(value)
    except ValueError as error:
        raise RowError(f"{where}: not json: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise RowError(f"{where}: not json: expected an object {{…}}, found {type(document).__name__}")
    try:
        return fitted(fitting, document, lambda: where, context)
    except ValueError as error:
        raise RowError(f"{where}, {error}") from None
