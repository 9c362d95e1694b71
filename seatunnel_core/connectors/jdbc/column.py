"""A column of a table or of a query in a database."""

import pyarrow as pa
from attrs import field, frozen


@frozen(kw_only=True)
class Column:
    """As the database has it, and as rows get it."""

    name: str

    declared: str
    """The type in the words of the database: ``numeric(15,2)``."""

    arrow: pa.DataType
    """What its values become in rows."""

    read: str = field(repr=False)
    """The expression that a SELECT has for it, with ``{}`` for its quoted name: ``{}::text``."""

    misfit: str = field(default="", repr=False)
    """An expression, as ``read``, of the text of a value that rows cannot hold, null for all others; ``""`` where the
    value itself shows it. It is asked for behind all columns."""

    generated: bool = False
    """Whether the database computes its values, so that nobody else may write them."""

    direct: bool = True
    """Whether a value of type ``arrow`` can be copied into a column of the declared type as it is; otherwise it goes in
    as a text, and the database converts it."""

    cast: str = field(default="", repr=False)
    """The type into which a text has to be converted before the column takes it; ``""`` where it does so by itself. It
    has no length: a cast would cut what is too long, and the column refuses it."""

    collation: str = ""
    """How the database compares its texts, where a column that is made like it would not get that by itself."""

    order: str = ""
    """The name of the order in which rows are cut by it, among ``Dialect.orders``."""

    in_utc: bool = False
    """Whether it has no time zone and takes moments that have one, as they are in UTC."""

    nullable: bool = True
    filled: bool = False
    """Whether the database has a value for it when an inserted row brings none: a default, a generated number."""


@frozen(kw_only=True)
class DatabaseTable:
    """A table that is there."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """The columns of each unique index or constraint, the primary key included."""

    others_unique: bool = False
    """Whether there are several keys, where the database cannot be told by which of them a row is replaced."""

    transactional: bool = True
    """Whether rows that come in a transaction go when it is rolled back."""

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def is_unique(self, names: tuple[str, ...]) -> bool:
        """Whether no two rows have the same values in these columns, and the database sees to it."""
        return any(set(key) == set(names) for key in self.unique_keys)
