"""Images of rows in MySQL and MariaDB, for exact comparison regardless of collations."""

import re
from collections.abc import Sequence

from seatunnel_core.connectors.tables.database import TableColumn

_BITS = 256
_BY_NUMBER = ("bit", "enum", "set")
_GEOMETRY = ("geometry", "point", "linestring", "polygon", "multi", "geomcollection")
_STRINGS = ("char", "varchar", "binary", "varbinary", "tinytext", "text", "mediumtext", "longtext")
_BYTES = ("tinyblob", "blob", "mediumblob", "longblob")


def row_image(columns: Sequence[tuple[TableColumn, str]]) -> str:
    """Return the expression for the image of a row; ``columns`` are pairs of a column and its quoted name."""
    values = (f"IF({name} IS NULL, '-', SHA2({_text(column, name)}, {_BITS}))" for column, name in columns)
    return f"SHA2(CONCAT({', '.join(values)}), {_BITS})"


def _text(column: TableColumn, name: str) -> str:
    """Return a string or byte expression that differs for any two different values of a column."""
    kind = re.match(r"[a-z]+", column.declared.lower())
    found = "" if kind is None else kind[0]
    if found in _STRINGS or found in _BYTES or found.startswith(_GEOMETRY):
        return name
    if found in _BY_NUMBER:  # without CAST, a set of many members is a double, which has 53 bits
        return f"CAST(CAST({name} AS UNSIGNED) AS CHAR)"
    if found == "timestamp":  # a clock that is set back shows an hour twice
        return f"CAST(UNIX_TIMESTAMP({name}) AS CHAR)"
    if found == "float":  # as a string, it has six digits, but a double has all
        return f"CAST({name} * 1E0 AS CHAR)"
    return f"CAST({name} AS CHAR)"
