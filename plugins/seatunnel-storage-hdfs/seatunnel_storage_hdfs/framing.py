"""Check that the head of an HTTP response arrived complete.

Python's HTTP client takes what arrived before the connection ended for the whole head. If the length of the body was
in the missing part, the answer seems complete, with an empty body: a checkpoint without bytes, a listing without
entries, a refusal without a reason. So an answer that does not say how long it is counts as lost.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


def is_whole(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether an answer marks its end (RFC 9112, section 6.3).

    Args:
        status: The HTTP status.
        headers: The headers, with names in any case.
    """
    length = headers.get("content-length", "")
    return status in _WITHOUT_BODY or length.isdigit() or bool(headers.get("transfer-encoding"))


def require_whole(response: "requests.Response", **_: Any) -> None:
    """Check an answer of ``requests``; to be used as a response hook.

    Raises:
        requests.ConnectionError: The answer was cut in its head.
    """
    import requests  # boto3, which needs the rest of this module, comes without it

    if not is_whole(response.status_code, response.headers):
        response.close()  # no other code gets it, so no other code can
        raise requests.ConnectionError("the answer was cut off in its head", request=response.request)
