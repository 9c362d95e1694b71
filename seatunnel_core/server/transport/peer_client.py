"""Asynchronous HTTP client for another node. Requests do not use threads and can be cancelled."""

import asyncio
from collections.abc import Mapping

import h11

from seatunnel_core.control.cluster import Signer
from seatunnel_core.control.node_client import Answer
from seatunnel_core.control.signing import ANSWER, BOOT

CONNECT_S = 2.0
"""Time limit for a node to accept a connection, in seconds."""

_PART = 1 << 18


class PeerClient:
    """Client that sends requests to a member (``host:port``), one at a time, signed by ``signer``."""

    def __init__(self, member: str, signer: Signer) -> None:
        self._member = member
        self._signer = signer

    async def exchange(self, method: str, target: str, body: bytes, content_type: str, *, answer_s: float) -> Answer:
        """Send a request and return its response. Cancelling the call closes the connection.

        Raises:
            OSError: The member cannot be reached, or its response is not complete within ``answer_s``.
            h11.RemoteProtocolError: The response is not HTTP.
            UnsignedError: The member does not know the cluster's secret.
        """
        async with asyncio.timeout(answer_s):
            for is_first in (True, False):
                nonce, headers = self._signer.signed(self._member, method, target, body)
                answer, found = await self._exchanged(method, target, body, {**headers, "content-type": content_type})
                if not (is_first and self._signer.is_to_repeat(self._member, headers, answer, found.get(BOOT, ""))):
                    break
        self._signer.require_signed(nonce, answer, found.get(ANSWER, ""))
        return answer

    async def _exchanged(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[Answer, dict[str, str]]:
        """Send a request over a new connection, and return the response and its headers."""
        host, _, port = self._member.rpartition(":")
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        try:
            connection = h11.Connection(h11.CLIENT)
            own = {"host": self._member, "connection": "close", "content-length": str(len(body)), **headers}
            request = h11.Request(method=method, target=target, headers=list(own.items()))
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            return await _received(connection, reader)
        finally:
            writer.transport.abort()  # an orderly close would wait for a member that does not read


async def _received(connection: h11.Connection, reader: asyncio.StreamReader) -> tuple[Answer, dict[str, str]]:
    status, headers, body = 0, dict[str, str](), bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_PART))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return Answer(status, bytes(body), headers.get("content-type", "")), headers
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionResetError("the member closed the connection")
