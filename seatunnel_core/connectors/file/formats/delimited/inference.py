"""Inference of columns and their types from the beginning of delimited text."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.csv as csv

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.exact_numbers import is_number, is_shortened
from seatunnel_core.rows.extent import beyond

_DIGIT = re.compile("[0-9]")


def infer(
    text: bytes, names: Sequence[str] | None, dialect: Dialect, *, ragged: bool = False
) -> Mapping[str, pa.DataType]:
    """Infer the columns and types from whole lines of text; a column without values has the type ``null``.

    ``names`` is ``None`` if there is no header. Raise ``RowError`` if the numbers of values differ, unless ``ragged``.
    """
    if not text.strip(b"\r\n"):
        return dict.fromkeys(names or (), pa.null())
    convert = csv.ConvertOptions(
        null_values=dialect.null_values, strings_can_be_null=True, timestamp_parsers=dialect.timestamp_parsers
    )
    try:
        parse = _parser(text, names, dialect, ragged=ragged)
        table = parse(convert)
    except pa.ArrowInvalid as error:
        raise RowError(f"the columns cannot be inferred: {error}") from error
    kinds = [_inferred(column) for column in table.columns]
    numbers = [name for name, kind in zip(table.column_names, kinds, strict=True) if is_number(kind)]
    if numbers:
        convert.column_types, convert.include_columns = dict.fromkeys(numbers, pa.string()), numbers
        texts = set(_texts(table, as_written=parse(convert)))
        kinds = [pa.string() if name in texts else kind for name, kind in zip(table.column_names, kinds, strict=True)]
    found = names or [f"column_{position}" for position in range(1, table.num_columns + 1)]
    return dict(zip(found, kinds, strict=True))


def _parser(
    text: bytes, names: Sequence[str] | None, dialect: Dialect, *, ragged: bool
) -> Callable[[csv.ConvertOptions], pa.Table]:
    """Return a function that parses the text with Arrow using the given conversion options."""
    options = csv.ReadOptions(
        column_names=names,
        autogenerate_column_names=names is None,
        use_threads=False,
        block_size=len(text) + 2,
    )
    text, dialect = dialect.for_arrow(b"\n" + text)
    parse = dialect.parse_options(multiline=bool(dialect.quote))
    if ragged:
        parse.invalid_row_handler = lambda _: "skip"
    return lambda convert: csv.read_csv(pa.BufferReader(text), options, parse, convert)


def _texts(table: pa.Table, as_written: pa.Table) -> Iterator[str]:
    """Yield the columns to read as strings, because numbers would lose digits or no value contains a digit.

    ``nan`` and ``inf`` count as numbers only next to other numbers, because they may be words.
    """
    for name in as_written.column_names:
        kind, found = table.column(name).type, as_written.column(name).unique().drop_null().to_pylist()
        if any(is_shortened(text, kind) for text in found) or not any(map(_DIGIT.search, found)):
            yield name


def _inferred(values: pa.ChunkedArray) -> pa.DataType:
    found = values.type
    if any(beyond(chunk) is not None for chunk in values.chunks):  # The year 0, which few targets support.
        return pa.string()
    if pa.types.is_timestamp(found):
        return _microseconds(values)
    if pa.types.is_time(found):
        return pa.time64("us")
    if not (pa.types.is_primitive(found) or pa.types.is_null(found)):
        return pa.string()
    return found


def _microseconds(values: pa.ChunkedArray) -> pa.DataType:
    """Return a timestamp type; string if a value has more than six fractional digits."""
    kind = pa.timestamp("us", tz="UTC" if values.type.tz else None)
    try:
        values.cast(kind)
    except pa.ArrowInvalid:
        return pa.string()
    return kind
