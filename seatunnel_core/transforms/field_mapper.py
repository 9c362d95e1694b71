"""The transform ``FieldMapper``: selects, orders and renames columns."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError
from seatunnel_core.connector_api.option import MAP, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, renamed_absent, with_names
from seatunnel_core.work.names import repeated

MAPPER = Option(
    "field_mapper",
    MAP,
    required=True,
    aliases=("fieldMapper",),
    doc="Columns to keep, in this order: { old_name = new_name, id = id }.",
)


class FieldMapper(Transform):
    """The result has the columns that ``field_mapper`` lists, in its order."""

    identifier: ClassVar[str] = "FieldMapper"
    keeps_absent = True
    declared = (MAPPER,)
    example = "field_mapper { id = id, name = full_name }"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._names: dict[str, str] = dict(options[MAPPER])
        new = list(self._names.values())
        doubled = repeated(new)
        if doubled or not new:
            problem = f"contains the new name {', '.join(doubled)} more than once" if doubled else "names no column"
            raise TransformError(f"option 'field_mapper' {problem}")

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("FieldMapper", self._names, schema)
        columns = [schema.columns.field(old).with_name(new) for old, new in self._names.items()]
        return with_names(schema, pa.schema(columns), self._names)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        rows = batch.rows.select(list(self._names)).rename_columns(list(self._names.values()))
        absent = renamed_absent(batch, self._names)
        yield evolve(batch, rows=rows.replace_schema_metadata(None), absent=absent)
