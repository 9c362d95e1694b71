"""The transform ``Split``: splits one column at a separator into several."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, TransformError, UsageError
from seatunnel_core.connector_api.option import LIST, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, put, with_outputs
from seatunnel_core.rows.types import is_text, type_name
from seatunnel_core.transforms.regex import check_pattern, matches_nothing
from seatunnel_core.transforms.sql.casts import conversion
from seatunnel_core.transforms.sql.engine_function import ArrowFunction
from seatunnel_core.transforms.sql.value import STRING as TEXT
from seatunnel_core.transforms.sql.value import standard

SEPARATOR = Option(
    "separator", STRING, required=True, doc='Separator: a regular expression (RE2); write "\\\\|" for a vertical bar.'
)
FIELD = Option(
    "split_field",
    STRING,
    required=True,
    doc="Column to split, which is kept. Columns of other types are split in their string form, such as 2024-05-17 for "
    "a date.",
)
OUTPUTS = Option("output_fields", LIST(STRING), required=True, doc="Columns of the parts; the last receives the rest.")


class Split(Transform):
    """Adds the parts as string columns. Missing parts are null; a null value makes all parts null."""

    identifier: ClassVar[str] = "Split"
    declared = (SEPARATOR, FIELD, OUTPUTS)
    example = """
        separator = " "
        split_field = name
        output_fields = [first_name, last_name]
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._separator, self._field, names = options[SEPARATOR], options[FIELD], options[OUTPUTS]
        if not names or len(set(names)) < len(names):
            problem = "contains a column twice" if names else "is empty"
            raise UsageError(f"option 'output_fields' {problem}; use a different name for each part")
        check_pattern("separator", self._separator)
        if matches_nothing(self._separator):  # Arrow would loop forever
            raise UsageError(
                f"option 'separator': the regular expression {self._separator!r} also matches the empty string; "
                'use "\\\\|" for a vertical bar, and + instead of * for a repetition'
            )
        self._outputs = [pa.field(name, pa.string()) for name in names]

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("Split", (self._field,), schema)
        kind = schema.columns.field(self._field).type
        if _texts(kind) is None:
            raise TransformError(
                f"Split: the column {self._field} of the table {schema.table} is {type_name(kind)}, which is not text; "
                "extract its parts first, for example with Sql"
            )
        return with_outputs(schema, self._outputs)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        values, count = batch.rows.column(self._field), len(self._outputs)
        texts = _texts(values.type)
        assert texts is not None
        try:
            written = texts(values)
        except pa.ArrowInvalid as error:
            said = f"Split: the column {self._field} of the table {batch.table} contains bytes that are not UTF-8"
            raise RowError(f"{said}: {error}", column=self._field) from None
        lists = pc.split_pattern_regex(written, self._separator, max_splits=count - 1)
        parts = pc.list_slice(lists, 0, count, return_fixed_size_list=True)
        yield put(batch, self._outputs, [pc.list_element(parts, at) for at in range(count)])


def _texts(kind: pa.DataType) -> ArrowFunction | None:
    """Return the function that formats the values of a type as Java does; ``None`` if there is none."""
    if is_text(kind):
        return lambda values: values.cast(TEXT)
    written = conversion(standard(kind), TEXT)
    return None if written is None else lambda values: written(values.cast(standard(kind)))
