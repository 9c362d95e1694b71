"""The transform ``Copy``: copies columns under other names."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import MAP, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, put, with_outputs

FIELDS = Option("fields", MAP, doc="Columns to copy: { new_name = name }.")
SOURCE = Option("src_field", STRING, doc="Source column of a single copy; used with dest_field instead of fields.")
TARGET = Option("dest_field", STRING, doc="Name of the new column; used with src_field.")


class Copy(Transform):
    """Appends the copies in the order of ``fields``; a copy replaces an existing column of the same name."""

    identifier: ClassVar[str] = "Copy"
    keeps_absent = True
    declared = (FIELDS, SOURCE, TARGET)
    example = "fields { full_name = name }"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        source, target = options[SOURCE], options[TARGET]
        if bool(options[FIELDS]) == bool(source or target) or bool(source) != bool(target):
            raise UsageError("set fields { new_name = name }, or src_field and dest_field, but not both")
        self._copies: dict[str, str] = dict(options[FIELDS] or {target: source})

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("Copy", self._copies.values(), schema)
        return with_outputs(schema, self._outputs(schema.columns))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        columns = [batch.rows.column(name) for name in self._copies.values()]
        copied = put(batch, self._outputs(batch.rows.schema), columns)
        yield evolve(copied, absent=self._absent(batch.absent)) if batch.absent else copied

    def _absent(self, absent: Mapping[str, pa.BooleanArray]) -> dict[str, pa.BooleanArray]:
        """Return the masks of absent values in the result; a copy has the mask of its original."""
        own = {name: mask for name, mask in absent.items() if name not in self._copies}
        return own | {copy: absent[name] for copy, name in self._copies.items() if name in absent}

    def _outputs(self, columns: pa.Schema) -> list[pa.Field]:
        return [columns.field(name).with_name(copy) for copy, name in self._copies.items()]
