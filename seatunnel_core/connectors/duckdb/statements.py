"""The statements that take staged files into a table."""

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connectors.duckdb.columns import literal, quoted
from seatunnel_core.connectors.duckdb.database import ask
from seatunnel_core.connectors.duckdb.table import KIND, NUMBER
from seatunnel_core.connectors.nested.child_tables import BETWEEN, Family, in_order, is_child
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.nesting import ROW_ID

_FILE = "seatunnel_file"


@frozen(kw_only=True)
class Part:
    """One staged file: rows of one unit for one table."""

    epoch: int
    unit: str
    """The id of the committable."""

    name: str
    file: str
    """Its whole path."""

    path: TablePath
    """The path of the table."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    root: TablePath = ()
    """The table that contains the rows as elements of lists, where they are replaced with its rows."""


def added(table: str, parts: Sequence[Part]) -> str:
    """Return the statement that adds the rows of files to a table."""
    names = _listed(parts[0].columns)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {_read(parts)}"


def merged(table: str, parts: Sequence[Part]) -> str:
    """Return the statement that merges the rows of files: of each key the last row of the last file decides."""
    columns, key = parts[0].columns, parts[0].key
    rows = f"({_last(parts)}) AS seatunnel_rows"
    same = " AND ".join(f"{table}.{quoted(name)} = seatunnel_rows.{quoted(name)}" for name in key)
    changes = ", ".join(f"{quoted(name)} = seatunnel_rows.{quoted(name)}" for name in columns if name not in key)
    values = ", ".join(f"seatunnel_rows.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO {table} USING {rows} ON ({same}) "
        f"WHEN MATCHED AND seatunnel_rows.{KIND} IN (1, 3) THEN DELETE "
        f"WHEN MATCHED THEN {f'UPDATE SET {changes}' if changes else 'DO NOTHING'} "
        f"WHEN NOT MATCHED AND seatunnel_rows.{KIND} IN (0, 2) THEN INSERT ({_listed(columns)}) VALUES ({values})"
    )


def versioned(table: str, parts: Sequence[Part], history: Sequence[str]) -> Iterator[str]:
    """Yield the statements that end versions of rows that change, and add the new ones, as of the transaction's time.

    Args:
        table: The quoted table.
        parts: Files of rows; of each key the last row of the last file decides.
        history: The columns since when and until when a version was valid, and whether it is.
    """
    columns, key, rows = parts[0].columns, parts[0].key, "seatunnel_versions"
    since, until, current = map(quoted, history)
    same = " AND ".join(f"old.{quoted(name)} = {rows}.{quoted(name)}" for name in key)
    both = " AND ".join(f"ended.{quoted(name)} = {rows}.{quoted(name)}" for name in key)
    others = [name for name in columns if name not in key]
    changed = " OR ".join(_differ(f"old.{quoted(name)}", f"{rows}.{quoted(name)}") for name in others) or "false"
    yield f"CREATE OR REPLACE TEMP TABLE {rows} AS {_last(parts)}"
    yield (
        f"UPDATE {table} AS old SET {until} = greatest(now(), old.{since}), {current} = false FROM {rows} "
        f"WHERE old.{current} AND {same} AND ({rows}.{KIND} IN (1, 3) OR {changed})"
    )
    # Where a clock was ahead of this one, a version has ended later than now: the next one begins there.
    ended = f"SELECT {_listed(key)}, max({until}) AS at FROM {table} WHERE {until} > now() GROUP BY {_listed(key)}"
    shown = ", ".join(f"{rows}.{quoted(name)}" for name in columns)
    yield (
        f"INSERT INTO {table} ({_listed([*columns, *history])}) SELECT {shown}, coalesce(ended.at, now()), NULL, true "
        f"FROM {rows} LEFT JOIN ({ended}) AS ended ON {both} "
        f"WHERE {KIND} IN (0, 2) AND NOT EXISTS (SELECT 1 FROM {table} AS old WHERE old.{current} AND {same})"
    )
    # Of the files of one commit, a version that a later one ends was never valid.
    yield f"DELETE FROM {table} WHERE {until} = now() AND {since} = now()"
    yield f"DROP TABLE {rows}"


def _differ(one: str, other: str) -> str:
    """Return the condition that two values are not the same, also where the order of a column takes them for equal."""
    return f"{one} IS DISTINCT FROM {other} OR encode({one}::VARCHAR) IS DISTINCT FROM encode({other}::VARCHAR)"


def _last(parts: Sequence[Part]) -> str:
    """Return the SELECT of the last row of each key."""
    order = f"list_position({_files(parts)}, {_FILE}) DESC, {NUMBER} DESC"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {_listed(parts[0].key)} ORDER BY {order}) AS seatunnel_last"
    return f"SELECT * FROM ({ranked} FROM {_read(parts)}) WHERE seatunnel_last = 1"


def family(connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
    """Return the table of merged rows and its child tables; ``None`` if it has none."""
    schema, name = path
    asked = (
        "SELECT table_name, list(lower(column_name)) FROM duckdb_columns() WHERE database_name = current_database() "
        f"AND lower(schema_name) = lower({literal(schema)}) AND (lower(table_name) = lower({literal(name)}) OR "
        f"starts_with(lower(table_name), lower({literal(name + BETWEEN)}))) GROUP BY table_name"
    )
    columns = {found.lower(): names for found, names in ask(connection, asked)}
    children = in_order(found for found, names in columns.items() if found != name.lower() and is_child(names))
    if not children or ROW_ID not in columns.get(name.lower(), ()):
        return None
    paths = tuple((child, quoted(schema, child)) for child in children)
    return Family(root=quoted(*path), children=paths, key=tuple(key), quoted=quoted)


def staged_rows(parts: Sequence[Part]) -> str:
    """Return what stands behind FROM for the rows of files with the same columns."""
    return f"{_read(parts)} AS"


def clashing(parts: Sequence[Part]) -> str:
    """Return a SELECT of one key that stands in several of the files."""
    key = _listed(parts[0].key)
    return f"SELECT {key} FROM {_read(parts)} GROUP BY {key} HAVING count(DISTINCT {_FILE}) > 1 LIMIT 1"


def _read(parts: Sequence[Part]) -> str:
    return f"read_parquet({_files(parts)}, filename = '{_FILE}', hive_partitioning = false, union_by_name = false)"


def _files(parts: Sequence[Part]) -> str:
    return f"[{', '.join(literal(part.file) for part in parts)}]"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
