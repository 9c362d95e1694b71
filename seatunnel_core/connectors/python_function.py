"""The source ``PythonFunction``: rows returned by a Python function."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, UsageError
from seatunnel_core.connector_api.option import BOOLEAN, FUNCTION, SCHEMA, Option, Options, within
from seatunnel_core.connector_api.schema import table_without_name
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.schema_options import COLUMN_NAMES, NESTING, nesting_of
from seatunnel_core.connectors.source_function import SourceFunction
from seatunnel_core.rows.nesting import row_id
from seatunnel_core.rows.python_rows import PythonRows
from seatunnel_core.rows.schema_block import table_schema, written_in_python
from seatunnel_core.rows.schema_text import schema_from_text, schema_to_text

FUNCTION_OPTION = Option(
    "function",
    FUNCTION,
    required=True,
    doc='The function, as a callable in code or as "package.module:name" in a file. It yields rows as mappings '
    "from column to value; @st.source declares its splits, its columns and whether it is replayable.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc="Columns of the rows. By default, those of @st.source; without these, they are inferred from the first rows.",
)
SAMPLE = Option(
    "schema_sample",
    within(1, 10**6),
    default=1000,
    unit="rows",
    doc="Without a schema: number of rows from which columns and types are inferred. These rows are read twice.",
)
REPLAYABLE = Option(
    "replayable",
    BOOLEAN,
    doc="True if reading a split again gives the same rows; by default the value of @st.source. The engine cannot "
    "check this. If false, a failure may duplicate or lose rows.",
)

NOT_SAID = (
    "replayable is not set, so the job guarantees only at-least-once delivery: set replayable = true if reading "
    "a split again gives the same rows, else false (in Python @st.source(replayable=True)). Rows that are available "
    "only once can be read before the job, with from_rows"
)


_ROWS, _ROW_BYTES = 10_000, 100
"""Assumed number of rows and bytes of a split. They determine how splits are grouped into work units."""


class PythonFunctionSource(Source):
    """The function is called in tasks, once per split. After a failure, the split is read from its beginning."""

    identifier: ClassVar[str] = "PythonFunction"
    declared: ClassVar[tuple[Option[Any], ...]] = (
        FUNCTION_OPTION,
        SCHEMA_BLOCK,
        SAMPLE,
        NESTING,
        COLUMN_NAMES,
        REPLAYABLE,
    )
    example: ClassVar[str] = 'function = "my_package.sales:rows", replayable = true, schema { fields { id = bigint } }'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._function = self._given(options)
        self._nesting = nesting_of(options)
        said = self._function.replayable if options[REPLAYABLE] is None else options[REPLAYABLE]
        self.replayable = bool(said)  # set by the user for this function
        if said is None:
            self.remarks = (NOT_SAID,)
        self._schema = self._declared(options)
        self._table = self._schema.table if self._schema else table_without_name(options)

    def _given(self, options: Options) -> Any:
        """Return the ``SourceFunction`` in the options, or an object with the same interface."""
        given: Any = options[FUNCTION_OPTION]
        return given if isinstance(given, SourceFunction) else SourceFunction(function=given)

    def _declared(self, options: Options) -> TableSchema | None:
        written = options[SCHEMA_BLOCK] or self._function.schema
        if written is None:
            return None
        try:
            found = table_schema({"table": table_without_name(options), **written_in_python(written)})
        except ValueError as error:
            raise UsageError(f"option 'schema': {error}") from None
        assert found is not None
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "options": None}

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        return None if self._schema is None else self._tables(self._schema)

    def _table_name(self) -> str:
        return self._table

    def _key(self, columns: pa.Schema) -> tuple[str, ...]:
        """Return the key columns to use if the schema of the rows has no key."""
        return ()

    def _tables(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return the table of the rows, and the child tables for their lists."""
        key = schema.primary_key or self._key(schema.columns)
        try:
            columns = self._nesting.identified(schema.columns)
            return self._nesting.schemas(evolve(schema, columns=columns, primary_key=key))
        except ValueError as error:
            raise UsageError(f"option 'nesting': {error}") from None

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        if self._schema is not None:
            return ()
        return ({"splits": self._function.planned_splits(), "rows": self.options[SAMPLE]},)

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        """Read the first rows, from as many splits as needed, and return their columns with the splits."""
        seen = PythonRows(None)
        seen.see(list(islice(chain.from_iterable(map(self._function.rows, item["splits"])), item["rows"])))
        return {"splits": item["splits"], "columns": schema_to_text(seen.columns), "rows": seen.count}

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        if self._schema is not None:
            schema = self._schema
            bodies = [{"split": split} for split in self._function.planned_splits()]
        else:
            (found,) = inspected
            schema = TableSchema(table=self._table_name(), columns=schema_from_text(found["columns"]))
            bodies = [{"split": split, "columns": found["columns"], "of": found["rows"]} for split in found["splits"]]
        splits = (
            Split(index=index, rows=_ROWS, weight_bytes=_ROWS * _ROW_BYTES, body=body)
            for index, body in enumerate(bodies)
        )
        return Enumeration(schemas=self._tables(schema), splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        if self._schema is not None:
            columns, hint = self._schema.columns, ""
        else:
            columns = schema_from_text(stored.text(split.body, "columns"))
            hint = f" (columns inferred from the first {stored.number(split.body, 'of'):,} rows: declare a schema)"
        value, table, first = stored.member(split.body, "split"), self._table_name(), 0
        identified = self._nesting.identified(columns)
        try:
            for rows in PythonRows(columns).batches(self._function.rows(value)):
                place = (self._function.place, json.dumps(value))
                whole = rows if identified is columns else _identified(rows, identified, place, first)
                yield from self._nesting.batches(Batch(table=table, rows=whole))
                first += rows.num_rows
        except RowError as error:
            raise RowError(f"{self._function.place}, {_named(split)}{error}{hint}") from error

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [f"{_named(split)}of {self._function.place}" for split in splits]


def _identified(rows: pa.RecordBatch, columns: pa.Schema, place: tuple[str, str], first: int) -> pa.RecordBatch:
    """Add an ID column before the other columns; ``first`` is the number of the first row in its split."""
    ids = [row_id(*place, first + number, repr(row)) for number, row in enumerate(rows.to_pylist())]
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.string()), *rows.columns], schema=columns)


def _named(split: Split) -> str:
    """Return a description of a split for messages; empty if the function has no splits."""
    value = stored.member(split.body, "split")
    shown = json.dumps(value, ensure_ascii=False)
    return "" if value is None else f"split {shown if len(shown) <= 60 else shown[:57] + '...'}: "
