"""Conversion of strings, bytes, ENUM and SET members, and JSON documents to Arrow."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError
from seatunnel_core.connectors.mysql_log.values.compressed_value import uncompressed
from seatunnel_core.connectors.mysql_log.values.converted import Converted, FixedValues, Values, array_of, listed
from seatunnel_core.connectors.mysql_log.values.json_changes import changed_document
from seatunnel_core.connectors.mysql_log.values.json_document import TextBuilder, TextBuilderOf57, document

Decode = Callable[[bytes], str]


def binary(values: Values, arrow: pa.DataType, length: int) -> Converted:
    """Convert bytes. Values of BINARY columns are padded with NUL bytes, which the log omits, up to ``length``."""
    if length:
        values = [None if value is None else value.ljust(length, b"\0") for value in listed(values)]
    return array_of(values, arrow), {}


def utf8(values: Values, arrow: pa.DataType) -> Converted:
    """Convert UTF-8 strings."""
    try:
        return array_of(values, pa.binary()).cast(pa.string()).cast(arrow), {}
    except pa.ArrowInvalid:
        return text(values, arrow, bytes.decode)


def text(values: Values, arrow: pa.DataType, decode: Decode) -> Converted:
    """Convert strings in another character set."""
    found: list[str | None] = []
    misfits: dict[int, str] = {}
    for number, value in enumerate(listed(values)):
        try:
            found.append(None if value is None else decode(value))
        except UnicodeDecodeError as error:
            found.append(None)
            misfits[number] = (
                f"the bytes {value[:30]!r} are not valid in the character set of the column: {error.reason}"
            )
    return pa.array(found, arrow), misfits


def address(values: Values, arrow: pa.DataType, length: int, write: Decode) -> Converted:
    """Format addresses with ``write`` after padding them with NUL bytes, which the log omits, up to ``length``."""
    padded = (None if value is None else value.ljust(length, b"\0") for value in listed(values))
    return pa.array([None if value is None else write(value) for value in padded], arrow), {}


def enum(values: Values, arrow: pa.DataType, members: Sequence[str], *, lossy: bool) -> Converted:
    """Convert the numbers of ENUM members, which start at 1. Number 0 is an invalid value and becomes an empty string.

    Args:
        values: Numbers of members.
        arrow: The string type.
        members: The members.
        lossy: True if a ``?`` in the members may stand for another character.
    """
    names = ["", *members]
    most = _most(values)
    if most >= len(names):
        raise MalformedLogError(f"an ENUM value has the index {most}, but the column has {len(members)} members")
    if isinstance(values, FixedValues) and not lossy:
        return pa.array(names, arrow).take(values.array()), {}
    return _named([None if value is None else names[value] for value in listed(values)], arrow, lossy=lossy)


def _most(values: Values) -> int:
    if isinstance(values, FixedValues):
        return int(values.numbers.max())
    return max((value for value in listed(values) if value is not None), default=0)


def set_(values: Values, arrow: pa.DataType, members: Sequence[str], *, lossy: bool) -> Converted:
    """Convert bit masks of SET members. The arguments are the same as for ``enum``."""
    values = listed(values)
    texts: dict[Any, str | None] = {None: None}
    for value in set(values) - {None}:
        bits = int.from_bytes(value, "little") if isinstance(value, bytes) else value
        if bits >> len(members):
            raise MalformedLogError(f"a SET value has the bits {bits:b}, but the column has {len(members)} members")
        texts[value] = ",".join(member for number, member in enumerate(members) if bits >> number & 1)
    return _named([texts[value] for value in values], arrow, lossy=lossy)


def _named(names: list[str | None], arrow: pa.DataType, *, lossy: bool) -> Converted:
    """Convert member names to strings. Names that may have lost a character cannot be represented."""
    unsure = [number for number, name in enumerate(names) if name is not None and "?" in name] if lossy else []
    misfits = {
        number: (
            f"the member {names[number]!r} may have lost a character in the declaration; run SET GLOBAL "
            "binlog_row_metadata = 'FULL' on the server, which requires MySQL 8.0, or rename the member"
        )
        for number in unsure
    }
    for number in unsure:
        names[number] = None
    return pa.array(names, arrow), misfits


def json(values: Values, arrow: pa.DataType, *, of_5_7: bool) -> Converted:
    """Convert JSON documents, or pairs of a document and its changes, to MySQL's text format."""
    builder = TextBuilderOf57 if of_5_7 else TextBuilder
    return pa.array([None if value is None else _json(value, builder) for value in listed(values)], arrow), {}


def _json(value: bytes | tuple[bytes | None, bytes], builder: type[TextBuilder]) -> str:
    if not isinstance(value, tuple):
        return str(document(value, builder))
    before, changes = value
    if before is None:
        raise MalformedLogError("a change applies to a JSON document that is null")
    return changed_document(before, changes)


def compressed(values: Values) -> list[Any]:
    """Decompress the values of a MariaDB column with the attribute COMPRESSED."""
    return [None if value is None else uncompressed(value) for value in listed(values)]
