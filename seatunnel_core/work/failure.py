"""A failure: what went wrong in a unit, a command or a place, as a value that can cross processes."""

import enum

from attrs import field, frozen


class FailureKind(enum.Enum):
    """What kind of thing went wrong; decides what is worth a retry."""

    DATA = "data"
    """A row, a file or a rule: trying again gives the same result."""

    USAGE = "usage"
    """An option or a place that cannot work."""

    TRANSIENT = "transient"
    """A worker, a network or a server: trying again may help."""

    RESTART = "restart"
    """What the driver holds for its tasks is gone: a new start of the pipeline may help, another attempt cannot."""

    STORAGE = "storage"
    """The checkpoint storage did not do what it was asked."""

    JOB = "job"
    """Whatever it is, no pipeline of the job should go on."""

    BUG = "bug"
    """An exception outside the error trees."""


@frozen(kw_only=True)
class Failure:
    """What went wrong, as a value that crosses processes and threads."""

    kind: FailureKind
    message: str
    """Complete for the user: names source or sink, file, line and column where they are known."""

    code: str = ""
    """Of the error's class, for ``seatunnel help CODE``; empty when it is no error of ours."""

    detail: str = field(default="", repr=False)
    """The traceback, for the log file."""

    @property
    def retryable(self) -> bool:
        """Whether a later attempt or a new start of the pipeline may succeed."""
        return self.kind in (FailureKind.TRANSIENT, FailureKind.RESTART, FailureKind.STORAGE)
