"""Inference of columns and their types from the beginning of a delimited text."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.csv as csv

from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.exact_numbers import is_number, is_shortened
from seatunnel_core.errors import RowError


def infer(
    text: bytes, names: Sequence[str] | None, dialect: Dialect, *, ragged: bool = False
) -> Mapping[str, pa.DataType]:
    """Return the columns and types that some whole lines of text suggest.

    Args:
        text: the lines.
        names: the names in the header; ``None`` if there is none.
        dialect: how the text is written.
        ragged: whether lines with another number of values are allowed.

    Raises:
        RowError: the lines do not have the same number of values.
    """
    if not text.strip(b"\r\n"):
        return dict.fromkeys(names or (), pa.string())
    options = csv.ReadOptions(
        column_names=names,
        autogenerate_column_names=names is None,
        use_threads=False,
        block_size=len(text) + 2,
    )
    convert = csv.ConvertOptions(
        null_values=dialect.null_values, strings_can_be_null=True, timestamp_parsers=dialect.timestamp_parsers
    )
    try:
        text, dialect = dialect.for_arrow(b"\n" + text)
        parse = dialect.parse_options(multiline=bool(dialect.quote))
        if ragged:
            parse.invalid_row_handler = lambda _: "skip"
        table = csv.read_csv(pa.BufferReader(text), options, parse, convert)
    except pa.ArrowInvalid as error:
        raise RowError(f"the columns cannot be inferred: {error}") from error
    found = names or [f"column_{position}" for position in range(1, table.num_columns + 1)]
    kinds = [_inferred(column) for column in table.columns]
    numbers = [name for name, kind in zip(table.column_names, kinds, strict=True) if is_number(kind)]
    if numbers:
        convert.column_types, convert.include_columns = dict.fromkeys(numbers, pa.string()), numbers
        as_written = csv.read_csv(pa.BufferReader(text), options, parse, convert)
        shortened = {
            name
            for name in numbers
            if any(is_shortened(each, table.column(name).type) for each in as_written.column(name).unique().to_pylist())
        }
        kinds = [
            pa.string() if name in shortened else kind for name, kind in zip(table.column_names, kinds, strict=True)
        ]
    return dict(zip(found, kinds, strict=True))


def _inferred(values: pa.ChunkedArray) -> pa.DataType:
    found = values.type
    if pa.types.is_timestamp(found):
        return _microseconds(values)
    if pa.types.is_time(found):
        return pa.time64("us")
    if pa.types.is_null(found) or not (pa.types.is_primitive(found)):
        return pa.string()
    return found


def _microseconds(values: pa.ChunkedArray) -> pa.DataType:
    """Return the type of timestamps, or of strings if one has more than six digits of a second."""
    kind = pa.timestamp("us", tz="UTC" if values.type.tz else None)
    try:
        values.cast(kind)
    except pa.ArrowInvalid:
        return pa.string()
    return kind
