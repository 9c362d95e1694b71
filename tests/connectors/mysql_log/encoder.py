"""Writer of binary logs, from MySQL's documentation of the format, for tests without a server."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from attrs import define, field, frozen

from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn

SOURCE = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")


def packed(number: int) -> bytes:
    if number < 251:
        return bytes([number])
    if number < 1 << 16:
        return b"\xfc" + number.to_bytes(2, "little")
    if number < 1 << 24:
        return b"\xfd" + number.to_bytes(3, "little")
    return b"\xfe" + number.to_bytes(8, "little")


def packed_bytes(value: bytes) -> bytes:
    return packed(len(value)) + value


def bitmap(bits: Sequence[bool]) -> bytes:
    found = bytearray((len(bits) + 7) // 8)
    for number, bit in enumerate(bits):
        found[number // 8] |= bit << number % 8
    return bytes(found)


@frozen
class WrittenColumn:
    """A column of a table that is written."""

    declared: DeclaredColumn
    type: int
    meta: bytes = b""


@define
class LogWriter:
    """Events of a log, one after the other."""

    checksums: bool = True
    server: str = "8.0.15"
    offset: int = 4
    timestamp: int = 1_700_000_000
    written: list[bytes] = field(factory=list)

    def event(self, kind: int, body: bytes, *, flags: int = 0, log_pos: int | None = None) -> bytes:
        size = 19 + len(body) + (4 if self.checksums else 0)
        self.offset += size
        end = self.offset if log_pos is None else log_pos
        found = struct.pack("<IBIIIH", self.timestamp, kind, 7, size, end & 0xFFFFFFFF, flags) + body
        if self.checksums:
            found += struct.pack("<I", zlib.crc32(found))
        self.written.append(found)
        return found

    def format(self) -> bytes:
        body = struct.pack("<H50sIB", 4, self.server.encode(), 0, 19) + bytes(40) + bytes([self.checksums])
        if not self.checksums:
            body += bytes(4)  # The field of the checksum is always there.
        return self.event(15, body)

    def gtid(self, number: int) -> bytes:
        return self.event(33, b"\0" + SOURCE.bytes + number.to_bytes(8, "little") + b"\2" + bytes(16))

    def query(self, text: str, database: str = "shop", databases: Sequence[str] | None = None) -> bytes:
        status = b"\0" + bytes(4) + b"\4" + struct.pack("<HHH", 45, 45, 45)
        if databases is not None:
            status += b"\x0c" + bytes([len(databases)]) + b"".join(each.encode() + b"\0" for each in databases)
        head = struct.pack("<IIBHH", 1, 0, len(database.encode()), 0, len(status))
        return self.event(2, head + status + database.encode() + b"\0" + text.encode())

    def table_map(
        self, columns: Sequence[WrittenColumn], table_id: int = 9, name: str = "t", optional: bytes = b""
    ) -> bytes:
        metas = b"".join(column.meta for column in columns)
        body = table_id.to_bytes(6, "little") + b"\1\0" + b"\4shop\0" + packed_bytes(name.encode()) + b"\0"
        body += packed_bytes(bytes(column.type for column in columns)) + packed_bytes(metas)
        return self.event(19, body + bitmap([True] * len(columns)) + optional)

    def rows(
        self,
        kind: int,
        count: int,
        images: Sequence[Sequence[bytes | None]],
        *,
        present: Sequence[Sequence[bool]] = (),
        table_id: int = 9,
    ) -> bytes:
        """Write rows.

        Args:
            kind: Type of the event.
            count: Number of columns of the table.
            images: Encoded values of the images one after the other; ``None`` is a null.
            present: For an image, or for those before and after an update, the columns in it; by default all.
            table_id: Id of the table map.
        """
        updates = kind in (24, 31)
        layouts = present or [[True] * count] * (1 + updates)
        body = table_id.to_bytes(6, "little") + b"\1\0" + (b"\2\0" if kind >= 30 else b"") + packed(count)
        body += b"".join(bitmap(each) for each in layouts)
        return self.event(kind, body + b"".join(row_image(image) for image in images))

    def xid(self) -> bytes:
        return self.event(16, bytes(8))

    def events(self) -> Iterator[tuple[bytes, int, int]]:
        return ((each, 0, len(each)) for each in self.written)


def row_image(values: Sequence[bytes | None]) -> bytes:
    return bitmap([value is None for value in values]) + b"".join(value for value in values if value is not None)


# -- values -------------------------------------------------------------------------------------------------------


def decimal(text: str, precision: int, scale: int) -> bytes:
    """Encode a decimal: groups of nine digits in four bytes, inverted if it is negative."""
    negative = text.startswith("-")
    whole, _, part = text.lstrip("-").partition(".")
    whole, part = whole.rjust(precision - scale, "0")[-(precision - scale) or len(whole) :], part.ljust(scale, "0")
    if precision == scale:
        whole = ""
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    first = len(whole) % 9
    groups = [whole[:first]] + [whole[at : at + 9] for at in range(first, len(whole), 9)]
    groups += [part[at : at + 9] for at in range(0, len(part), 9)]
    found = bytearray(b"".join(int(each).to_bytes(sizes[len(each)], "big") for each in groups if each))
    if negative:
        found = bytearray(byte ^ 0xFF for byte in found)
    found[0] ^= 0x80
    return bytes(found)


def fraction(micros: int, digits: int) -> bytes:
    size = (digits + 1) // 2
    return (micros // 100 ** (3 - size)).to_bytes(size, "big") if size else b""


def datetime2(value: Any, digits: int) -> bytes:
    whole = (value.year * 13 + value.month) << 22 | value.day << 17
    whole |= value.hour << 12 | value.minute << 6 | value.second
    return (whole + (1 << 39)).to_bytes(5, "big") + fraction(value.microsecond, digits)


def time2(micros: int, digits: int) -> bytes:
    """Encode a time, also a negative one."""
    size = (digits + 1) // 2
    seconds, part = divmod(abs(micros), 1_000_000)
    whole = (seconds // 3600) << 12 | (seconds // 60 % 60) << 6 | seconds % 60
    number = whole << 8 * size | part // 100 ** (3 - size)
    return ((1 << 8 * size + 23) + (-number if micros < 0 else number)).to_bytes(3 + size, "big")


def sized(value: bytes, size: int) -> bytes:
    return len(value).to_bytes(size, "little") + value
