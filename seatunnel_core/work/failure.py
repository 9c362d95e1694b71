"""Failures of a unit, a command or a connector, as values that can cross processes."""

import enum

from attrs import frozen

from seatunnel_core.stored_fields import Stored, required


class FailureKind(enum.Enum):
    """Kind of a failure; decides whether a retry may help."""

    DATA = "data"
    """A row, a file or a rule is invalid: a retry would have the same result."""

    USAGE = "usage"
    """An option or a location is invalid."""

    TRANSIENT = "transient"
    """A worker, a network or a server failed: a retry may help."""

    RESTART = "restart"
    """A resource that the driver holds for its tasks is lost: only a restart of the pipeline may help."""

    STORAGE = "storage"
    """The checkpoint storage failed."""

    JOB = "job"
    """Any failure after which no pipeline of the job should continue."""

    BUG = "bug"
    """An exception outside the error hierarchies."""


@frozen(kw_only=True)
class Failure(Stored):
    """A failure as a value that can cross processes and threads."""

    kind: FailureKind
    message: str = required(loose=True)
    """Complete message for the user, with source or sink, file, line and column as far as known."""

    code: str = required("", loose=True)
    """Code of the error's class, for ``seatunnel help CODE``; empty for errors of other libraries."""

    detail: str = required("", loose=True, repr=False)
    """Traceback for the log file."""

    @property
    def retryable(self) -> bool:
        """True if a later attempt or a restart of the pipeline may succeed."""
        return self.kind in (FailureKind.TRANSIENT, FailureKind.RESTART, FailureKind.STORAGE)
