"""Which failures are worth another try."""

import pytest

from seatunnel_core.errors import PlatformError, SeaTunnelError, SinkError, SourceError, UsageError
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.failure import FailureKind


class LicenceEndedError(SinkError):
    """What a connector of a user raises when nothing of the job should go on, however often it is tried."""

    retryable = True
    ends_job = True


def _lost_snapshot() -> SourceError:
    error = SourceError("the snapshot is gone")
    error.retryable = error.needs_restart = True
    return error


@pytest.mark.parametrize(
    ("error", "cause", "kind"),
    [
        (PlatformError("Spark's JVM is gone"), ConnectionRefusedError(111, "refused"), FailureKind.USAGE),
        (LicenceEndedError("until yesterday"), ConnectionRefusedError(111, "refused"), FailureKind.JOB),
        (UsageError("no such option"), None, FailureKind.USAGE),
        (SourceError("a bad row"), None, FailureKind.DATA),
        (SourceError("a bad disk"), OSError(5, "Input/output error"), FailureKind.TRANSIENT),
        (_lost_snapshot(), None, FailureKind.RESTART),
        (SinkError("no way in"), PermissionError(13, "Permission denied"), FailureKind.USAGE),
        (SinkError("no room"), OSError(28, "No space left on device"), FailureKind.USAGE),
    ],
)
def test_the_kind_of_an_error(error: SeaTunnelError, cause: OSError | None, kind: FailureKind) -> None:
    """A JVM that is gone does not come back: a job that tried again for minutes said the same in the end."""
    error.__cause__ = cause
    assert kind_of(error) is kind
