"""Detection of column names in the first line of files that are read as having no header."""

from collections.abc import Iterator

import pyarrow as pa

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.delimited.inference import infer

LOOKED_AT_BYTES = 64 << 10
"""Number of bytes at the beginning of a file that are inspected to detect a header line."""


def seems_header(text: bytes, dialect: Dialect) -> bool:
    """Return True if the first line contains only strings and the other lines contain values of other types."""
    first, end, rest = text.partition(b"\n")
    if not end or not rest.strip():
        return False
    try:
        names, rows = infer(first + end, None, dialect), infer(rest, None, dialect)
    except RowError:  # Lines of different lengths, or a value with line breaks.
        return False
    alike = len(names) == len(rows) and all(map(_is_text, names.values()))
    return alike and not all(map(_is_text, rows.values()))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_null(kind))


def noting_names(
    rows: Iterator[pa.RecordBatch], path: str, what_to_write: str, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, starting with its first line; warn if that line contains the column names."""
    for number, batch in enumerate(rows):
        if number == 0 and batch.num_rows and _holds_names(batch):
            context.note(
                f"contain the column names as values; if the files start with a header line, set {what_to_write}",
                f"{path}, line 1",
            )
        yield batch


def _holds_names(batch: pa.RecordBatch) -> bool:
    values = [column[0].as_py() for column in batch.columns]
    named = zip(values, batch.schema.names, strict=True)
    return bool(values) and all(
        isinstance(value, str) and value.strip().lower() == name.lower() for value, name in named
    )
