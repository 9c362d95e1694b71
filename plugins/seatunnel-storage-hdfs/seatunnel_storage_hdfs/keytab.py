"""The principals of a keytab, read from the file itself, because Kerberos reports every mistake with one message.

The format is in MIT Kerberos' documentation, "Keytab file format": a version, then records, each after its length in a
signed 32-bit number; a negative length is a hole. All numbers are big endian.
"""

import io
import struct
from collections.abc import Iterator

from attrs import frozen

_VERSION = b"\x05\x02"


@frozen
class KeytabEntry:
    """One key, without the key."""

    principal: str
    """The principal, as ``alice@EXAMPLE.ORG`` or ``hdfs/host.example.org@EXAMPLE.ORG``."""

    version: int
    """The number of the key (kvno): grows with each change of the principal's key."""


def entries(content: bytes) -> tuple[KeytabEntry, ...]:
    """Return the entries of a keytab, in its order.

    Raises:
        ValueError: The content is not a whole keytab.
    """
    if not content.startswith(_VERSION):
        raise ValueError("it does not begin as a keytab does")
    try:
        return tuple(_entry(_Reader(record)) for record in _records(_Reader(content[len(_VERSION) :])))
    except (EOFError, UnicodeDecodeError) as cause:
        raise ValueError("it is damaged, or a part of it is missing") from cause


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
    record.number("I")  # the kind of the name
    record.number("I")  # when it was written
    version = record.number("B")
    record.number("H")  # the kind of the key
    record.counted()  # the key
    wide_version = record.read(4)  # newer files have it in 32 bits as well
    if len(wide_version) == 4:
        version = int.from_bytes(wide_version) or version
    return KeytabEntry(f"{name}@{realm}", version)
