"""Warnings that connectors log while the driver calls them, collected for the report of the pipeline."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOGGERS = ("seatunnel_core.connectors", "seatunnel.connectors")

_hearer: ContextVar["Callable[[str], None] | None"] = ContextVar("_hearer", default=None)


class _Warnings(logging.Handler):
    """Log handler that forwards warnings to the pipeline of the current thread."""

    def emit(self, record: logging.LogRecord) -> None:
        """Forward the message. If logging is not configured, also pass it to Python's last-resort handler."""
        hearer = _hearer.get()
        if hearer is not None:
            hearer(record.getMessage())
        if logging.lastResort is not None and not logging.getLogger().handlers:
            logging.lastResort.handle(record)


@contextmanager
def heard(warned: Callable[[str], None]) -> Iterator[None]:
    """While the context is open, forward the warnings that connectors log in this thread to ``warned``."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if _HANDLER not in logger.handlers:
            logger.addHandler(_HANDLER)
    before = _hearer.set(warned)
    try:
        yield
    finally:
        _hearer.reset(before)


_HANDLER = _Warnings(logging.WARNING)
