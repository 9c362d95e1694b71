"""Columns of a logged table: their Arrow types, and the conversion of their values."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.declared import (
    TYPES,
    DeclaredColumn,
    is_unsigned,
    kind_of,
    members_of,
    numbers_of,
    type_text,
)
from seatunnel_core.connectors.mysql_log.errors import LogError, TableShapeError
from seatunnel_core.connectors.mysql_log.table_map import RawColumn, TableMap
from seatunnel_core.connectors.mysql_log.values import addresses, numbers, temporal, texts
from seatunnel_core.connectors.mysql_log.values.charsets import BINARY, charset_of, decoder_of
from seatunnel_core.connectors.mysql_log.values.converted import Convert, Converted, Values

_HIDDEN = re.compile(r"[0-9a-f]{32}")
"""Pattern of the names of functional-index columns in MySQL 8.0.13 to 8.0.16."""

_OF_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "inet4", "inet6", "uuid")
"""Declared types that are stored as bytes in the log."""

_BEYOND_BMP = ("utf8mb4", "utf16", "utf16le", "utf32", "gb18030")
"""Character sets with characters that MySQL 5.7 replaces with ``?`` in its catalog."""

_ADDRESSES: Mapping[str, Callable[[bytes], str]] = {
    "inet4": addresses.inet4_text,
    "inet6": addresses.inet6_text,
    "uuid": addresses.uuid_text,
}
"""Formatters for MariaDB types that are bytes in the log, keyed by declared type."""

_REMEDY = "run SET GLOBAL binlog_row_metadata = 'FULL' on the server, or declare the columns"


@frozen(kw_only=True)
class ValueRules:
    """Settings for the representation of values, which correspond to options of the ``Jdbc`` source."""

    zone: str = field(default="UTC")
    """Session time zone of TIMESTAMP values: a name or an offset such as ``+05:30``."""

    zero_is_null: bool = False
    """True to read the date 0000-00-00 as null; False to report it as a value that cannot be represented."""

    json_of_5_7: bool = False
    """True to write integral doubles in JSON documents without a decimal point, like MySQL 5.7: 1 instead of 1.0."""

    @zone.validator
    def _require_known(self, _: object, zone: str) -> None:
        try:
            pc.local_timestamp(pa.scalar(0, pa.timestamp("us", zone)))
        except pa.ArrowException:
            raise LogError(
                f"the time zone {zone!r} is unknown; write an offset such as +05:30, or a name such as Europe/Berlin"
            ) from None


@frozen(kw_only=True)
class LogColumn:
    """A column of a captured table."""

    name: str
    raw: RawColumn = field(repr=False)
    unsigned: bool
    arrow: pa.DataType
    convert: Convert = field(repr=False, eq=False)
    """Function that converts logged values to Arrow."""

    hidden: bool = False
    """True for a column of a functional index, which SELECT does not return."""


def columns_of(
    table: TableMap,
    declared: Sequence[DeclaredColumn],
    rules: ValueRules,
    selects: Callable[[str], bool] | None = None,
) -> tuple[LogColumn, ...]:
    """Return the columns of a logged table.

    Args:
        table: The table map in the log.
        declared: The columns according to the database; empty if the log must describe them completely.
        rules: Settings for the representation of values.
        selects: Selects columns by name. All selected columns are declared, and the log must contain names. ``None`` to
            select all columns.

    Raises:
        TableShapeError: The declaration differs from the log, or neither of them describes the columns completely.
    """
    name = f"{table.database}.{table.table}"
    names = {each.name for each in declared}
    hidden = [_is_hidden(raw.name, names) or _is_unselected(name, raw, selects) for raw in table.columns]
    _require_count(name, table, declared, hidden)
    rest = iter(declared)
    found = []
    for number, (raw, is_hidden) in enumerate(zip(table.columns, hidden, strict=True)):
        known = None if is_hidden else next(rest, None)
        if is_hidden or (known is not None and known.hidden):
            found.append(_hidden(raw))
            continue
        if known is not None:
            _require_same(name, number, raw, known)
        found.append(_column(name, raw, known, rules))
    return tuple(found)


def _require_count(name: str, table: TableMap, declared: Sequence[DeclaredColumn], hidden: Sequence[bool]) -> None:
    """Raise TableShapeError if the log and the declaration have different numbers of columns."""
    logged = len(hidden) - sum(hidden)
    if not declared or len(declared) == logged:
        return
    names = [column.name for column in table.columns]
    shown = f" ({', '.join(str(each) for each in names)})" if None not in names else ""
    remedy = "; a system-versioned table cannot be captured" if {"row_start", "row_end"} <= set(names) else ""
    raise TableShapeError(
        f"{name} has {logged} columns in the log{shown}, but {len(declared)} are declared: "
        f"{', '.join(each.name for each in declared)}{remedy}"
    )


def _is_unselected(table: str, raw: RawColumn, selects: Callable[[str], bool] | None) -> bool:
    """Return True if a column is not selected.

    Raises:
        TableShapeError: The log does not contain the name of the column.
    """
    if selects is None:
        return False
    if raw.name is None:
        raise TableShapeError(
            f"the log does not name the columns of {table}, and some of them are not selected; run SET GLOBAL "
            "binlog_row_metadata = 'FULL' on the server, and start a new job"
        )
    return not selects(raw.name)


def _is_hidden(name: str | None, declared: set[str]) -> bool:
    """Return True if a name has the form of the names that MySQL generates for columns of functional indexes.

    Before MySQL 8.0.17, only a declaration of the columns can distinguish these names from user-defined names.
    """
    if name is None or name in declared:
        return False
    return name.startswith("!hidden!") or bool(declared and _HIDDEN.fullmatch(name))


def _hidden(raw: RawColumn) -> LogColumn:
    return LogColumn(
        name=raw.name or "", raw=raw, unsigned=bool(raw.unsigned), arrow=pa.null(), convert=_nothing, hidden=True
    )


def _nothing(values: Values) -> Converted:
    return pa.nulls(len(values)), {}


def _require_same(table: str, number: int, raw: RawColumn, known: DeclaredColumn) -> None:
    """Raise TableShapeError if the declaration of a column differs from the log."""
    where = f"{table}: column {number + 1}"
    if raw.name is not None and raw.name != known.name:
        raise TableShapeError(f"{where} is named {raw.name} in the log, but {known.name} is declared")
    kind = kind_of(known.declared)
    if kind not in TYPES:
        raise TableShapeError(
            f"{where}, {known.name}, has the type {known.declared}, which this version does not support"
        )
    binary = raw.collation == BINARY
    shown = type_text(raw.type, raw.meta, unsigned=bool(raw.unsigned), binary=binary)
    differs = raw.type not in TYPES[kind]
    differs |= raw.unsigned is not None and raw.unsigned != is_unsigned(known.declared)
    differs |= raw.collation is not None and raw.type in ct.TEXTS and binary != (kind in _OF_BYTES)
    differs |= _differs(kind, raw, numbers_of(known.declared))
    if differs:
        raise TableShapeError(
            f"{where}, {known.name}, has the type {shown} in the log, but {known.declared} is declared"
        )


def _differs(kind: str, raw: RawColumn, lengths: Sequence[int]) -> bool:
    """Return True if the lengths in a declaration differ from the metadata in the log."""
    if kind == "decimal":
        return tuple([*lengths, 10, 0][:1] + ([*lengths, 0] if len(lengths) < 2 else list(lengths))[1:2]) != raw.meta
    if kind == "bit":
        return [*lengths, 1][0] != raw.meta[0] + 8 * raw.meta[1]
    if raw.type in (ct.TIME2, ct.DATETIME2, ct.TIMESTAMP2):
        return [*lengths, 0][0] != raw.meta[0]
    if raw.type in (ct.TIME, ct.DATETIME, ct.TIMESTAMP):
        return bool(lengths and lengths[0])  # MariaDB 5.3 does not log the size of its format with fractions.
    return False


def _column(table: str, raw: RawColumn, known: DeclaredColumn | None, rules: ValueRules) -> LogColumn:
    name = known.name if known is not None else raw.name
    if name is None:
        raise TableShapeError(f"the log does not name the columns of {table}; {_REMEDY}")
    where = f"{table}: column {name}"
    unsigned = is_unsigned(known.declared) if known is not None else raw.unsigned
    if unsigned is None and raw.type in ct.SIGNED:
        raise TableShapeError(f"{where}: the log does not state whether the column is unsigned; {_REMEDY}")
    charset = _charset(where, raw, known)
    members = _members(where, raw, known, charset)
    declared = known.declared if known is not None else _declared(raw, unsigned=bool(unsigned), charset=charset)
    arrow = known.arrow if known is not None and known.arrow is not None else column_of(name, declared).arrow
    address = _ADDRESSES.get(kind_of(declared))
    convert: Convert
    if address is not None:
        convert = partial(texts.address, arrow=arrow, length=raw.meta[0], write=address)
    else:
        convert = _conversion(raw, arrow, rules, unsigned=bool(unsigned), charset=charset, members=members)
    return LogColumn(name=name, raw=raw, unsigned=bool(unsigned), arrow=arrow, convert=convert)


def _declared(raw: RawColumn, *, unsigned: bool, charset: str) -> str:
    return type_text(raw.type, raw.meta, unsigned=unsigned, binary=charset == "binary")


def _charset(where: str, raw: RawColumn, known: DeclaredColumn | None) -> str:
    """Return the character set of a column; ``binary`` if its values are bytes."""
    if raw.type not in (*ct.TEXTS, ct.ENUM, ct.SET):
        return "binary"
    if raw.collation is not None:
        return charset_of(raw.collation, where)
    if known is None:
        raise TableShapeError(f"{where}: the log does not contain the character set of the column; {_REMEDY}")
    if kind_of(known.declared) in _OF_BYTES:
        return "binary"
    if not known.charset:
        raise TableShapeError(f"{where}: {known.declared} is declared without its character set")
    return known.charset


def _members(where: str, raw: RawColumn, known: DeclaredColumn | None, charset: str) -> tuple[str, ...]:
    if raw.type not in (ct.ENUM, ct.SET):
        return ()
    if raw.members is not None:
        decode = decoder_of(charset)
        return tuple(decode(each) for each in raw.members)
    if known is None:
        raise TableShapeError(f"{where}: the log does not name the members of the column; {_REMEDY}")
    return members_of(known.declared)


def _conversion(
    raw: RawColumn, arrow: pa.DataType, rules: ValueRules, *, unsigned: bool, charset: str, members: Sequence[str]
) -> Convert:
    """Return the function that converts the values of a column."""
    kind, meta = raw.type, raw.meta
    if kind in ct.INTEGERS and kind != ct.INT24:
        return partial(numbers.truth if pa.types.is_boolean(arrow) else numbers.plain, arrow=arrow)
    if kind in (ct.ENUM, ct.SET):
        lossy = raw.members is None and charset in _BEYOND_BMP
        convert = texts.enum if kind == ct.ENUM else texts.set_
        return partial(convert, arrow=arrow, members=members, lossy=lossy)
    if kind in ct.TEXTS:
        return _text(raw, arrow, charset)
    null = rules.zero_is_null
    made: dict[int, Callable[..., Convert]] = {
        **dict.fromkeys((ct.FLOAT, ct.DOUBLE), lambda: partial(numbers.plain, arrow=arrow)),
        ct.INT24: lambda: partial(numbers.int24, arrow=arrow, unsigned=unsigned),
        ct.NEWDECIMAL: lambda: partial(numbers.decimals, arrow=arrow, precision=meta[0], scale=meta[1]),
        ct.YEAR: lambda: partial(numbers.years, arrow=arrow),
        ct.BIT: lambda: partial(numbers.bits, arrow=arrow),
        **dict.fromkeys((ct.DATE, ct.NEWDATE), lambda: partial(temporal.dates, arrow=arrow, zero_is_null=null)),
        ct.DATETIME: lambda: partial(temporal.datetimes, arrow=arrow, zero_is_null=null),
        ct.DATETIME2: lambda: partial(temporal.datetimes2, arrow=arrow, digits=meta[0], zero_is_null=null),
        ct.TIMESTAMP: lambda: partial(temporal.timestamps, arrow=arrow, zone=rules.zone, zero_is_null=null),
        ct.TIMESTAMP2: lambda: partial(
            temporal.timestamps2, arrow=arrow, digits=meta[0], zone=rules.zone, zero_is_null=null
        ),
        ct.TIME: lambda: partial(temporal.times, arrow=arrow),
        ct.TIME2: lambda: partial(temporal.times2, arrow=arrow, digits=meta[0]),
        ct.JSON: lambda: partial(texts.json, arrow=arrow, of_5_7=rules.json_of_5_7),
        ct.GEOMETRY: lambda: partial(texts.binary, arrow=arrow, length=0),
    }
    return made[kind]()


def _text(raw: RawColumn, arrow: pa.DataType, charset: str) -> Convert:
    """Return the function that converts the values of a string or binary column."""
    convert: Convert
    if charset == "binary":
        convert = partial(texts.binary, arrow=arrow, length=raw.meta[0] if raw.type == ct.STRING else 0)
    elif charset in ("utf8mb4", "utf8mb3", "utf8"):
        convert = partial(texts.utf8, arrow=arrow)
    else:
        convert = partial(texts.text, arrow=arrow, decode=decoder_of(charset))
    if raw.type in (ct.BLOB_COMPRESSED, ct.VARCHAR_COMPRESSED):
        return lambda values: convert(texts.compressed(values))
    return convert
