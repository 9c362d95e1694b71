"""Compiled readers of row images: Python code that is generated for the columns of a table.

The generated code only contains integers and fixed strings, never data from the log.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.table_map import RawColumn

Append = Callable[[Any], None]
RowProgram = Callable[[bytes, int, int, Sequence[Append]], tuple[int, int]]
"""Function that reads row images between two offsets of a buffer and appends each value to its column.

It returns the number of rows (pairs of images for updates) and the offset after the last one.
"""

_NUMBERS = {ct.TINY: "b", ct.SHORT: "h", ct.LONG: "i", ct.LONGLONG: "q"}
_FLOATS = {ct.FLOAT: "f", ct.DOUBLE: "d"}


@frozen
class Stored:
    """Binary format of a value in a row."""

    code: str
    """``struct`` code of a fixed-size value; ``""`` for other values."""

    size: int
    """Size of a fixed-size value, or of the length field before a variable-size value, in bytes."""


def stored(column: RawColumn, *, unsigned: bool) -> Stored:
    """Return the binary format of a column's values."""
    kind, meta = column.type, column.meta
    if kind in _NUMBERS:
        code = _NUMBERS[kind]
        return Stored(code.upper() if unsigned else code, ct.INTEGERS[kind])
    if kind in _FLOATS:
        return Stored(_FLOATS[kind], {"f": 4, "d": 8}[_FLOATS[kind]])
    if kind in (ct.VARCHAR, ct.STRING, ct.VARCHAR_COMPRESSED):
        return Stored("", 1 if meta[0] < 256 else 2)
    if kind in (ct.BLOB, ct.JSON, ct.GEOMETRY, ct.BLOB_COMPRESSED):
        return Stored("", meta[0])
    if kind == ct.YEAR:
        return Stored("B", 1)
    if kind in (ct.ENUM, ct.SET):
        return Stored({1: "B", 2: "H", 4: "I", 8: "Q"}.get(meta[0], f"{meta[0]}s"), meta[0])
    size = _fixed(kind, meta)
    return Stored(f"{size}s", size)


def _fixed(kind: int, meta: tuple[int, ...]) -> int:
    """Return the size in bytes of a fixed-size value that is read as bytes."""
    if kind == ct.NEWDECIMAL:
        return ct.decimal_bytes(*meta)
    if kind == ct.BIT:
        return meta[1] + (1 if meta[0] else 0)
    with_fraction = {ct.TIME2: 3, ct.TIMESTAMP2: 4, ct.DATETIME2: 5}
    if kind in with_fraction:
        return with_fraction[kind] + ct.fraction_bytes(meta[0])
    return {ct.INT24: 3, ct.DATE: 3, ct.NEWDATE: 3, ct.TIME: 3, ct.TIMESTAMP: 4, ct.DATETIME: 8}[kind]


@frozen
class Image:
    """Columns in a row image."""

    present: tuple[int, ...]
    """Indexes of the columns, in order."""

    forms: tuple[Stored, ...]
    """Binary formats of these columns."""

    partial: tuple[int, ...] | None = None
    """Indexes of all JSON columns of the table, if the image may contain partial updates of JSON documents."""

    before: tuple[int, ...] = ()
    """Columns of the image before the update, to which partial updates apply."""


def compiled(images: Sequence[Image], absent: Sequence[Sequence[int]], count: int) -> RowProgram:
    """Compile the reader for rows that consist of these images.

    Args:
        images: One image, or the images before and after an update.
        absent: For each image, the columns that become null because only the other image contains them.
        count: Number of columns of the table.
    """
    constants: dict[str, Any] = {"from_bytes": int.from_bytes}
    lines = ["def program(b, p, end, columns):"]
    lines += ["    " + "".join(f"a{number}, " for number in range(count)) + "= columns"]
    lines += ["    rows = 0", "    while p < end:"]
    for image, without in zip(images, absent, strict=True):
        lines += [f"        {line}" for line in _image(image, constants)]
        lines += [f"        a{number}(None)" for number in without]
    lines += ["        rows += 1", "    return rows, p"]
    namespace = dict(constants)
    exec("\n".join(lines), namespace)  # noqa: S102 (made of integers only)
    program: RowProgram = namespace["program"]
    return program


def _image(image: Image, constants: dict[str, Any]) -> Iterator[str]:
    if image.partial is not None:
        yield from _partial_bits(image.partial)
    size = (len(image.present) + 7) // 8
    if not size:
        return
    yield f"nulls = {_unsigned(size)}; p += {size}"
    partial = image.partial or ()
    if not set(partial) & set(image.present):
        yield "if not nulls:"
        yield from (f"    {line}" for line in _without_nulls(image, constants))
        yield "else:"
        yield from (f"    {line}" for line in _with_nulls(image, constants))
    else:
        yield from _with_nulls(image, constants)


def _partial_bits(json_columns: Sequence[int]) -> Iterator[str]:
    """Yield the code lines that determine which documents of an update are partial."""
    size = (len(json_columns) + 7) // 8
    yield "options = b[p]; p += 1"
    yield "partial = 0"
    yield "if options == 1:"
    yield f"    partial = {_unsigned(size)}; p += {size}"
    yield "elif options:"
    yield "    raise IndexError"


def _without_nulls(image: Image, constants: dict[str, Any]) -> Iterator[str]:
    """Yield the code lines that read an image if it has no nulls. Adjacent fixed-size values are unpacked together."""
    run: list[tuple[int, Stored]] = []
    for number, form in zip(image.present, image.forms, strict=True):
        if form.code:
            run.append((number, form))
            continue
        yield from _unpacked(run, constants)
        run = []
        yield from _sized(number, form)
    yield from _unpacked(run, constants)


def _with_nulls(image: Image, constants: dict[str, Any]) -> Iterator[str]:
    json_columns = image.partial or ()
    for bit, (number, form) in enumerate(zip(image.present, image.forms, strict=True)):
        yield f"if nulls & {1 << bit}: {_appended(number, 'None')}"
        if number in json_columns:
            yield f"elif partial & {1 << json_columns.index(number)}:"
            if number not in image.before:
                yield "    raise NotImplementedError"
            else:
                yield f"    l = from_bytes(b[p:p + 4], 'little'); p += 4; a{number}((v{number}, b[p:p + l])); p += l"
        yield "else:"
        lines = _unpacked([(number, form)], constants) if form.code else _sized(number, form)
        yield from (f"    {line}" for line in lines)


def _appended(number: int, value: str) -> str:
    return f"v{number} = {value}; a{number}(v{number})"


def _unpacked(run: Sequence[tuple[int, Stored]], constants: dict[str, Any]) -> Iterator[str]:
    if not run:
        return
    layout = "<" + "".join(form.code for _, form in run)
    name = f"unpack_{len(constants)}"
    constants[name] = struct.Struct(layout).unpack_from
    size = sum(form.size for _, form in run)
    names = ", ".join(f"v{number}" for number, _ in run)
    yield f"{names}{',' if len(run) == 1 else ''} = {name}(b, p); p += {size}"
    yield "; ".join(f"a{number}(v{number})" for number, _ in run)


def _sized(number: int, form: Stored) -> Iterator[str]:
    yield f"l = {_unsigned(form.size)}; p += {form.size}; v{number} = b[p:p + l]; a{number}(v{number}); p += l"


def _unsigned(size: int) -> str:
    """Return the code of an expression that reads a little-endian integer at the current offset."""
    if size <= 3:
        return " | ".join(f"b[p + {byte}] << {8 * byte}" if byte else "b[p]" for byte in range(size))
    return f"from_bytes(b[p:p + {size}], 'little')"
