"""How long a service asks to wait before a request is repeated: the header ``Retry-After``."""

import re
import time
from email.utils import mktime_tz, parsedate_tz
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from urllib3.util import Retry

_SECONDS = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)


def seconds_of(header: str, now_s: float) -> float | None:
    """Return the seconds to wait, 0 for a date that is over; ``None`` for a header that says nothing.

    Args:
        header: Seconds, also with decimals as some services send them, or a date in one of the three formats of HTTP.
        now_s: The time, in seconds since 1970.
    """
    text = header.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        parts = parsedate_tz(text)
        if parts is None:
            return None
        moment_s = mktime_tz((*parts[:9], parts[9] or 0))  # a date without a zone is one of GMT
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return max(0.0, moment_s - now_s)


@cache
def retry_kind() -> "type[Retry]":
    """Return the class of urllib3's retries that waits as ``seconds_of`` says, and as it likes without that."""
    from urllib3.util import Retry

    class _Retry(Retry):
        def get_retry_after(self, response: Any) -> float | None:
            found = seconds_of(response.headers.get("Retry-After", ""), time.time())
            most = self.retry_after_max
            return None if found is None else min(found, most)

    return _Retry
