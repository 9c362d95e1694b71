"""The sink ``Assert``: the job fails, at once and for good, when a rule does not hold."""

from collections.abc import Sequence
from typing import Any, ClassVar

from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.config.option import NESTED, Option, Options
from seatunnel_core.connectors.assertion.rules import TableRules, table_rules
from seatunnel_core.connectors.sink import Guarantee, Sink, SinkPlace, SinkWriter, Staged, StagingPlace
from seatunnel_core.errors import RuleError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema

RULES = Option(
    "rules",
    NESTED,
    required=True,
    doc="row_rules (MIN_ROW, MAX_ROW), field_rules (NOT_NULL, NULL, MIN, MAX, MIN_LENGTH, MAX_LENGTH, equals_to, "
    "field_type), catalog_table_rule, table-names, and tables_configs with rules for single tables.",
)


class AssertSink(Sink):
    """Checks each row where it is read, and the number of rows when the last ones are committed."""

    identifier: ClassVar[str] = "Assert"
    declared = (RULES,)
    guarantee = Guarantee.IDEMPOTENT

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        try:
            self.rules = table_rules(options[RULES])
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"option 'rules': {error}") from None
        names: Any = options[RULES].get("table-names") or options[RULES].get("table_names") or ()
        self._tables = {str(name) for name in names}

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> "AssertWriter":
        tables = {schema.table for schema in schemas}
        absent = self._tables - tables
        if absent:
            raise RuleError(
                f"Assert: there is no table {', '.join(sorted(absent))}; there is {', '.join(sorted(tables))}"
            )
        if len(tables) > 1 and any(rules.rows for rules in self.rules if rules.table is not None):
            raise RuleError("Assert: row_rules of single tables are not supported when a source has several tables")
        for schema in schemas:
            for rules in self.rules:
                if rules.concerns(schema.table):
                    rules.check_schema(schema)
        return AssertWriter(self.rules)

    def commit(self, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        """Nothing was staged, so there is nothing to publish."""

    def conclude(self, committed_rows: int) -> None:
        for rules in self.rules:
            for rule in rules.rows:
                rule.check(committed_rows)


class AssertWriter(SinkWriter):
    """Checks the rows of a unit."""

    def __init__(self, rules: Sequence[TableRules]) -> None:
        self._rules = rules
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        for rules in self._rules:
            if rules.concerns(batch.table):
                for rule in rules.fields:
                    rule.check(batch.table, batch.rows)
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        return Staged(body={}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        """Nothing was staged."""
