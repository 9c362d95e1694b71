"""Tables and queries that a source reads: their columns, their splits, and the SELECT for each split."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.schema import table_without_name
from seatunnel_core.connector_api.source import PlanningContext, ReadContext
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.postgresql_values import with_typed_array
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.splitting import Divided, Piece, condition, within_bounds
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.work.names import repeated

_WHERE = re.compile(r"\s*where\s+(.+)", re.IGNORECASE | re.DOTALL)


@frozen(kw_only=True)
class Reading:
    """One table or query of the source, as described by the options."""

    dialect: Dialect
    options: Options
    """Options of this table, such as ``query``, ``table_path`` and ``partition_column``."""

    path: TablePath | None
    query: str | None
    where: str
    """Condition in ``where_condition`` without the keyword ``where``, or ``""``."""

    @property
    def name(self) -> str:
        """Name of the table, as rows contain it."""
        return table_without_name(self.options) if self.path is None else self.dialect.table_name(self.path)

    @property
    def relation(self) -> str:
        """FROM item of the table or query."""
        if self.query is not None:
            return f"({self.query}\n) AS seatunnel_query"  # It may end with a comment.
        return self.dialect.quoted(*self.path or ())

    def found(self, connection: Any) -> "Found":
        """Query the columns, and choose the split column; raise ``SourceError`` if the table or column is missing."""
        table = None if self.path is None else self.dialect.table(connection, self.path)
        if self.query is None:
            if table is None:
                address = self.dialect.address
                user = address.user or "the current user"
                hidden = f", or {user} has no permission to read it" if address.host else ""
                raise SourceError(f"the table {self.options[opt.TABLE_PATH]} does not exist in {address}{hidden}")
            columns = tuple(map(with_typed_array, table.columns))
        else:
            columns = self.dialect.columns(connection, self.query)
            names = [column.name for column in columns]
            doubled = repeated(names)
            if doubled:
                raise SourceError(f"the query has two columns named {doubled[0]!r}; rename one with AS")
        if self.options[opt.INT_NARROWING]:
            columns = tuple(narrowed(column) for column in columns)
        if self.where:
            everything = f"SELECT * FROM {self.relation} WHERE ({self.where})"
            self.dialect.columns(connection, everything)
        split_column = self._split_column(columns, table)
        bounds = within_bounds(self.dialect, self.options, split_column) if split_column is not None else ""
        return Found(reading=self, columns=columns, split_column=split_column, table=table, bounds=bounds)

    def _split_column(self, columns: tuple[Column, ...], table: DatabaseTable | None) -> Column | None:
        by_name = {column.name: column for column in columns}
        asked = self.options[opt.PARTITION_COLUMN]
        if asked is not None:
            return _column(self.name, columns, asked.strip('"`'), "partition_column")
        if table is None or self.query is not None:
            return None
        keys = [[by_name[name] for name in key] for key in (table.primary_key, *table.unique_keys) if key]
        first = [key[0] for key in keys]
        in_keys = (column for column in (*first, *(column for key in keys for column in key)))
        with_order = (column for column in in_keys if not self.dialect.orders[column.order].description)
        return next(with_order, first[0] if first else None)


def _column(table: str, columns: Sequence[Column], name: str, option: str) -> Column:
    """Return the column that an option refers to; raise ``SourceError`` if the table lacks it."""
    by_name = {column.name: column for column in columns}
    if name in by_name:
        return by_name[name]
    meant = nearest(name, by_name)
    raise SourceError(
        f"option {option!r}: {table} has no column {name!r}"
        + (f"; did you mean {meant}?" if meant else f"; it has {', '.join(by_name)}")
    )


def narrowed(column: Column) -> Column:
    """Return a column with the type that the option ``int_type_narrowing`` gives it."""
    return evolve(column, arrow=pa.bool_()) if column.declared == "tinyint(1)" else column


@frozen(kw_only=True)
class Found:
    """A table or query of the source, with its metadata from the database."""

    reading: Reading
    columns: tuple[Column, ...] = field(repr=False)
    split_column: Column | None
    table: DatabaseTable | None = field(repr=False)
    bounds: str = field(default="", repr=False)
    """Condition from ``partition_lower_bound`` and ``partition_upper_bound``, or ``""``."""

    @property
    def where(self) -> str:
        """Condition for the rows of all splits, or ``""``."""
        return _both(self.reading.where, self.bounds)

    def column(self, name: str, option: str) -> Column:
        """Return the column that an option refers to; raise ``SourceError`` if it does not exist."""
        return _column(self.reading.name, self.columns, name, option)

    def division_note(self) -> str | None:
        """Return a note for users if rows are divided in an order that no index supports; else ``None``."""
        column = self.split_column
        order = self.reading.dialect.orders[column.order] if column is not None else None
        if column is None or order is None or not order.description:
            return None
        return (
            f"{self.reading.name} is split by {column.name} ({column.declared}) {order.description}, but no index "
            "supports this order, so each split reads the whole table"
        )

    def schema(self) -> TableSchema:
        """Return the schema of the rows."""
        fields = [pa.field(column.name, column.arrow) for column in self.columns]
        names = {column.name for column in self.columns}
        key = self.table.primary_key if self.table is not None else ()
        return TableSchema(
            table=self.reading.name,
            columns=pa.schema(fields),
            primary_key=key if names.issuperset(key) else (),
        )

    def fitted(
        self, rows: Iterable[Fetched], where: str, context: ReadContext, *, nulls: bool
    ) -> Iterator[pa.RecordBatch]:
        """Yield fetched rows with the types of the schema; a batch may be empty. See ``Fetched.fitting``."""
        key, first = self.schema().primary_key, 1
        for each in rows:
            yield each.fitting(first, where, key, context, nulls=nulls)
            first += each.rows.num_rows

    def bodies(self, connection: Any, planning: PlanningContext, more: str = "") -> list[tuple[Mapping[str, Any], int]]:
        """Return the body and the estimated rows of each split; empty if no row meets the condition ``more``."""
        reading, options = self.reading, self.reading.options
        rows = self._counted(connection, more) if more else max(1, self._rows(connection))
        if not rows:
            return []
        if self.split_column is None:
            return [({"column": "", **Piece().body()}, rows)]
        number = options[opt.PARTITION_NUM]
        if number is None and reading.path is None:
            number = planning.parallelism
        at_least = -(-rows // planning.rows_per_second) if planning.rows_per_second is not None else 1
        divided = Divided(
            dialect=reading.dialect,
            ask=lambda statement: reading.dialect.ask(connection, statement),
            relation=reading.relation,
            where=_both(self.where, more),
            column=self.split_column,
            options=options,
            rows=rows,
        )
        column = self.split_column.name  # A resumed job may have another column, but these bounds are for this one.
        return [({"column": column, **piece.body()}, piece.rows) for piece in divided.pieces(number, at_least)]

    def statement(self, body: Mapping[str, Any], more: str = "") -> str:
        """Return the SELECT for a split, given the split's body and an additional condition."""
        dialect = self.reading.dialect
        shown = [(column, column.read, column.name) for column in self.columns]
        shown += [
            (column, column.misfit, f"seatunnel_misfit_{number}")
            for number, column in enumerate(self.columns)
            if column.misfit
        ]
        asked = ", ".join(
            f"{expression.replace('{}', dialect.quoted(column.name))} AS {dialect.quoted(name)}"
            for column, expression, name in shown
        )
        narrowed = condition(dialect, body, _both(self.where, more))
        return f"SELECT {asked} FROM {self.reading.relation}{narrowed}"

    def _rows(self, connection: Any) -> int:
        reading = self.reading
        estimated = None
        if reading.path is not None and reading.query is None and not reading.options[opt.SELECT_COUNT]:
            estimated = reading.dialect.estimated_rows(connection, reading.path)
        if estimated is None and (self.split_column is not None or reading.options[opt.SELECT_COUNT]):
            estimated = self._counted(connection)
        return estimated or 1

    def _counted(self, connection: Any, more: str = "") -> int:
        both = _both(self.where, more)
        where = f" WHERE {both}" if both else ""
        asked = f"SELECT count(*) FROM {self.reading.relation}{where}"
        return int(self.reading.dialect.ask(connection, asked)[0][0])


def _both(*conditions: str) -> str:
    """Combine conditions with AND; ``""`` means no condition."""
    return " AND ".join(f"({each})" for each in conditions if each)


def readings_of(dialect: Dialect, options: Options) -> tuple[Reading, ...]:
    """Return the tables and queries of a source; raise ``UsageError`` if options contradict each other."""
    where = _condition(options[opt.WHERE])
    entries = options[opt.TABLE_LIST] or ()
    if entries and (options.is_set(opt.QUERY) or options.is_set(opt.TABLE_PATH)):
        raise UsageError("option 'table_list': set query and table_path in its entries")
    found = [_reading(dialect, _with(options, entry), where) for entry in entries]
    if not entries:
        found = [_reading(dialect, options, where)]
    names = [each.name for each in found]
    for name in repeated(names):
        raise UsageError(
            f"option 'table_list': two entries have the table {name!r}; set a different table_path in one of them"
        )
    return tuple(found)


def _with(options: Options, entry: Options) -> Options:
    """Return the options of an entry of the list of tables; options outside the list are the defaults."""
    of_entry = {option.key: entry[option] for option in entry.declared if entry.is_set(option)}
    beside = {option.key: options[option] for option in options.declared if options.is_set(option)}
    return Options({**beside, **of_entry}, options.declared)


def _reading(dialect: Dialect, options: Options, where: str) -> Reading:
    path = None
    if options[opt.TABLE_PATH] is not None:
        try:
            path = dialect.path(options[opt.TABLE_PATH])
        except ValueError as error:
            raise UsageError(f"option 'table_path': {error}") from None
    query = options[opt.QUERY]
    if query is None and path is None:
        raise UsageError("option 'table_list': an entry has neither table_path nor query")
    return Reading(
        dialect=dialect,
        options=options,
        path=path,
        query=None if query is None else query.strip().rstrip(";").rstrip(),
        where=where,
    )


def _condition(text: str | None) -> str:
    if text is None or not text.strip():
        return ""
    found = _WHERE.fullmatch(text)
    if found is None:
        raise UsageError(
            "option 'where_condition': expected a condition that starts with where, for example where id > 100"
        )
    return found[1].strip()


def only_shown(found: Found) -> Found:
    """Return a copy of the table without the data that only the driver needs."""
    return evolve(found, table=None if found.table is None else evolve(found.table, columns=(), unique_keys=()))
