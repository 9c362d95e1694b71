"""Strings with column placeholders, such as ``user:${id}``, for keys and names in a store."""

import re
from collections.abc import Sequence

import pyarrow as pa

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.staging.table_names import VARIABLES, filled
from seatunnel_core.rows.value_text import plain_bytes

_OF_TABLE = "|".join(VARIABLES)
_PLACEHOLDER = re.compile(rf"\$\{{(?!(?:{_OF_TABLE})[:}}])(?P<name>[^{{}}]+)\}}|(?<!\$)\{{(?P<old>[^{{}}$]+)\}}")


class ColumnTemplate:
    """Option value with column placeholders: ``${column}`` or, as in SeaTunnel, ``{column}``.

    A value without placeholders is the name of a column or, if there is no such column, a constant. Variables of the
    table, such as ``${table_name}``, are replaced; braces in their values are literal.
    """

    def __init__(self, option: str, written: str, schema: TableSchema, *, placeholders: bool) -> None:
        """Create a template. Raise SinkError if the table lacks a column."""
        parts: Sequence[str] = (written,)
        if placeholders:
            parts = _PLACEHOLDER.split(written)
        elif written in schema.columns.names:
            parts = ("", written, "", "")
        self.texts = [filled(text, schema) for text in parts[::3]]
        """Texts before, between and after the values."""

        self.columns = [name or old for name, old in zip(parts[1::3], parts[2::3], strict=True)]
        """Columns of the values."""

        require_columns(option, self.columns, schema)

    def values(self, rows: pa.RecordBatch) -> list[bytes]:
        """Return the string for each row. Raise RowError if a value is null or has no string form."""
        found = [self.texts[0].encode()] * rows.num_rows
        for column, text in zip(self.columns, self.texts[1:], strict=True):
            values = present_bytes(rows, column)
            found = [before + value + text.encode() for before, value in zip(found, values, strict=True)]
        return found


def present_bytes(rows: pa.RecordBatch, column: str) -> list[bytes]:
    """Return the values of a key column. Raise RowError if a value is null."""
    found = column_bytes(rows, column)
    if None in found:
        where = f"column {column!r}, row {found.index(None) + 1} of a batch"
        raise RowError(f"{where}: the value is null, but the column is part of the key", column=column)
    return [value for value in found if value is not None]


def column_bytes(rows: pa.RecordBatch, column: str) -> list[bytes | None]:
    """Convert the values of a column with ``plain_bytes``. Raise RowError if a value cannot be converted."""
    values = rows.column(column)
    try:
        return [plain_bytes(value, values.type) for value in values.to_pylist()]
    except ValueError as error:
        raise RowError(f"column {column!r}: {error}", column=column) from None
