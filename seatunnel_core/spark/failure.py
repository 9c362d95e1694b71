"""Conversion of exceptions to ``Failure`` objects: the kind of failure, and a message for the user."""

import errno
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from seatunnel_core.connector_api.source import Source
from seatunnel_core.errors import (
    ConnectorError,
    PlatformError,
    RuleError,
    SeaTunnelError,
    SourceError,
    TransformError,
    UsageError,
)
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_storage_api.errors import CheckpointStorageError, StorageUnavailableError

T = TypeVar("T")

_log = logging.getLogger(__name__)

_LASTING = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
    | {errno.EFBIG}
)
"""Error numbers of permanent failures: a missing permission, a wrong path, a file size limit. All other errors,
including those of a full disk (``ENOSPC``, ``EDQUOT``), are retried as often as the job allows."""


MOST_PIECES = 5


def reading(source: Source, splits: Sequence[Split]) -> str:
    """Describe the input of splits for the user, with at most ``MOST_PIECES`` pieces."""
    pieces = source.describe(splits)
    more = len(pieces) - MOST_PIECES
    return "; ".join(pieces[:MOST_PIECES]) + (f"; and {more} more" if more > 0 else "")


def task_failure(error: BaseException, where: str) -> Failure:
    """Return the failure for an error in a task.

    ``where`` states the pipeline and the source or sink. It is prepended unless the message begins with the pipeline.
    """
    kind = kind_of(error)
    text = str(error) or type(error).__name__
    if kind is FailureKind.BUG:
        text = f"{type(error).__name__}: {text}"
    message = text if text.startswith("pipeline ") else f"{where}: {text}"
    code = error.code if isinstance(error, SeaTunnelError) else ""
    return Failure(kind=kind, message=message, code=code, detail="".join(traceback.format_exception(error)))


def failure_of(error: BaseException) -> Failure:
    """Return the failure for an error in the driver. An unknown error class is reported as a bug in the engine."""
    kind = _kind_in_driver(error)
    message = str(error) or type(error).__name__
    if kind is FailureKind.BUG:
        message = (
            f"{type(error).__name__}: {message} (this is a bug in the engine, not an error in your job: please "
            "report it with the traceback in the log file)"
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
    """Return the kind of an error.

    An engine error that was caused by an ``OSError`` is retryable if the ``OSError`` is retryable, unless the class or
    flags of the engine error determine this.
    """
    if isinstance(error, SeaTunnelError):
        return _kind_of_ours(error)
    if isinstance(error, OSError):
        return FailureKind.USAGE if error.errno in _LASTING else FailureKind.TRANSIENT
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


PAUSES_S = (0.5, 1.0, 2.0)
"""Pauses between attempts, in seconds, as for work units."""


def retried(request: Callable[[], T], pauses_s: Sequence[float] = PAUSES_S) -> T:
    """Return the result of a request without side effects. Transient failures are retried as for work units."""
    for pause_s in pauses_s:
        try:
            return request()
        except ConnectorError as error:
            if kind_of(error) is not FailureKind.TRANSIENT:
                raise
            _log.warning("%s; trying again in %g s", error, pause_s)
        time.sleep(pause_s)
    return request()
