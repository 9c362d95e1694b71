"""Search for the value that made a database reject a batch of rows.

Databases report the value in different ways, or not at all. Therefore each column is inserted separately into a
temporary table, and its values are bisected to find the first rejected one.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.pool import BULK
from seatunnel_core.rows.extent import shown

_TRIED, _RAW = "seatunnel_value", "seatunnel_raw_value"

_LONGEST = 60
"""Maximum number of characters of a value in a message."""


def misfit(dialect: Dialect, columns: Sequence[Column], rows: pa.RecordBatch) -> str | None:
    """Describe the first value that the database rejects, with row and column; return ``None`` if it accepts all."""
    with dialect.pool.lend(BULK) as connection:
        for column, values in zip(columns, rows.columns, strict=False):
            error = _refused(dialect, connection, column, values)
            if error is not None:
                first, error = _first(dialect, connection, column, values, error)
                value = shown(values[first])
                short = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
                said = " ".join(dialect.message_of(error).split())
                return f"row {first + 1}, column {column.name!r}: {short!r} does not fit into {column.declared}: {said}"
    return None


def _first(
    dialect: Dialect, connection: Any, column: Column, values: pa.Array, error: Exception
) -> tuple[int, Exception]:
    start, end = 0, len(values)
    while end - start > 1:
        half = (start + end) // 2
        found = _refused(dialect, connection, column, values[start:half])
        if found is None:
            start = half
        else:
            end, error = half, found
    return start, error


def _refused(dialect: Dialect, connection: Any, column: Column, values: pa.Array) -> Exception | None:
    """Return the error if the database rejects values in a temporary table; ``None`` if it accepts them."""
    collated = f" COLLATE {column.collation}" if column.collation else ""
    rows = pa.RecordBatch.from_arrays([values], names=[column.name])
    dialect.begin_rows(connection)
    try:
        made = f"{dialect.quoted(_TRIED)} ({dialect.quoted(column.name)} {column.declared}{collated} NULL)"
        dialect.execute(connection, f"CREATE TEMPORARY TABLE {made}{dialect.table_options}")
        put(dialect, connection, (_TRIED,), [column], rows, temporary=True, raw=_RAW)
    except Exception as error:
        return getattr(error, "orig", None) or error
    finally:
        connection.rollback()
        if dialect.ddl_commits:
            for name in (_TRIED, _RAW):
                dialect.execute(connection, f"DROP TEMPORARY TABLE IF EXISTS {dialect.quoted(name)}")
    return None


def put(
    dialect: Dialect,
    connection: Any,
    place: tuple[str, ...],
    columns: Sequence[Column],
    rows: pa.RecordBatch,
    *,
    temporary: bool,
    raw: str,
) -> None:
    """Insert rows into a table; the first columns of ``rows`` correspond to ``columns``.

    Values of columns that are not ``direct`` are first inserted as strings into the temporary table ``raw``; the
    database casts them from there. ``connection`` is a connection for rows, in a transaction.
    """
    if all(column.direct for column in columns):
        dialect.copy(connection, place, rows, temporary=temporary)
        return
    quoted = dialect.quoted
    dialect.execute(connection, dialect.create_table((raw,), rows.schema, (), temporary=True))
    dialect.copy(connection, (raw,), rows, temporary=True)
    names = ", ".join(quoted(name) for name in rows.schema.names)
    casts = {column.name: column.cast for column in columns if column.cast}
    values = ", ".join(
        f"CAST({quoted(name)} AS {casts[name]})" if name in casts else quoted(name) for name in rows.schema.names
    )
    dialect.execute(connection, f"{dialect.insert(quoted(*place), names)} SELECT {values} FROM {quoted(raw)}")
    dialect.execute(connection, dialect.drop_temporary(quoted(raw)))
