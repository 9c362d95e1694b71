"""Keys in MySQL and MariaDB, where collations may ignore case, accents or trailing spaces.

Key columns that a sink creates have a binary collation without padding. In an existing table, different keys may be
equal under the table's collation; the sink reports how many keys were merged.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.quantity import pick

if TYPE_CHECKING:
    from seatunnel_core.connectors.jdbc.databases.dialect import Dialect

_log = logging.getLogger(__name__)

_COLLATION = b"seatunnel.collation"
_EXACT: Mapping[str, tuple[str, ...]] = {"mysql": ("utf8mb4_0900_bin", "utf8mb4_nopad_bin", "utf8mb4_bin")}
"""Binary collations, best first: for MySQL 8, for MariaDB, and for MySQL 5.7, which ignores trailing spaces."""

_MERGES_NOTHING = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin", "binary")


def with_exact_keys(dialect: "Dialect", connection: Any, columns: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """Return the columns of a new table, with the server's best binary collation for key columns of type string."""
    exact = _EXACT.get(dialect.address.kind, ())
    texts = [name for name in keys if of.is_string(columns.field(name).type)]
    if not exact or not texts:
        return columns
    names = ", ".join(map(dialect.literal, exact))
    asked = f"SELECT COLLATION_NAME FROM information_schema.COLLATIONS WHERE COLLATION_NAME IN ({names})"
    there = {str(name) for (name,) in dialect.ask(connection, asked)}
    best = next((name for name in exact if name in there), None)
    if best is None:
        return columns
    marked = {_COLLATION: best.encode()}
    return pa.schema([column.with_metadata(marked) if column.name in texts else column for column in columns])


def collated(declared: str, column: pa.Field) -> str:
    """Return the declared type of a new column, including any collation set by ``with_exact_keys``."""
    found = (column.metadata or {}).get(_COLLATION)
    return f"{declared} COLLATE {found.decode()}" if found else declared


def report_merged(
    dialect: "Dialect", connection: Any, table: DatabaseTable, path: Sequence[str], staging: str, keys: Sequence[str]
) -> int:
    """Report and return the number of staged keys that are equal to another key under the table's collation."""
    if dialect.address.kind not in _EXACT:
        return 0
    collations = {each.name: each.collation for each in table.columns if each.name in keys and each.collation}
    merging = {name: collation for name, collation in collations.items() if collation not in _MERGES_NOTHING}
    if not merging:
        return 0
    ((among, there),) = dialect.ask(connection, _counts(dialect, dialect.quoted(*path), staging, keys))
    merged = int(among) + int(there)
    if merged:
        how = ", ".join(f"{name}: {collation}" for name, collation in merging.items())
        _log.warning(
            "the sink Jdbc: %s of the table %s merged into a row with a different key, because the collation "
            "treats the two keys as equal (%s). The table therefore contains that many fewer rows than were "
            "committed. Use a binary collation without padding for the key: utf8mb4_0900_bin in MySQL, "
            "utf8mb4_nopad_bin in MariaDB",
            pick(merged, "row"),
            dialect.table_name(tuple(path)),
            how,
        )
    return merged


def _counts(dialect: "Dialect", table: str, staging: str, keys: Sequence[str]) -> str:
    """Return a SELECT that counts staged keys equal to another staged key, and those equal to a key in the table."""
    quoted = [dialect.quoted(name) for name in keys]
    listed = ", ".join(quoted)
    exact = ", ".join(f"CAST({name} AS BINARY) AS k{number}" for number, name in enumerate(quoted))
    equal = f"(SELECT DISTINCT {listed} FROM {staging})"
    written = f"(SELECT DISTINCT {exact} FROM {staging})"
    among = f"(SELECT count(*) FROM {written} AS w) - (SELECT count(*) FROM {equal} AS k)"
    same = " AND ".join(f"s.{name} = t.{name}" for name in quoted)
    differ = " OR ".join(f"CAST(s.{name} AS BINARY) <> CAST(t.{name} AS BINARY)" for name in quoted)
    there = f"(SELECT count(*) FROM {equal} AS s JOIN {table} AS t ON {same} WHERE {differ})"
    return f"SELECT {among}, {there}"
