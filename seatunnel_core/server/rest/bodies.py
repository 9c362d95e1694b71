"""Request bodies with limits for size and time, and with an unambiguous length."""

import asyncio

from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request

BODY_S = 60.0
"""Maximum time for the body of a request to arrive, in seconds."""

_READ = "seatunnel_body_read"


def require_one_length(request: Request) -> None:
    """Reject a request with two length headers. A proxy may have used the other one (request smuggling)."""
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise RequestError(
            "the request has both Content-Length and Transfer-Encoding: send only one of them", reason="two_lengths"
        )


async def received(request: Request, most: int) -> bytes:
    """Return the body of a request. Reject it if it is too large (immediately if its length is given) or too slow."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or len(stated) > 15 or int(stated) > most:
        raise _too_large(most)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError as error:
        raise RequestError(f"the body did not arrive within {BODY_S:.0f} s", status=408) from error
    request.scope[_READ] = True
    return bytes(body)


def is_unread(request: Request) -> bool:
    """Return True if the body of a request was not read completely."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    return has_body and not request.scope.get(_READ, False)


def _too_large(most: int) -> RequestError:
    return RequestError(f"the body is larger than {most} bytes", status=413)
