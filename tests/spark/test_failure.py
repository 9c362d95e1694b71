"""Which failures are worth another try."""

import errno
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.errors import PacketLostError, PlatformError, SeaTunnelError, SinkError, SourceError, UsageError
from seatunnel_core.spark.failure import PAUSES_S, kind_of, retried
from seatunnel_core.spark.spark_errors import lasts, lost_task
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
        (PlatformError("Spark's JVM has ended"), ConnectionRefusedError(111, "refused"), FailureKind.USAGE),
        (LicenceEndedError("until yesterday"), ConnectionRefusedError(111, "refused"), FailureKind.JOB),
        (UsageError("no such option"), None, FailureKind.USAGE),
        (SourceError("a bad row"), None, FailureKind.DATA),
        (SourceError("a bad disk"), OSError(5, "Input/output error"), FailureKind.TRANSIENT),
        (_lost_snapshot(), None, FailureKind.RESTART),
        (SinkError("no way in"), PermissionError(13, "Permission denied"), FailureKind.USAGE),
        (SinkError("no room"), OSError(28, "No space left on device"), FailureKind.TRANSIENT),
        (SinkError("no room"), OSError(errno.EDQUOT, "Disk quota exceeded"), FailureKind.TRANSIENT),
        (SinkError("too large"), OSError(errno.EFBIG, "File too large"), FailureKind.USAGE),
    ],
)
def test_the_kind_of_an_error(error: SeaTunnelError, cause: OSError | None, kind: FailureKind) -> None:
    """A JVM that is gone does not come back: a job that tried again for minutes said the same in the end."""
    error.__cause__ = cause
    assert kind_of(error) is kind


PYTHON = 'Task 0 failed: Traceback (most recent call last):\n  File "f.py", line 3, in f\n{}\n\n\tat org.apache.Spark'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", True),
        ("Job aborted: [CAST_INVALID_INPUT] The value 'x' cannot be cast. SQLSTATE: 22018", True),
        ("[TABLE_OR_VIEW_NOT_FOUND] SQLSTATE: 42P01", True),
        (PYTHON.format("ModuleNotFoundError: No module named 'mine'"), True),
        (PYTHON.format("ZeroDivisionError: division by zero"), True),
        (PYTHON.format("decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]"), False),
        (PYTHON.format("pyarrow.lib.ArrowTypeError: Expected bytes"), True),
        (PYTHON.format("ConnectionResetError: [Errno 104] reset"), False),
        (PYTHON.format("MemoryError: no room"), False),
        (PYTHON.format("requests.exceptions.ConnectionError: refused"), False),
        ("ExecutorLostFailure (executor 3 exited) Reason: worker lost", False),
        ("Python worker exited unexpectedly (crashed)", False),
        ("[CONNECT] the server is gone SQLSTATE: 08006", False),
    ],
)
def test_what_another_attempt_cannot_change(text: str, expected: bool) -> None:
    """A division by zero and a missing module were tried four times, as "the Spark task that ran it was lost"."""
    assert lasts(RuntimeError(text)) is expected
    lost = lost_task(RuntimeError(text))
    assert isinstance(lost, PacketLostError)
    assert lost.retryable is not expected


@pytest.mark.parametrize(
    "text",
    [
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, PySpark",
        "Python in worker has different version (3.10) than that in driver (3.11): PySpark cannot run",
    ],
)
def test_another_python_where_tasks_run_is_said_at_once(text: str) -> None:
    """Each unit was tried four times, and the message said that its task was lost."""
    found = lost_task(RuntimeError(PYTHON.format(f"pyspark.errors.exceptions.base.PySparkRuntimeError: {text}")))
    assert isinstance(found, PlatformError)
    assert kind_of(found) is FailureKind.USAGE
    assert "the tasks run with Python 3.10 and the driver with Python 3.11" in str(found)
    assert "spark.pyspark.python" in str(found)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("seatunnel_core.spark.failure.time", SimpleNamespace(sleep=found.append))
    return found


def failing(times: int, *, retryable: bool = True, cause: OSError | None = None) -> Callable[[], str]:
    left = [times]

    def request() -> str:
        left[0] -= 1
        if left[0] >= 0:
            error = SourceError("answered 500")
            error.retryable = retryable
            raise error from cause
        return "rows"

    return request


def test_a_failure_that_may_pass_is_waited_for(waits: list[float]) -> None:
    assert retried(failing(3)) == "rows"
    limits = Limits()
    assert waits == [limits.pause_before_retry(number) / 1000 for number in range(1, limits.unit_retries + 1)]


def test_one_failure_too_many_is_raised(waits: list[float]) -> None:
    with pytest.raises(SourceError, match="answered 500"):
        retried(failing(4))
    assert waits == list(PAUSES_S)


def test_a_listing_that_broke_off_is_repeated(waits: list[float]) -> None:
    assert retried(failing(1, retryable=False, cause=ConnectionResetError(104, "reset"))) == "rows"
    assert len(waits) == 1


@pytest.mark.parametrize("cause", [None, FileNotFoundError(2, "gone"), PermissionError(13, "no")])
def test_what_no_retry_can_help_is_raised_at_once(waits: list[float], cause: OSError | None) -> None:
    with pytest.raises(SourceError):
        retried(failing(1, retryable=False, cause=cause))
    assert not waits
