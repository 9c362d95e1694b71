"""The transform ``DataValidator``: holds rules about the values of columns, and fails or leaves rows out."""

from collections.abc import Iterator
from functools import reduce
from typing import ClassVar

import pyarrow.compute as pc

from seatunnel_core.config.option import ENUM, LIST, NESTED, STRING, Option, Options
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.columns import check_known, without_bad
from seatunnel_core.transforms.transform import Transform
from seatunnel_core.transforms.value_rule import RULES, ValueRule, value_rules

RULES_OPTION = Option(
    "field_rules",
    LIST(NESTED),
    required=True,
    doc="A list of { field_name, rule_type, … }, or { field_name, rules = [ { rule_type, … } ] }, where rule_type is "
    f"one of {', '.join(RULES)}.",
)
WAY = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "ROUTE_TO_TABLE"),
    default="FAIL",
    aliases=("error_handle_way",),
    doc="What a row that breaks a rule does: the pipeline fails, or the row is left out. ROUTE_TO_TABLE is refused.",
)
TABLE = Option(
    "row_error_handle_way.error_table",
    STRING,
    aliases=("error_table",),
    no_effect="rows that break a rule cannot go to another table yet",
    doc="Where ROUTE_TO_TABLE sends rows.",
)


class DataValidator(Transform):
    """The table stays as it is."""

    identifier: ClassVar[str] = "DataValidator"
    declared = (RULES_OPTION, WAY, TABLE)
    example = "field_rules = [ { field_name = name, rule_type = NOT_NULL } ]"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if options[WAY] == "ROUTE_TO_TABLE":
            raise UsageError(
                "option 'row_error_handle_way': ROUTE_TO_TABLE is planned and not in this version; write SKIP or FAIL"
            )
        self._rules = value_rules(RULES_OPTION.key, options[RULES_OPTION])

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("DataValidator", dict.fromkeys(rule.column for rule in self._rules), schema)
        for rule in self._rules:
            try:
                rule.check_type(schema.columns.field(rule.column).type)
            except ValueError as error:
                raise TransformError(f"DataValidator: the table {schema.table}: {error}") from None
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        held = [pc.fill_null(rule.held(batch.rows.column(rule.column)), True) for rule in self._rules]
        good = reduce(pc.and_, held)
        if good.true_count == len(good):
            yield batch
        elif self.options[WAY] == "SKIP":
            yield without_bad(batch, good)
        else:
            at = pc.index(good, False).as_py()
            broken = [rule for rule, holds in zip(self._rules, held, strict=True) if not holds[at].as_py()]
            raise TransformError(_message(batch, at, broken))


def _message(batch: Batch, at: int, broken: list[ValueRule]) -> str:
    problems = [f"{rule.column}: {rule.message(batch.rows.column(rule.column)[at])}" for rule in broken]
    return (
        f"DataValidator: a row of the table {batch.table} breaks {len(broken)} of its rules: {'; '.join(problems)}. "
        "With row_error_handle_way = SKIP such rows are left out"
    )
