"""From an exception in the driver to a ``Failure``: what kind it is, and a sentence for the person who has to act."""

import traceback

from seatunnel_core.checkpoint.events import Failure, FailureKind
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.spark.failure import kind_of
from seatunnel_storage_api.errors import CheckpointStorageError, StorageUnavailableError


def failure_of(error: BaseException) -> Failure:
    """Classify by the error trees; what is outside them is a bug of ours, and its message asks for a report."""
    kind = _kind(error)
    message = str(error) or type(error).__name__
    if kind is FailureKind.BUG:
        message = (
            f"{type(error).__name__}: {message} (a bug of the engine, not a mistake of yours: "
            "please report it with the traceback in the log file)"
        )
    code = error.code if isinstance(error, SeaTunnelError | CheckpointStorageError) else ""
    return Failure(kind=kind, message=message, code=code, detail="".join(traceback.format_exception(error)))


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, StorageUnavailableError):
        return FailureKind.STORAGE
    if isinstance(error, CheckpointStorageError):
        return FailureKind.USAGE
    return kind_of(error)
