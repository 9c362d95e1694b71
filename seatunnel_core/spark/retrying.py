"""Retries of what a source requests outside of work units: the largest value, a sample, columns and listings."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from seatunnel_core.errors import ConnectorError
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.failure import FailureKind

T = TypeVar("T")

_log = logging.getLogger(__name__)

PAUSES_S = (0.5, 1.0, 2.0)
"""The pauses between attempts, as between those of a work unit."""


def retried(request: Callable[[], T], pauses_s: Sequence[float] = PAUSES_S) -> T:
    """Return the result of a request, which is repeated after failures that may pass, as work units are.

    Args:
        request: Reads from a source and changes nothing.
        pauses_s: The pause before each further attempt, in seconds.

    Raises:
        ConnectorError: The failure of the last attempt, or one that no retry can help.
    """
    for pause_s in pauses_s:
        try:
            return request()
        except ConnectorError as error:
            if kind_of(error) is not FailureKind.TRANSIENT:
                raise
            _log.warning("%s; trying again in %g s", error, pause_s)
        time.sleep(pause_s)
    return request()
