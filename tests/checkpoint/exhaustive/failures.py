"""What engines hear when something failed."""

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointRef


def storage_failed(ref: CheckpointRef | None) -> Event:
    failure = Failure(kind=FailureKind.STORAGE, message="the storage did not answer")
    return events.StorageFailed(now_ms=0, failure=failure, ref=ref)


def unit_failed(attempt: AttemptId) -> Event:
    failure = Failure(kind=FailureKind.TRANSIENT, message="the task was lost")
    return events.UnitFailed(now_ms=0, task="in", attempt=attempt, failure=failure, reading="")


def commit_failed(committed: tuple[str, ...], kind: FailureKind) -> Event:
    failure = Failure(kind=kind, message="the commit was not carried out")
    return events.CommitFailed(now_ms=0, sink="out", committed=committed, failure=failure)
