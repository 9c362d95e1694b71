"""Check that the head of an HTTP response is complete.

If a connection ends early, Python's HTTP client accepts a truncated head. Without the length of the body, the response
then looks like one with an empty body. So a response without a length is treated as lost.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


def is_whole(status: int, headers: Mapping[str, str]) -> bool:
    """Return True if the headers (case-insensitive) determine where the body ends (RFC 9112, section 6.3)."""
    length = headers.get("content-length", "")
    return status in _WITHOUT_BODY or length.isdigit() or bool(headers.get("transfer-encoding"))


def require_whole(response: "requests.Response", **_: Any) -> None:
    """Raise ``requests.ConnectionError`` if the head of a response is truncated; a response hook of ``requests``."""
    import requests  # boto3 needs the rest of this module, but does not install requests

    if not is_whole(response.status_code, response.headers):
        response.close()  # no other code has this object, so the change is local
        raise requests.ConnectionError("the response was cut off in its header", request=response.request)
