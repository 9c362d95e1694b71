"""A column of a table or of a query in a database."""

import pyarrow as pa
from attrs import field, frozen


@frozen(kw_only=True)
class Column:
    """A column: its declaration in the database, and its type in rows."""

    name: str

    declared: str
    """The type as the database writes it: ``numeric(15,2)``."""

    arrow: pa.DataType
    """The type of its values in rows."""

    read: str = field(repr=False)
    """The expression that a SELECT has for it, with ``{}`` for its quoted name: ``{}::text``."""

    misfit: str = field(default="", repr=False)
    """An expression, like ``read``, that gives the text of a value that rows cannot hold, and null for all others.
    ``""`` where the value itself shows that it does not fit. A SELECT has it after all columns."""

    generated: bool = False
    """Whether the database computes its values, so that a sink must not write them."""

    direct: bool = True
    """Whether a value of type ``arrow`` can be copied into the column unchanged. Otherwise it is sent as a text, which
    the database converts."""

    cast: str = field(default="", repr=False)
    """The type to which a text is cast before it is inserted; ``""`` where the database converts it implicitly. It has
    no length: a cast would truncate a long value, while the column rejects it."""

    collation: str = ""
    """The collation, where a new column of the same declared type would not get it by default."""

    order: str = ""
    """The key in ``Dialect.orders`` of the order in which its rows are divided into splits."""

    in_utc: bool = False
    """Whether it has no time zone and stores timestamps with one converted to UTC."""

    zone: str = ""
    """The zone of the session, where that is what its values are shown and compared in."""

    nullable: bool = True
    filled: bool = False
    """Whether the database fills it when an INSERT omits it: a default, or a generated number."""


@frozen(kw_only=True)
class DatabaseTable:
    """The columns and keys of an existing table."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """The columns of each unique index or constraint, the primary key included."""

    others_unique: bool = False
    """Whether there are several keys and the database's upsert cannot name the one by which a row is replaced."""

    transactional: bool = True
    """Whether a rollback removes the rows that were inserted in the transaction."""

    def column(self, name: str) -> Column | None:
        """Return the column of a name, or ``None``."""
        return next((column for column in self.columns if column.name == name), None)

    def is_unique(self, names: tuple[str, ...]) -> bool:
        """Return whether a unique index or constraint covers exactly these columns, in any order."""
        return any(set(key) == set(names) for key in self.unique_keys)
