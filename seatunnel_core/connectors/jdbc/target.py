"""Target of the rows of a table: a table of the database, or a user's statement."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.column_type import fits, plain_type
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.windows import has_windows, require_windows
from seatunnel_core.connectors.jdbc.statement import Statement
from seatunnel_core.connectors.tables.absent_values import AbsentValues
from seatunnel_core.connectors.tables.growth import wider
from seatunnel_core.connectors.tables.history import require_history
from seatunnel_core.connectors.tables.messages import key_text, no_column, no_type, unfit
from seatunnel_core.connectors.tables.sql_database import ABSENT, KIND, NUMBER
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class Target:
    """Target of the rows of one table."""

    named: str
    """Name of the target in messages."""

    path: TablePath
    """Path of the table; empty for a statement."""

    columns: tuple[Column, ...] = field(repr=False)
    """Columns to write, in the order of the rows: for a table, all except computed ones; for a statement, the columns
    of the rows, with the types of its parameters."""

    given: tuple[str, ...] = field(default=(), repr=False)
    """Names of ``columns`` in the rows."""

    keys: tuple[str, ...] = ()
    """Columns of the table that identify a row; if empty, rows are only inserted."""

    upserts: bool = True
    """True if an inserted row replaces the row with the same key; if False, an existing key is an error."""

    needs_key: bool = False
    """True to reject rows with null in their key. If False, these rows do not equal any other row, as in SQL."""

    unique: bool = False
    """True if the database enforces that ``keys`` are unique."""

    whole: bool = False
    """True if rows have no key, and changes apply to rows that are equal in all columns."""

    root: TablePath = ()
    """Table of the parent rows, if they are replaced together with their children."""

    without_values: tuple[str, ...] = field(default=(), repr=False)
    """Columns of the rows that must not contain any values, as in ``rows.unknown.Resolved``."""

    others_unique: bool = False
    """True if there are several keys and the database's upsert cannot be restricted to one of them."""

    statement: Statement | None = None
    """The user's statement; ``None`` for a table."""

    places: Sequence[str] = ()
    """Types of the statement's parameters, from ``Dialect.place_types``."""

    @property
    def has_changes(self) -> bool:
        """True if rows may be updated and deleted, so they are staged with their kind of change and their number."""
        return bool(self.keys) or self.whole

    @property
    def names(self) -> tuple[str, ...]:
        """Names of ``columns``."""
        return tuple(column.name for column in self.columns)

    def rows(self) -> TableSchema:
        """Return the schema in which rows are sent."""
        return TableSchema(
            table=self.named, columns=pa.schema([pa.field(column.name, column.arrow) for column in self.columns])
        )

    def staging_table(self, dialect: Dialect, name: str, *, temporary: bool, marks: bool = False) -> str:
        """Return the statement that creates a staging table, with the column ``ABSENT`` if ``marks`` is true.

        Its columns have the declared types of the target, so that a value that does not fit is rejected when it is
        staged, not when it is committed.
        """
        columns = []
        for column in self.columns:
            collated = f" COLLATE {column.collation}" if column.collation else ""
            nullable = column.nullable or (self.keys and column.name not in self.keys)
            declared = f"{dialect.quoted(column.name)} {column.declared}{collated}"
            columns.append(f"{declared} {'NULL' if nullable else 'NOT NULL'}")
        if self.has_changes:
            columns += [f"{dialect.quoted(KIND)} smallint", f"{dialect.quoted(NUMBER)} bigint"]
            columns += [f"{dialect.quoted(ABSENT)} {dialect.declared_type(pa.string())}"] if marks else []
        made = f"{dialect.quoted(name)} ({', '.join(columns)}){dialect.table_options}"
        return f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {made}"

    def complete(
        self,
        dialect: Dialect,
        staging: str,
        *,
        run: Callable[[str], None],
        first: Callable[[str], Sequence[Any] | None],
        who: str,
        current: str = "",
    ) -> Iterator[str]:
        """Yield table expressions for the staged rows, with absent values filled in; see ``AbsentValues.slices``."""
        require_filling(dialect)
        return AbsentValues(
            database=dialect,
            run=run,
            first=first,
            who=who,
            named=self.named,
            table=dialect.quoted(*self.path),
            staged=staging,
            columns=self.names,
            key=self.keys,
            current=current,
        ).slices()

    def moves(self, dialect: Dialect, staging: str, *, changes: bool) -> Iterator[str]:
        """Yield the statements that apply all staged rows to the target, in order of arrival.

        ``staging`` is the quoted name of the staging table, or a subquery of its rows. ``changes`` is True if any of
        the rows is an update or a delete.
        """
        names = ", ".join(dialect.quoted(name) for name in self.names)
        if self.statement is not None:
            yield self.statement.of(dialect, self.names, staging, self.places)
            return
        table = dialect.quoted(*self.path)
        if not self.keys:
            yield f"{dialect.insert(table, names)} SELECT {names} FROM {staging}"
            return
        kind, ranked = dialect.quoted(KIND), self.ranked(dialect, staging)
        gone = self._gone(changes)
        if gone:
            condition = f"seatunnel_last = 1 AND {self.same(dialect)}{gone.format(kind=kind)}"
            yield dialect.delete(table, ranked, condition)
        rows = f"SELECT {names} FROM {ranked} WHERE seatunnel_last = 1 AND {kind} IN (0, 2)"
        if self.upserts and self.unique:
            yield from dialect.upsert(table, rows, self.names, self.keys, others_unique=self.others_unique)
        else:
            yield f"{dialect.insert(table, names)} {rows}"

    def replaced(self, dialect: Dialect, staging: str) -> str:
        """Return the part of a SELECT after FROM for the existing rows that staged rows replace."""
        rows = f"seatunnel_last = 1 AND {self.same(dialect)} AND {dialect.quoted(KIND)} IN (0, 2)"
        return f"{dialect.quoted(*self.path)} WHERE EXISTS (SELECT 1 FROM {self.ranked(dialect, staging)} WHERE {rows})"

    def ranked(self, dialect: Dialect, staging: str) -> str:
        """Return a subquery of the staged rows in which ``seatunnel_last`` is 1 for the last row with each key."""
        kind, number, keys = dialect.quoted(KIND), dialect.quoted(NUMBER), self._by_key(dialect)
        if not has_windows(dialect.address):
            shown = ", ".join(f"seatunnel_row_of.{dialect.quoted(name)}" for name in (*self.names, KIND))
            return (
                f"(SELECT {shown}, 1 AS seatunnel_last, seatunnel_key.seatunnel_first FROM {staging} AS "
                f"seatunnel_row_of JOIN (SELECT max({number}) AS seatunnel_end, min({number} * 4 + {kind}) % 4 AS "
                f"seatunnel_first FROM {staging} GROUP BY {keys}) AS seatunnel_key "
                f"ON seatunnel_key.seatunnel_end = seatunnel_row_of.{number}) AS seatunnel_ranked"
            )
        names = ", ".join(dialect.quoted(name) for name in self.names)
        return (
            f"(SELECT {names}, {kind}, row_number() OVER (PARTITION BY {keys} ORDER BY {number} DESC) AS "
            f"seatunnel_last, first_value({kind}) OVER (PARTITION BY {keys} ORDER BY {number}) AS "
            f"seatunnel_first FROM {staging}) AS seatunnel_ranked"
        )

    def repeated(self, dialect: Dialect, staging: str, *, also_there: bool) -> str | None:
        """Return a SELECT that finds an inserted key that already exists; ``None`` if inserts may replace rows."""
        if self.upserts or not self.keys:
            return None
        require_windows(dialect.address, "write enable_upsert = true, or use MySQL 8")
        shown, kind = ", ".join(dialect.quoted(name) for name in self.keys), dialect.quoted(KIND)
        before = f"lag({kind}) OVER (PARTITION BY {self._by_key(dialect)} ORDER BY {dialect.quoted(NUMBER)})"
        ranked = f"(SELECT {shown}, {kind}, {before} AS seatunnel_before FROM {staging}) AS seatunnel_ranked"
        wrong = "seatunnel_before IN (0, 2)"
        if also_there:
            there = f"EXISTS (SELECT 1 FROM {dialect.quoted(*self.path)} WHERE {self.same(dialect)})"
            wrong = f"({wrong} OR (seatunnel_before IS NULL AND {there}))"
        shown = ", ".join(f"seatunnel_ranked.{dialect.quoted(name)}" for name in self.keys)
        return f"SELECT {shown} FROM {ranked} WHERE {kind} = 0 AND {wrong} LIMIT 1"

    def repetition(self, key: Sequence[Any]) -> str:
        """Return the error message for a key that the statement of ``repeated`` has found."""
        return (
            f"a row with the key {key_text(self.keys, key)} cannot be inserted into {self.named}: the key already "
            "exists, and enable_upsert is false; set enable_upsert = true to replace it, or remove such rows before "
            "this sink"
        )

    def _by_key(self, dialect: Dialect) -> str:
        """Return the PARTITION BY expressions of a key; a row with null in its key has its own partition, as in SQL."""
        keys = [dialect.quoted(name) for name in self.keys]
        missing = " OR ".join(f"{key} IS NULL" for key in keys)
        return f"{', '.join(keys)}, CASE WHEN {missing} THEN {dialect.quoted(NUMBER)} END"

    def same(self, dialect: Dialect) -> str:
        """Return the condition that a ranked row and a row of the table have the same key."""
        table = dialect.quoted(*self.path)
        keys = (dialect.quoted(key) for key in self.keys)
        return " AND ".join(f"seatunnel_ranked.{key} = {table}.{key}" for key in keys)

    def _gone(self, changes: bool) -> str | None:
        """Return the condition under which an existing row is deleted first; ``None`` if this is never necessary."""
        if self.upserts:
            if not self.unique:
                return " "
            return " AND {kind} IN (1, 3)" if changes else None
        return " AND seatunnel_first <> 0" if changes else None


def require_filling(dialect: Dialect) -> None:
    """Raise ``SinkError`` if the server cannot fill in absent values. A connection must have been opened before."""
    require_windows(dialect.address, "use MySQL 8, or let the source log whole rows (binlog_row_image = FULL)")


def target_of_statement(
    dialect: Dialect, statement: Statement, schema: TableSchema, places: Sequence[str] = ()
) -> Target:
    """Return the target for rows that a statement writes; ``places`` is the result of ``Dialect.place_types``.

    Raises:
        SinkError: The number of columns differs from the number of ``?``, or a column ``:name`` is missing.
    """
    wanted, types = _parameter_columns(statement, schema), statement.types(places)
    columns = tuple(_parameter(dialect, schema, name, types.get(number)) for number, name in enumerate(wanted))
    return Target(named="the statement", path=(), columns=columns, given=wanted, statement=statement, places=places)


def _parameter_columns(statement: Statement, schema: TableSchema) -> tuple[str, ...]:
    """Return the columns of the rows that the statement uses, in the order in which its parameters number them."""
    names = schema.columns.names
    if not statement.marks:
        marks = sum(isinstance(each, int) for each in statement.values)
        if marks != len(names):
            raise SinkError(
                f"option 'query': the statement has {marks} placeholders (?), but the rows of {schema.table} have "
                f"{len(names)} columns ({', '.join(names)})"
            )
        return tuple(names)
    for name in statement.marks:
        if name not in names:
            meant = nearest(name, names)
            raise SinkError(
                f"option 'query': the rows of {schema.table} have no column {name!r}"
                + (f"; did you mean {meant}?" if meant else f"; they have {', '.join(names)}")
            )
    return statement.marks


def _parameter(dialect: Dialect, schema: TableSchema, name: str, required: str | None) -> Column:
    """Return the column for a parameter, with the type that the database requires if the column contains strings."""
    arrow = plain_type(schema.columns.field(name).type)
    try:
        declared = dialect.declared_type(arrow)
    except TypeError as error:
        raise no_type(dialect.name, schema, schema.columns.field(name), error) from None
    column = Column(name=name, declared=declared, arrow=arrow, read="{}")
    texts = of.is_string(arrow) or (of.is_list(arrow) and of.is_string(arrow.value_type))
    return evolve(column, declared=required, direct=False, cast=required) if required and texts else column


def target_table(
    dialect: Dialect,
    connection: Any,
    table: DatabaseTable,
    path: TablePath,
    schema: TableSchema,
    *,
    names: Mapping[str, str],
    keys: Sequence[str],
    upserts: bool,
    history: Sequence[str] = (),
) -> Target:
    """Return the target for rows that are written to a table.

    ``names`` are the table's names for the columns of the rows, ``keys`` are names in the table, and ``history`` are
    the columns that only the table has: valid from, valid until, and is current.

    Raises:
        SinkError: A column is missing, incompatible or required but absent from the rows, or the table cannot keep
            history.
    """
    named = dialect.table_name(path)
    seen = evolve(table, columns=tuple(each for each in table.columns if each.name not in history))
    found = [(_column_for(have, seen, names[have.name], named, schema.table), have.name) for have in schema.columns]
    given = {column.name: name for column, name in found if not column.generated}
    _refuse_missing(seen, named, given, keys, schema.table)
    unique = table.is_unique(tuple(keys))
    if history:
        conflicting = [keys] if unique else []
        require_history(dialect, connection, path, table.columns, written=given, history=history, unique=conflicting)
    return Target(
        named=named,
        path=path,
        columns=tuple(column for column, _ in found if not column.generated),
        given=tuple(given.values()),
        keys=tuple(keys),
        upserts=upserts,
        unique=unique,
        others_unique=table.others_unique,
    )


def _column_for(have: pa.Field, table: DatabaseTable, name: str, named: str, rows: str) -> Column:
    """Return the table's column for a column of the rows; raise ``SinkError`` if it cannot be written."""
    found = table.column(name)
    if found is None:
        raise no_column(named, name, [column.name for column in table.columns], rows, adds=False)
    if not fits(have.type, found):
        widened = wider(found.arrow, plain_type(have.type)) is not None
        raise unfit(have, found.declared, named, rows, widened=widened or None)
    return found


def _refuse_missing(table: DatabaseTable, named: str, given: Collection[str], keys: Sequence[str], rows: str) -> None:
    """Raise ``SinkError`` if the rows lack a key column or another column that the table requires."""
    for column in table.columns:
        if column.name not in given and not (column.nullable or column.filled or column.generated):
            raise SinkError(f"the table {named} requires a column {column.name!r}, which the rows of {rows} lack")
    for key in keys:
        if key not in given:
            raise SinkError(f"the key column {key!r} is not among the columns of the rows of {rows}")


def new_columns(dialect: Dialect, schema: TableSchema, names: Mapping[str, str]) -> pa.Schema:
    """Return the columns of a new table for these rows; raise ``SinkError`` if the database has no type for one."""
    for column in schema.columns:
        try:
            dialect.column_type(column.type if not of.is_null(column.type) else pa.string())
        except TypeError as error:
            raise no_type(dialect.name, schema, column, error) from None
    return pa.schema(
        pa.field(names[column.name], pa.string() if of.is_null(column.type) else column.type)
        for column in schema.columns
    )


def with_key(columns: pa.Schema, *, marks: bool) -> pa.Schema:
    """Return the columns of a staging table for rows that have a key, including ``ABSENT`` if ``marks`` is true."""
    fields: list[Any] = [*columns, pa.field(KIND, pa.int16()), pa.field(NUMBER, pa.int64())]
    return pa.schema([*fields, pa.field(ABSENT, pa.string())] if marks else fields)
