"""The transform ``Replace``: replaces a string, or matches of a regular expression, in one column."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_text, put
from seatunnel_core.transforms.regex import check_pattern, first_match, rewritten

FIELD = Option("replace_field", STRING, required=True, doc="Column of type string.")
PATTERN = Option("pattern", STRING, required=True, doc="String to replace; with is_regex, a regular expression.")
REPLACEMENT = Option(
    "replacement",
    STRING,
    required=True,
    doc="Replacement string; with is_regex, $1 and ${name} stand for groups of the pattern.",
)
IS_REGEX = Option("is_regex", BOOLEAN, default=False, doc="Treat pattern as a regular expression (RE2).")
FIRST = Option(
    "replace_first", BOOLEAN, default=False, doc="Replace only the first match in a value; requires is_regex."
)


class Replace(Transform):
    """Keeps nulls and all other columns."""

    identifier: ClassVar[str] = "Replace"
    keeps_absent = True
    declared = (FIELD, PATTERN, REPLACEMENT, IS_REGEX, FIRST)
    example = """
        replace_field = name
        pattern = " "
        replacement = "_"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._field, self._pattern, self._replacement = options[FIELD], options[PATTERN], options[REPLACEMENT]
        if not self._pattern:
            raise UsageError("option 'pattern' is empty; set it to the string to replace")
        if options[IS_REGEX]:
            check_pattern("pattern", self._pattern)
            self._replacement = rewritten("replacement", self._pattern, self._replacement)
            if options[FIRST]:
                self._pattern, self._replacement = first_match("replacement", self._pattern, self._replacement)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_text("Replace", self._field, schema)
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        values = batch.rows.column(self._field)
        replace = pc.replace_substring_regex if self.options[IS_REGEX] else pc.replace_substring
        changed = replace(values, self._pattern, self._replacement)
        yield put(batch, [batch.rows.schema.field(self._field)], [changed])
