"""The transform ``Filter``: keeps the columns of ``include_fields``, or all except ``exclude_fields``."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import LIST, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, renamed_absent, with_columns

INCLUDE = Option("include_fields", LIST(STRING), aliases=("fields",), doc="Columns to keep, in the table's order.")
EXCLUDE = Option("exclude_fields", LIST(STRING), doc="Columns to remove; the others are kept.")


class Filter(Transform):
    """To filter rows, use ``Sql``, ``SparkSql`` or ``Python``."""

    identifier: ClassVar[str] = "Filter"
    keeps_absent = True
    keeps_columns = True
    declared = (INCLUDE, EXCLUDE)
    example = "include_fields = [id, name]"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._include, self._exclude = options[INCLUDE], options[EXCLUDE]
        if bool(self._include) == bool(self._exclude):
            raise UsageError("set either include_fields or exclude_fields, but not both")

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("Filter", self._include or self._exclude, schema)
        kept = self._kept(schema.columns)
        if not kept:
            raise TransformError(f"Filter: exclude_fields removes all columns: {', '.join(schema.columns.names)}")
        return with_columns(schema, pa.schema([schema.columns.field(name) for name in kept]))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        names = self._kept(batch.rows.schema)
        yield evolve(batch, rows=batch.rows.select(names), absent=renamed_absent(batch, {name: name for name in names}))

    def _kept(self, columns: pa.Schema) -> list[str]:
        if self._include:
            kept = set(self._include)
            return [name for name in columns.names if name in kept]
        left_out = set(self._exclude)
        return [name for name in columns.names if name not in left_out]
