"""Adjustment of lines with too few or too many values: missing values become null, surplus ones are dropped."""

from attrs import evolve

from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.delimited.records import Record, value_expression


def resized(record: Record, dialect: Dialect, columns: int) -> tuple[Record, int]:
    """Return the record with one value per column if possible, and its original number of values."""
    body = record.text.rstrip(b"\r\n")
    ends = _ends(body, dialect)
    found = len(ends)
    if record.problem or not ends or found == columns:
        return record, columns
    kept = body[: ends[columns - 1]] if found > columns else body + dialect.delimiter_byte * (columns - found)
    return evolve(record, text=kept + record.text[len(body) :]), found


def _ends(body: bytes, dialect: Dialect) -> list[int]:
    """Return the end offset of each value; empty if the values cannot be separated."""
    delimiter = dialect.delimiter_byte
    if not any(sign and sign in body for sign in (dialect.quote_byte, dialect.escape_byte)):
        ends, place = [], body.find(delimiter)
        while place >= 0:
            ends.append(place)
            place = body.find(delimiter, place + len(delimiter))
        return [*ends, len(body)]
    return _ends_with_quotes(body, dialect)


def _ends_with_quotes(body: bytes, dialect: Dialect) -> list[int]:
    value = value_expression(dialect.delimiter_byte, dialect.quote_byte, dialect.escape_byte)
    ends: list[int] = []
    start = 0
    while (match := value.match(body, start)) is not None:
        ends.append(match.end())
        if match.end() == len(body):
            return ends
        if not body.startswith(dialect.delimiter_byte, match.end()):
            break
        start = match.end() + len(dialect.delimiter_byte)
    return []
