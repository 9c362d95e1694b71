"""The transform ``DataValidator``: checks rules about the values of columns.

A row that violates a rule fails the pipeline, is skipped, or is routed to an error table.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, TransformError, UsageError
from seatunnel_core.connector_api.option import BLOCK, ENUM, LIST, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.quantity import pick
from seatunnel_core.rows.columns import check_known, kept, without_bad
from seatunnel_core.rows.value_text import json_text
from seatunnel_core.transforms.value_rule import ENTRY_KEYS, RULES, value_rules

RULES_OPTION = Option(
    "field_rules",
    LIST(BLOCK(ENTRY_KEYS)),
    required=True,
    doc="Rules as a list of { field_name, rule_type, … } or { field_name, rules = [ { rule_type, … } ] }. rule_type is "
    f"one of {', '.join(RULES)}.",
)
WAY = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "ROUTE_TO_TABLE"),
    default="FAIL",
    aliases=("error_handle_way",),
    doc="Handling of a row that violates a rule: fail the pipeline, skip the row, or write its values and the reason "
    "to another table.",
)
TABLE = Option(
    "row_error_handle_way.error_table",
    STRING,
    aliases=("error_table",),
    doc="Error table for ROUTE_TO_TABLE: table, schema.table or database.schema.table.",
)

_ERRORS = pa.schema(
    [
        pa.field("source_table_id", pa.string(), nullable=False),
        pa.field("source_table_path", pa.string(), nullable=False),
        pa.field("original_data", pa.string(), nullable=False),
        pa.field("validation_errors", pa.string(), nullable=False),
        pa.field("create_time", pa.timestamp("us"), nullable=False),
    ]
)
"""Columns of the error table."""


class DataValidator(Transform):
    """Leaves tables unchanged; ``ROUTE_TO_TABLE`` adds an error table, which is passed to later transforms."""

    identifier: ClassVar[str] = "DataValidator"
    declared = (RULES_OPTION, WAY, TABLE)
    example = "field_rules = [ { field_name = name, rule_type = NOT_NULL } ]"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._rules = value_rules(RULES_OPTION.key, options[RULES_OPTION])
        self._errors: str | None = None
        if options[WAY] == "ROUTE_TO_TABLE":
            self._errors = options[TABLE]
            if not self._errors:
                raise UsageError(f"option {WAY.key!r}: ROUTE_TO_TABLE needs {TABLE.key}, the table for the bad rows")

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return self.output_schemas(schema)[0]

    def output_schemas(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        if schema.table == self._errors:
            if not schema.columns.equals(_ERRORS):
                raise TransformError(
                    f"DataValidator: the table {schema.table} is already an input; set another name in {TABLE.key!r}"
                )
            return (schema,)
        check_known("DataValidator", dict.fromkeys(rule.column for rule in self._rules), schema)
        for rule in self._rules:
            try:
                rule.check_type(schema.columns.field(rule.column).type)
            except ValueError as error:
                raise TransformError(f"DataValidator: the table {schema.table}: {error}") from None
        return (schema,) if self._errors is None else (schema, TableSchema(table=self._errors, columns=_ERRORS))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        if batch.table == self._errors:
            yield batch
            return
        held = [pc.fill_null(rule.held(batch.rows.column(rule.column)), True) for rule in self._rules]
        good = reduce(pc.and_, held)
        if good.true_count == len(good):
            yield batch
        elif self.options[WAY] == "SKIP":
            yield without_bad(batch, good)
        elif self._errors is not None:
            yield kept(batch, good)
            origins = None if batch.origins is None else batch.origins.filter(pc.invert(good))
            yield Batch(table=self._errors, rows=self._bad_rows(batch, good, held), origins=origins)
        else:
            at = pc.index(good, False).as_py()
            problems = [f"{column}: {message}" for column, message in self._broken(batch, at, held)]
            raise TransformError(
                f"DataValidator: a row of the table {batch.table} violates {pick(len(problems), 'rule')}: "
                f"{'; '.join(problems)}. With row_error_handle_way = SKIP such rows are skipped"
            )

    def _broken(self, batch: Batch, at: int, held: Sequence[pa.BooleanArray]) -> Iterator[tuple[str, str]]:
        """Yield column and reason for each rule that a row violates."""
        for rule, holds in zip(self._rules, held, strict=True):
            if not holds[at].as_py():
                yield rule.column, rule.message(batch.rows.column(rule.column)[at])

    def _bad_rows(self, batch: Batch, good: pa.BooleanArray, held: Sequence[pa.BooleanArray]) -> pa.RecordBatch:
        """Convert the rows that violate a rule to rows of the error table."""
        texts = pa.map_(pa.string(), pa.string())
        row_type = pa.struct(list(batch.rows.schema))
        now = dt.datetime.now()
        found = []
        for at in pc.indices_nonzero(pc.invert(good)).to_pylist():
            row = {name: batch.rows.column(place)[at].as_py() for place, name in enumerate(batch.rows.schema.names)}
            errors = [
                (("field_name", column), ("error_message", message))
                for column, message in self._broken(batch, at, held)
            ]
            try:
                texts_of_row = (json_text(row, row_type), json_text(errors, pa.list_(texts)))
            except ValueError as error:
                raise RowError(f"an invalid row cannot be written to the error table: {error}") from None
            found.append((batch.table, batch.table, *texts_of_row, now))
        columns = zip(*found, strict=True)
        return pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, _ERRORS, strict=True)], schema=_ERRORS
        )
