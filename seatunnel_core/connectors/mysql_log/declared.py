"""Declared column types and the corresponding types in the log."""

import re

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connectors.mysql_log import column_types as ct


@frozen(kw_only=True)
class DeclaredColumn:
    """A column of a captured table, from ``information_schema.COLUMNS``."""

    name: str
    declared: str
    """``COLUMN_TYPE``, such as ``int(10) unsigned`` or ``enum('a','b')``."""

    charset: str = ""
    """``CHARACTER_SET_NAME`` of a string, an ENUM or a SET; ``""`` for other types."""

    arrow: pa.DataType | None = None
    """Arrow type of the values; ``None`` for the type that the ``Jdbc`` source uses."""

    hidden: bool = False
    """True for a column of a functional index. ``information_schema`` does not list it but skips its
    ``ORDINAL_POSITION``. It need not be declared if the log contains names (``binlog_row_metadata = FULL``).
    """


_BYTES = (ct.STRING,)
_VARYING = (ct.VARCHAR, ct.VARCHAR_COMPRESSED)
_LONG = (ct.BLOB, ct.BLOB_COMPRESSED)
_GEOMETRY = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon")

TYPES: dict[str, tuple[int, ...]] = {
    "tinyint": (ct.TINY,),
    "smallint": (ct.SHORT,),
    "mediumint": (ct.INT24,),
    "int": (ct.LONG,),
    "bigint": (ct.LONGLONG,),
    "decimal": (ct.NEWDECIMAL,),
    "float": (ct.FLOAT,),
    "double": (ct.DOUBLE,),
    "bit": (ct.BIT,),
    "year": (ct.YEAR,),
    "date": (ct.DATE, ct.NEWDATE),
    "time": (ct.TIME2, ct.TIME),
    "datetime": (ct.DATETIME2, ct.DATETIME),
    "timestamp": (ct.TIMESTAMP2, ct.TIMESTAMP),
    **dict.fromkeys(("char", "binary"), _BYTES),
    **dict.fromkeys(("varchar", "varbinary"), _VARYING),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), _LONG),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), _LONG),
    "enum": (ct.ENUM,),
    "set": (ct.SET,),
    "json": (ct.JSON, ct.BLOB),
    **dict.fromkeys(("inet4", "inet6", "uuid"), _BYTES),
    **dict.fromkeys((*_GEOMETRY, "geometrycollection", "geomcollection"), (ct.GEOMETRY,)),
}
"""Log types by declared type."""

_OF_BYTES, _OF_TEXT = ("binary", "varbinary", "blob"), ("char", "varchar", "text")

_KIND = re.compile(r"[a-z]+[46]?")
_NUMBERS = re.compile(r"\(([\d,\s]+)\)")
_MEMBER = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "Z": "\x1a"}


def kind_of(declared: str) -> str:
    """Return the name of a declared type, such as ``int`` for ``int(10) unsigned``."""
    found = _KIND.match(declared)
    return found[0] if found else ""


def numbers_of(declared: str) -> list[int]:
    """Return the numbers in parentheses in a declared type, such as 10 and 2 for ``decimal(10,2)``."""
    found = _NUMBERS.search(declared)
    return [int(each) for each in found[1].split(",")] if found else []


def members_of(declared: str) -> tuple[str, ...]:
    """Return the members of a declared ENUM or SET."""
    return tuple(_unescaped(each) for each in _MEMBER.findall(declared))


def _unescaped(text: str) -> str:
    joined = text.replace("''", "'")
    return re.sub(r"\\(.)", lambda each: _ESCAPED.get(each[1], each[1]), joined, flags=re.DOTALL)


def is_unsigned(declared: str) -> bool:
    """Return True if a declared numeric type is unsigned."""
    return "unsigned" in declared or "zerofill" in declared


def type_text(kind: int, meta: tuple[int, ...], *, unsigned: bool, binary: bool) -> str:
    """Return the declared type that corresponds to a log type, for messages and for undeclared columns."""
    if kind in (ct.STRING, *_VARYING, *_LONG):
        names = _OF_BYTES if binary else _OF_TEXT
        return names[0 if kind == ct.STRING else 1 if kind in _VARYING else 2]
    name = next((name for name, kinds in TYPES.items() if kind in kinds), f"type {kind}")
    if kind == ct.NEWDECIMAL:
        name = f"decimal({meta[0]},{meta[1]})"
    if kind == ct.BIT:
        name = f"bit({meta[0] + 8 * meta[1]})"
    return f"{name} unsigned" if unsigned else name
