"""Order of the rows of several tables that are written to one target."""

import enum

import pyarrow as pa
import pyarrow.types as of
from attrs import frozen


class RowOrder(enum.Enum):
    """Extent to which the order of the rows of a target matters."""

    ALL = "all"
    """The order of all rows matters."""

    KEY = "key"
    """Only the order of rows with the same key matters."""

    NONE = "none"
    """The order of rows does not matter."""


@frozen(kw_only=True)
class TargetOrder:
    """Target of the rows of a table, and the order in which its sink needs them."""

    target: str = ""
    """Name that is equal for two tables if their rows are written to one target."""

    order: RowOrder = RowOrder.ALL
    key: tuple[str, ...] = ()
    """Columns of the rows that form the key, for ``RowOrder.KEY``."""

    one_row_per_key: bool = False
    """True if the target has at most one current row with a key. If a key is inserted into another table, a source may
    then omit changes of the former row in the same transaction."""


@frozen(kw_only=True)
class OrderGroup:
    """Tables of a source that may have one target."""

    name: str = ""
    """Name that identifies the group."""

    order: RowOrder = RowOrder.ALL
    """Extent to which the order of the rows matters. For ``RowOrder.KEY``, the key is the primary key of the tables."""

    may_move: bool = False
    """True if rows may move from one table to another: each target has the rows of all these tables, which have the
    same columns, keys of comparable types, and at most one current row with a key. Then a source may omit changes of
    the former row."""

    replaces_rows: bool = False
    """True if a row replaces the whole row with the same key in all targets, so that it may be yielded again."""


def comparable_type(type: pa.DataType) -> pa.DataType:
    """Return the type for comparing keys of tables of a group: ``int64`` for integers, except ``uint64``."""
    return pa.int64() if of.is_integer(type) and type != pa.uint64() else type
