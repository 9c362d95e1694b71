"""The transform ``RowKindExtractor``: appends a column with the kind of each row and turns all rows into inserts."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.option import ENUM, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_new, put, with_outputs

NAME = Option("custom_field_name", STRING, default="row_kind", doc="Name of the column.")
FORM = Option(
    "transform_type",
    ENUM("SHORT", "FULL"),
    default="SHORT",
    doc="SHORT writes +I, -U, +U, -D; FULL writes INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE.",
)

SHORT = {RowKind.INSERT: "+I", RowKind.UPDATE_BEFORE: "-U", RowKind.UPDATE_AFTER: "+U", RowKind.DELETE: "-D"}


def kind_texts(batch: Batch, texts: dict[RowKind, str]) -> pa.StringArray:
    """Return the string of each row's kind."""
    if batch.kinds is None:
        return pa.repeat(texts[RowKind.INSERT], batch.rows.num_rows)
    return pa.array([texts[kind] for kind in RowKind]).take(batch.kinds)


class RowKindExtractor(Transform):
    """Keeps the primary key, although several rows may then have the same key value."""

    identifier: ClassVar[str] = "RowKindExtractor"
    declared = (NAME, FORM)
    example = "custom_field_name = operation"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._output = pa.field(options[NAME], pa.string(), nullable=False)
        self._texts = SHORT if options[FORM] == "SHORT" else {kind: kind.name for kind in RowKind}

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_new("RowKindExtractor", (self._output.name,), schema, NAME.key)
        return with_outputs(schema, [self._output])

    def apply(self, batch: Batch) -> Iterator[Batch]:
        changed = put(batch, [self._output], [kind_texts(batch, self._texts)])
        yield evolve(changed, kinds=None)
