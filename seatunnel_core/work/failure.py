"""Failures of a unit, a command or a connector, as values that can cross processes."""

import enum

from attrs import frozen

from seatunnel_core.stored_fields import Stored, required


class FailureKind(enum.Enum):
    """Kind of a failure, which determines whether it is retried."""

    DATA = "data"
    """A row, a file or a rule is invalid. A retry would have the same result."""

    USAGE = "usage"
    """An option or a location is invalid."""

    TRANSIENT = "transient"
    """A worker, a network or a server failed. A retry may help."""

    RESTART = "restart"
    """A resource that the driver holds for its tasks was lost. Only a restart of the pipeline may help."""

    STORAGE = "storage"
    """The checkpoint storage failed."""

    JOB = "job"
    """A failure after which no pipeline of the job should continue."""

    BUG = "bug"
    """An exception that is not one of the engine's errors."""


@frozen(kw_only=True)
class Failure(Stored):
    """A failure as a value that can cross processes and threads."""

    kind: FailureKind
    message: str = required(loose=True)
    """Complete message for the user, with source or sink, file, line and column if known."""

    code: str = required("", loose=True)
    """Code of the error's class, for ``seatunnel help CODE``; empty for errors of other libraries."""

    detail: str = required("", loose=True, repr=False)
    """Traceback for the log file."""

    @property
    def retryable(self) -> bool:
        """True if a later attempt or a restart of the pipeline may succeed."""
        return self.kind in (FailureKind.TRANSIENT, FailureKind.RESTART, FailureKind.STORAGE)
