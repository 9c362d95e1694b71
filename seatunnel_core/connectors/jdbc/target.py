"""Where the rows of a table go: into a table of the database, or into a statement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect, TablePath
from seatunnel_core.connectors.jdbc.statement import Statement
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.types import type_name

KIND, NUMBER = "seatunnel_kind", "seatunnel_row"
"""Columns of staged rows that have a key: the kind of the row, and its number in the unit."""


@frozen(kw_only=True)
class Target:
    """What a task has to know of where the rows of one table go."""

    named: str
    """For messages."""

    path: TablePath
    """Of the table; empty for a statement."""

    columns: tuple[Column, ...] = field(repr=False)
    """Those of the rows, in their order: the table's, or for a statement those of the rows themselves, of
    the types that the server wants in their places."""

    given: tuple[str, ...] = field(default=(), repr=False)
    """What each of them is called in the rows. Columns that the database computes are not written."""

    keys: tuple[str, ...] = ()
    """The columns of the table by which a row is found; without them rows are inserted and nothing else."""

    upserts: bool = True
    unique: bool = False
    """Whether the database keeps the keys unique."""

    others_unique: bool = False
    """As of ``DatabaseTable``."""

    statement: Statement | None = None
    places: Sequence[str] = ()
    """Of the statement, as ``Dialect.place_types`` tells them."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def rows(self) -> TableSchema:
        """The columns in which rows are sent."""
        return TableSchema(
            table=self.named, columns=pa.schema([pa.field(column.name, column.arrow) for column in self.columns])
        )

    def staging_table(self, dialect: Dialect, name: str, *, temporary: bool) -> str:
        """The statement that makes a table for staged rows, with columns of the target's own types: what does not fit
        is found where it is staged, and not when it is committed."""
        columns = []
        for column in self.columns:
            collated = f" COLLATE {column.collation}" if column.collation else ""
            nullable = column.nullable or (self.keys and column.name not in self.keys)
            declared = f"{dialect.quoted(column.name)} {column.declared}{collated}"
            columns.append(f"{declared} {'NULL' if nullable else 'NOT NULL'}")
        if self.keys:
            columns += [f"{dialect.quoted(KIND)} smallint", f"{dialect.quoted(NUMBER)} bigint"]
        made = f"{dialect.quoted(name)} ({', '.join(columns)}){dialect.table_options}"
        return f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {made}"

    def moves(self, dialect: Dialect, staging: str, *, changes: bool) -> Iterator[str]:
        """The statements that move all staged rows to where they belong, in the order in which they came.

        Args:
            staging: the quoted name of their table.
            changes: whether any of them is not an inserted one.
        """
        names = ", ".join(dialect.quoted(name) for name in self.names)
        if self.statement is not None:
            yield self.statement.of(dialect, self.names, staging, self.places)
            return
        table = dialect.quoted(*self.path)
        if not self.keys:
            yield f"{dialect.insert(table, names)} SELECT {names} FROM {staging}"
            return
        kind, number, keys = dialect.quoted(KIND), dialect.quoted(NUMBER), self._by_key(dialect)
        ranked = (
            f"(SELECT {names}, {kind}, row_number() OVER (PARTITION BY {keys} ORDER BY {number} DESC) AS "
            f"seatunnel_last, first_value({kind}) OVER (PARTITION BY {keys} ORDER BY {number}) AS "
            f"seatunnel_first FROM {staging}) AS seatunnel_ranked"
        )
        gone = self._gone(changes)
        if gone:
            condition = f"seatunnel_last = 1 AND {self._same(dialect)}{gone.format(kind=kind)}"
            yield dialect.delete(table, ranked, condition)
        rows = f"SELECT {names} FROM {ranked} WHERE seatunnel_last = 1 AND {kind} IN (0, 2)"
        if self.upserts and self.unique:
            yield from dialect.upsert(table, rows, self.names, self.keys, others_unique=self.others_unique)
        else:
            yield f"{dialect.insert(table, names)} {rows}"

    def repeated(self, dialect: Dialect, staging: str, *, also_there: bool) -> str | None:
        """A SELECT of the keys of staged rows that are inserted although their row is there already, one at most;
        ``None`` where that is no error.

        Args:
            also_there: whether the rows of the table are looked at, too, and not only those that come before.
        """
        if self.upserts or not self.keys:
            return None
        shown, kind = ", ".join(dialect.quoted(name) for name in self.keys), dialect.quoted(KIND)
        before = f"lag({kind}) OVER (PARTITION BY {self._by_key(dialect)} ORDER BY {dialect.quoted(NUMBER)})"
        ranked = f"(SELECT {shown}, {kind}, {before} AS seatunnel_before FROM {staging}) AS seatunnel_ranked"
        wrong = "seatunnel_before IN (0, 2)"
        if also_there:
            there = f"EXISTS (SELECT 1 FROM {dialect.quoted(*self.path)} WHERE {self._same(dialect)})"
            wrong = f"({wrong} OR (seatunnel_before IS NULL AND {there}))"
        shown = ", ".join(f"seatunnel_ranked.{dialect.quoted(name)}" for name in self.keys)
        return f"SELECT {shown} FROM {ranked} WHERE {kind} = 0 AND {wrong} LIMIT 1"

    def repetition(self, key: Sequence[Any]) -> str:
        """What is wrong with a key that ``repeated`` found, for a person."""
        told = ", ".join(f"{name} = {value}" for name, value in zip(self.keys, key, strict=True))
        return (
            f"a row with the key {told} is inserted into {self.named}, where one is already, and enable_upsert is "
            "false; write enable_upsert = true to replace it, or leave such rows out before this sink"
        )

    def _by_key(self, dialect: Dialect) -> str:
        """What rows of one key have in common. To a database no two rows are the same where a key is null."""
        keys = [dialect.quoted(name) for name in self.keys]
        missing = " OR ".join(f"{key} IS NULL" for key in keys)
        return f"{', '.join(keys)}, CASE WHEN {missing} THEN {dialect.quoted(NUMBER)} END"

    def _same(self, dialect: Dialect) -> str:
        """Whether a ranked row and one of the table have the same key."""
        table = dialect.quoted(*self.path)
        keys = (dialect.quoted(key) for key in self.keys)
        return " AND ".join(f"seatunnel_ranked.{key} = {table}.{key}" for key in keys)

    def _gone(self, changes: bool) -> str | None:
        """Which rows of the table go before others come, as a condition on the last row of a key; ``None`` for none."""
        if self.upserts:
            if not self.unique:
                return " "
            return " AND {kind} IN (1, 3)" if changes else None
        return " AND seatunnel_first <> 0" if changes else None


def target_of_statement(
    dialect: Dialect, statement: Statement, schema: TableSchema, places: Sequence[str] = ()
) -> Target:
    """Where rows go that a statement takes.

    Args:
        places: as ``Dialect.place_types`` tells them.

    Raises:
        SinkError: it asks for more columns than the rows have, or for one of another name.
    """
    names = schema.columns.names
    wanted = statement.marks or tuple(names[: len([each for each in statement.values if isinstance(each, int)])])
    marks = [each for each in statement.values if isinstance(each, int)]
    if not statement.marks and len(marks) != len(names):
        raise SinkError(
            f"option 'query': it has {len(marks)} ?, and the rows of {schema.table} have {len(names)} columns "
            f"({', '.join(names)})"
        )
    for name in wanted:
        if name not in names:
            meant = nearest(name, names)
            raise SinkError(
                f"option 'query': the rows of {schema.table} have no column {name!r}"
                + (f"; did you mean {meant}?" if meant else f"; they have {', '.join(names)}")
            )
    types = statement.types(places)
    columns = []
    for number, name in enumerate(wanted):
        arrow = plain_type(schema.columns.field(name).type)
        try:
            declared = dialect.declared(arrow)
        except TypeError as error:
            raise _no_type(dialect, schema, name, error) from None
        column = Column(name=name, declared=declared, arrow=arrow, read="{}")
        texts = of.is_string(arrow) or (of.is_list(arrow) and of.is_string(arrow.value_type))
        if number in types and texts:
            column = evolve(column, declared=types[number], direct=False, cast=types[number])
        columns.append(column)
    return Target(
        named="the statement", path=(), columns=tuple(columns), given=wanted, statement=statement, places=places
    )


def target_table(
    dialect: Dialect,
    table: DatabaseTable,
    path: TablePath,
    schema: TableSchema,
    *,
    names: Mapping[str, str],
    keys: Sequence[str],
    upserts: bool,
) -> Target:
    """Where rows go that a table takes.

    Args:
        names: for each column of the rows, how it is called in the table.
        keys: columns of the table.

    Raises:
        SinkError: a column that is missing, that does not fit, or that the table needs.
    """
    named = dialect.table_name(path)
    columns, given = [], dict[str, str]()
    for have in schema.columns:
        found = table.column(names[have.name])
        if found is None:
            meant = nearest(names[have.name], [column.name for column in table.columns])
            raise SinkError(
                f"the table {named} has no column {names[have.name]!r}, which the rows of {schema.table} have"
                + (f"; did you mean {meant}?" if meant else "")
            )
        if not fits(have.type, found):
            raise SinkError(
                f"column {have.name!r}: the rows of {schema.table} have the type {type_name(have.type)}, which does "
                f"not fit into {found.declared} of the table {named}; convert it before this sink"
            )
        if not found.generated:
            columns.append(found)
            given[found.name] = have.name
    for column in table.columns:
        if column.name not in given and not (column.nullable or column.filled or column.generated):
            raise SinkError(
                f"the table {named} requires a column {column.name!r}, which the rows of {schema.table} lack"
            )
    for key in keys:
        if key not in given:
            raise SinkError(f"the key column {key!r} is not among the columns of the rows of {schema.table}")
    return Target(
        named=named,
        path=path,
        columns=tuple(columns),
        given=tuple(given.values()),
        keys=tuple(keys),
        upserts=upserts,
        unique=table.is_unique(tuple(keys)),
        others_unique=table.others_unique,
    )


def fits(have: pa.DataType, column: Column) -> bool:
    """Whether values of a type may go into a column; a single one may still be too large for it."""
    have, want = plain_type(have), column.arrow
    if have == want or (_is_number(have) and _is_number(want)):
        return True
    if of.is_boolean(have) and of.is_integer(want):
        return True
    if of.is_timestamp(have) and of.is_timestamp(want):
        return (have.tz is None) == (want.tz is None) or column.in_utc
    if of.is_list(have) and of.is_list(want):
        return bool(have.value_type == want.value_type or of.is_string(want.value_type))
    if of.is_string(want) and column.direct:
        return not of.is_nested(have) and not of.is_binary(have)
    return bool(of.is_null(have) or (of.is_date(have) and of.is_timestamp(want) and want.tz is None))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which rows of a type are sent: small and unsigned numbers become larger ones."""
    if kind in _SENT:
        return _SENT[kind]
    if of.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if of.is_time(kind):
        return pa.time64("us")
    if of.is_large_list(kind) or of.is_list(kind) or of.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return kind


_SENT = {
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.null(): pa.string(),
}


def _is_number(kind: pa.DataType) -> bool:
    return bool(of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind))


def _no_type(dialect: Dialect, schema: TableSchema, name: str, error: TypeError) -> SinkError:
    return SinkError(
        f"column {name!r} of the table {schema.table} has the type {type_name(schema.columns.field(name).type)}, and "
        f"{dialect.address.kind} has none for it ({error}); convert the column or leave it out"
    )


def new_columns(dialect: Dialect, schema: TableSchema, names: Mapping[str, str]) -> pa.Schema:
    """The columns of a new table for these rows.

    Raises:
        SinkError: names the column for which the database has no type.
    """
    for column in schema.columns:
        try:
            dialect.column_type(column.type if not of.is_null(column.type) else pa.string())
        except TypeError as error:
            raise _no_type(dialect, schema, column.name, error) from None
    return pa.schema(
        pa.field(names[column.name], pa.string() if of.is_null(column.type) else column.type)
        for column in schema.columns
    )


def with_key(columns: pa.Schema) -> pa.Schema:
    """Of staged rows that have a key."""
    fields: list[Any] = [*columns, pa.field(KIND, pa.int16()), pa.field(NUMBER, pa.int64())]
    return pa.schema(fields)
