"""Inference of undeclared columns from the first messages of each partition."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.fitted import fitted
from seatunnel_core.connectors.messages.decoding import Decoder, json_object, no_value
from seatunnel_core.connectors.schema_options import (
    MAX_NESTING,
    SCHEMA_CONTRACT,
    SCHEMA_SAMPLE,
    check_sampling,
    nesting_of,
)
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.fitting import DiscardedRowError, Fitting
from seatunnel_core.rows.inference.looking import infer_shape
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.nesting import ROW_ID, Nesting, row_id


@frozen(kw_only=True)
class Sampling:
    """Settings for inferring columns from JSON messages, and for messages that do not match."""

    messages: int
    """Number of messages to inspect in each partition, starting with the first message to read."""

    contract: SchemaContract
    levels: int
    """Depth to which nested objects and lists in a message are inspected."""

    nesting: Nesting
    decoder: Decoder
    """Decoder that returns the value and the location of a message."""

    identity: Callable[[Any], tuple[Any, ...]]
    """Function that returns the identity of a message, which is unique in the source."""

    @classmethod
    def of(cls, options: Options, decoder: Decoder, identity: Callable[[Any], tuple[Any, ...]]) -> "Sampling | None":
        """Return the sampling settings; ``None`` if columns are declared, or if only ``content`` is read."""
        check_sampling(options, declared=decoder.declared, format=decoder.format)
        if options[SCHEMA_SAMPLE] is None:
            return None
        return cls(
            messages=options[SCHEMA_SAMPLE],
            contract=options[SCHEMA_CONTRACT],
            levels=options[MAX_NESTING],
            nesting=nesting_of(options),
            decoder=decoder,
            identity=identity,
        )

    @property
    def looked_at(self) -> str:
        """Description of the sample from which columns were inferred, for messages."""
        return f"first {self.messages:,} messages of each partition"

    def shape(self, found: Iterable[Sequence[Any]]) -> Shape:
        """Infer the row shape from the first messages of a partition, given as lists of messages."""
        shape, left = Shape(), self.messages
        for some in found:
            shape.unite(infer_shape(filter(None, map(self.decoder.value_of, some[:left])), self.levels))
            left -= len(some)
            if left <= 0:
                break
        return shape

    def with_columns(self, schema: TableSchema, columns: pa.Schema) -> TableSchema:
        """Return the schema for rows with these columns, including the row ID if it is needed."""
        try:
            return evolve(schema, columns=self.nesting.identified(columns))
        except ValueError as error:
            raise SourceError(str(error)) from None

    def tables(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return the schemas of the main table and of the child tables for its list columns."""
        try:
            return self.nesting.schemas(schema)
        except ValueError as error:
            raise SourceError(str(error)) from None

    def batches(self, schema: TableSchema, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        """Yield the rows of messages, in order. Invalid messages are passed to ``context.skip``."""
        identified = self.nesting.identifies and schema.columns.names[:1] == [ROW_ID]
        columns = schema.columns.remove(0) if identified else schema.columns
        fitting = Fitting(columns, self.contract, self.looked_at, child_tables=self.nesting.identifies)
        rows = []
        for message in messages:
            where = self.decoder.place(message)
            try:
                row = _row(fitting, self.decoder.value_of(message), where, context)
            except RowError as error:
                context.skip(error)
            except DiscardedRowError as discarded:
                context.leave_out(str(discarded), where)
            else:
                rows.append({ROW_ID: row_id(*self.identity(message)), **row} if identified else row)
        if rows:
            found = pa.RecordBatch.from_pylist(rows, schema=schema.columns)
            yield from self.nesting.batches(Batch(table=schema.table, rows=found))


def _row(fitting: Fitting, value: bytes | None, where: str, context: ReadContext) -> dict[str, Any]:
    if value is None:
        raise no_value(where)
    try:
        document = json_object(value)
    except ValueError as error:
        raise RowError(f"{where}: invalid json: {str(error)[:200]}") from None
    try:
        return fitted(fitting, document, lambda: where, context)
    except ValueError as error:
        raise RowError(f"{where}, {error}") from None
