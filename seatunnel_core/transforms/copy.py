"""The transform ``Copy``: gives columns a second time under other names."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import MAP, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, put, with_outputs

FIELDS = Option("fields", MAP, doc="The copies, the new name first: { name_copy = name }.")
SOURCE = Option("src_field", STRING, doc="The column of a single copy, together with dest_field instead of fields.")
TARGET = Option("dest_field", STRING, doc="The name of a single copy.")


class Copy(Transform):
    """Copies stand at the end, in the order of ``fields``; one with the name of a column takes that column's place."""

    identifier: ClassVar[str] = "Copy"
    declared = (FIELDS, SOURCE, TARGET)
    example = "fields { full_name = name }"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        source, target = options[SOURCE], options[TARGET]
        if bool(options[FIELDS]) == bool(source or target) or bool(source) != bool(target):
            raise UsageError("set fields { new_name = name }, or src_field and dest_field, and not both")
        self._copies: dict[str, str] = dict(options[FIELDS] or {target: source})

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("Copy", self._copies.values(), schema)
        return with_outputs(schema, self._outputs(schema.columns))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        columns = [batch.rows.column(name) for name in self._copies.values()]
        yield put(batch, self._outputs(batch.rows.schema), columns)

    def _outputs(self, columns: pa.Schema) -> list[pa.Field]:
        return [columns.field(name).with_name(copy) for copy, name in self._copies.items()]
