"""From an exception, in a task or in the driver, to a ``Failure``: what kind it is, and what a person has to know."""

import errno
import re
import traceback
from collections.abc import Sequence

import pyarrow as pa

from seatunnel_core.connectors.source import Source
from seatunnel_core.errors import PlatformError, RuleError, SeaTunnelError, SourceError, TransformError, UsageError
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_storage_api.errors import CheckpointStorageError, StorageUnavailableError

_PLACE_IS_WRONG = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
)
"""What trying again cannot mend. Everything else that an operating system says — a full disk too — may pass."""


MOST_PIECES = 5
"""So much of what is read is named; more makes nothing clearer."""


def reading(source: Source, splits: Sequence[Split]) -> str:
    """Which pieces of a source splits are, for a person."""
    pieces = source.describe(splits)
    more = len(pieces) - MOST_PIECES
    return "; ".join(pieces[:MOST_PIECES]) + (f"; and {more} more" if more > 0 else "")


def task_failure(error: BaseException, where: str) -> Failure:
    """``where`` names pipeline and source or sink, unless the error does; its text names file, line and column."""
    kind = kind_of(error)
    text = str(error) or type(error).__name__
    if kind is FailureKind.BUG:
        text = f"{type(error).__name__}: {text}"
    message = text if text.startswith("pipeline ") else f"{where}: {text}"
    code = error.code if isinstance(error, SeaTunnelError) else ""
    return Failure(kind=kind, message=message, code=code, detail="".join(traceback.format_exception(error)))


def failure_of(error: BaseException) -> Failure:
    """Classify by the error trees; what is outside them is a bug of ours, and its message asks for a report."""
    kind = _kind_in_driver(error)
    message = str(error) or type(error).__name__
    if kind is FailureKind.BUG:
        message = (
            f"{type(error).__name__}: {message} (a bug of the engine, not a mistake of yours: "
            "please report it with the traceback in the log file)"
        )
    code = error.code if isinstance(error, SeaTunnelError | CheckpointStorageError) else ""
    return Failure(kind=kind, message=message, code=code, detail="".join(traceback.format_exception(error)))


def _kind_in_driver(error: BaseException) -> FailureKind:
    if isinstance(error, StorageUnavailableError):
        return FailureKind.STORAGE
    if isinstance(error, CheckpointStorageError):
        return FailureKind.USAGE
    return kind_of(error)


def kind_of(error: BaseException) -> FailureKind:
    """Classify one error; an error of ours that wraps an operating system's is as retryable as that one."""
    if isinstance(error, SeaTunnelError):
        return _kind_of_ours(error)
    if isinstance(error, OSError):
        return FailureKind.USAGE if error.errno in _PLACE_IS_WRONG else FailureKind.TRANSIENT
    if isinstance(error, MemoryError):
        return FailureKind.TRANSIENT
    if isinstance(error, pa.ArrowException | UnicodeError):
        return FailureKind.DATA
    return FailureKind.BUG


def _kind_of_ours(error: SeaTunnelError) -> FailureKind:
    if error.ends_job:
        return FailureKind.JOB
    if error.retryable:
        return FailureKind.RESTART if error.needs_restart else FailureKind.TRANSIENT
    if isinstance(error, UsageError | PlatformError):
        return FailureKind.USAGE
    if isinstance(error.__cause__, OSError):
        return kind_of(error.__cause__)
    if isinstance(error, SourceError | TransformError | RuleError):
        return FailureKind.DATA
    return FailureKind.USAGE


def refused_by_spark(error: BaseException | None) -> bool:
    """Whether Spark found the plan wrong, before it ran any of it: trying again cannot help."""
    from pyspark.errors import AnalysisException, IllegalArgumentException

    return isinstance(error, AnalysisException | IllegalArgumentException)


_IN_PYTHON = re.compile(r"^(?!org\.|java\.|py4j\.|Traceback )[\w.]*(?:Error|Exception)\b.*", re.MULTILINE)


def spark_says(error: Exception) -> str:
    """What Spark says, without the stack of its JVM; of an error in Python code also the last line of its traceback."""
    said = str(getattr(error, "java_exception", None) or error)
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.strip().startswith("at ")]
    told = " ".join(lines[:3])[:1000] or type(error).__name__
    raised = _IN_PYTHON.findall(said.partition("Traceback (most recent call last)")[2])
    return f"{told.partition('Traceback (most recent')[0].strip()} {raised[-1][:500]}" if raised else told
