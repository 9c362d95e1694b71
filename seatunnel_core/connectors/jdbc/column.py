"""Columns and keys of database tables."""

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connectors.tables.database import TableColumn


@frozen(kw_only=True)
class Column(TableColumn):
    """A column: its declaration in the database, and its type in rows."""

    arrow: pa.DataType
    """Type of the column's values in rows."""

    read: str = field(default="{}", repr=False)
    """Expression that reads the column in a SELECT, with ``{}`` for its quoted name, such as ``{}::text``."""

    misfit: str = field(default="", repr=False)
    """Expression that returns, as strings, the values that rows cannot represent, and null for other values; ``""`` if
    rows can represent every value. In a SELECT, these expressions follow all columns.
    """

    direct: bool = True
    """True if values of type ``arrow`` can be copied into the column; if False, they are sent as strings and converted
    by the database."""

    cast: str = field(default="", repr=False)
    """Type for an explicit cast of a string before it is inserted; ``""`` if the database converts it implicitly. The
    type has no length, because a cast would truncate a long value instead of rejecting it."""

    collation: str = ""
    """Collation that a new column needs, if the same declared type would not get it by default."""

    order: str = ""
    """Key in ``Dialect.orders`` of the sort order in which this column divides rows into splits."""

    in_utc: bool = False
    """True if timestamps with a time zone are stored in UTC, because the column has no time zone."""

    zone: str = ""
    """Session time zone in which values of the column are displayed and compared; empty for other columns."""


@frozen(kw_only=True)
class DatabaseTable:
    """Columns and keys of an existing table."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """Columns of each unique index or constraint, including the primary key."""

    others_unique: bool = False
    """True if there are several keys and the database's upsert cannot be restricted to one of them."""

    transactional: bool = True
    """True if a rollback removes rows that were inserted in the transaction."""

    def column(self, name: str) -> Column | None:
        """Return the column with the given name; ``None`` if there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def is_unique(self, names: tuple[str, ...]) -> bool:
        """Return True if a unique index or constraint consists of exactly these columns, in any order."""
        return any(set(key) == set(names) for key in self.unique_keys)
