"""Report channel from a task to the driver: the task requests each work unit and reports its result.

Spark reports nothing about a task until it ends. Without the channel, a unit's result would wait for the other units of
the batch, and the units that a killed task had begun would be unknown (protocol rule R15). ``reports.py`` decides when
a task requests and reports.

The task sends ``{"batch": KEY}`` first, then ``{"begin": NUMBER}`` and ``{"ended": [{"number": NUMBER, "result": {…}},
…]}``. Each message is one line, acknowledged by one byte. The driver closes connections without the key of a batch.
"""

import io
import json
import logging
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol

from attrs import define, frozen

from seatunnel_core import stored
from seatunnel_core.control.bounded_server import BoundedServer, DeadlineReader
from seatunnel_core.spark.work import Address, UnitResult
from seatunnel_core.work.vertex_work import VertexWork

logger = logging.getLogger("seatunnel.spark")

Numbered = tuple[int, UnitResult]
"""A result with the index of its work item in the batch."""

_YES, _NO = b"+", b"-"
_KEY_BYTES = 200
"""Maximum length of the first line, in bytes. Valid lines with a key are shorter."""

KEY_S = 20.0
"""Time limit for a connection to send its key, in seconds."""

_MOST_ANSWERS = 64
"""Maximum number of responses received in one read. Each response is one byte."""

_PAUSE_S = 0.1
"""Delay after a task's connection was refused, in seconds."""

_PATIENCE_S = 20.0
"""Connect timeout of a task, in seconds."""


class TaskListener(Protocol):
    """Driver's side of a task batch. Its methods are called from separate threads."""

    def reached(self) -> None:
        """Record that a task of the batch has connected to the driver."""

    def begins(self, number: int) -> bool:
        """Return True if a work item may begin, and record that it has begun."""

    def ended(self, results: Sequence[Numbered]) -> None:
        """Record the results that have arrived since the last call, in order of completion."""

    def progress(self, number: int, work: Mapping[str, VertexWork]) -> None:
        """Record the progress of a running work item; ``work`` is keyed by vertex."""


@define(eq=False)
class _Call:
    """A batch that tasks may connect to, with the number of connected tasks."""

    listener: TaskListener
    tasks: int = 0


class Exchange:
    """Server in the driver to which tasks connect."""

    def __init__(self, host: str, bind: str) -> None:
        """Listen on a free port of the local address ``bind``. Tasks connect to this port of ``host``."""
        self._host = host
        self._calls: dict[str, _Call] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._server = _Server((bind, 0), _Handler)
        self._server.exchange = self
        threading.Thread(target=self._accept, name="seatunnel-reports", daemon=True).start()

    def _accept(self) -> None:
        """Serve connections until ``close``. ``serve_forever`` would only notice a shutdown after half a second."""
        while True:
            try:
                request, address = self._server.get_request()
            except OSError:
                if self._closed:
                    return
                time.sleep(_PAUSE_S)  # for example, no file descriptor may be free
            else:
                self._server.process_request(request, address)

    def close(self) -> None:
        """Stop the server. Tasks can no longer connect."""
        self._closed = True
        with suppress(OSError):
            self._server.socket.shutdown(socket.SHUT_RDWR)  # interrupts accept
        self._server.server_close()

    @contextmanager
    def listening(self, listener: TaskListener) -> Iterator[Address]:
        """Accept the tasks of a batch, and yield the address for their connections."""
        key = secrets.token_hex(16)
        with self._changed:
            self._calls[key] = _Call(listener)
        try:
            yield Address(self._host, self._server.server_address[1], key)
        finally:
            with self._changed:
                del self._calls[key]

    def is_silent(self, address: Address) -> bool:
        """Return True if no task of the batch is connected. The processes of earlier tasks have then ended."""
        with self._changed:
            return not self._calls[address.key].tasks

    def serve(self, connection: socket.socket) -> None:
        """Serve a task until it disconnects."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        reading = DeadlineReader(connection, KEY_S)
        with io.BufferedReader(reading) as lines:
            call = self._called(_first_line(lines))
            if call is None:
                return
            reading.extend(None)
            connection.settimeout(None)
            self._server.trust(connection)
            try:
                connection.sendall(_YES)
                call.listener.reached()
                for line in lines:
                    if line.endswith(b"\n"):  # a killed task sent a truncated line
                        _handle(call.listener, stored.parse(line), connection)
            except OSError as error:
                logger.debug("the report channel of a task failed: %s", error)
            finally:
                with self._changed:
                    call.tasks -= 1

    def _called(self, line: bytes) -> _Call | None:
        try:
            key = stored.text(stored.parse(line), "batch")
        except Exception:
            return None
        with self._changed:
            call = self._calls.get(key)
            if call is not None:
                call.tasks += 1
            return call


def _first_line(lines: BinaryIO) -> bytes:
    """Return the line with the key; empty if it does not arrive in time."""
    try:
        return lines.readline(_KEY_BYTES)
    except OSError:
        return b""


def _handle(listener: TaskListener, said: Any, connection: socket.socket) -> None:
    if "begin" in said:
        connection.sendall(_YES if listener.begins(stored.number(said, "begin")) else _NO)
        return
    if "progress" in said:
        for each in stored.items(said, "progress"):
            work = {name: VertexWork.from_record(one) for name, one in stored.below(each, "vertices").items()}
            listener.progress(stored.number(each, "number"), work)
        connection.sendall(_YES)
        return
    try:
        results = [
            (stored.number(each, "number"), UnitResult.from_record(stored.member(each, "result")))
            for each in stored.items(said, "ended")
        ]
    except Exception as error:  # Spark returns them when the task ends
        logger.debug("results could not be read: %s", error)
        connection.sendall(_NO)
    else:
        listener.ended(results)
        connection.sendall(_YES)


class _Server(BoundedServer):
    most_untrusted = 1_000
    """Maximum number of connections without a key. Tasks send keys immediately, but hundreds may start together."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    exchange: Exchange


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        try:
            self.server.exchange.serve(self.request)
        except Exception:
            logger.exception("a task's message could not be parsed")


class ReportChannel:
    """Task's side of a report channel. Thread-safe."""

    def __init__(self, address: Address | None, *, once: bool = False, again: bool = False) -> None:
        """Connect to the driver if there is an address.

        If the driver is unreachable, items begin without its permission. Items that must not begin twice (``once``) do
        not begin in a repeated task (``again``) or after the connection broke: another task may already have received
        them. If the driver no longer runs the batch, no item begins.
        """
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._sent = 0
        self._answers: list[bytes] = []
        """Responses received so far, in the order of the messages."""

        self._socket: socket.socket | None = None
        self._is_wanted = True
        self._may_go_on = not (once and again)
        if address is not None and (reached := _reached(address)) is not None:
            self._is_wanted = reached.is_wanted
            self._may_go_on = not once and reached.is_wanted
            self._socket = reached.connection
            if not reached.is_wanted:
                self._disconnect()

    def close(self) -> None:
        """Close the connection to the driver, if there is one."""
        with self._sending, self._receiving:
            self._disconnect()

    def may_begin(self, number: int) -> bool:
        """Request permission to begin a work item. Without a response, decide as described in ``__init__``."""
        answer = self._answer(self._send({"begin": number}))
        return self._may_go_on if answer is None else answer == _YES

    @property
    def is_wanted(self) -> bool:
        """True if the driver still runs the batch or cannot be reached."""
        return self._is_wanted

    def report(self, results: Sequence[Numbered]) -> bool:
        """Report results to the driver. Return True if they were received."""
        ended = [{"number": number, "result": result.record()} for number, result in results]
        return self._answer(self._send({"ended": ended})) == _YES

    def progress(self, work: Mapping[int, Mapping[str, VertexWork]]) -> None:
        """Report the progress of running items to the driver; ``work`` is keyed by item number and vertex."""
        said = [
            {"number": number, "vertices": {name: one.record() for name, one in vertices.items()}}
            for number, vertices in work.items()
        ]
        self._answer(self._send({"progress": said}))

    def _send(self, said: Mapping[str, Any]) -> int | None:
        """Send a message and return its number; ``None`` if the connection is closed.

        Threads do not wait for each other's responses: a unit begins while the previous result is still being sent.
        """
        text = json.dumps(said).encode() + b"\n"
        with self._sending:
            connection = self._socket
            if connection is None:
                return None
            with suppress(OSError):  # detected when the response is missing
                connection.sendall(text)
            self._sent += 1
            return self._sent - 1

    def _answer(self, number: int | None) -> bytes | None:
        """Return the driver's response to a message; ``None`` if the connection closes first."""
        if number is None:
            return None
        with self._receiving:
            while self._socket is not None and len(self._answers) <= number:
                self._receive(self._socket)
            return self._answers[number] if number < len(self._answers) else None

    def _receive(self, connection: socket.socket) -> None:
        try:
            received = connection.recv(_MOST_ANSWERS)
        except OSError:
            received = b""
        self._answers += [received[at : at + 1] for at in range(len(received))]
        if not received:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@frozen
class _Reached:
    connection: socket.socket
    is_wanted: bool


def _reached(address: Address) -> _Reached | None:
    """Connect to the driver. Return ``None`` if it cannot be reached, for example because of a firewall."""
    try:
        made = socket.create_connection((address.host, address.port), timeout=_PATIENCE_S)
    except OSError:
        return None
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(json.dumps({"batch": address.key}).encode() + b"\n")
        answer = made.recv(1)
        made.settimeout(None)
    except OSError:
        answer = b""
    return _Reached(made, answer == _YES)
