"""The transform ``Python``: applies a function to each ``pyarrow.RecordBatch`` of the input."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SeaTunnelError, TransformError, UsageError
from seatunnel_core.connector_api.option import FUNCTION, SCHEMA, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import with_columns
from seatunnel_core.rows.schema_block import described_table, table_schema
from seatunnel_core.rows.types import own_types

FUNCTION_OPTION = Option(
    "function",
    FUNCTION,
    required=True,
    doc='Function, as a callable in code or as "package.module:name" in a file. It receives a pyarrow.RecordBatch, and '
    "returns one or yields several.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc="Columns of the result. By default the function is called once with an empty batch to determine them.",
)


class PythonFunction(Transform):
    """The function returns a batch or yields several. Its results must not depend on the division into batches."""

    identifier: ClassVar[str] = "Python"
    drops_origins = True
    declared = (FUNCTION_OPTION, SCHEMA_BLOCK)
    example = 'function = "my_package.cleaning:trim"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._function: Any = options[FUNCTION_OPTION]
        self._block: Mapping[str, Any] | None = options[SCHEMA_BLOCK]
        try:
            declared = table_schema(self._block)
        except ValueError as error:
            raise UsageError(f"option 'schema': {error}") from None
        self._declared: pa.Schema | None = declared.columns if declared else None

    @property
    def _name(self) -> str:
        return f"{self._function.__module__}:{getattr(self._function, '__qualname__', type(self._function).__name__)}"

    def output_schema(self, schema: TableSchema) -> TableSchema:
        if self._declared is not None:
            return self._described(with_columns(schema, self._declared))
        empty = pa.RecordBatch.from_pylist([], schema=schema.columns)
        found = [own_types(rows.schema) for rows in self._call(empty)]
        if not found:
            raise TransformError(
                f"Python: {self._name} returns nothing for an empty batch, so its columns are unknown: declare them "
                "with schema { fields { … } }"
            )
        return self._described(with_columns(schema, found[0].remove_metadata()))

    def _described(self, schema: TableSchema) -> TableSchema:
        """Return the schema with the keys and the comment declared by the job, if any."""
        try:
            said = described_table(self._block, schema.columns)
        except ValueError as error:
            raise TransformError(f"Python: option 'schema': {error}") from None
        return evolve(
            schema,
            primary_key=said.primary_key or schema.primary_key,
            primary_key_name=said.primary_key_name if said.primary_key else schema.primary_key_name,
            constraint_keys=said.constraint_keys or schema.constraint_keys,
            comment=said.comment or schema.comment,
        )

    def apply(self, batch: Batch) -> Iterator[Batch]:
        for rows in self._call(batch.rows):
            yield Batch(table=batch.table, rows=self._conform(rows), kinds=self._kinds(batch, rows))

    def _call(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        try:
            result = self._function(rows)
            for part in (result,) if isinstance(result, (pa.RecordBatch, pa.Table)) else result:
                if isinstance(part, pa.Table):
                    yield from part.combine_chunks().to_batches() or [_empty(part.schema)]
                elif isinstance(part, pa.RecordBatch):
                    yield part
                else:
                    raise TransformError(f"Python: {self._name} returned a {type(part).__name__}, not a RecordBatch")
        except SeaTunnelError:
            raise
        except Exception as error:
            raise TransformError(f"Python: {self._name} failed with {type(error).__name__}: {error}") from error

    def _conform(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if self._declared is None or rows.schema.equals(self._declared):
            return rows.cast(own_types(rows.schema)).replace_schema_metadata(None)
        try:
            return rows.select(self._declared.names).cast(self._declared)
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise TransformError(
                f"Python: {self._name} returned columns that differ from its schema: {error}"
            ) from error

    def _kinds(self, batch: Batch, rows: pa.RecordBatch) -> pa.Array | None:
        if batch.kinds is not None and rows.num_rows != batch.rows.num_rows:
            raise TransformError(
                f"Python: {self._name} changed the number of rows of a change stream, so the row kinds are unknown"
            )
        return batch.kinds


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
