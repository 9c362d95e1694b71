"""A process that reads ORC files for another, so that a damaged file ends it and not the task.

ORC has no checksums, and the library that reads it follows damaged bytes into memory that it does not own. The child
gets one open file per request over a socket, and answers with a header in JSON and a stream of Arrow. It ends with the
socket. It imports nothing of ours: it starts in about the time that importing Arrow takes.
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
MOST_REQUEST_BYTES = 1 << 20


def serve(descriptor: int) -> None:
    """Answer requests until the other side hangs up.

    A request is ``{"stripe": number, "columns": names}``, or ``{}`` for the footer.
    """
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
        stripe = file.read_stripe(request["stripe"], columns=request["columns"])
        stripe.validate(full=True)  # texts that are none, for example
        with pa.ipc.new_stream(rows, stripe.schema) as writer:
            writer.write_batch(stripe)
        return header, rows.getvalue()


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
