"""``Retry-After`` header: the delay before a request is repeated."""

import re
import time
from email.utils import mktime_tz, parsedate_tz
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from urllib3.util import Retry

_SECONDS = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)


def seconds_of(header: str, now_s: float) -> float | None:
    """Return the delay in seconds; 0 for a date in the past, ``None`` for an invalid header.

    The header contains seconds, possibly with decimals, or a date in one of HTTP's three formats.
    """
    text = header.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        parts = parsedate_tz(text)
        if parts is None:
            return None
        moment_s = mktime_tz((*parts[:9], parts[9] or 0))  # A date without a zone is in GMT.
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return max(0.0, moment_s - now_s)


@cache
def retry_kind() -> "type[Retry]":
    """Return a urllib3 retry class that uses the delay of ``seconds_of``; urllib3's delay if there is no header."""
    from urllib3.util import Retry

    class _Retry(Retry):
        def get_retry_after(self, response: Any) -> float | None:
            found = seconds_of(response.headers.get("Retry-After", ""), time.time())
            most = self.retry_after_max
            return None if found is None else min(found, most)

    return _Retry
