"""Child process that reads ORC files for a task, so that a damaged file crashes the child and not the task.

ORC has no checksums, and its library may access invalid memory if bytes are damaged. The child receives one open file
per request over a socket, and responds with a JSON header and an Arrow stream. It exits when the socket is closed. It
imports no other module of this package, so that it starts quickly.
"""

import json
import os
import socket
import struct
import sys
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

LENGTH = struct.Struct(">I")

_FAR = "is out of range for nanosecond"
"""Arrow's message for a timestamp before 1677 or after 2262."""


def serve(descriptor: int) -> None:
    """Serve requests, ``{"stripe": number, "columns": names}`` or ``{}`` for the footer, until the socket is closed."""
    with socket.socket(fileno=descriptor) as connection:
        while True:
            message, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 1)
            if not message:
                return
            request = json.loads(_exactly(connection, LENGTH.unpack(message)[0]))
            try:
                header, rows = _answer(descriptors[0], request)
            except Exception as error:
                header, rows = {"error": str(error)}, pa.py_buffer(b"")
            finally:
                os.close(descriptors[0])
            head = json.dumps({**header, "bytes_of_rows": rows.size}).encode()
            connection.sendall(LENGTH.pack(len(head)) + head)
            connection.sendall(rows)


def _answer(descriptor: int, request: dict[str, Any]) -> tuple[dict[str, Any], pa.Buffer]:
    with pa.OSFile(f"/dev/fd/{descriptor}", "rb") as stream:
        file = orc.ORCFile(stream)
        header = {"stripes": file.nstripes, "rows": file.nrows, "bytes": file.content_length}
        rows = pa.BufferOutputStream()
        if "stripe" not in request:
            pa.ipc.new_stream(rows, file.schema).close()
            return header, rows.getvalue()
        stripe = _stripe(file, descriptor, request["stripe"], request["columns"])
        stripe.validate(full=True)  # For example invalid strings.
        with pa.ipc.new_stream(rows, stripe.schema) as writer:
            writer.write_batch(stripe)
        return header, rows.getvalue()


def _stripe(file: orc.ORCFile, descriptor: int, number: int, names: list[str]) -> pa.RecordBatch:
    try:
        return file.read_stripe(number, columns=names)
    except pa.ArrowInvalid as error:
        if _FAR not in str(error):
            raise
    kinds = {column.name: column.type for column in file.schema}
    wanted = set(names)
    names = [name for name in kinds if name in wanted]
    columns = [_column(file, descriptor, number, name, kinds[name]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _column(file: orc.ORCFile, descriptor: int, number: int, name: str, kind: pa.DataType) -> pa.Array:
    """Return one column of a stripe; use the ``pyorc`` library if Arrow cannot represent one of its timestamps."""
    try:
        return file.read_stripe(number, columns=[name]).column(0)
    except pa.ArrowInvalid as error:
        if _FAR not in str(error):
            raise
        try:
            return _far_moments(descriptor, number, name, kind)
        except ImportError:
            how = "to read this timestamp, run pip install '.[orc]' in a clone of this project on every task machine"
            raise ValueError(f"column {name!r}: {error}; {how}") from error


class _Counted:
    """Converter from pyorc's timestamps and dates to the numbers that Arrow uses."""

    @staticmethod
    def from_orc(seconds_or_days: int, nanoseconds: int | None = None, timezone: Any = None) -> int:
        return seconds_or_days if nanoseconds is None else seconds_or_days * 1_000_000 + nanoseconds // 1000

    @staticmethod
    def to_orc(*_: Any) -> Any:
        """Raise an error: writing is not supported."""
        raise NotImplementedError


def _far_moments(descriptor: int, number: int, name: str, kind: pa.DataType) -> pa.Array:
    import pyorc

    counted = (pyorc.TypeKind.TIMESTAMP, pyorc.TypeKind.TIMESTAMP_INSTANT, pyorc.TypeKind.DATE)
    converters: Any = dict.fromkeys(counted, _Counted)
    with open(f"/dev/fd/{descriptor}", "rb") as content:
        reader = pyorc.Reader(content, column_names=[name], struct_repr=pyorc.StructRepr.DICT, converters=converters)
        values = [row[name] for row in reader.read_stripe(number)]
    return pa.array(values, microseconds(kind))


def microseconds(kind: pa.DataType) -> pa.DataType:
    """Return a type with its timestamps in microseconds, the unit of the engine's rows; ORC stores nanoseconds."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_map(kind):
        return pa.map_(microseconds(kind.key_type), microseconds(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(microseconds(part.type)) for part in kind])
    return pa.list_(kind.value_field.with_type(microseconds(kind.value_type))) if pa.types.is_list(kind) else kind


def _exactly(connection: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        more = connection.recv(length - len(found))
        if not more:
            raise EOFError
        found += more
    return bytes(found)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
