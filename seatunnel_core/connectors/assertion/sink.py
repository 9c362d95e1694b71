"""The ``Assert`` sink: makes the job fail immediately and without retries if a rule is broken."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from seatunnel_core.config.option import Keys
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsConclude
from seatunnel_core.connector_api.errors import RuleError, UsageError
from seatunnel_core.connector_api.option import BLOCK, LIST, STRING, Option, Options
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.assertion.catalog import CATALOG_KEYS
from seatunnel_core.connectors.assertion.rules import TableRules, table_rules
from seatunnel_core.findings import check_each

_VALUE = dict.fromkeys(("rule_type", "rule_value", "equals_to"))
_TABLE: Keys = {
    "row_rules": dict.fromkeys(("rule_type", "rule_value")),
    "field_rules": {"field_name": None, "field_type": None, "field_value": _VALUE},
    "catalog_table_rule": CATALOG_KEYS,
}
RULES = Option(
    "rules",
    BLOCK(
        {**_TABLE, **dict.fromkeys(("table-names", "table_names")), "tables_configs": {"table_path": None, **_TABLE}},
        closed=True,
    ),
    required=True,
    doc="row_rules (MIN_ROW, MAX_ROW), field_rules (NOT_NULL, NULL, MIN, MAX, MIN_LENGTH, MAX_LENGTH, equals_to, "
    "field_type), catalog_table_rule, table-names, and tables_configs with rules for single tables.",
)


class AssertSink(Sink, SupportsConclude):
    """Checks each row in the task that read it, and the number of rows after the last commit."""

    identifier: ClassVar[str] = "Assert"
    isolates_bad_rows = True
    declared = (RULES,)
    example = "rules { row_rules = [ { rule_type = MIN_ROW, rule_value = 1 } ] }"
    guarantee = Guarantee.IDEMPOTENT

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        try:
            self.rules = table_rules(options[RULES])
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"option 'rules': {error}") from None
        names: Any = options[RULES].get("table-names") or options[RULES].get("table_names") or ()
        self._tables: tuple[str, ...] = LIST(STRING).parse(names)
        self._came: list[frozenset[str]] = []

    @property
    def bound_to(self) -> Mapping[str, str]:
        return {}

    def check_schema(self, schema: TableSchema) -> None:
        concerned = (rules for rules in self.rules if rules.concerns(schema.table))
        check_each(lambda rules: rules.check_schema(schema), concerned, RuleError)

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Record the tables of a source, because ``conclude`` also checks tables that received no rows."""
        self._came.append(frozenset(schema.table for schema in schemas))

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "AssertWriter":
        return AssertWriter(self.rules, self._tables)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Do nothing: there are no staged rows."""

    def conclude(self, committed_rows: int, table_rows: Mapping[str, int]) -> None:
        absent = [table for table in self._tables if table not in table_rows]
        if absent:
            raise RuleError(
                f"Assert: no row of table {', '.join(absent)} was received; expected {', '.join(self._tables)}"
            )
        came = {*table_rows, *(table for tables in self._came for table in tables)}
        for rules in self.rules:
            if rules.wants_table and rules.table not in came:
                raise RuleError(
                    f"Assert: the table {rules.table}, for which rules.tables_configs has rules, was not received; "
                    f"received: {', '.join(sorted(came)) or 'none'}"
                )
            for table, rows in self._counted(rules, committed_rows, table_rows).items():
                for rule in rules.rows:
                    rule.check(rows, table)

    def _counted(self, rules: TableRules, rows: int, table_rows: Mapping[str, int]) -> Mapping[str | None, int]:
        """Return the row counts to which rules apply, keyed by table; ``None`` stands for all tables together.

        As in SeaTunnel, rules without a table apply to each table of a single source, but to the total number of rows
        if there are several sources.
        """
        if rules.table is not None:
            return {rules.table: table_rows.get(rules.table, 0)}
        several = self._came[0] if len(self._came) == 1 else ()
        if len(several) < 2 or sum(table_rows.values()) < rows:  # an older checkpoint counted no tables
            return {None: rows}
        return {table: table_rows.get(table, 0) for table in sorted(several)}


class AssertWriter(SinkWriter):
    """Writer that checks the rows of a work unit."""

    def __init__(self, rules: Sequence[TableRules], tables: Sequence[str]) -> None:
        self._rules = rules
        self._tables = tables
        self._rows: dict[str, int] = {}
        self._bytes = 0

    def write(self, batch: Batch) -> None:
        if self._tables and batch.table not in self._tables:
            raise RuleError(f"Assert: a row of table {batch.table} was received; expected {', '.join(self._tables)}")
        for rules in self._rules:
            if rules.concerns(batch.table):
                for rule in rules.fields:
                    rule.check(batch.table, batch.rows)
        self._rows[batch.table] = self._rows.get(batch.table, 0) + batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        counted = self._rows if self._tables or any(rules.table or rules.rows for rules in self._rules) else {}
        return Staged(body={}, rows=sum(self._rows.values()), bytes=self._bytes, table_rows=counted)

    def abort(self) -> None:
        """Do nothing: there are no staged rows."""
