"""Statements that move staged rows into tables."""

from collections.abc import Iterator, Sequence
from typing import Any

from seatunnel_core.connectors.nested.child_tables import Family, in_order, is_child
from seatunnel_core.connectors.tables.history import Versions
from seatunnel_core.connectors.tables.kept_values import KeptValues
from seatunnel_core.connectors.tables.sql_database import (
    ABSENT,
    FILE,
    KIND,
    NUMBER,
    SqlDatabase,
    StagedPart,
    TableColumn,
)
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.nesting import ROW_ID

NUMBERED = "seatunnel_numbered_rows"
"""Temporary table of staged rows that have absent values, or no key."""


def added(database: SqlDatabase, table: str, source: str, columns: Sequence[str]) -> str:
    """Return the statement that adds staged rows to a table."""
    names = _listed(database, columns)
    return f"{database.insert(table, names)} SELECT {names} FROM {source}"


def versioned(
    database: SqlDatabase,
    rows: str,
    parts: Sequence[StagedPart],
    history: Sequence[str],
    at: str,
    kept: KeptValues,
) -> Iterator[str]:
    """Yield the statements that end the current versions of changed rows, and add the new versions.

    ``rows`` is the SELECT of the last row of each key, and ``at`` the literal of the current time.
    """
    new = "seatunnel_versions"
    yield f"CREATE TEMPORARY TABLE {new} AS {rows}"
    yield from Versions(
        database=database,
        table=kept.table,
        rows=new,
        alias=new,
        updates_from=True,
        columns=parts[0].columns,
        key=parts[0].key,
        history=history,
        at=at,
        require_kept=kept.require,
    ).statements()
    yield f"DROP TABLE {new}"


def last(database: SqlDatabase, source: str, parts: Sequence[StagedPart]) -> str:
    """Return a SELECT of the last row of each key: the last row in the last file that contains the key."""
    key, order = _listed(database, parts[0].key), database.order_of(parts)
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {order} DESC, {NUMBER} DESC) AS seatunnel_last"
    return f"SELECT * FROM ({ranked} FROM {source}) AS seatunnel_ranked WHERE seatunnel_last = 1"


def numbered(database: SqlDatabase, source: str, parts: Sequence[StagedPart]) -> Iterator[str]:
    """Yield the statements that copy the rows of files into the table ``NUMBERED``, numbered across the files."""
    order = f"row_number() OVER (ORDER BY {database.order_of(parts)}, {NUMBER}) AS {NUMBER}"
    names = f"{_listed(database, parts[0].columns)}, {KIND}, {order}, {ABSENT}"
    yield from database.create_temporary(NUMBERED, f"SELECT {names} FROM {source}")


def converted(
    database: SqlDatabase, source: str, parts: Sequence[StagedPart], columns: Sequence[TableColumn]
) -> Iterator[str]:
    """Yield the statements that copy the rows of files into the table ``NUMBERED``, with the types of a table."""
    order = f"row_number() OVER (ORDER BY {database.order_of(parts)}, {NUMBER}) AS {NUMBER}"
    names = ((database.quoted(column.name), column.declared) for column in columns)
    values = ", ".join(f"CAST({name} AS {declared}) AS {name}" for name, declared in names)
    yield from database.create_temporary(NUMBERED, f"SELECT {values}, {KIND}, {order} FROM {source}")


def last_numbered(database: SqlDatabase, source: str, key: Sequence[str]) -> str:
    """Return the SELECT of the last row of each key, for rows that are numbered across files."""
    ranked = f"row_number() OVER (PARTITION BY {_listed(database, key)} ORDER BY {NUMBER} DESC) AS seatunnel_last"
    return f"SELECT * FROM (SELECT *, {ranked} FROM {source}) AS seatunnel_ranked WHERE seatunnel_last = 1"


def family(database: SqlDatabase, connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
    """Return the table of merged rows with its child tables; ``None`` if there are no child tables."""
    name, columns = path[-1].lower(), database.children(connection, path)
    children = in_order(found for found, names in columns.items() if found != name and is_child(names))
    if not children or ROW_ID not in columns.get(name, ()):
        return None
    paths = tuple((child, database.quoted(*path[:-1], child)) for child in children)
    return Family(root=database.quoted(*path), children=paths, key=tuple(key), quoted=database.quoted)


def task_of(part: StagedPart) -> str:
    """Return the part of a file name that all files of a task share; tasks of a query share a unit."""
    return part.name.rpartition("-")[0]


def clashing(database: SqlDatabase, source: str, parts: Sequence[StagedPart]) -> str:
    """Return a SELECT that finds a key that occurs in more than one file."""
    key = _listed(database, parts[0].key)
    return f"SELECT {key} FROM {source} GROUP BY {key} HAVING count(DISTINCT {FILE}) > 1 LIMIT 1"


def _listed(database: SqlDatabase, names: Sequence[str]) -> str:
    return ", ".join(map(database.quoted, names))
