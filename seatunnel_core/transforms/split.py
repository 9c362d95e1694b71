"""The transform ``Split``: cuts one column at a separator into several."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.config.option import LIST, STRING, Option, Options
from seatunnel_core.errors import UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.columns import check_text, put, with_outputs
from seatunnel_core.transforms.regex import check_pattern, matches_nothing
from seatunnel_core.transforms.transform import Transform

SEPARATOR = Option(
    "separator", STRING, required=True, doc='Where to cut: a regular expression (RE2\'s), so "\\\\|" for a bar.'
)
FIELD = Option("split_field", STRING, required=True, doc="The column to cut, of type string. It stays.")
OUTPUTS = Option("output_fields", LIST(STRING), required=True, doc="The names of the parts; the last takes the rest.")


class Split(Transform):
    """Parts are of type string; a value of fewer parts leaves the others null, and null leaves all of them null."""

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
            problem = "names a column twice" if names else "is empty"
            raise UsageError(f"option 'output_fields': it {problem}; write a different name for each part")
        check_pattern("separator", self._separator)
        if matches_nothing(self._separator):  # Arrow would cut there for ever
            raise UsageError(
                f"option 'separator': the regular expression {self._separator!r} also matches between two characters; "
                'write "\\\\|" for a bar, and + instead of * for a repetition'
            )
        self._outputs = [pa.field(name, pa.string()) for name in names]

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_text("Split", self._field, schema)
        return with_outputs(schema, self._outputs)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        values, count = batch.rows.column(self._field).cast(pa.string()), len(self._outputs)
        lists = pc.split_pattern_regex(values, self._separator, max_splits=count - 1)
        parts = pc.list_slice(lists, 0, count, return_fixed_size_list=True)
        yield put(batch, self._outputs, [pc.list_element(parts, at) for at in range(count)])
