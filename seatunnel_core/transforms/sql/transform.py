"""The transform ``Sql``: runs a SELECT in SeaTunnel's dialect over the rows of each batch."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import ENUM, STRING, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.installing import install_command

if TYPE_CHECKING:
    from seatunnel_core.transforms.sql.dialect import Statement
    from seatunnel_core.transforms.sql.plan import Plan

QUERY = Option(
    "query",
    STRING,
    required=True,
    aliases=("sql",),
    doc="SELECT … FROM t [WHERE …] with the functions in `seatunnel help sql-functions`; t may have any name.",
)
ENGINE = Option(
    "engine",
    ENUM("ZETA", "INTERNAL"),
    default="ZETA",
    no_effect="Sql has only one engine",
    doc="SQL engine in SeaTunnel.",
)
WAY = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="Handling of a row that cannot be computed, such as a division by zero: fail the pipeline, or skip the row "
    "without counting it.",
)

_Rows = tuple[pa.RecordBatch, pa.Array | None]


class Sql(Transform):
    """Processes each row separately, without joins and aggregates. Keeps row kinds and table names."""

    identifier: ClassVar[str] = "Sql"
    drops_origins = True
    declared = (QUERY, ENGINE, WAY)
    example = 'query = "SELECT id, UPPER(name) AS name FROM people WHERE id > 0"'
    task_modules: ClassVar[tuple[str, ...]] = ("sqlglot", "datafusion")

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._plans: dict[pa.Schema, Plan] = {}
        self._read()

    def _read(self) -> "Statement":
        missing = [name for name in self.task_modules if find_spec(name) is None]
        if missing:
            raise UsageError(
                f"the Sql transform needs {' and '.join(missing)}, which is not installed: {install_command('sql')}"
            )
        from seatunnel_core.transforms.sql.dialect import read

        return read(self.options[QUERY])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plans": {}}

    def output_schema(self, schema: TableSchema) -> TableSchema:
        plan = self._plan(schema.columns)
        plan.run(pa.RecordBatch.from_pylist([], schema=schema.columns), None)
        return plan.announced(schema)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        plan = self._plan(batch.rows.schema)
        for rows, kinds in self._run(plan, batch.rows, batch.kinds):
            yield Batch(table=batch.table, rows=rows, kinds=kinds)

    def _run(self, plan: "Plan", rows: pa.RecordBatch, kinds: pa.Array | None) -> Iterator[_Rows]:
        """Run the statement for the rows and yield the results; skip failing rows if the option is set."""
        from seatunnel_core.transforms.sql.value import RowError

        try:
            yield plan.run(rows, kinds)
            return
        except RowError as error:
            if self.options[WAY] == "FAIL":
                raise RowError(f"Sql: {error}. With row_error_handle_way = SKIP such rows are skipped") from None
        half = rows.num_rows // 2
        for first, size in ((0, half), (half, rows.num_rows - half)) if half else ():
            part = None if kinds is None else kinds.slice(first, size)
            yield from self._run(plan, rows.slice(first, size), part)

    def _plan(self, columns: pa.Schema) -> "Plan":
        if columns not in self._plans:
            from seatunnel_core.transforms.sql.plan import planned

            self._plans[columns] = planned(self._read(), columns)
        return self._plans[columns]
