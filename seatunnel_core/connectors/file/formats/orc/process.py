"""Client of ``orc.child``. Each process that reads ORC files has one child process."""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.file.formats.orc.child import LENGTH
from seatunnel_core.connectors.filesystems.filesystem import OpenFile

_PROGRAM = "import sys; from seatunnel_core.connectors.file.formats.orc.child import serve; serve(int(sys.argv[1]))"

_ENDS_WITHIN_S = 10.0
"""Time that the child has to exit before it is killed, in seconds."""


class OrcChildError(OSError):
    """The file cannot be read: the library rejected it, or crashed while reading it."""

    lasts = False
    """True if a retry would also fail: the library rejects the file, or is not installed."""


class _Child:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self._connection, theirs = socket.socketpair()
        path = os.pathsep.join(part for part in sys.path if part)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def ask(self, descriptor: int, request: dict[str, Any]) -> tuple[dict[str, Any], pa.Buffer]:
        """Send a request, and return the header and rows of the response; raise ``EOFError`` if the child exited."""
        message = json.dumps(request).encode()
        socket.send_fds(self._connection, [LENGTH.pack(len(message))], [descriptor])
        self._connection.sendall(message)
        header = json.loads(self._exactly(LENGTH.unpack(self._exactly(LENGTH.size))[0]).to_pybytes())
        return header, self._exactly(header["bytes_of_rows"])

    def _exactly(self, length: int) -> pa.Buffer:
        found = pa.allocate_buffer(length)
        view = memoryview(found)
        while view:
            more = self._connection.recv_into(view)
            if not more:
                raise EOFError
            view = view[more:]
        return found

    def end(self) -> int:
        """Close the socket, and return the child's exit code, or the negated number of the signal that killed it."""
        self._connection.close()
        try:
            return self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_one_at_a_time = threading.Lock()
_child: _Child | None = None


def footer(file: OpenFile) -> tuple[dict[str, int], pa.Schema]:
    """Return ``stripes``, ``rows``, ``bytes`` and columns of a file; raise ``OrcChildError`` if it is damaged."""
    header, rows = _ask(file, {})
    return header, pa.ipc.open_stream(rows).schema


def stripe(file: OpenFile, number: int, names: list[str]) -> pa.RecordBatch:
    """Return the named columns of one stripe, in the order of the file; raise ``OrcChildError`` if it is damaged."""
    _, rows = _ask(file, {"stripe": number, "columns": names})
    return pa.ipc.open_stream(rows).read_next_batch()


def _ask(file: OpenFile, request: dict[str, Any]) -> tuple[dict[str, Any], pa.Buffer]:
    global _child
    with _one_at_a_time:
        if _child is None or _child.owner != os.getpid():  # A child of the process before a fork.
            _child = _Child()
        try:
            header, rows = _child.ask(file.descriptor(), request)
        except (EOFError, OSError) as error:
            code, _child = _child.end(), None
            why = f"signal {-code}" if code < 0 else f"code {code}"
            raise OrcChildError(
                f"the process that reads the file ended with {why}, probably because the file is damaged or memory "
                "ran out"
            ) from error
    if "error" in header:
        refused = OrcChildError(header["error"])
        refused.lasts = True
        raise refused
    return header, rows


@atexit.register
def hang_up() -> None:
    """Stop the child, if there is one; the next request starts another."""
    global _child
    if _child is not None and _child.owner == os.getpid():
        _child.end()
    _child = None
