"""Columns and tables of a database."""

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connectors.tables.database import TableColumn


@frozen(kw_only=True)
class Column(TableColumn):
    """A column: its declaration in the database, and its type in rows."""

    arrow: pa.DataType
    """Type of its values in rows."""

    read: str = field(default="{}", repr=False)
    """Expression that reads it in a SELECT, with ``{}`` for its quoted name: ``{}::text``."""

    misfit: str = field(default="", repr=False)
    """Expression, like ``read``, for values that rows cannot represent: returns these as strings, null for all others.
    ``""`` if this can be detected from the value itself. In a SELECT it follows all columns.
    """

    direct: bool = True
    """True if a value of type ``arrow`` can be copied into the column unchanged. Otherwise it is sent as a string,
    which the database converts."""

    cast: str = field(default="", repr=False)
    """Type to which a string is cast before it is inserted; ``""`` if the database converts it implicitly. It has no
    length: a cast would truncate a long value, while the column rejects it.
    """

    collation: str = ""
    """Collation, if a new column of the same declared type would not get it by default."""

    order: str = ""
    """Key in ``Dialect.orders`` of the order in which its rows are divided into splits."""

    in_utc: bool = False
    """True if the column has no time zone, so that timestamps with a time zone are stored in UTC."""

    zone: str = ""
    """Session time zone, if values of the column are displayed and compared in it."""


@frozen(kw_only=True)
class DatabaseTable:
    """Columns and keys of an existing table."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """Columns of each unique index or constraint, including the primary key."""

    others_unique: bool = False
    """True if there are several keys and the database's upsert cannot select one of them."""

    transactional: bool = True
    """True if a rollback removes the rows that were inserted in the transaction."""

    def column(self, name: str) -> Column | None:
        """Return the column with a name; ``None`` if there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def is_unique(self, names: tuple[str, ...]) -> bool:
        """Return True if a unique index or constraint covers exactly these columns, in any order."""
        return any(set(key) == set(names) for key in self.unique_keys)
