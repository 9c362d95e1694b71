"""Random tables and rows with their bytes in the log, for property tests."""

import datetime
import struct
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from attrs import frozen

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from tests.connectors.mysql_log import encoder as write
from tests.connectors.mysql_log.encoder import WrittenColumn

EPOCH = datetime.datetime(1970, 1, 1)


@frozen
class Kind:
    """A kind of column: its values, and their bytes."""

    declared: str
    type: int
    values: st.SearchStrategy[Any]
    encode: Callable[[Any], bytes]
    meta: bytes = b""
    charset: str = ""


def integer(declared: str, kind: int, size: int, *, unsigned: bool = False) -> Kind:
    bits = 8 * size
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    values = st.integers(low, high)
    return Kind(declared, kind, values, lambda n: n.to_bytes(size, "little", signed=not unsigned))


def decimal(precision: int, scale: int) -> Kind:
    most = 10**precision - 1
    values = st.integers(-most, most).map(lambda n: shown(n, scale))
    meta = bytes([precision, scale])
    return Kind(
        f"decimal({precision},{scale})",
        ct.NEWDECIMAL,
        values,
        lambda text: write.decimal(text, precision, scale),
        meta,
    )


def shown(number: int, scale: int) -> str:
    digits = str(abs(number)).rjust(scale + 1, "0")
    return ("-" if number < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def moment(digits: int) -> st.SearchStrategy[datetime.datetime]:
    step = 10 ** (6 - digits)
    found = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59))
    return found.map(lambda each: each.replace(microsecond=each.microsecond // step * step))


def datetimes(digits: int) -> Kind:
    declared = f"datetime({digits})" if digits else "datetime"
    return Kind(declared, ct.DATETIME2, moment(digits), lambda v: write.datetime2(v, digits), bytes([digits]))


def timestamps(digits: int) -> Kind:
    step = 10 ** (6 - digits)
    values = st.integers(1_000_000, ((1 << 32) - 1) * 1_000_000).map(lambda n: n // step * step)

    def encode(micros: int) -> bytes:
        return (micros // 1_000_000).to_bytes(4, "big") + write.fraction(micros % 1_000_000, digits)

    declared = f"timestamp({digits})" if digits else "timestamp"
    moments = values.map(lambda n: EPOCH + datetime.timedelta(microseconds=n))
    return Kind(
        declared, ct.TIMESTAMP2, moments, lambda v: encode((v - EPOCH) // datetime.timedelta(microseconds=1)),
        bytes([digits]),
    )  # fmt: skip


def clock(digits: int) -> Kind:
    step = 10 ** (6 - digits)
    values = st.integers(0, 86_400_000_000 - 1).map(lambda n: n // step * step)
    times = values.map(lambda n: (datetime.datetime.min + datetime.timedelta(microseconds=n)).time())

    def encode(value: datetime.time) -> bytes:
        seconds = value.hour * 3_600 + value.minute * 60 + value.second
        return write.time2(seconds * 1_000_000 + value.microsecond, digits)

    return Kind(f"time({digits})" if digits else "time", ct.TIME2, times, encode, bytes([digits]))


def text(declared: str, kind: int, meta: bytes, size: int, charset: str, codec: str, most: int = 40) -> Kind:
    if codec in ("utf-8", "utf-16-be", "utf-32-be"):
        alphabet = st.characters(exclude_categories=["Cs"])
    else:
        alphabet = st.characters(codec="latin-1", min_codepoint=160) | st.characters(codec="ascii")
    values = st.text(alphabet, max_size=most)
    return Kind(declared, kind, values, lambda v: write.sized(v.encode(codec), size), meta, charset)


def old_datetime(value: datetime.datetime) -> bytes:
    return int(value.strftime("%Y%m%d%H%M%S") if value.year > 999 else _digits(value)).to_bytes(8, "little")


def _digits(value: datetime.datetime) -> str:
    return f"{value.year:04d}{value.month:02d}{value.day:02d}{value.hour:02d}{value.minute:02d}{value.second:02d}"


MEMBERS = ("a", "b'c", "ä", "", "x,y")
ENUM = "enum('a','b''c','ä','','x,y')"

KINDS = (
    integer("tinyint", ct.TINY, 1),
    integer("tinyint unsigned", ct.TINY, 1, unsigned=True),
    integer("smallint(5)", ct.SHORT, 2),
    integer("smallint unsigned", ct.SHORT, 2, unsigned=True),
    integer("mediumint", ct.INT24, 3),
    integer("mediumint unsigned", ct.INT24, 3, unsigned=True),
    integer("int(11)", ct.LONG, 4),
    integer("int unsigned zerofill", ct.LONG, 4, unsigned=True),
    integer("bigint", ct.LONGLONG, 8),
    integer("bigint unsigned", ct.LONGLONG, 8, unsigned=True),
    Kind("float", ct.FLOAT, st.floats(width=32, allow_nan=False), lambda v: struct.pack("<f", v), b"\4"),
    Kind("double", ct.DOUBLE, st.floats(allow_nan=False), lambda v: struct.pack("<d", v), b"\x08"),
    *(decimal(*each) for each in ((1, 0), (9, 9), (10, 2), (18, 0), (19, 7), (38, 10), (39, 1), (65, 30), (30, 30))),
    Kind("bit(1)", ct.BIT, st.booleans(), lambda v: bytes([v]), b"\1\0"),
    Kind("bit(17)", ct.BIT, st.binary(min_size=3, max_size=3), bytes, b"\1\2"),
    Kind("bit(8)", ct.BIT, st.binary(min_size=1, max_size=1), bytes, b"\0\1"),
    Kind("year(4)", ct.YEAR, st.just(0) | st.integers(1901, 2155), lambda v: bytes([v and v - 1900])),
    Kind("date", ct.DATE, st.dates(), lambda v: (v.year << 9 | v.month << 5 | v.day).to_bytes(3, "little")),
    *(datetimes(digits) for digits in range(7)),
    *(timestamps(digits) for digits in range(7)),
    *(clock(digits) for digits in range(7)),
    Kind("datetime", ct.DATETIME, moment(0), old_datetime),
    Kind(
        "time",
        ct.TIME,
        st.times().map(lambda v: v.replace(microsecond=0)),
        lambda v: (v.hour * 10_000 + v.minute * 100 + v.second).to_bytes(3, "little"),
    ),
    text("varchar(20)", ct.VARCHAR, b"\x50\0", 1, "utf8mb4", "utf-8", 20),
    text("varchar(300)", ct.VARCHAR, b"\xb0\4", 2, "utf8mb4", "utf-8", 300),
    text("varchar(300)", ct.VARCHAR, b"\x2c\1", 2, "latin1", "latin-1", 300),
    text("char(10)", ct.STRING, b"\xfe\x28", 1, "utf8mb4", "utf-8", 10),
    text("char(255)", ct.STRING, b"\xce\xfc", 2, "utf8mb4", "utf-8"),
    text("varchar(10)", ct.VARCHAR, b"\x28\0", 1, "utf16", "utf-16-be", 10),
    text("text", ct.BLOB, b"\2", 2, "utf8mb3", "utf-8"),
    text("longtext", ct.BLOB, b"\4", 4, "utf32", "utf-32-be"),
    Kind("blob", ct.BLOB, st.binary(max_size=300), lambda v: write.sized(v, 2), b"\2"),
    Kind("varbinary(9)", ct.VARCHAR, st.binary(max_size=9), lambda v: write.sized(v, 1), b"\x09\0"),
    Kind(
        "binary(4)",
        ct.STRING,
        st.binary(min_size=4, max_size=4),
        lambda v: write.sized(v.rstrip(b"\0"), 1),
        b"\xfe\4",
    ),
    Kind("geometry", ct.GEOMETRY, st.binary(max_size=30), lambda v: write.sized(v, 4), b"\4"),
    Kind(
        ENUM,
        ct.STRING,
        st.sampled_from(MEMBERS),
        lambda v: bytes([MEMBERS.index(v) + 1]),
        b"\xf7\1",
        "utf8mb3",
    ),
    Kind(
        "set('k','l','m')",
        ct.STRING,
        st.sets(st.sampled_from("klm")).map(lambda v: ",".join(sorted(v))),
        lambda v: bytes([sum(1 << "klm".index(each) for each in v.split(",") if each)]),
        b"\xf8\1",
        "utf8mb3",
    ),
)  # fmt: skip


def column(kind: Kind, number: int) -> WrittenColumn:
    declared = DeclaredColumn(name=f"c{number}", declared=kind.declared, charset=kind.charset)
    return WrittenColumn(declared, kind.type, kind.meta)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Kind], list[list[Any]]]:
    """Draw the kinds of the columns of a table, and rows of it."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=12))
    row = st.tuples(*(st.none() | kind.values for kind in kinds)).map(list)
    return kinds, draw(st.lists(row, min_size=1, max_size=6))


def encoded(kinds: list[Kind], row: list[Any]) -> list[bytes | None]:
    return [None if value is None else kind.encode(value) for kind, value in zip(kinds, row, strict=True)]
