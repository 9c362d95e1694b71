"""Reader of the principals in a keytab, to explain mistakes for which Kerberos has only one message.

Format: MIT Kerberos documentation, "Keytab file format". Each record is preceded by its length as a signed 32-bit
number; a negative length marks a deleted record. All numbers are big endian.
"""

import io
import struct
from collections.abc import Iterator

from attrs import frozen

_VERSION = b"\x05\x02"


@frozen
class KeytabEntry:
    """Metadata of one key, without the key itself."""

    principal: str
    """Principal, such as ``alice@EXAMPLE.ORG`` or ``hdfs/host.example.org@EXAMPLE.ORG``."""

    version: int
    """Key version number (kvno), which increases with each change of the principal's key."""


def entries(content: bytes) -> tuple[KeytabEntry, ...]:
    """Return the entries of a keytab in file order; raise ``ValueError`` if it is truncated."""
    if not content.startswith(_VERSION):
        raise ValueError("the version bytes at its start are wrong")
    try:
        return tuple(_entry(_Reader(record)) for record in _records(_Reader(content[len(_VERSION) :])))
    except (EOFError, UnicodeDecodeError) as cause:
        raise ValueError("it is damaged or incomplete") from cause


class _Reader(io.BytesIO):
    def exactly(self, size: int) -> bytes:
        piece = self.read(size)
        if len(piece) < size:
            raise EOFError
        return piece

    def number(self, kind: str) -> int:
        (value,) = struct.unpack(f">{kind}", self.exactly(struct.calcsize(f">{kind}")))
        return int(value)

    def counted(self) -> bytes:
        return self.exactly(self.number("H"))


def _records(file: _Reader) -> Iterator[bytes]:
    while file.tell() < len(file.getbuffer()):
        size = file.number("i")
        record = file.exactly(abs(size))
        if size > 0:
            yield record


def _entry(record: _Reader) -> KeytabEntry:
    components = record.number("H")
    realm = record.counted().decode()
    name = "/".join(record.counted().decode() for _ in range(components))
    record.number("I")  # type of the name
    record.number("I")  # timestamp
    version = record.number("B")
    record.number("H")  # type of the key
    record.counted()  # the key
    wide_version = record.read(4)  # newer files repeat it as 32 bits
    if len(wide_version) == 4:
        version = int.from_bytes(wide_version) or version
    return KeytabEntry(f"{name}@{realm}", version)
